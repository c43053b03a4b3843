using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Lists;

/// <summary>
/// List commands that block while their lists are empty. The table is their single declaration and this file's
/// contents. A blocked command is executed again when one of its keys may have elements.
/// </summary>
internal static class BlockingListCommands
{
    private const CommandFlags Usual = Write | CommandFlags.Blocking;

    internal static readonly CommandFamily Family = new("list", "list",
    [
        new("BLPOP", -3, Usual, KeySpecs.Range(1, -2, 1, ReadWrite | Access | Delete), BLPop,
            new("2.0.0", "O(N) where N is the number of provided keys.", "Removes and returns the first element of the first of several lists that is not empty. Blocks until there is an element.", "key [key ...] timeout:double") { History = [("6.0.0", "The timeout may have a fraction.")] }),
        new("BRPOP", -3, Usual, KeySpecs.Range(1, -2, 1, ReadWrite | Access | Delete), BRPop,
            new("2.0.0", "O(N) where N is the number of provided keys.", "Removes and returns the last element of the first of several lists that is not empty. Blocks until there is an element.", "key [key ...] timeout:double") { History = [("6.0.0", "The timeout may have a fraction.")] }),
        new("BLMOVE", 6, Usual | DenyOom, ListMoves.SourceAndDestination, BLMove,
            new("6.2.0", "O(1)", "Pops an element from either end of a list, pushes it to either end of another list and returns it. Blocks until there is an element.", "source:key destination:key wherefrom:<LEFT | RIGHT> whereto:<LEFT | RIGHT> timeout:double")),
        new("BLMOVEM", -6, Usual | DenyOom, ListMoves.SourceAndDestination, ListBlockMoves.BLMoveM,
            new("8.10.0", "O(N) where N is the number of elements moved.", "Moves several elements from an end of a list to an end of another list and returns them. Blocks until there are elements, or as many as requested.", ListBlockMoves.Syntax + " timeout:double" + ListBlockMoves.HowManySyntax)),
        new("BRPOPLPUSH", 4, Usual | DenyOom, ListMoves.SourceAndDestination, BRPopLPush,
            new("2.2.0", "O(1)", "Pops the last element of a list, pushes it to the head of another list and returns it. Blocks until there is an element.", "source:key destination:key timeout:double") { History = [("6.0.0", "The timeout may have a fraction.")], DeprecatedSince = "6.2.0", ReplacedBy = "`BLMOVE` with the `RIGHT` and `LEFT` arguments" }),
        new("BLMPOP", -5, Write | CommandFlags.Blocking, [new KeySpec(3, -1, 1, ReadWrite | Access | Delete, CountAt: 2)], BLMPop,
            new("7.0.0", "O(N+M) where N is the number of provided keys and M is the number of elements returned.", "Removes and returns elements of the first of several lists that is not empty. Blocks until there is an element.", "timeout:double numkeys key [key ...] where:<LEFT | RIGHT> [COUNT count]")),
    ]);

    // BLPOP key [key ...] timeout
    private static void BLPop(ref CommandContext cmd) => Pop(ref cmd, last: false);

    // BRPOP key [key ...] timeout
    private static void BRPop(ref CommandContext cmd) => Pop(ref cmd, last: true);

    private static void Pop(ref CommandContext cmd, bool last)
    {
        int timeout = cmd.Count - 1;
        if (!TimeoutArgument.TrySecondsOrReply(cmd, timeout, out long deadlineMs)) return;
        for (int key = 1; key < timeout; key++)
        {
            Entry entry = cmd.FindToWrite(key);
            if (!entry.Exists) continue;
            if (!cmd.IsTypeOrReply(entry, DataType.List)) return;
            ListValue list = cmd.ListOf(entry);
            cmd.Reply.Array(2);
            cmd.Reply.Bulk(cmd[key]);
            if (ListCommands.TryPopOne(ref cmd, key, ref list, last) && cmd.Recording.TakesEffects) cmd.Effect(last ? "RPOP"u8 : "LPOP"u8, 2).Argument(cmd[key]);
            return;
        }

        if (!cmd.BlockOnKeys(DataType.List, deadlineMs)) cmd.Reply.NullArray();
    }

    // BLMOVE source destination LEFT | RIGHT LEFT | RIGHT timeout
    private static void BLMove(ref CommandContext cmd)
    {
        if (ListMoves.TryEndsOrReply(cmd, out bool fromLast, out bool toLast)) Move(ref cmd, fromLast, toLast);
    }

    // BRPOPLPUSH source destination timeout
    private static void BRPopLPush(ref CommandContext cmd) => Move(ref cmd, fromLast: true, toLast: false);

    private static void Move(ref CommandContext cmd, bool fromLast, bool toLast)
    {
        if (!TimeoutArgument.TrySecondsOrReply(cmd, cmd.Count - 1, out long deadlineMs)) return;
        if (!ListMoves.TryMove(ref cmd, fromLast, toLast) && !cmd.BlockOnKeys(DataType.List, deadlineMs)) cmd.Reply.Null();
    }

    // BLMPOP timeout numkeys key [key ...] LEFT | RIGHT [COUNT count]
    private static void BLMPop(ref CommandContext cmd)
    {
        if (!ListMoves.TryKeysOrReply(cmd, 2, out ListMoves.PopRequest request)) return;
        if (!TimeoutArgument.TrySecondsOrReply(cmd, 1, out long deadlineMs)) return;
        if (!ListMoves.TryPopFirst(ref cmd, request) && !cmd.BlockOnKeys(DataType.List, deadlineMs)) cmd.Reply.NullArray();
    }
}
