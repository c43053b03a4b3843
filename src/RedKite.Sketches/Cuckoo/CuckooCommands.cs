using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Bloom;
using RedKite.Sketches.Store;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using ReadOnlyCommand = RedKite.Server.Model.CommandFlags;

namespace RedKite.Sketches.Cuckoo;

/// <summary>Commands of cuckoo filters.</summary>
internal static class CuckooCommands
{
    private const string PerFilter = "O(k + i), where k is the number of sub-filters and i is maxIterations";
    private const string PerItems = "O(n * (k + i)), where n is the number of items, k is the number of sub-filters and i is maxIterations";
    private const string PerLookup = "O(k), where k is the number of sub-filters";

    private static readonly KeyEvent Reserved = KeyEvents.Add("cf.reserve");
    private static readonly KeyEvent Added = KeyEvents.Add("cf.add");
    private static readonly KeyEvent Deleted = KeyEvents.Add("cf.del");
    private static readonly KeyEvent Compacted = KeyEvents.Add("cf.compact");
    private static readonly KeyEvent Loaded = KeyEvents.Add("cf.loadchunk");

    private static readonly KeySpec[] Writes = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Inserts = KeySpecs.One(1, ReadWrite | KeyFlags.Insert);
    private static readonly KeySpec[] Deletes = KeySpecs.One(1, ReadWrite | Delete);
    private static readonly KeySpec[] Reads = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("module", "cuckoo",
    [
        new("CF.RESERVE", -3, Write | DenyOom | Fast, Writes, Reserve, new("1.0.0", "O(1)", "Creates a cuckoo filter.", "key capacity:integer [BUCKETSIZE bucketsize:integer] [MAXITERATIONS maxiterations:integer] [EXPANSION expansion:integer]")) { Module = ServerModule.Sketches },
        new("CF.ADD", 3, Write | DenyOom | Fast, Inserts, Add, new("1.0.0", PerFilter, "Adds an element to a cuckoo filter, which is created if it is missing.", "key item")) { Module = ServerModule.Sketches },
        new("CF.ADDNX", 3, Write | DenyOom | Fast, Inserts, AddNew, new("1.0.0", PerFilter, "Adds an element to a cuckoo filter unless it may be there.", "key item")) { Module = ServerModule.Sketches },
        new("CF.INSERT", -4, Write | DenyOom, Inserts, Insert, new("1.0.0", PerItems, "Adds elements to a cuckoo filter, which is created as the options say if it is missing.", "key [CAPACITY capacity:integer] [NOCREATE] ITEMS item [item ...]")) { Module = ServerModule.Sketches },
        new("CF.INSERTNX", -4, Write | DenyOom, Inserts, InsertNew, new("1.0.0", PerItems, "Adds those elements to a cuckoo filter that are not there.", "key [CAPACITY capacity:integer] [NOCREATE] ITEMS item [item ...]")) { Module = ServerModule.Sketches },
        new("CF.EXISTS", 3, ReadOnlyCommand.ReadOnly | Fast, Reads, Exists, new("1.0.0", PerLookup, "Returns whether a cuckoo filter may have an element.", "key item")) { Module = ServerModule.Sketches },
        new("CF.MEXISTS", -3, ReadOnlyCommand.ReadOnly, Reads, MExists, new("1.0.0", "O(k * n), where k is the number of sub-filters and n is the number of items", "Returns for each element whether a cuckoo filter may have it.", "key item [item ...]")) { Module = ServerModule.Sketches },
        new("CF.DEL", 3, Write | Fast, Deletes, Remove, new("1.0.0", PerLookup, "Removes an element once from a cuckoo filter.", "key item")) { Module = ServerModule.Sketches },
        new("CF.COMPACT", 2, Write, Writes, Compact, new("1.0.0", "O(n * k), where n is the capacity and k is the number of sub-filters", "Moves elements of a cuckoo filter to its earlier sub-filters, and removes the last ones if they are empty then.", "key")) { Module = ServerModule.Sketches },
        new("CF.COUNT", 3, ReadOnlyCommand.ReadOnly | Fast, Reads, Count, new("1.0.0", PerLookup, "Returns how often an element may be in a cuckoo filter.", "key item")) { Module = ServerModule.Sketches },
        new("CF.INFO", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Info, new("1.0.0", "O(1)", "Returns what a cuckoo filter is like.", "key")) { Module = ServerModule.Sketches },
        new("CF.DEBUG", 2, ReadOnlyCommand.ReadOnly, Reads, Debug, new("1.0.0", "O(1)", "Returns the numbers of a cuckoo filter.", "key")) { Module = ServerModule.Sketches },
        new("CF.SCANDUMP", 3, ReadOnlyCommand.ReadOnly, Reads, ScanDump, new("1.0.0", "O(n), where n is the capacity", "Returns a part of a cuckoo filter, for CF.LOADCHUNK.", "key iterator:integer")) { Module = ServerModule.Sketches },
        new("CF.LOADCHUNK", 4, Write | DenyOom, Writes, LoadChunk, new("1.0.0", "O(n), where n is the capacity", "Restores a part of a cuckoo filter from CF.SCANDUMP.", "key iterator:integer data")) { Module = ServerModule.Sketches },
    ]);

    // CF.RESERVE key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion]
    private static void Reserve(ref CommandContext cmd)
    {
        if (cmd.Count % 2 == 0 || cmd.Count > 9)
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.TryNumberOrReply(2, "Bad capacity"u8, long.MinValue, long.MaxValue, default, out long capacity)) return;
        (int iterations, int bucketSize, int expansion) = (cmd.Settings.CuckooMaxIterations, cmd.Settings.CuckooBucketSize, cmd.Settings.CuckooExpansionFactor);
        if (!TryOptionOrReply(cmd, "MAXITERATIONS", 1, CuckooFilter.IterationsMax, ref iterations)) return;
        if (!TryOptionOrReply(cmd, "BUCKETSIZE", 1, CuckooFilter.BucketSizeMax, ref bucketSize)) return;
        if (!TryOptionOrReply(cmd, "EXPANSION", 0, CuckooFilter.ExpansionMax, ref expansion)) return;
        if (capacity < bucketSize * 2 || capacity > CuckooFilter.CapacityMax)
        {
            cmd.Reply.Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"u8);
            return;
        }

        if (!cmd.IsNewFilterOrReply(SketchType.Cuckoo)) return;
        if (!TryCreateOrReply(cmd, capacity, bucketSize, iterations, expansion, out _)) return;
        cmd.Changed(1, Reserved);
        cmd.Reply.Ok();
    }

    // CF.ADD key item
    private static void Add(ref CommandContext cmd) => AddOne(cmd, onlyNew: false);

    // CF.ADDNX key item
    private static void AddNew(ref CommandContext cmd) => AddOne(cmd, onlyNew: true);

    // CF.INSERT key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]
    private static void Insert(ref CommandContext cmd) => AddMany(cmd, onlyNew: false);

    // CF.INSERTNX key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]
    private static void InsertNew(ref CommandContext cmd) => AddMany(cmd, onlyNew: true);

    // CF.EXISTS key item
    private static void Exists(ref CommandContext cmd) => cmd.ReplyContains(SketchType.Cuckoo, CuckooFilter.Contains);

    // CF.MEXISTS key item [item ...]
    private static void MExists(ref CommandContext cmd) => cmd.ReplyContainsEach(SketchType.Cuckoo, CuckooFilter.Contains, CuckooFilter.PlacesOf);

    // CF.DEL key item
    private static void Remove(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Cuckoo, writes: true, "Not found"u8, out Sketch filter)) return;
        bool removed = CuckooFilter.Remove(filter, cmd[2]);
        if (removed) cmd.Changed(1, Deleted);
        cmd.Reply.Boolean(removed);
    }

    // CF.COMPACT key
    private static void Compact(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Cuckoo, writes: true, "Cuckoo filter was not found"u8, out Sketch filter)) return;
        long steps = SketchLimits.CompactionStepsMax / cmd.Keyspace.BoundsDivisor;
        if (!cmd.MayLookAtOrReply(CuckooFilter.CompactionSteps(filter, steps))) return;
        if (CuckooFilter.Compact(filter, steps)) cmd.Changed(1, Compacted);
        cmd.Reply.Ok();
    }

    // CF.COUNT key item
    private static void Count(ref CommandContext cmd)
    {
        if (cmd.OpenToReadOrReply(SketchType.Cuckoo, out Sketch filter)) cmd.Reply.Integer(filter.Exists ? CuckooFilter.CountOf(filter, cmd[2]) : 0);
    }

    // CF.INFO key
    private static void Info(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Cuckoo, writes: false, "ERR not found"u8, out Sketch filter)) return;
        ReplyWriter reply = cmd.Reply;
        reply.Map(8);
        reply.Field("Size"u8, filter.MemoryBytes);
        reply.Field("Number of buckets"u8, CuckooFilter.Buckets(filter));
        reply.Field("Number of filters"u8, filter.PartCount);
        reply.Field("Number of items inserted"u8, CuckooFilter.Count(filter));
        reply.Field("Number of items deleted"u8, CuckooFilter.DeletedCount(filter));
        reply.Field("Bucket size"u8, CuckooFilter.BucketSize(filter));
        reply.Field("Expansion rate"u8, CuckooFilter.Expansion(filter));
        reply.Field("Max iterations"u8, CuckooFilter.MaxIterations(filter));
    }

    // CF.DEBUG key
    private static void Debug(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Cuckoo, writes: false, "ERR not found"u8, out Sketch filter)) return;
        cmd.Reply.Bulk(string.Create(CultureInfo.InvariantCulture, $"bktsize:{CuckooFilter.BucketSize(filter)} buckets:{CuckooFilter.Buckets(filter)} items:{CuckooFilter.Count(filter)} deletes:{CuckooFilter.DeletedCount(filter)} filters:{filter.PartCount} max_iterations:{CuckooFilter.MaxIterations(filter)} expansion:{CuckooFilter.Expansion(filter)}"));
    }

    // CF.SCANDUMP key iterator
    private static void ScanDump(ref CommandContext cmd)
    {
        if (!cmd.TryNumberOrReply(2, "Invalid position"u8, 0, long.MaxValue, "Invalid position"u8, out long position)) return;
        if (cmd.OpenExistingOrReply(SketchType.Cuckoo, writes: false, "ERR not found"u8, out Sketch filter)) SketchChunks.ReplyChunk(cmd, filter, position);
    }

    // CF.LOADCHUNK key iterator data
    private static void LoadChunk(ref CommandContext cmd)
    {
        if (!cmd.TryNumberOrReply(2, "Invalid position"u8, 1, long.MaxValue, "Invalid position"u8, out long position)) return;
        if (!cmd.OpenToWriteOrReply(SketchType.Cuckoo, out Sketch filter)) return;
        ReadOnlySpan<byte> error;
        if (position == 1 && filter.Exists) error = "ERR item exists"u8;
        else if (position == 1) error = SketchChunks.TryLoadHeader(cmd, SketchType.Cuckoo, CuckooFilter.IsValid, cmd[3]) ? default : "Invalid header"u8;
        else error = filter.Exists ? SketchChunks.Load(filter, position, cmd[3]) : "ERR not found"u8;
        if (!error.IsEmpty)
        {
            cmd.Reply.Error(error);
            return;
        }

        cmd.Changed(1, Loaded);
        cmd.Reply.Ok();
    }

    private static void AddOne(scoped in CommandContext cmd, bool onlyNew)
    {
        if (!cmd.OpenToWriteOrReply(SketchType.Cuckoo, out Sketch filter)) return;
        bool isNew = !filter.Exists;
        if (isNew && !TryCreateBySettingsOrReply(cmd, cmd.Settings.CuckooInitialSize, out filter)) return;
        int pushes = SketchLimits.PushesMax;
        Addition addition = onlyNew && CuckooFilter.Contains(filter, cmd[2]) ? Addition.Known : CuckooFilter.Add(filter, cmd[2], LayersMax(cmd), ref pushes);
        Report(cmd, isNew, addition == Addition.Added);
        if (addition is Addition.Known or Addition.Added)
        {
            cmd.Reply.Boolean(addition == Addition.Added);
            return;
        }

        cmd.Metrics.CountRefusedFilterAddition();
        cmd.Reply.Error(addition == Addition.TooManyLayers ? "Maximum expansions reached"u8 : addition == Addition.Full ? "Filter is full"u8 : "ERR Insufficient memory to create filter"u8);
    }

    private static void AddMany(scoped in CommandContext cmd, bool onlyNew)
    {
        long capacity = cmd.Settings.CuckooInitialSize;
        bool creates = true;
        int at = 2;
        for (; at < cmd.Count && !cmd.Is(at, "ITEMS"u8); at++)
        {
            if (cmd.Is(at, "NOCREATE"u8))
            {
                creates = false;
            }
            else if (!cmd.Is(at, "CAPACITY"u8))
            {
                cmd.Reply.Error("Unknown argument received"u8);
                return;
            }
            else if (at + 1 == cmd.Count)
            {
                break;
            }
            else if (!cmd.TryNumberOrReply(++at, "Bad capacity"u8, cmd.Settings.CuckooBucketSize * 2, CuckooFilter.CapacityMax, "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"u8, out capacity))
            {
                return;
            }
        }

        if (at + 1 >= cmd.Count)
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.OpenToInsertOrReply(SketchType.Cuckoo, creates, out Sketch filter)) return;
        bool isNew = !filter.Exists, changed = false;
        if (!isNew && !cmd.MayLookAtOrReply(CuckooFilter.PlacesOf(filter) * (cmd.Count - at - 1))) return;
        if (isNew && !TryCreateBySettingsOrReply(cmd, capacity, out filter)) return;
        int pushes = SketchLimits.PushesMax;
        cmd.Reply.Array(cmd.Count - at - 1);
        for (int i = at + 1; i < cmd.Count; i++)
        {
            Addition addition = onlyNew && CuckooFilter.Contains(filter, cmd[i]) ? Addition.Known : CuckooFilter.Add(filter, cmd[i], LayersMax(cmd), ref pushes);
            changed |= addition == Addition.Added;
            int result = addition == Addition.Added ? 1 : addition == Addition.Known ? 0 : -1;
            if (result < 0) cmd.Metrics.CountRefusedFilterAddition();
            if (onlyNew || result < 0) cmd.Reply.Integer(result);
            else cmd.Reply.Boolean(result > 0);
        }

        Report(cmd, isNew, changed);
    }

    private static int LayersMax(scoped in CommandContext cmd) => cmd.WasAccepted ? int.MaxValue : cmd.Settings.CuckooMaxExpansions;

    private static bool TryCreateBySettingsOrReply(scoped in CommandContext cmd, long capacity, out Sketch filter)
    {
        (int bucketSize, int iterations, int expansion) = (cmd.Settings.CuckooBucketSize, cmd.Settings.CuckooMaxIterations, cmd.Settings.CuckooExpansionFactor);
        capacity = Math.Max(capacity, bucketSize * 2);
        if (!TryCreateOrReply(cmd, capacity, bucketSize, iterations, expansion, out filter)) return false;

        // What the settings of this server determine is in the effect.
        cmd.Effect("CF.RESERVE"u8, 9).Argument(cmd[1]).Argument(capacity).Argument("BUCKETSIZE"u8).Argument(bucketSize)
            .Argument("MAXITERATIONS"u8).Argument(iterations).Argument("EXPANSION"u8).Argument(expansion);
        return true;
    }

    private static bool TryCreateOrReply(scoped in CommandContext cmd, long capacity, int bucketSize, int iterations, int expansion, out Sketch filter)
    {
        filter = default;
        if (CuckooFilter.BucketsFor(capacity, bucketSize) * bucketSize > SketchLimits.BytesMax)
        {
            cmd.Reply.Error("ERR Insufficient memory to create filter"u8);
            return false;
        }

        filter = cmd.Create(SketchType.Cuckoo);
        CuckooFilter.Initialize(filter, capacity, bucketSize, iterations, expansion);
        return true;
    }

    private static bool TryOptionOrReply(scoped in CommandContext cmd, string word, int min, int max, ref int value)
    {
        int at = cmd.IndexOf(System.Text.Encoding.ASCII.GetBytes(word), 3);
        if (at < 0) return true;
        bool isNumber = at + 1 < cmd.Count && RespNumber.TryParseInt64(cmd[at + 1], out long number) && (value = (int)Math.Clamp(number, int.MinValue, int.MaxValue)) == number;
        if (isNumber && value >= min && value <= max) return true;
        cmd.Reply.Error(isNumber ? string.Create(CultureInfo.InvariantCulture, $"{word}: value must be in the range [{min}, {max}]") : $"Couldn't parse {word}");
        return false;
    }

    private static void Report(scoped in CommandContext cmd, bool isNew, bool changed)
    {
        if (isNew)
        {
            cmd.Changed(1, Reserved);
            cmd.EffectOfRequest();
        }

        if (changed) cmd.Changed(1, Added, isNew ? 0 : 1);
    }
}
