using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>Stream commands that return a range of entries. The table is their single declaration and this file's contents.</summary>
internal static class StreamRangeCommands
{
    private const string Complexity = "O(N) with N being the number of entries returned.";

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XRANGE", -4, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), XRange,
            new("5.0.0", Complexity, "Returns the entries of a stream in a range of ids.", "key start:string end:string [COUNT count]") { History = [("6.2.0", "Adds exclusive ranges.")] }),
        new("XREVRANGE", -4, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), XRevRange,
            new("5.0.0", Complexity, "Returns the entries of a stream in a range of ids, in descending order.", "key end:string start:string [COUNT count]") { History = [("6.2.0", "Adds exclusive ranges.")] }),
    ]);

    // XRANGE key start end [COUNT count]
    private static void XRange(ref CommandContext cmd) => Range(cmd, low: 2, high: 3, reverse: false);

    // XREVRANGE key end start [COUNT count]
    private static void XRevRange(ref CommandContext cmd) => Range(cmd, low: 3, high: 2, reverse: true);

    private static void Range(scoped in CommandContext cmd, int low, int high, bool reverse)
    {
        if (!StreamIdArgument.TryReadLowOrReply(cmd, low, out StreamId lowId)) return;
        if (!StreamIdArgument.TryReadHighOrReply(cmd, high, out StreamId highId)) return;
        long countMax = 0;
        bool isEmpty = false;
        var options = new OptionReader(cmd, first: 4);
        while (options.More)
        {
            if (!options.TakeWithValue("COUNT"u8, out int count))
            {
                cmd.ReplySyntaxError();
                return;
            }

            if (!cmd.TryIntegerOrReply(count, out countMax)) return;
            isEmpty = countMax <= 0;
        }

        if (!cmd.OpenToReadStreamOrReply(1, out StreamValue stream)) return;
        if (stream.Exists && isEmpty) cmd.Reply.NullArray();
        else StreamReplies.Range(cmd.Reply, stream, lowId, highId, countMax, reverse);
    }
}
