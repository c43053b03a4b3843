using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Store;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using ReadOnlyCommand = RedKite.Server.Model.CommandFlags;

namespace RedKite.Sketches.Bloom;

/// <summary>Commands of Bloom filters.</summary>
internal static class BloomCommands
{
    private const string PerItem = "O(k), where k is the number of hash functions used by the last sub-filter";
    private const string PerItems = "O(k * n), where k is the number of hash functions and n is the number of items";

    private static readonly KeyEvent Reserved = KeyEvents.Add("bf.reserve");
    private static readonly KeyEvent Added = KeyEvents.Add("bf.add");
    private static readonly KeyEvent Loaded = KeyEvents.Add("bf.loadchunk");

    private static readonly KeySpec[] Writes = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Inserts = KeySpecs.One(1, ReadWrite | KeyFlags.Insert);
    private static readonly KeySpec[] Reads = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("module", "bloom",
    [
        new("BF.RESERVE", -4, Write | DenyOom | Fast, Writes, Reserve, new("1.0.0", "O(1)", "Creates a Bloom filter.", "key error_rate:double capacity:integer [EXPANSION expansion:integer] [NONSCALING]")) { Module = ServerModule.Sketches },
        new("BF.ADD", 3, Write | DenyOom | Fast, Inserts, Add, new("1.0.0", PerItem, "Adds an element to a Bloom filter, which is created if it is missing.", "key item")) { Module = ServerModule.Sketches },
        new("BF.MADD", -3, Write | DenyOom, Inserts, MAdd, new("1.0.0", PerItems, "Adds elements to a Bloom filter, which is created if it is missing.", "key item [item ...]")) { Module = ServerModule.Sketches },
        new("BF.INSERT", -4, Write | DenyOom, Inserts, Insert, new("1.0.0", PerItems, "Adds elements to a Bloom filter, which is created as the options say if it is missing.",
            "key [CAPACITY capacity:integer] [ERROR error:double] [EXPANSION expansion:integer] [NOCREATE] [NONSCALING] ITEMS item [item ...]")) { Module = ServerModule.Sketches },
        new("BF.EXISTS", 3, ReadOnlyCommand.ReadOnly | Fast, Reads, Exists, new("1.0.0", "O(k), where k is the number of hash functions used by the last sub-filter", "Returns whether a Bloom filter may have an element.", "key item")) { Module = ServerModule.Sketches },
        new("BF.MEXISTS", -3, ReadOnlyCommand.ReadOnly, Reads, MExists, new("1.0.0", PerItems, "Returns for each element whether a Bloom filter may have it.", "key item [item ...]")) { Module = ServerModule.Sketches },
        new("BF.INFO", -2, ReadOnlyCommand.ReadOnly | Fast, Reads, Info, new("1.0.0", "O(1)", "Returns what a Bloom filter is like.", "key [single_value:<CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION>]")) { Module = ServerModule.Sketches },
        new("BF.CARD", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Card, new("2.4.4", "O(1)", "Returns how many elements were added to a Bloom filter.", "key")) { Module = ServerModule.Sketches },
        new("BF.DEBUG", 2, ReadOnlyCommand.ReadOnly, Reads, Debug, new("1.0.0", "O(n), where n is the number of sub-filters", "Returns the layers of a Bloom filter.", "key")) { Module = ServerModule.Sketches },
        new("BF.SCANDUMP", 3, ReadOnlyCommand.ReadOnly, Reads, ScanDump, new("1.0.0", "O(n), where n is the capacity", "Returns a part of a Bloom filter, for BF.LOADCHUNK.", "key iterator:integer")) { Module = ServerModule.Sketches },
        new("BF.LOADCHUNK", 4, Write | DenyOom, Writes, LoadChunk, new("1.0.0", "O(n), where n is the capacity", "Restores a part of a Bloom filter from BF.SCANDUMP.", "key iterator:integer data")) { Module = ServerModule.Sketches },
    ]);

    // BF.RESERVE key error_rate capacity [EXPANSION expansion] [NONSCALING]
    private static void Reserve(ref CommandContext cmd)
    {
        if (cmd.Count > 7)
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.IsNewFilterOrReply(SketchType.Bloom)) return;
        if (!FloatText.TryParse(cmd[2], out double errorRate))
        {
            cmd.Reply.Error("ERR bad error rate"u8);
            return;
        }

        if (!(errorRate > 0 && errorRate < 1))
        {
            cmd.Reply.Error("ERR error rate must be in the range (0.000000, 1.000000)"u8);
            return;
        }

        if (!cmd.TryNumberOrReply(3, "ERR bad capacity"u8, 1, BloomFilter.CapacityMax, "ERR capacity must be in the range [1, 1073741824]"u8, out long capacity)) return;
        long expansion = cmd.Settings.BloomExpansionFactor;
        bool isFixed = cmd.IndexOf("NONSCALING"u8, 4) >= 0;
        int at = cmd.IndexOf("EXPANSION"u8, 4);
        if (at >= 0)
        {
            if (at + 1 == cmd.Count)
            {
                cmd.Reply.Error("ERR no expansion"u8);
                return;
            }

            if (!cmd.TryNumberOrReply(at + 1, "ERR bad expansion"u8, 0, BloomFilter.ExpansionMax, "ERR expansion must be in the range [0, 32768]"u8, out expansion)) return;
            if (isFixed && expansion > 0)
            {
                cmd.Reply.Error("Nonscaling filters cannot expand"u8);
                return;
            }
        }

        if (isFixed) expansion = 0;
        if (!TryCreateOrReply(cmd, errorRate, capacity, (int)expansion, out _)) return;
        cmd.Changed(1, Reserved);
        if (at < 0) WriteReserve(cmd, errorRate, capacity, (int)expansion);
        cmd.Reply.Ok();
    }

    // BF.ADD key item
    private static void Add(ref CommandContext cmd)
    {
        if (!OpenOrCreateOrReply(cmd, out Sketch filter, out bool isNew)) return;
        Addition addition = BloomFilter.Add(filter, cmd[2]);
        Report(cmd, isNew, addition == Addition.Added ? 1 : 0);
        ReplyAddition(cmd, addition);
    }

    // BF.MADD key item [item ...]
    private static void MAdd(ref CommandContext cmd)
    {
        if (OpenOrCreateOrReply(cmd, out Sketch filter, out bool isNew)) AddAll(cmd, filter, isNew, 2);
    }

    // BF.INSERT key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] ITEMS item [item ...]
    private static void Insert(ref CommandContext cmd)
    {
        double errorRate = cmd.Settings.BloomErrorRate;
        long capacity = cmd.Settings.BloomInitialSize, expansion = cmd.Settings.BloomExpansionFactor;
        bool creates = true, isFixed = false, expands = false;
        int at = 2;
        for (; at < cmd.Count && !cmd.Is(at, "ITEMS"u8); at++)
        {
            if (cmd.Is(at, "NOCREATE"u8)) creates = false;
            else if (cmd.Is(at, "NONSCALING"u8)) isFixed = true;
            else if (at + 1 == cmd.Count) break;
            else if (cmd.Is(at, "CAPACITY"u8))
            {
                if (!cmd.TryNumberOrReply(++at, "Bad capacity"u8, 1, BloomFilter.CapacityMax, "Bad capacity"u8, out capacity)) return;
            }
            else if (cmd.Is(at, "EXPANSION"u8))
            {
                if (!cmd.TryNumberOrReply(++at, "Bad expansion"u8, 0, BloomFilter.ExpansionMax, "Bad expansion"u8, out expansion)) return;
                expands = expansion > 0;
            }
            else if (cmd.Is(at, "ERROR"u8))
            {
                if (FloatText.TryParse(cmd[++at], out errorRate) && errorRate > 0 && errorRate < 1) continue;
                cmd.Reply.Error("Bad error rate"u8);
                return;
            }
            else
            {
                cmd.Reply.Error("Unknown argument received"u8);
                return;
            }
        }

        if (at + 1 >= cmd.Count)
        {
            cmd.ReplyArity();
            return;
        }

        if (isFixed && expands)
        {
            cmd.Reply.Error("Nonscaling filters cannot expand"u8);
            return;
        }

        if (!cmd.OpenToInsertOrReply(SketchType.Bloom, creates, out Sketch filter)) return;
        bool isNew = !filter.Exists;
        if (isNew && !TryCreateOrReply(cmd, errorRate, capacity, isFixed ? 0 : (int)expansion, out filter)) return;
        if (isNew) WriteReserve(cmd, errorRate, capacity, isFixed ? 0 : (int)expansion);
        AddAll(cmd, filter, isNew, at + 1);
    }

    // BF.EXISTS key item
    private static void Exists(ref CommandContext cmd) => cmd.ReplyContains(SketchType.Bloom, BloomFilter.Contains);

    // BF.MEXISTS key item [item ...]
    private static void MExists(ref CommandContext cmd) => cmd.ReplyContainsEach(SketchType.Bloom, BloomFilter.Contains, BloomFilter.PlacesOf);

    // BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]
    private static void Info(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.OpenExistingOrReply(SketchType.Bloom, writes: false, "ERR not found"u8, out Sketch filter)) return;
        int field = cmd.Count == 2 ? -1 : cmd.Is(2, "CAPACITY"u8) ? 0 : cmd.Is(2, "SIZE"u8) ? 1 : cmd.Is(2, "FILTERS"u8) ? 2 : cmd.Is(2, "ITEMS"u8) ? 3 : cmd.Is(2, "EXPANSION"u8) ? 4 : 5;
        if (field == 5)
        {
            cmd.Reply.Error("Invalid information value"u8);
            return;
        }

        ReplyWriter reply = cmd.Reply;
        if (field < 0 || reply.Resp3) reply.Map(field < 0 ? 5 : 1);
        else reply.Array(1);
        bool hasNames = field < 0 || reply.Resp3;
        for (int i = Math.Max(0, field); i <= (field < 0 ? 4 : field); i++)
        {
            (string name, long value) = i switch
            {
                0 => ("Capacity", BloomFilter.Capacity(filter)),
                1 => ("Size", filter.MemoryBytes),
                2 => ("Number of filters", filter.PartCount),
                3 => ("Number of items inserted", BloomFilter.Count(filter)),
                _ => ("Expansion rate", BloomFilter.Expansion(filter)),
            };
            if (hasNames) reply.SimpleString(System.Text.Encoding.ASCII.GetBytes(name));
            if (i == 4 && value == 0) reply.Null();
            else reply.Integer(value);
        }
    }

    // BF.CARD key
    private static void Card(ref CommandContext cmd)
    {
        if (cmd.OpenToReadOrReply(SketchType.Bloom, out Sketch filter)) cmd.Reply.Integer(filter.Exists ? BloomFilter.Count(filter) : 0);
    }

    // BF.DEBUG key
    private static void Debug(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Bloom, writes: false, "ERR not found"u8, out Sketch filter)) return;
        cmd.Reply.Array(filter.PartCount + 1);
        cmd.Reply.Bulk(string.Create(CultureInfo.InvariantCulture, $"size:{BloomFilter.Count(filter)}"));
        for (int i = 0; i < filter.PartCount; i++)
        {
            (long items, long capacity, int hashes, double errorRate) = BloomFilter.Layer(filter, i);
            cmd.Reply.Bulk(string.Create(CultureInfo.InvariantCulture, $"bytes:{filter.PartBytes(i)} bits:{filter.PartBytes(i) * 8} hashes:{hashes} hashwidth:64 capacity:{capacity} size:{items} ratio:{errorRate:G6}"));
        }
    }

    // BF.SCANDUMP key iterator
    private static void ScanDump(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Bloom, writes: false, "ERR not found"u8, out Sketch filter)) return;
        if (cmd.TryNumberOrReply(2, "Second argument must be numeric"u8, 0, long.MaxValue, "Second argument must be numeric"u8, out long position)) SketchChunks.ReplyChunk(cmd, filter, position);
    }

    // BF.LOADCHUNK key iterator data
    private static void LoadChunk(ref CommandContext cmd)
    {
        if (!cmd.TryNumberOrReply(2, "ERR Second argument must be numeric"u8, long.MinValue, long.MaxValue, default, out long position)) return;
        if (!cmd.OpenToWriteOrReply(SketchType.Bloom, out Sketch filter)) return;
        ReadOnlySpan<byte> error;
        if (position == 1) error = !filter.Exists && SketchChunks.TryLoadHeader(cmd, SketchType.Bloom, BloomFilter.IsValid, cmd[3]) ? default : "ERR received bad data"u8;
        else error = filter.Exists ? SketchChunks.Load(filter, position, cmd[3]) : "ERR not found"u8;
        if (!error.IsEmpty)
        {
            cmd.Reply.Error(error);
            return;
        }

        cmd.Changed(1, Loaded);
        cmd.Reply.Ok();
    }

    private static bool OpenOrCreateOrReply(scoped in CommandContext cmd, out Sketch filter, out bool isNew)
    {
        isNew = false;
        if (!cmd.OpenToWriteOrReply(SketchType.Bloom, out filter)) return false;
        isNew = !filter.Exists;
        if (!isNew) return true;
        (double errorRate, int capacity, int expansion) = (cmd.Settings.BloomErrorRate, cmd.Settings.BloomInitialSize, cmd.Settings.BloomExpansionFactor);
        if (!TryCreateOrReply(cmd, errorRate, capacity, expansion, out filter)) return false;
        WriteReserve(cmd, errorRate, capacity, expansion);
        return true;
    }

    private static bool TryCreateOrReply(scoped in CommandContext cmd, double errorRate, long capacity, int expansion, out Sketch filter)
    {
        filter = default;
        if (BloomFilter.BytesFor(BloomFilter.FirstErrorRate(errorRate, expansion), capacity) > SketchLimits.BytesMax)
        {
            cmd.Reply.Error("ERR Insufficient memory to create filter"u8);
            return false;
        }

        filter = cmd.Create(SketchType.Bloom);
        BloomFilter.Initialize(filter, errorRate, capacity, expansion);
        return true;
    }

    // What the settings of this server determine is in the effect.
    private static void WriteReserve(scoped in CommandContext cmd, double errorRate, long capacity, int expansion)
    {
        if (expansion == 0) cmd.Effect("BF.RESERVE"u8, 5).Argument(cmd[1]).Argument(errorRate).Argument(capacity).Argument("NONSCALING"u8);
        else cmd.Effect("BF.RESERVE"u8, 6).Argument(cmd[1]).Argument(errorRate).Argument(capacity).Argument("EXPANSION"u8).Argument(expansion);
    }

    private static void AddAll(scoped in CommandContext cmd, Sketch filter, bool isNew, int start)
    {
        if (!isNew && !cmd.MayLookAtOrReply(BloomFilter.PlacesOf(filter) * (cmd.Count - start))) return;
        long reply = cmd.Reply.BeginArray();
        Span<SketchHash> elements = stackalloc SketchHash[SketchBits.HashesMax];
        Span<Addition> additions = stackalloc Addition[SketchBits.HashesMax];
        int replies = 0, added = 0;
        for (bool goesOn = true; goesOn && start + replies < cmd.Count;)
        {
            int count = Math.Min(elements.Length, cmd.Count - start - replies);
            for (int i = 0; i < count; i++) elements[i] = SketchHash.Of(cmd[start + replies + i]);
            count = BloomFilter.Add(filter, elements[..count], additions);
            foreach (Addition addition in additions[..count])
            {
                ReplyAddition(cmd, addition);
                if (addition == Addition.Added) added++;
                goesOn = addition is Addition.Known or Addition.Added;
            }

            replies += count;
        }

        cmd.Reply.EndArray(reply, replies);
        Report(cmd, isNew, added, start);
    }

    private static void Report(scoped in CommandContext cmd, bool isNew, int added, int start = 2)
    {
        if (isNew)
        {
            cmd.Changed(1, Reserved);
            EffectArguments effect = cmd.Effect("BF.MADD"u8, 2 + cmd.Count - start).Argument(cmd[1]);
            for (int i = start; i < cmd.Count; i++) effect = effect.Argument(cmd[i]);
        }

        if (added > 0) cmd.Changed(1, Added, isNew ? 0 : 1);
    }

    private static void ReplyAddition(scoped in CommandContext cmd, Addition addition)
    {
        ReplyWriter reply = cmd.Reply;
        if (addition is Addition.Known or Addition.Added)
        {
            reply.Boolean(addition == Addition.Added);
            return;
        }

        cmd.Metrics.CountRefusedFilterAddition();
        if (addition == Addition.Full) reply.Error("ERR non scaling filter is full"u8);
        else if (addition == Addition.TooManyLayers) reply.Error("Maximum expansions reached"u8);
        else reply.Error("ERR Insufficient memory to create filter"u8);
    }
}
