using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Values.VectorSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>
/// Commands of vector sets that add, change and read elements by name. VSIM is in VectorSearchCommands, and what lists elements is in
/// VectorListCommands. In Redis they are a module's, so they have no access categories, and their errors have their names in capitals.
/// </summary>
internal static class VectorSetCommands
{
    internal const string Group = "module";

    internal static readonly KeySpec[] Key = KeySpecs.One(1, ReadWrite | Access | Update);

    internal static readonly CommandFamily Family = new(Group, "",
    [
        new("VADD", -5, Write | DenyOom, Key, VAdd,
            new("8.0.0", "O(log(N)) where N is the number of elements.", "Adds an element with its vector to a vector set, or replaces its vector.",
                "key reduce:[REDUCE (dim:integer)] format:<FP32 | VALUES> vector element [CAS] quant_type:[NOQUANT | BIN | Q8] [EF build-exploration-factor:integer] [SETATTR attributes] [M numlinks:integer]")) { Module = ServerModule.VectorSets },
        new("VREM", 3, Write, Key, VRem,
            new("8.0.0", "O(log(N)) where N is the number of elements.", "Removes an element. Deletes the key with the last element.", "key element")) { Module = ServerModule.VectorSets },
        new("VSETATTR", 4, Write | Fast, Key, VSetAttr,
            new("8.0.0", "O(1)", "Sets an element's attributes, or removes them.", "key element json")) { Module = ServerModule.VectorSets },
        new("VGETATTR", 3, CommandFlags.ReadOnly | Fast, Key, VGetAttr,
            new("8.0.0", "O(1)", "Returns an element's attributes.", "key element")) { Module = ServerModule.VectorSets },
        new("VEMB", -3, CommandFlags.ReadOnly | Fast, Key, VEmb,
            new("8.0.0", "O(D) where D is the number of dimensions.", "Returns an element's vector.", "key element [RAW]")) { Module = ServerModule.VectorSets },
        new("VISMEMBER", 3, CommandFlags.ReadOnly, Key, VIsMember,
            new("8.2.0", "O(1)", "Returns whether a vector set has an element.", "key element")) { Module = ServerModule.VectorSets },
        new("VCARD", 2, CommandFlags.ReadOnly | Fast, Key, VCard,
            new("8.0.0", "O(1)", "Returns the number of elements.", "key")) { Module = ServerModule.VectorSets },
        new("VDIM", 2, CommandFlags.ReadOnly | Fast, Key, VDim,
            new("8.0.0", "O(1)", "Returns the number of dimensions of a vector set's vectors.", "key")) { Module = ServerModule.VectorSets },
        new("VINFO", 2, CommandFlags.ReadOnly | Fast, Key, VInfo,
            new("8.0.0", "O(1)", "Returns what a vector set is like.", "key")) { Module = ServerModule.VectorSets },
    ]);

    // VADD key [REDUCE dim] (FP32 bytes | VALUES num number ...) element [CAS] [NOQUANT | Q8 | BIN] [EF effort] [SETATTR attributes] [M links]
    private static void VAdd(ref CommandContext cmd)
    {
        if (!VectorAddOptions.TryReadOrReply(cmd, out VectorAddOptions options, out Span<float> vector)) return;
        if (!cmd.OpenToWriteVectorSetOrReply(out VectorSetValue set)) return;
        VectorSearchWork? complete = cmd.CompleteSearch(isNewSet: !set.Exists);
        if (set.Exists)
        {
            if (!options.FitOrReply(cmd, set.Form, vector.Length)) return;
        }
        else
        {
            if (!options.TryFormOrReply(cmd, vector.Length, out VectorSetForm form)) return;
            set = complete is null ? VectorSetValue.Draft(cmd.Database, cmd.HashOf(1), form) : complete.TakeNewSet();
        }

        VectorSearch neighbours = complete?.Search ?? set.BeginAdding(vector, options.Effort);
        if (!cmd.TryComplete(set, neighbours)) return;
        if (set.IsDraft) set = set.Attach(cmd[1], cmd.HashOf(1), cmd.Accesses.NewClock);
        ReadOnlySpan<byte> attributes = options.Attributes > 0 ? cmd[options.Attributes] : default;
        bool isNew = set.Add(cmd[options.Element], neighbours, options.Effort, attributes, keepsAttributes: options.Attributes == 0);
        cmd.Changed(1, KeyEvent.Silent);
        options.ReportWithoutThreads(cmd);
        cmd.Reply.Boolean(isNew);
    }

    // VREM key element
    private static void VRem(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteVectorSetOrReply(out VectorSetValue set)) return;
        bool removed = set.Exists && set.Remove(cmd[2]);
        if (removed) cmd.Changed(1, KeyEvent.Silent);
        cmd.Reply.Boolean(removed);
    }

    // VSETATTR key element attributes
    private static void VSetAttr(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteVectorSetOrReply(out VectorSetValue set)) return;
        VectorElement element = set.Find(cmd[2]);
        if (element.Exists)
        {
            set.SetAttributes(element, cmd[3]);
            cmd.Changed(1, KeyEvent.Silent);
        }

        cmd.Reply.Boolean(element.Exists);
    }

    // VGETATTR key element
    private static void VGetAttr(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        VectorElement element = set.Find(cmd[2]);
        if (element.Exists) cmd.Reply.Attributes(element);
        else cmd.Reply.Null();
    }

    // VEMB key element [RAW]
    private static void VEmb(ref CommandContext cmd)
    {
        for (int i = 3; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "RAW"u8)) continue;
            cmd.Reply.Error("ERR invalid option"u8);
            return;
        }

        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        VectorElement element = set.Find(cmd[2]);
        if (!element.Exists) cmd.Reply.Null();
        else if (cmd.Count > 3) ReplyStored(cmd.Reply, set.Form.Quantization, element);
        else ReplyVector(cmd.Reply, set.Form.Dimensions, element);
    }

    // VISMEMBER key element
    private static void VIsMember(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        cmd.Reply.Boolean(set.Find(cmd[2]).Exists);
    }

    // VCARD key
    private static void VCard(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        cmd.Reply.Integer(set.Count);
    }

    // VDIM key
    private static void VDim(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        if (set.Exists) cmd.Reply.Integer(set.Form.Dimensions);
        else cmd.Reply.Error("ERR key does not exist"u8);
    }

    // VINFO key
    private static void VInfo(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        if (!set.Exists)
        {
            cmd.Reply.NullArray();
            return;
        }

        ReplyWriter reply = cmd.Reply;
        VectorSetForm form = set.Form;
        reply.Map(9);
        reply.SimpleString("quant-type"u8);
        reply.SimpleString(VectorSetAccess.NameOf(form.Quantization));
        Number(reply, "hnsw-m"u8, form.Links);
        Number(reply, "vector-dim"u8, form.Dimensions);
        Number(reply, "projection-input-dim"u8, form.ProjectedFrom);
        Number(reply, "size"u8, set.Count);
        Number(reply, "max-level"u8, set.TopLevel);
        Number(reply, "attributes-count"u8, set.WithAttributes);
        Number(reply, "vset-uid"u8, set.Id);
        Number(reply, "hnsw-max-node-uid"u8, (long)set.Additions);
    }

    private static void Number(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.SimpleString(name);
        reply.Integer(value);
    }

    private static void ReplyVector(ReplyWriter reply, int dimensions, VectorElement element)
    {
        Span<float> vector = VectorSearch.Scratch.Floats(dimensions);
        element.Read(vector);
        reply.Array(dimensions);
        foreach (float component in vector) reply.Double(component);
    }

    private static void ReplyStored(ReplyWriter reply, VectorQuantization quantization, VectorElement element)
    {
        reply.Array(quantization == VectorQuantization.Int8 ? 4 : 3);
        reply.SimpleString(VectorSetAccess.NameOf(quantization));
        reply.Bulk(element.Stored);
        reply.Double(element.Norm);
        if (quantization == VectorQuantization.Int8) reply.Double(element.Range);
    }
}
