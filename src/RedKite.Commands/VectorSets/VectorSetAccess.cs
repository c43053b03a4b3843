using System.Buffers.Binary;
using System.Runtime.InteropServices;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>Opens vector sets for handlers, reads vectors, and replies what the family's commands have in common.</summary>
internal static class VectorSetAccess
{
    /// <summary>Opens a key's vector set to read it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToReadVectorSetOrReply(this scoped in CommandContext cmd, out VectorSetValue set) =>
        TryOpenOrReply(cmd, cmd.Environment.Blocking.IsServing ? cmd.Peek(1) : cmd.Find(1), out set); // a client that has waited was counted before

    /// <summary>Opens a key's vector set to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteVectorSetOrReply(this scoped in CommandContext cmd, out VectorSetValue set) => TryOpenOrReply(cmd, cmd.FindToWrite(1), out set);

    /// <summary>
    /// Runs a search for what the command wants. One that takes longer than a slice goes on while the client waits; then the command executes
    /// again, and gets it complete.
    /// </summary>
    /// <param name="search">The search that has begun; where the client has waited, the one that is complete.</param>
    /// <returns>False: the client waits, or has got an error; the handler must not reply, and a draft is not its own any more.</returns>
    internal static bool TryComplete(this scoped in CommandContext cmd, VectorSetValue set, VectorSearch search)
    {
        if (search.IsComplete) return EndOrReply(cmd, search);
        const long SliceSteps = VectorSearchWork.SliceBytes / VectorSearchWork.BytesPerStep;
        bool isComplete = search.Run(set, cmd.StepsOfSlice(SliceSteps) * VectorSearchWork.BytesPerStep);
        cmd.EndSlice(SliceSteps, search.BytesRead / VectorSearchWork.BytesPerStep);
        if (isComplete) return EndOrReply(cmd, search);
        var work = new VectorSearchWork(cmd.Database, cmd.HashOf(1), set, search);
        if (cmd.BlockOnWork(work))
        {
            work.Stop();
            return false;
        }

        long before = search.BytesRead;
        isComplete = search.Run(set, cmd.StepsAtOnce() * VectorSearchWork.BytesPerStep);
        if (!isComplete && set.IsDraft) set.Discard();
        return cmd.EndAtOnceOrReply((search.BytesRead - before) / VectorSearchWork.BytesPerStep, isComplete) && EndOrReply(cmd, search);
    }

    /// <summary>The search that the client has waited for, if it is complete; otherwise null.</summary>
    /// <param name="isNewSet">Whether it is that of a new set's first element.</param>
    internal static VectorSearchWork? CompleteSearch(this scoped in CommandContext cmd, bool isNewSet = false) =>
        cmd.Environment.Blocking.CompleteWork is VectorSearchWork work && work.IsOfNewSet == isNewSet ? work : null;

    /// <summary>Whether there are not too many arguments; otherwise replies that there are, with the name as Redis's module has it.</summary>
    internal static bool IsCountOrReply(this scoped in CommandContext cmd, string name, int max)
    {
        if (cmd.Count <= max) return true;
        cmd.ReplyWrongCount(name);
        return false;
    }

    internal static void ReplyWrongCount(this scoped in CommandContext cmd, string name) => cmd.Reply.Error($"ERR wrong number of arguments for '{name}' command");

    /// <summary>Reads a vector: FP32 and its bytes, or VALUES, their number, and so many numbers. Otherwise replies that it is none.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="at">The argument of the word; then the first one behind the vector.</param>
    /// <param name="vector">The components, valid until the thread reads another vector.</param>
    internal static bool TryVectorOrReply(this scoped in CommandContext cmd, scoped ref int at, out Span<float> vector)
    {
        if (TryVector(cmd, ref at, out vector)) return vector.Length <= VectorSetLimits.DimensionsMax || ReplyTooManyDimensions(cmd);
        cmd.Reply.Error("ERR invalid vector specification"u8);
        return false;
    }

    /// <summary>Replies that a vector does not fit the set.</summary>
    internal static void ReplyDimensions(this scoped in CommandContext cmd, int given, int expected) =>
        cmd.Reply.Error($"ERR Vector dimension mismatch - got {given} but set has {expected}");

    internal static void ReplyProjection(this scoped in CommandContext cmd, int given, int expected) =>
        cmd.Reply.Error($"ERR Input dimension mismatch for projection - got {given} but projection expects {expected}");

    internal static bool ReplyTooManyDimensions(scoped in CommandContext cmd)
    {
        cmd.Reply.Error($"ERR a vector has at most {VectorSetLimits.DimensionsMax} dimensions, and a projection {VectorSetLimits.NewProjectionFloatsMax} components");
        return false;
    }

    /// <summary>The score of a distance: 1 for the same direction, 0 for the opposite one.</summary>
    internal static double ScoreOf(float distance) => 1.0 - (distance / 2.0);

    internal static ReadOnlySpan<byte> NameOf(VectorQuantization quantization) => quantization switch
    {
        VectorQuantization.None => "f32"u8,
        VectorQuantization.Int8 => "int8"u8,
        _ => "bin"u8,
    };

    /// <summary>An element's attributes, or null.</summary>
    internal static void Attributes(this ReplyWriter reply, VectorElement element)
    {
        if (element.Attributes.IsEmpty) reply.Null();
        else reply.Bulk(element.Attributes);
    }

    private static bool EndOrReply(scoped in CommandContext cmd, VectorSearch search)
    {
        cmd.Metrics.CountVectorSearch(search.BytesRead);
        if (search.HasFailed) cmd.Reply.Error("ERR the FILTER takes too long for the attributes of one element"u8);
        return !search.HasFailed;
    }

    private static bool TryVector(scoped in CommandContext cmd, scoped ref int at, out Span<float> vector)
    {
        vector = default;
        if (at + 1 >= cmd.Count) return false;
        if (cmd.Is(at, "FP32"u8))
        {
            ReadOnlySpan<byte> bytes = cmd[at + 1];
            if (bytes.IsEmpty || bytes.Length % sizeof(float) != 0) return false;
            vector = VectorSearch.Scratch.Floats(Math.Min(bytes.Length / sizeof(float), VectorSetLimits.DimensionsMax + 1));
            if (BitConverter.IsLittleEndian) bytes[..(vector.Length * sizeof(float))].CopyTo(MemoryMarshal.AsBytes(vector));
            else for (int i = 0; i < vector.Length; i++) vector[i] = BinaryPrimitives.ReadSingleLittleEndian(bytes[(i * sizeof(float))..]);
            at += 2;
            return true;
        }

        if (!cmd.Is(at, "VALUES"u8) || !RespNumber.TryParseInt64(cmd[at + 1], out long count) || count < 1 || count > cmd.Count - at - 2) return false;
        vector = VectorSearch.Scratch.Floats((int)count);
        for (int i = 0; i < vector.Length; i++)
        {
            if (!FloatText.TryParse(cmd[at + 2 + i], out double component)) return false;
            vector[i] = (float)component;
        }

        at += 2 + (int)count;
        return true;
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out VectorSetValue set)
    {
        set = default;
        if (!cmd.IsTypeOrReply(entry, DataType.VectorSet)) return false;
        set = VectorSetValue.Of(cmd.Database, entry);
        return true;
    }
}
