using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>ARGREP: the elements of an array that match predicates.</summary>
internal static class ArraySearchCommands
{
    private const string Syntax = "key start:string end:string predicate:<EXACT string | MATCH string | GLOB pattern | RE pattern ...> options:[AND | OR | LIMIT limit:integer | WITHVALUES | NOCASE ...]";

    internal static readonly CommandFamily Family = new(ArrayCommands.Group, ArrayCommands.Category,
    [
        new("ARGREP", -6, CommandFlags.ReadOnly, ArrayCommands.Read, ArGrep,
            new("8.8.0", "O(N*P) where N is the number of elements in the range and P the time that the predicates take for one, which is proportional to its length.", "Returns the indexes of the elements of an array in a range that match predicates.", Syntax)),
    ]);

    // ARGREP key start end EXACT string | MATCH string | GLOB pattern | RE pattern ... [AND | OR] [LIMIT limit] [WITHVALUES] [NOCASE]
    private static void ArGrep(ref CommandContext cmd)
    {
        if (cmd.CompleteWalk() is ArraySearch complete)
        {
            if (cmd.OpenToReadArrayOrReply(out ArrayValue searched)) Reply(cmd, searched, complete);
            return;
        }

        if (!TryBoundOrReply(cmd, 2, out ulong from) || !TryBoundOrReply(cmd, 3, out ulong to)) return;
        if (!ArrayPredicates.TryReadOrReply(cmd, 4, out ArrayPredicates? predicates)) return;
        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        var search = new ArraySearch(predicates, array.Version, from, to);
        if (cmd.TryCompleteOrReply(array, search)) Reply(cmd, array, search);
    }

    // A complete search has the array's version, so what it has found is there.
    private static void Reply(scoped in CommandContext cmd, scoped ArrayValue array, ArraySearch search)
    {
        ReplyWriter reply = cmd.Reply;
        if (search.Error is { } error)
        {
            reply.Error(error);
            return;
        }

        ReadOnlySpan<ulong> found = search.Found;
        reply.Array(found.Length);
        foreach (ulong index in found)
        {
            if (!search.Predicates.WithValues) reply.Unsigned(index);
            else if (array.TryGet(index, out PackedElement element)) reply.Pair(index, element);
        }
    }

    private static bool TryBoundOrReply(scoped in CommandContext cmd, int argument, out ulong index)
    {
        index = 0;
        ReadOnlySpan<byte> text = cmd[argument];
        if (text.SequenceEqual("-"u8)) return true;
        if (!text.SequenceEqual("+"u8)) return cmd.TryIndexOrReply(argument, out index);
        index = ArrayData.IndexMax;
        return true;
    }
}
