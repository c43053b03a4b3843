using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Store;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using ReadOnlyCommand = RedKite.Server.Model.CommandFlags;

namespace RedKite.Sketches.CountMin;

/// <summary>Commands of count-min sketches.</summary>
internal static class CountMinCommands
{
    // Counters that are read one after the other, twice, take less than places here and there.
    private const int CountersPerPlace = 4;

    private static readonly KeyEvent Initialized = KeyEvents.Add("cms.init");
    private static readonly KeyEvent Incremented = KeyEvents.Add("cms.incrby");
    private static readonly KeyEvent Merged = KeyEvents.Add("cms.merge");

    private static readonly KeySpec[] Writes = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Reads = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Merges = [new(1, 1, 1, ReadWrite | Update), new(3, 0, 1, KeyFlags.ReadOnly | Access, CountAt: 2)];

    internal static readonly CommandFamily Family = new("module", "cms",
    [
        new("CMS.INITBYDIM", 4, Write | DenyOom | Fast, Writes, InitByDim, new("2.0.0", "O(1)", "Creates a count-min sketch of so many rows and counters.", "key width:integer depth:integer")) { Module = ServerModule.Sketches },
        new("CMS.INITBYPROB", 4, Write | DenyOom | Fast, Writes, InitByProb, new("2.0.0", "O(1)", "Creates a count-min sketch for an error and its probability.", "key error:double probability:double")) { Module = ServerModule.Sketches },
        new("CMS.INCRBY", -4, Write | DenyOom, Writes, IncrBy, new("2.0.0", "O(n) where n is the number of items", "Adds to the counts of elements.", "key (item increment:integer) [item increment ...]")) { Module = ServerModule.Sketches },
        new("CMS.QUERY", -3, ReadOnlyCommand.ReadOnly, Reads, Query, new("2.0.0", "O(n) where n is the number of items", "Returns the counts of elements.", "key item [item ...]")) { Module = ServerModule.Sketches },
        new("CMS.MERGE", -4, Write | DenyOom, Merges, Merge, new("2.0.0", "O(n) where n is the number of sketches", "Stores the sum of sketches.", "destination numKeys:integer source:key [source ...] [WEIGHTS weight:integer [weight ...]]")) { Module = ServerModule.Sketches },
        new("CMS.INFO", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Info, new("2.0.0", "O(1)", "Returns the dimensions and the sum of a count-min sketch.", "key")) { Module = ServerModule.Sketches },
    ]);

    // CMS.INITBYDIM key width depth
    private static void InitByDim(ref CommandContext cmd)
    {
        if (!cmd.IsMissingOrReply("CMS: key already exists"u8)) return;
        if (!cmd.TryNumberOrReply(2, "CMS: invalid width"u8, 1, long.MaxValue, "CMS: invalid width"u8, out long width)) return;
        if (cmd.TryNumberOrReply(3, "CMS: invalid depth"u8, 1, long.MaxValue, "CMS: invalid depth"u8, out long depth)) Initialize(cmd, width, depth);
    }

    // CMS.INITBYPROB key error probability
    private static void InitByProb(ref CommandContext cmd)
    {
        if (!cmd.IsMissingOrReply("CMS: key already exists"u8)) return;
        if (!FloatText.TryParse(cmd[2], out double error) || !(error > 0 && error < 1))
        {
            cmd.Reply.Error("CMS: invalid overestimation value"u8);
            return;
        }

        if (!FloatText.TryParse(cmd[3], out double probability) || !(probability > 0 && probability < 1))
        {
            cmd.Reply.Error("CMS: invalid prob value"u8);
            return;
        }

        double width = Math.Ceiling(2 / error), depth = Math.Ceiling(Math.Log10(probability) / Math.Log10(0.5));
        if (width >= long.MaxValue || depth < 1)
        {
            cmd.Reply.Error("CMS: invalid init arguments"u8);
            return;
        }

        if (!Initialize(cmd, (long)width, (long)depth)) return;
        cmd.Effect("CMS.INITBYDIM"u8, 4).Argument(cmd[1]).Argument((long)width).Argument((long)depth); // another machine may round logarithms otherwise
    }

    // CMS.INCRBY key item increment [item increment ...]
    private static void IncrBy(ref CommandContext cmd)
    {
        if (cmd.Count % 2 != 0)
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.OpenExistingOrReply(SketchType.CountMin, writes: true, "CMS: key does not exist"u8, out Sketch sketch)) return;
        for (int i = 3; i < cmd.Count; i += 2)
        {
            if (!cmd.TryNumberOrReply(i, "CMS: Cannot parse number"u8, 0, long.MaxValue, "CMS: Number cannot be negative"u8, out _)) return;
        }

        if (!cmd.MayLookAtOrReply(CountMinSketch.Depth(sketch) * (cmd.Count - 2))) return;
        cmd.Reply.Array((cmd.Count / 2) - 1);
        bool changed = false;
        for (int i = 2; i < cmd.Count; i += 2)
        {
            _ = RespNumber.TryParseInt64(cmd[i + 1], out long increment);
            bool added = CountMinSketch.TryAdd(sketch, cmd[i], increment, out long count);
            changed |= added;
            if (added) cmd.Reply.Integer(count);
            else cmd.Reply.Error("CMS: INCRBY overflow"u8);
        }

        if (changed) cmd.Changed(1, Incremented);
    }

    // CMS.QUERY key item [item ...]
    private static void Query(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.CountMin, writes: false, "CMS: key does not exist"u8, out Sketch sketch)) return;
        if (!cmd.MayLookAtOrReply(CountMinSketch.Depth(sketch) * (cmd.Count - 2))) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Integer(CountMinSketch.Query(sketch, cmd[i]));
    }

    // CMS.MERGE destination numKeys source [source ...] [WEIGHTS weight [weight ...]]
    private static void Merge(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.CountMin, writes: true, "CMS: key does not exist"u8, out Sketch destination)) return;
        if (!cmd.TryNumberOrReply(2, "CMS: invalid numkeys"u8, 1, int.MaxValue, "CMS: Number of keys must be positive"u8, out long keys)) return;
        bool hasWeights = keys < cmd.Count - 3 && cmd.Is((int)keys + 3, "WEIGHTS"u8);
        if (cmd.Count != keys + 3 && !(hasWeights && cmd.Count == (2 * keys) + 4))
        {
            cmd.Reply.Error(hasWeights ? "CMS: wrong number of keys/weights"u8 : "CMS: wrong number of keys"u8);
            return;
        }

        for (int i = 0; i < keys && hasWeights; i++)
        {
            if (!cmd.TryNumberOrReply((int)keys + 4 + i, "CMS: invalid weight value"u8, long.MinValue, long.MaxValue, default, out _)) return;
        }

        for (int i = 0; i < keys; i++)
        {
            if (!cmd.OpenExistingOrReply(SketchType.CountMin, writes: false, "CMS: key does not exist"u8, out Sketch source, i + 3)) return;
            if (CountMinSketch.Width(source) == CountMinSketch.Width(destination) && CountMinSketch.Depth(source) == CountMinSketch.Depth(destination)) continue;
            cmd.Reply.Error("CMS: width/depth is not equal"u8);
            return;
        }

        if (!cmd.MayLookAtOrReply(destination.PartBytes(0) / sizeof(uint) * keys / CountersPerPlace)) return;
        if (!TrySumAll(cmd, destination, (int)keys, hasWeights, writes: false))
        {
            cmd.Reply.Error("CMS: MERGE overflow"u8);
            return;
        }

        TrySumAll(cmd, destination, (int)keys, hasWeights, writes: true);
        cmd.Changed(1, Merged);
        cmd.Reply.Ok();
    }

    // CMS.INFO key
    private static void Info(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.CountMin, writes: false, "CMS: key does not exist"u8, out Sketch sketch)) return;
        cmd.Reply.Map(3);
        cmd.Reply.Field("width"u8, CountMinSketch.Width(sketch));
        cmd.Reply.Field("depth"u8, CountMinSketch.Depth(sketch));
        cmd.Reply.Field("count"u8, CountMinSketch.Count(sketch));
    }

    private static bool Initialize(scoped in CommandContext cmd, long width, long depth)
    {
        if (!CountMinSketch.Fits(width, depth))
        {
            cmd.Reply.Error("CMS: Insufficient memory to create the key"u8);
            return false;
        }

        CountMinSketch.Initialize(cmd.Create(SketchType.CountMin), width, depth);
        cmd.Changed(1, Initialized);
        cmd.Reply.Ok();
        return true;
    }

    // Page by page, because the destination may be one of the sources.
    private static bool TrySumAll(scoped in CommandContext cmd, Sketch destination, int keys, bool hasWeights, bool writes)
    {
        Span<long> sums = CountMinSums.OfThread();
        Int128 total = 0;
        Int128 largest = 0; // no sum is larger
        for (int i = 0; i < keys; i++)
        {
            long weight = WeightOf(cmd, keys, i, hasWeights);
            total += (Int128)CountMinSketch.Count(Source(cmd, i)) * weight;
            largest += Int128.Abs(weight) * uint.MaxValue;
        }

        if (total < 0 || total > long.MaxValue) return false;
        for (int page = 0; page < destination.PageCount(0); page++)
        {
            if (IsMissing(cmd, destination, keys, page)) continue;
            Span<long> pageSums = sums[..(destination.PageLength(0, page) / sizeof(uint))];
            pageSums.Clear();
            for (int i = 0; i < keys; i++)
            {
                if (!CountMinSketch.TrySum(Source(cmd, i), page, WeightOf(cmd, keys, i, hasWeights), largest <= long.MaxValue, pageSums)) return false;
            }

            if (writes) CountMinSketch.Replace(destination, page, pageSums);
            else if (pageSums.IndexOfAnyExceptInRange(0, uint.MaxValue) >= 0) return false;
        }

        if (writes) CountMinSketch.SetCount(destination, (long)total);
        return true;
    }

    // Zeros in all sketches.
    private static bool IsMissing(scoped in CommandContext cmd, Sketch destination, int keys, int page)
    {
        bool isMissing = destination.Page(0, page).IsEmpty;
        for (int i = 0; i < keys && isMissing; i++) isMissing = Source(cmd, i).Page(0, page).IsEmpty;
        return isMissing;
    }

    private static Sketch Source(scoped in CommandContext cmd, int index) => Sketch.Of(cmd.Database, cmd.Peek(index + 3));

    private static long WeightOf(scoped in CommandContext cmd, int keys, int index, bool hasWeights)
    {
        long weight = 1;
        if (hasWeights) _ = RespNumber.TryParseInt64(cmd[keys + 4 + index], out weight);
        return weight;
    }
}
