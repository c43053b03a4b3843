using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.TimeSeries.Store;

/// <summary>Time series in the store.</summary>
internal sealed unsafe class SeriesType() : StoredType("TSDB-TYPE"u8)
{
    internal static readonly SeriesType Instance = new();

    private static readonly string[] PolicyFacts = ["policy_block", "policy_block", "policy_first", "policy_last", "policy_min", "policy_max", "policy_sum"];

    internal override string Noun => "time series";

    internal override string ElementNoun => "sample";

    internal override ReadOnlySpan<byte> EncodingName(ValueEncoding encoding) => "raw"u8;

    internal override long SizeOf(Database database, Entry entry) => Data(entry)->Samples;

    internal override void CountFacts(Entry entry, Dictionary<string, long> facts)
    {
        SeriesData* data = Data(entry);
        facts.Count("samples", data->Samples);
        facts.Count("chunks", data->ChunkCount);
        facts.Count("series_with_rules", data->Rules.Length > 0 ? 1 : 0);
        facts.Count("compactions", data->Source.Length > 0 ? 1 : 0);
        facts.Count("without_labels", data->Labels.Length == 0 ? 1 : 0);
        facts.Count("without_retention", data->Settings.Retention == 0 ? 1 : 0);
        facts.Count("uncompressed", data->Settings.IsCompressed ? 0 : 1);
        facts.Count(PolicyFacts[(int)data->Settings.Policy], 1);
    }

    internal override long Bytes(Entry entry) => SeriesData.Bytes(Data(entry));

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => SeriesData.FreeSlice((SeriesData*)root.Structure, arena, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        var data = (SeriesData*)root.Structure;
        bool more = SeriesData.Move(mover, ref data, ref cursor, ref work);
        root.Structure = (byte*)data;
        return more;
    }

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new SeriesCopy(Data(source), arena);
        return StructureCopy.Of(new ValueRoot { Structure = copy.Root }, copy);
    }

    private static SeriesData* Data(Entry entry) => (SeriesData*)entry.Root.Structure;
}
