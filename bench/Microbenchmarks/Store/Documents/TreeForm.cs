using RedKite.Json;
using RedKite.Json.Store;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Microbenchmarks.Documents;

/// <summary>The server's own form: a tree of packed values in the entry of a key.</summary>
internal sealed unsafe class TreeForm : DocumentForm
{
    private readonly Keyspace _keyspace = new(1, 1);
    private readonly NativeBuffer _image = new();
    private readonly int[] _ordinals = new int[JsonParser.DepthMax];

    static TreeForm() => JsonTypes.Add();

    internal override string Name => "tree of packed values";

    internal override long Bytes
    {
        get
        {
            JsonDocument document = JsonDocument.Of(Entry);
            long image = Entry.HasStructure ? JsonRoot.ImageBytes(Entry.Root) : Entry.Value.Length;
            return BlockSize.RoundUp(image) + JsonBytes.OfBlocks(document.Root);
        }
    }

    private Database Database => _keyspace.Databases[0];

    private ulong Hash => _keyspace.Hash("key"u8);

    private Arena Arena => Database.ArenaOf(Hash);

    private Entry Entry => Database.Find("key"u8, Hash, ExpiryClock.Never);

    public override void Dispose()
    {
        _keyspace.Dispose();
        _image.Dispose();
        base.Dispose();
    }

    internal override void Load(byte[] text)
    {
        _image.Clear();
        if (!JsonParser.OfThread.TryParseDocument(text, _image, Arena)) throw new FormatException();
        JsonDocument.Create(Database, "key"u8, Hash, Entry, 0, _image, JsonParser.OfThread.MayRefer ? JsonTextSize.OfDocument(_image) : 0);
        ReleasedValues released = Database.ReleasedOf(Entry);
        while (released.AreWaiting) released.FreeStep();
    }

    internal override void Get(byte[][] path, NativeBuffer output)
    {
        JsonDocument document = JsonDocument.Of(Entry);
        JsonTextWriter.Write(output, document.Names, Find(document, path));
    }

    internal override void Set(byte[][] path, byte[] text)
    {
        JsonDocument document = JsonDocument.Of(Entry);
        JsonValue value = Find(document, path);
        JsonEditor editor = JsonEditor.OfThread;
        editor.Begin(Arena, document);
        if (!JsonParser.OfThread.TryParse(text, editor.Data, Arena, document.Names, path.Length)) throw new FormatException();
        editor.Add(JsonEditKind.Replace, _ordinals.AsSpan(0, path.Length), 0, replaced: value);
        editor.Apply(Database, Entry);
    }

    private JsonValue Find(JsonDocument document, byte[][] path)
    {
        JsonValue value = document.Root;
        long steps = 0;
        for (int i = 0; i < path.Length; i++) value = value.Find(path[i], document.Names.Find(path[i]), out _ordinals[i], ref steps);
        return value;
    }
}
