using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>Opens streams and their groups for handlers.</summary>
internal static class StreamAccess
{
    /// <summary>Opens a key's stream to read it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToReadStreamOrReply(this scoped in CommandContext cmd, int argument, out StreamValue stream) =>
        TryOpenOrReply(cmd, cmd.Find(argument), out stream);

    /// <summary>Opens a key's stream to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteStreamOrReply(this scoped in CommandContext cmd, int argument, out StreamValue stream) =>
        TryOpenOrReply(cmd, cmd.FindToWrite(argument), out stream);

    /// <summary>Creates an empty stream at a key that is missing.</summary>
    internal static StreamValue CreateStream(this scoped in CommandContext cmd, int argument)
    {
        Entry entry = cmd.Database.WriteValue(
            cmd[argument], cmd.HashOf(argument), default, new ValueHeader(DataType.Stream, ValueEncoding.Stream, cmd.Accesses.NewClock), ValueRoot.Bytes, Database.NoExpiry);
        return StreamValue.Create(cmd.Database, entry);
    }

    /// <summary>Replies that there is no such group, as the commands on pending entries do.</summary>
    internal static void ReplyNoGroup(this scoped in CommandContext cmd, int key, int group) =>
        cmd.Reply.Error($"NOGROUP No such key '{cmd.ShownText(key)}' or consumer group '{cmd.ShownText(group)}'");

    /// <summary>Replies that a stream has no such group, as XGROUP and XINFO do.</summary>
    internal static void ReplyNoGroupOfKey(this scoped in CommandContext cmd, int key, int group) =>
        cmd.Reply.Error($"NOGROUP No such consumer group '{cmd.ShownText(group)}' for key name '{cmd.ShownText(key)}'");

    /// <summary>Replies that the arguments do not fit a container's subcommand.</summary>
    internal static void ReplySubcommandSyntaxError(this scoped in CommandContext cmd, string container) =>
        cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {container} HELP.");

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out StreamValue stream)
    {
        stream = default;
        if (!cmd.IsTypeOrReply(entry, DataType.Stream)) return false;
        stream = StreamValue.Of(cmd.Database, entry);
        return true;
    }
}
