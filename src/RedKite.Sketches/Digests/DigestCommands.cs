using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Store;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using ReadOnlyCommand = RedKite.Server.Model.CommandFlags;

namespace RedKite.Sketches.Digests;

/// <summary>Commands of t-digests.</summary>
internal static class DigestCommands
{
    private const int CompressionDefault = 100;

    // Sorting and merging centroids, or searching among them, takes as long as looking at so many places for each.
    private const int PlacesPerNode = 20;

    private static readonly KeyEvent Created = KeyEvents.Add("tdigest.create");
    private static readonly KeyEvent Emptied = KeyEvents.Add("tdigest.reset");
    private static readonly KeyEvent Added = KeyEvents.Add("tdigest.add");
    private static readonly KeyEvent Merged = KeyEvents.Add("tdigest.merge");

    private static readonly KeySpec[] Writes = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Inserts = KeySpecs.One(1, ReadWrite | Insert);
    private static readonly KeySpec[] Reads = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Merges = [new(1, 1, 1, ReadWrite | Update), new(3, 0, 1, KeyFlags.ReadOnly | Access, CountAt: 2)];

    internal static readonly CommandFamily Family = new("module", "tdigest",
    [
        new("TDIGEST.CREATE", -2, Write | DenyOom | Fast, Writes, Create, new("2.4.0", "O(1)", "Creates a t-digest.", "key [COMPRESSION compression:integer]")) { Module = ServerModule.Sketches },
        new("TDIGEST.RESET", 2, Write | Fast, Writes, Reset, new("2.4.0", "O(1)", "Removes all observations of a t-digest.", "key")) { Module = ServerModule.Sketches },
        new("TDIGEST.ADD", -3, Write | DenyOom, Inserts, Add, new("2.4.0", "O(N), where N is the number of samples to add", "Adds observations to a t-digest.", "key values:double [value ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.MERGE", -4, Write | DenyOom, Merges, Merge, new("2.4.0", "O(N*K), where N is the number of centroids and K being the number of input sketches", "Merges t-digests into one.", "destination-key:key numkeys:integer source-key:key [source-key ...] [COMPRESSION compression:integer] [OVERRIDE]")) { Module = ServerModule.Sketches },
        new("TDIGEST.MIN", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Min, new("2.4.0", "O(1)", "Returns the least observation.", "key")) { Module = ServerModule.Sketches },
        new("TDIGEST.MAX", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Max, new("2.4.0", "O(1)", "Returns the largest observation.", "key")) { Module = ServerModule.Sketches },
        new("TDIGEST.QUANTILE", -3, ReadOnlyCommand.ReadOnly, Reads, Quantile, new("2.4.0", "O(1)", "Returns the values below which these parts of the observations are.", "key quantile:double [quantile ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.CDF", -3, ReadOnlyCommand.ReadOnly, Reads, Cdf, new("2.4.0", "O(1)", "Returns which parts of the observations are below these values.", "key value:double [value ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.RANK", -3, ReadOnlyCommand.ReadOnly, Reads, Rank, new("2.4.0", "O(1)", "Returns how many observations are less than these values.", "key value:double [value ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.REVRANK", -3, ReadOnlyCommand.ReadOnly, Reads, RevRank, new("2.4.0", "O(1)", "Returns how many observations are larger than these values.", "key value:double [value ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.BYRANK", -3, ReadOnlyCommand.ReadOnly, Reads, ByRank, new("2.4.0", "O(1)", "Returns the values of these ranks.", "key rank:integer [rank ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.BYREVRANK", -3, ReadOnlyCommand.ReadOnly, Reads, ByRevRank, new("2.4.0", "O(1)", "Returns the values of these ranks, counted from the largest.", "key reverse_rank:integer [reverse_rank ...]")) { Module = ServerModule.Sketches },
        new("TDIGEST.TRIMMED_MEAN", 4, ReadOnlyCommand.ReadOnly, Reads, TrimmedMean, new("2.4.0", "O(N) where N is the number of centroids", "Returns the mean of the observations between two quantiles.", "key low_cut_quantile:double high_cut_quantile:double")) { Module = ServerModule.Sketches },
        new("TDIGEST.INFO", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Info, new("2.4.0", "O(1)", "Returns what a t-digest is like.", "key")) { Module = ServerModule.Sketches },
    ]);

    private static ReadOnlySpan<byte> Missing => "ERR T-Digest: key does not exist"u8;

    // TDIGEST.CREATE key [COMPRESSION compression]
    private static void Create(ref CommandContext cmd)
    {
        if (cmd.Count is not (2 or 4))
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.IsMissingOrReply("ERR T-Digest: key already exists"u8)) return;
        int compression = CompressionDefault;
        if (cmd.Count == 4)
        {
            if (!cmd.Is(2, "COMPRESSION"u8))
            {
                cmd.Reply.Error("ERR T-Digest: wrong keyword"u8);
                return;
            }

            if (!TryCompressionOrReply(cmd, 3, out compression)) return;
        }

        TDigest.Initialize(cmd.Create(SketchType.Digest), compression);
        cmd.Changed(1, Created);
        cmd.Reply.Ok();
    }

    // TDIGEST.RESET key
    private static void Reset(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: true, Missing, out Sketch digest)) return;
        TDigest.Reset(digest);
        cmd.Changed(1, Emptied);
        cmd.Reply.Ok();
    }

    // TDIGEST.ADD key value [value ...]
    private static void Add(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: true, Missing, out Sketch digest)) return;
        for (int i = 2; i < cmd.Count; i++)
        {
            bool isNumber = FloatText.TryParse(cmd[i], out double value) && !double.IsNaN(value);
            if (isNumber && double.IsFinite(value)) continue;
            cmd.Reply.Error(isNumber ? "ERR T-Digest: val parameter needs to be a finite number"u8 : "ERR T-Digest: error parsing val parameter"u8);
            return;
        }

        if (TDigest.Observations(digest) + (ulong)cmd.Count > TDigest.ObservationsMax)
        {
            cmd.Reply.Error("ERR T-Digest: overflow detected"u8);
            return;
        }

        for (int i = 2; i < cmd.Count; i++)
        {
            _ = FloatText.TryParse(cmd[i], out double value);
            TDigest.Add(digest, value + 0.0); // no negative zero
        }

        cmd.Changed(1, Added);
        cmd.Reply.Ok();
    }

    // TDIGEST.MERGE destination-key numkeys source-key [source-key ...] [COMPRESSION compression] [OVERRIDE]
    private static void Merge(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsTypeOrReply(entry, SketchType.Digest.Number)) return;
        if (!cmd.TryNumberOrReply(2, "ERR T-Digest: error parsing numkeys"u8, 1, int.MaxValue, "ERR T-Digest: numkeys needs to be a positive integer"u8, out long keys)) return;
        if (keys > cmd.Count - 3)
        {
            cmd.ReplyArity();
            return;
        }

        int compression = 0;
        bool overrides = false;
        for (int at = (int)keys + 3; at < cmd.Count; at++)
        {
            if (cmd.Is(at, "OVERRIDE"u8))
            {
                overrides = true;
            }
            else if (!cmd.Is(at, "COMPRESSION"u8))
            {
                cmd.Reply.Error("ERR T-Digest: wrong keyword"u8);
                return;
            }
            else if (at + 1 == cmd.Count)
            {
                cmd.ReplyArity();
                return;
            }
            else if (!TryCompressionOrReply(cmd, ++at, out compression))
            {
                return;
            }
        }

        Sketch destination = Sketch.Of(cmd.Database, entry);
        bool keeps = destination.Exists && !overrides;
        ulong observations = keeps ? TDigest.Observations(destination) : 0;
        int largest = 0;
        long nodesRead = keeps ? TDigest.Nodes(destination) : 0;
        double min = double.PositiveInfinity, max = double.NegativeInfinity;
        if (observations > 0) (min, max) = (TDigest.Min(destination), TDigest.Max(destination));
        for (int i = 0; i < keys; i++)
        {
            if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch source, i + 3)) return;
            largest = Math.Max(largest, TDigest.Compression(source));
            nodesRead += TDigest.Nodes(source);
            if (TDigest.Observations(source) == 0) continue;
            observations += TDigest.Observations(source);
            (min, max) = (Math.Min(min, TDigest.Min(source)), Math.Max(max, TDigest.Max(source)));
            if (observations <= TDigest.ObservationsMax) continue;
            cmd.Reply.Error("ERR T-Digest: overflow detected"u8);
            return;
        }

        if (!cmd.MayLookAtOrReply(nodesRead * PlacesPerNode)) return;
        if (compression == 0) compression = keeps ? TDigest.Compression(destination) : largest;
        DigestNodes nodes = DigestNodes.Begin(compression);
        if (keeps) TDigest.AddTo(destination, nodes);
        for (int i = 0; i < keys; i++) TDigest.AddTo(Sketch.Of(cmd.Database, cmd.Peek(i + 3)), nodes);
        if (!destination.Exists)
        {
            destination = cmd.Create(SketchType.Digest);
            TDigest.Initialize(destination, compression);
        }

        TDigest.Replace(destination, nodes, compression, observations, min, max);
        cmd.Changed(1, Merged);
        cmd.Reply.Ok();
    }

    // TDIGEST.MIN key
    private static void Min(ref CommandContext cmd)
    {
        if (cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch digest)) cmd.Reply.Double(TDigest.Min(digest));
    }

    // TDIGEST.MAX key
    private static void Max(ref CommandContext cmd)
    {
        if (cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch digest)) cmd.Reply.Double(TDigest.Max(digest));
    }

    // TDIGEST.QUANTILE key quantile [quantile ...]
    private static void Quantile(ref CommandContext cmd)
    {
        if (!TryViewOrReply(cmd, "ERR T-Digest: error parsing quantile"u8, out DigestView view, isQuantile: true)) return;
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Double(view.Quantile(Number(cmd, i)));
    }

    // TDIGEST.CDF key value [value ...]
    private static void Cdf(ref CommandContext cmd)
    {
        if (!TryViewOrReply(cmd, "ERR T-Digest: error parsing cdf"u8, out DigestView view)) return;
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Double(view.Total == 0 ? double.NaN : view.RankOf(Number(cmd, i)) / view.Total);
    }

    // TDIGEST.RANK key value [value ...]
    private static void Rank(ref CommandContext cmd) => ReplyRanks(cmd, isReverse: false);

    // TDIGEST.REVRANK key value [value ...]
    private static void RevRank(ref CommandContext cmd) => ReplyRanks(cmd, isReverse: true);

    // TDIGEST.BYRANK key rank [rank ...]
    private static void ByRank(ref CommandContext cmd) => ReplyByRanks(cmd, isReverse: false);

    // TDIGEST.BYREVRANK key reverse_rank [reverse_rank ...]
    private static void ByRevRank(ref CommandContext cmd) => ReplyByRanks(cmd, isReverse: true);

    // TDIGEST.TRIMMED_MEAN key low_cut_quantile high_cut_quantile
    private static void TrimmedMean(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch digest)) return;
        ReadOnlySpan<byte> error = default;
        if (!TryNumber(cmd, 2, out double low)) error = "ERR T-Digest: error parsing low_cut_percentile"u8;
        else if (!TryNumber(cmd, 3, out _)) error = "ERR T-Digest: error parsing high_cut_percentile"u8;
        double high = Number(cmd, 3);
        if (error.IsEmpty && !(low >= 0 && low <= 1 && high >= 0 && high <= 1)) error = "ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]"u8;
        if (error.IsEmpty && low >= high) error = "ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile"u8;
        if (!error.IsEmpty) cmd.Reply.Error(error);
        else if (MayReadOrReply(cmd, digest)) cmd.Reply.Double(TDigest.View(digest).TrimmedMean(low, high));
    }

    // TDIGEST.INFO key
    private static void Info(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch digest)) return;
        ReplyWriter reply = cmd.Reply;
        reply.Map(9);
        reply.Field("Compression"u8, TDigest.Compression(digest));
        reply.Field("Capacity"u8, DigestNodes.CapacityFor(TDigest.Compression(digest)));
        reply.Field("Merged nodes"u8, TDigest.MergedNodes(digest));
        reply.Field("Unmerged nodes"u8, TDigest.UnmergedNodes(digest));
        reply.Field("Merged weight"u8, (long)TDigest.MergedWeight(digest));
        reply.Field("Unmerged weight"u8, TDigest.UnmergedNodes(digest));
        reply.Field("Observations"u8, (long)TDigest.Observations(digest));
        reply.Field("Total compressions"u8, TDigest.Compressions(digest));
        reply.Field("Memory usage"u8, digest.MemoryBytes);
    }

    private static void ReplyRanks(scoped in CommandContext cmd, bool isReverse)
    {
        if (!TryViewOrReply(cmd, "ERR T-Digest: error parsing value"u8, out DigestView view)) return;
        for (int i = 2; i < cmd.Count; i++)
        {
            double value = Number(cmd, i);
            if (view.Total == 0) cmd.Reply.Integer(-2);
            else if (value < view.Min) cmd.Reply.Integer(isReverse ? (long)view.Total : -1);
            else if (value > view.Max) cmd.Reply.Integer(isReverse ? -1 : (long)view.Total);
            else cmd.Reply.Integer((long)Math.Floor(isReverse ? view.Total - view.RankOf(value) : view.RankOf(value)));
        }
    }

    private static void ReplyByRanks(scoped in CommandContext cmd, bool isReverse)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch digest)) return;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (!cmd.TryNumberOrReply(i, "ERR T-Digest: error parsing rank"u8, 0, long.MaxValue, "ERR T-Digest: rank needs to be non negative"u8, out _)) return;
        }

        if (!MayReadOrReply(cmd, digest)) return;
        DigestView view = TDigest.View(digest);
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            _ = RespNumber.TryParseInt64(cmd[i], out long rank);
            if (view.Total == 0) cmd.Reply.Double(double.NaN);
            else if (rank >= view.Total) cmd.Reply.Double(isReverse ? double.NegativeInfinity : double.PositiveInfinity);
            else cmd.Reply.Double(view.ValueAt(isReverse ? view.Total - 1 - rank : rank));
        }
    }

    private static bool TryViewOrReply(scoped in CommandContext cmd, ReadOnlySpan<byte> error, out DigestView view, bool isQuantile = false)
    {
        view = default;
        if (!cmd.OpenExistingOrReply(SketchType.Digest, writes: false, Missing, out Sketch digest)) return false;
        for (int i = 2; i < cmd.Count; i++)
        {
            bool isNumber = TryNumber(cmd, i, out double number);
            if (isNumber && (!isQuantile || (number >= 0 && number <= 1))) continue;
            cmd.Reply.Error(isNumber ? "ERR T-Digest: quantile should be in [0,1]"u8 : error);
            return false;
        }

        if (!MayReadOrReply(cmd, digest)) return false;
        view = TDigest.View(digest);
        cmd.Reply.Array(cmd.Count - 2);
        return true;
    }

    private static bool MayReadOrReply(scoped in CommandContext cmd, Sketch digest) => cmd.MayLookAtOrReply(((long)TDigest.Nodes(digest) + cmd.Count) * PlacesPerNode);

    private static bool TryNumber(scoped in CommandContext cmd, int argument, out double number) => FloatText.TryParse(cmd[argument], out number) && !double.IsNaN(number);

    private static double Number(scoped in CommandContext cmd, int argument) => FloatText.TryParse(cmd[argument], out double number) ? number : double.NaN;

    private static bool TryCompressionOrReply(scoped in CommandContext cmd, int argument, out int compression)
    {
        compression = 0;
        if (!cmd.TryNumberOrReply(argument, "ERR T-Digest: error parsing compression parameter"u8, 1, long.MaxValue, "ERR T-Digest: compression parameter needs to be a positive integer"u8, out long number)) return false;
        compression = (int)Math.Min(number, int.MaxValue);
        if (number <= SketchLimits.CompressionMax) return true;
        cmd.Reply.Error("ERR T-Digest: allocation failed"u8);
        return false;
    }
}
