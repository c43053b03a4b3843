using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>How handlers get at a key's stream and its groups.</summary>
internal static class StreamAccess
{
    /// <summary>The stream of an entry that was found, or a missing one; replies WRONGTYPE and is false if it is something else.</summary>
    internal static bool IsStreamOrReply(this scoped in CommandContext cmd, Entry entry, out StreamValue stream)
    {
        stream = default;
        if (!cmd.IsTypeOrReply(entry, DataType.Stream)) return false;
        stream = StreamValue.Of(cmd.Database, entry);
        return true;
    }

    /// <summary>Gives a key that does not exist an empty stream.</summary>
    internal static StreamValue CreateStream(this scoped in CommandContext cmd, int argument, Entry missing)
    {
        Entry entry = cmd.Database.WriteValue(
            cmd[argument], cmd.HashOf(argument), missing, DataType.Stream, ValueEncoding.Stream, ValueRoot.Bytes, Database.NoExpiry, cmd.NewAccessClock);
        return StreamValue.Create(cmd.Database, entry);
    }

    /// <summary>Replies that there is no such group, as the commands on pending entries do.</summary>
    internal static void ReplyNoGroup(this scoped in CommandContext cmd, int key, int group) =>
        cmd.Reply.Error($"NOGROUP No such key '{cmd.ShownText(key)}' or consumer group '{cmd.ShownText(group)}'");

    /// <summary>Replies that a stream has no such group, as XGROUP and XINFO do.</summary>
    internal static void ReplyNoGroupOfKey(this scoped in CommandContext cmd, int key, int group) =>
        cmd.Reply.Error($"NOGROUP No such consumer group '{cmd.ShownText(group)}' for key name '{cmd.ShownText(key)}'");

    /// <summary>Replies that a container's subcommand has other arguments.</summary>
    internal static void ReplySubcommandSyntaxError(this scoped in CommandContext cmd, string container) =>
        cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {container} HELP.");
}
