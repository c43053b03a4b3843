using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>XGROUP: makes, moves and removes consumer groups and their consumers.</summary>
internal static class StreamGroupCommands
{
    // XGROUP CREATE key group id | $ [MKSTREAM] [ENTRIESREAD entries-read]
    internal static void Create(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, mayMakeStream: true, out bool makesStream, out long entriesRead)) return;
        Entry entry = cmd.FindToWrite(2);
        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return;
        if (!stream.Exists && !makesStream)
        {
            ReplyKeyRequired(cmd.Reply);
            return;
        }

        if (!TryIdOrReply(cmd, stream, mayBeEnd: false, out StreamId id)) return;
        if (!stream.Exists) stream = cmd.CreateStream(2, entry);
        if (!stream.TryCreateGroup(cmd[3], id, entriesRead))
        {
            cmd.Reply.Error("BUSYGROUP Consumer Group name already exists"u8);
            return;
        }

        cmd.Changed();
        cmd.Reply.Ok();
    }

    // XGROUP SETID key group id | $ [ENTRIESREAD entries-read]
    internal static void SetId(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, mayMakeStream: false, out _, out long entriesRead)) return;
        if (!TryFindGroupOrReply(cmd, out StreamValue stream, out StreamGroup group)) return;
        if (!TryIdOrReply(cmd, stream, mayBeEnd: true, out StreamId id)) return;
        group.SetLastId(id);
        group.SetEntriesRead(entriesRead);
        cmd.Changed();
        cmd.Reply.Ok();
    }

    // XGROUP DESTROY key group
    internal static void Destroy(ref CommandContext cmd)
    {
        if (!TryFindStreamOrReply(cmd, out StreamValue stream)) return;
        bool removed = stream.RemoveGroup(cmd[3]);
        if (removed) cmd.Changed();
        cmd.Reply.Integer(removed ? 1 : 0);
    }

    // XGROUP CREATECONSUMER key group consumer
    internal static void CreateConsumer(ref CommandContext cmd)
    {
        if (!TryFindGroupOrReply(cmd, out _, out StreamGroup group)) return;
        group.FindOrCreateConsumer(cmd[4], cmd.NowMs, out bool isNew);
        if (isNew) cmd.Changed();
        cmd.Reply.Integer(isNew ? 1 : 0);
    }

    // XGROUP DELCONSUMER key group consumer
    internal static void DelConsumer(ref CommandContext cmd)
    {
        if (!TryFindGroupOrReply(cmd, out _, out StreamGroup group)) return;
        long pending = group.RemoveConsumer(cmd[4], out bool existed);
        if (existed) cmd.Changed();
        cmd.Reply.Integer(pending);
    }

    // XGROUP HELP
    internal static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd.Reply, "XGROUP",
        "CREATE <key> <groupname> <id|$> [option]",
        "    Creates a group that reads after an id. Options:",
        "    * MKSTREAM",
        "      Creates the stream too, if it is missing.",
        "    * ENTRIESREAD entries_read",
        "      How many entries the group counts as read.",
        "CREATECONSUMER <key> <groupname> <consumer>",
        "    Creates a consumer in a group.",
        "DELCONSUMER <key> <groupname> <consumer>",
        "    Deletes a consumer with what is pending for it.",
        "DESTROY <key> <groupname>",
        "    Deletes a group.",
        "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
        "    Sets the id after which a group reads, and what it counts as read.");

    private static bool TryOptionsOrReply(scoped in CommandContext cmd, bool mayMakeStream, out bool makesStream, out long entriesRead)
    {
        makesStream = false;
        entriesRead = StreamProgress.Unknown;
        var options = new OptionReader(cmd, first: 5);
        while (options.More)
        {
            if (mayMakeStream && options.Take("MKSTREAM"u8))
            {
                makesStream = true;
            }
            else if (options.TakeWithValue("ENTRIESREAD"u8, out int argument))
            {
                if (!cmd.TryIntegerOrReply(argument, out entriesRead)) return false;
                if (entriesRead >= StreamProgress.Unknown) continue;
                cmd.Reply.Error("ERR value for ENTRIESREAD must be positive or -1"u8);
                return false;
            }
            else
            {
                cmd.ReplySubcommandSyntaxError("XGROUP");
                return false;
            }
        }

        return true;
    }

    // Redis takes - and + where a group is moved, and refuses them where it is made.
    private static bool TryIdOrReply(scoped in CommandContext cmd, StreamValue stream, bool mayBeEnd, out StreamId id)
    {
        if (cmd[4] is not [(byte)'$']) return mayBeEnd ? StreamIdArgument.TryReadAnyOrReply(cmd, 4, out id) : StreamIdArgument.TryReadOrReply(cmd, 4, out id);
        id = stream.LastId;
        return true;
    }

    private static bool TryFindStreamOrReply(scoped in CommandContext cmd, out StreamValue stream)
    {
        if (!cmd.IsStreamOrReply(cmd.FindToWrite(2), out stream)) return false;
        if (stream.Exists) return true;
        ReplyKeyRequired(cmd.Reply);
        return false;
    }

    private static bool TryFindGroupOrReply(scoped in CommandContext cmd, out StreamValue stream, out StreamGroup group)
    {
        group = default;
        if (!TryFindStreamOrReply(cmd, out stream)) return false;
        group = stream.FindGroup(cmd[3]);
        if (group.Exists) return true;
        cmd.ReplyNoGroupOfKey(2, 3);
        return false;
    }

    private static void ReplyKeyRequired(ReplyWriter reply) =>
        reply.Error("ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically."u8);
}
