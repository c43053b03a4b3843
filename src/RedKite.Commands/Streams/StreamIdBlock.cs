using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>Ids that follow their number: IDS numids id [id ...].</summary>
/// <param name="First">The first id's argument; 0: there is no such block.</param>
/// <param name="Count">The number of ids.</param>
internal readonly record struct StreamIdBlock(int First, int Count)
{
    internal bool Exists => First > 0;

    /// <summary>Passes over a block whose word was taken, up to its last id. <see cref="AreIdsOrReply"/> checks the ids.</summary>
    internal static bool TryTakeOrReply(scoped in CommandContext cmd, ref OptionReader options, out StreamIdBlock block)
    {
        block = default;
        if (!options.TakeAny(out int number))
        {
            cmd.ReplySyntaxError();
            return false;
        }

        if (!RespNumber.TryParseInt64(cmd[number], out long count) || count < 1)
        {
            cmd.Reply.Error("ERR Number of IDs must be a positive integer"u8);
            return false;
        }

        if (count > options.Left)
        {
            cmd.Reply.Error("ERR The `numids` parameter must match the number of arguments"u8);
            return false;
        }

        block = new StreamIdBlock(number + 1, (int)count);
        options.Skip(block.Count);
        return true;
    }

    /// <summary>Whether all are ids; otherwise replies that one is not.</summary>
    internal bool AreIdsOrReply(scoped in CommandContext cmd)
    {
        for (int i = 0; i < Count; i++)
        {
            if (!StreamIdArgument.TryReadOrReply(cmd, First + i, out _)) return false;
        }

        return true;
    }

    /// <summary>An id of the block, which was checked.</summary>
    internal StreamId Id(scoped in CommandContext cmd, int index)
    {
        StreamIdArgument.TryRead(cmd, First + index, out StreamId id);
        return id;
    }

    /// <summary>Takes the next option if it is KEEPREF, DELREF or ACKED.</summary>
    internal static bool TryTakePolicy(ref OptionReader options, out StreamReferencePolicy policy)
    {
        policy = StreamReferencePolicy.Keep;
        if (options.Take("KEEPREF"u8)) return true;
        if (options.Take("DELREF"u8)) policy = StreamReferencePolicy.Remove;
        else if (options.Take("ACKED"u8)) policy = StreamReferencePolicy.OnlyUnreferenced;
        return policy != StreamReferencePolicy.Keep;
    }
}
