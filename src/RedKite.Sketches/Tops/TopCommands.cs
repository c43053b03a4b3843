using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Store;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using ReadOnlyCommand = RedKite.Server.Model.CommandFlags;

namespace RedKite.Sketches.Tops;

/// <summary>Commands of top-k sketches.</summary>
internal static class TopCommands
{
    private const int WidthDefault = 8, DepthDefault = 7;
    private const double DecayDefault = 0.9;

    private static readonly KeyEvent Reserved = KeyEvents.Add("topk.reserve");
    private static readonly KeyEvent Added = KeyEvents.Add("topk.add");
    private static readonly KeyEvent Incremented = KeyEvents.Add("topk.incrby");

    private static readonly KeySpec[] Writes = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Inserts = KeySpecs.One(1, ReadWrite | Insert);
    private static readonly KeySpec[] Reads = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("module", "topk",
    [
        new("TOPK.RESERVE", -3, Write | DenyOom | Fast, Writes, Reserve, new("2.0.0", "O(1)", "Creates a top-k sketch.", "key topk:integer [width:integer depth:integer decay:double]")) { Module = ServerModule.Sketches },
        new("TOPK.ADD", -3, Write | DenyOom, Inserts, Add, new("2.0.0", "O(n * k) where n is the number of items and k is the depth", "Adds 1 to the counts of elements.", "key items [items ...]")) { Module = ServerModule.Sketches },
        new("TOPK.INCRBY", -4, Write | DenyOom, Inserts, IncrBy, new("2.0.0", "O(n * k * incr) where n is the number of items, k is the depth and incr is the increment", "Adds to the counts of elements.", "key (item increment:integer) [item increment ...]")) { Module = ServerModule.Sketches },
        new("TOPK.QUERY", -3, ReadOnlyCommand.ReadOnly, Reads, Query, new("2.0.0", "O(n) where n is the number of items", "Returns for each element whether it is among the first.", "key item [item ...]")) { Module = ServerModule.Sketches },
        new("TOPK.COUNT", -3, ReadOnlyCommand.ReadOnly, Reads, Count, new("2.0.0", "O(n) where n is the number of items", "Returns the counts of elements.", "key item [item ...]") { DeprecatedSince = "2.4.0" }) { Module = ServerModule.Sketches },
        new("TOPK.LIST", -2, ReadOnlyCommand.ReadOnly, Reads, List, new("2.0.0", "O(k*log(k)) where k is the value of top-k", "Returns the elements with the largest counts.", "key [WITHCOUNT]")) { Module = ServerModule.Sketches },
        new("TOPK.INFO", 2, ReadOnlyCommand.ReadOnly | Fast, Reads, Info, new("2.0.0", "O(1)", "Returns the parameters of a top-k sketch.", "key")) { Module = ServerModule.Sketches },
    ]);

    // TOPK.RESERVE key topk [width depth decay]
    private static void Reserve(ref CommandContext cmd)
    {
        if (cmd.Count is not (3 or 6))
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.IsMissingOrReply("TopK: key already exists"u8)) return;
        if (!cmd.TryNumberOrReply(2, "TopK: invalid k"u8, 1, uint.MaxValue, "TopK: invalid k"u8, out long top)) return;
        (long width, long depth, double decay) = (WidthDefault, DepthDefault, DecayDefault);
        if (cmd.Count == 6)
        {
            if (!cmd.TryNumberOrReply(3, "TopK: invalid width"u8, 1, uint.MaxValue, "TopK: invalid width"u8, out width)) return;
            if (!cmd.TryNumberOrReply(4, "TopK: invalid depth"u8, 1, uint.MaxValue, "TopK: invalid depth"u8, out depth)) return;
            if (!FloatText.TryParse(cmd[5], out decay) || !(decay > 0 && decay <= 1))
            {
                cmd.Reply.Error("TopK: invalid decay value. must be '<= 1' & '> 0'"u8);
                return;
            }
        }

        if (!TopSketch.Fits(top, width, depth))
        {
            cmd.Reply.Error("ERR Insufficient memory to create topk data structure"u8);
            return;
        }

        TopSketch.Initialize(cmd.Create(SketchType.Top), top, width, depth, decay);
        cmd.Changed(1, Reserved);
        cmd.Reply.Ok();
    }

    // TOPK.ADD key item [item ...]
    private static void Add(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Top, writes: true, "TopK: key does not exist"u8, out Sketch sketch)) return;
        if (!cmd.MayLookAtOrReply(TopSketch.PlacesOf(sketch) * (cmd.Count - 2))) return;
        int decays = SketchLimits.DecaysMax;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) AddOne(cmd.Reply, sketch, cmd[i], 1, ref decays);
        cmd.Changed(1, Added);
    }

    // TOPK.INCRBY key item increment [item increment ...]
    private static void IncrBy(ref CommandContext cmd)
    {
        if (cmd.Count % 2 != 0)
        {
            cmd.ReplyArity();
            return;
        }

        if (!cmd.OpenExistingOrReply(SketchType.Top, writes: true, "TopK: key does not exist"u8, out Sketch sketch)) return;
        if (!cmd.MayLookAtOrReply(TopSketch.PlacesOf(sketch) * (cmd.Count - 2))) return;
        int decays = SketchLimits.DecaysMax;
        cmd.Reply.Array((cmd.Count / 2) - 1);
        bool changed = false;
        for (int i = 2; i < cmd.Count; i += 2)
        {
            if (RespNumber.TryParseInt64(cmd[i + 1], out long increment) && increment is >= 0 and <= TopSketch.IncrementMax)
            {
                AddOne(cmd.Reply, sketch, cmd[i], increment, ref decays);
                changed = true;
            }
            else
            {
                cmd.Reply.Error("TopK: increment must be an integer greater or equal to 0                             and smaller or equal to 100,000"u8);
            }
        }

        if (changed) cmd.Changed(1, Incremented);
    }

    // TOPK.QUERY key item [item ...]
    private static void Query(ref CommandContext cmd)
    {
        if (!OpenElementsOrReply(cmd, out Sketch sketch)) return;
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Boolean(TopSketch.IsListed(sketch, cmd[i]));
    }

    // TOPK.COUNT key item [item ...]
    private static void Count(ref CommandContext cmd)
    {
        if (!OpenElementsOrReply(cmd, out Sketch sketch)) return;
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Integer(TopSketch.CountOf(sketch, cmd[i]));
    }

    // TOPK.LIST key [WITHCOUNT]
    private static void List(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            cmd.ReplyArity();
            return;
        }

        if (cmd.Count == 3 && !cmd.Is(2, "WITHCOUNT"u8))
        {
            cmd.Reply.Error("WITHCOUNT keyword expected"u8);
            return;
        }

        if (!cmd.OpenExistingOrReply(SketchType.Top, writes: false, "TopK: key does not exist"u8, out Sketch sketch)) return;
        ReadOnlySpan<ulong> order = TopOrder.Of(sketch);
        cmd.Reply.Array(order.Length * (cmd.Count - 1));
        foreach (ulong place in order)
        {
            cmd.Reply.Bulk(TopSketch.Name(sketch, (int)(uint)place));
            if (cmd.Count == 3) cmd.Reply.Integer(TopSketch.ListedCount(sketch, (int)(uint)place));
        }
    }

    // TOPK.INFO key
    private static void Info(ref CommandContext cmd)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Top, writes: false, "TopK: key does not exist"u8, out Sketch sketch)) return;
        cmd.Reply.Map(4);
        cmd.Reply.Field("k"u8, TopSketch.Top(sketch));
        cmd.Reply.Field("width"u8, TopSketch.Width(sketch));
        cmd.Reply.Field("depth"u8, TopSketch.Depth(sketch));
        cmd.Reply.SimpleString("decay"u8);
        cmd.Reply.Double(TopSketch.Decay(sketch));
    }

    // Opens the sketch of a command with elements, and begins the reply.
    private static bool OpenElementsOrReply(scoped in CommandContext cmd, out Sketch sketch)
    {
        if (!cmd.OpenExistingOrReply(SketchType.Top, writes: false, "TopK: key does not exist"u8, out sketch)) return false;
        if (!cmd.MayLookAtOrReply(TopSketch.PlacesOf(sketch) * (cmd.Count - 2))) return false;
        cmd.Reply.Array(cmd.Count - 2);
        return true;
    }

    private static void AddOne(ReplyWriter reply, Sketch sketch, ReadOnlySpan<byte> element, long increment, ref int decays)
    {
        uint count = TopSketch.Add(sketch, element, increment, ref decays, out int expelled);
        if (expelled >= 0) reply.Bulk(TopSketch.Name(sketch, expelled));
        else reply.Null();
        if (count > 0) TopSketch.Place(sketch, element, count);
    }
}
