using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>XGROUP: creates, moves and deletes consumer groups and their consumers. The table is the single declaration of its subcommands.</summary>
internal static class StreamGroupCommands
{
    private const int CreateWordsMax = 8;
    private const int SetIdWordsMax = 7;

    private const string XGroupIdSyntax = "key group id-selector:<id | new-id:$> ";

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XGROUP", -2, CommandFlags.None, KeySpecs.None, Help, new("5.0.0", "Depends on subcommand.", "Manages consumer groups."),
        [
            new("CREATE", -5, Write | DenyOom, KeySpecs.One(2, ReadWrite | Insert), Create,
                new("5.0.0", "O(1)", "Creates a consumer group.", XGroupIdSyntax + "[MKSTREAM] [ENTRIESREAD entriesread{entries-read}:integer]") { History = [("7.0.0", "Adds `ENTRIESREAD`.")] }),
            new("CREATECONSUMER", 5, Write | DenyOom, KeySpecs.One(2, ReadWrite | Insert), CreateConsumer,
                new("6.2.0", "O(1)", "Creates a consumer in a consumer group.", "key group consumer")),
            new("DELCONSUMER", 5, Write, KeySpecs.One(2, ReadWrite | Delete), DelConsumer,
                new("5.0.0", "O(1)", "Deletes a consumer of a consumer group, with its pending entries.", "key group consumer")),
            new("DESTROY", 4, Write, KeySpecs.One(2, ReadWrite | Delete), Destroy,
                new("5.0.0", "O(N) where N is the number of the group's pending entries.", "Deletes a consumer group.", "key group")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("SETID", -5, Write, KeySpecs.One(2, ReadWrite | Update), SetId,
                new("5.0.0", "O(1)", "Sets the id after which a consumer group reads.", XGroupIdSyntax + "[ENTRIESREAD entriesread{entries-read}:integer]") { History = [("7.0.0", "Adds `ENTRIESREAD`.")] }),
        ]),
    ]);

    // XGROUP CREATE key group id | $ [MKSTREAM] [ENTRIESREAD entries-read]
    private static void Create(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, mayMakeStream: true, out bool makesStream, out long entriesRead)) return;
        if (!cmd.OpenToWriteStreamOrReply(2, out StreamValue stream)) return;
        if (!stream.Exists && !makesStream)
        {
            ReplyKeyRequired(cmd.Reply);
            return;
        }

        if (!FitsOrReply(cmd, CreateWordsMax) || !TryIdOrReply(cmd, stream, mayBeEnd: false, out StreamId id)) return;
        bool isCapped = Cap(stream, ref entriesRead);
        if (!stream.Exists)
        {
            stream = cmd.CreateStream(2);
            cmd.Changed(2, KeyEvent.Silent, count: 0); // for clients that watch the key, the group alone would not be a change
        }

        if (!stream.TryCreateGroup(cmd[3], id, entriesRead))
        {
            cmd.Reply.Error("BUSYGROUP Consumer Group name already exists"u8);
            return;
        }

        if (isCapped || IsLastId(cmd)) StreamEffects.CreateGroup(cmd, 2, 3, id, makesStream, entriesRead);
        cmd.Changed(2, KeyEvent.XGroupCreate);
        cmd.Reply.Ok();
    }

    // XGROUP SETID key group id | $ [ENTRIESREAD entries-read]
    private static void SetId(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, mayMakeStream: false, out _, out long entriesRead)) return;
        if (!TryFindGroupOrReply(cmd, out StreamValue stream, out StreamGroup group)) return;
        if (!FitsOrReply(cmd, SetIdWordsMax) || !TryIdOrReply(cmd, stream, mayBeEnd: true, out StreamId id)) return;
        bool isCapped = Cap(stream, ref entriesRead);
        group.SetLastId(id);
        group.SetEntriesRead(entriesRead);
        if (isCapped || IsLastId(cmd)) StreamEffects.SetGroup(cmd, 2, group);
        cmd.Changed(2, KeyEvent.XGroupSetId);
        cmd.Reply.Ok();
    }

    // XGROUP DESTROY key group
    private static void Destroy(ref CommandContext cmd)
    {
        if (!TryFindStreamOrReply(cmd, out StreamValue stream)) return;
        bool removed = stream.RemoveGroup(cmd[3]);
        if (removed)
        {
            cmd.Changed(2, KeyEvent.XGroupDestroy);
        }

        cmd.Reply.Integer(removed ? 1 : 0);
    }

    // XGROUP CREATECONSUMER key group consumer
    private static void CreateConsumer(ref CommandContext cmd)
    {
        if (!TryFindGroupOrReply(cmd, out _, out StreamGroup group)) return;
        group.FindOrCreateConsumer(cmd[4], cmd.NowMs, out bool isNew);
        if (isNew) cmd.Changed(2, KeyEvent.XGroupCreateConsumer);
        cmd.Reply.Integer(isNew ? 1 : 0);
    }

    // XGROUP DELCONSUMER key group consumer
    private static void DelConsumer(ref CommandContext cmd)
    {
        if (!TryFindGroupOrReply(cmd, out _, out StreamGroup group)) return;
        long pending = group.RemoveConsumer(cmd[4], out bool existed);
        if (existed) cmd.Changed(2, KeyEvent.XGroupDelConsumer);
        cmd.Reply.Integer(pending);
    }

    // XGROUP HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "CREATE <key> <groupname> <id|$> [option]",
        "    Creates a group that reads after an id. Options:",
        "    * MKSTREAM",
        "      Creates the stream if it doesn't exist.",
        "    * ENTRIESREAD entries_read",
        "      Sets the number of entries that the group has read.",
        "CREATECONSUMER <key> <groupname> <consumer>",
        "    Creates a consumer in a group.",
        "DELCONSUMER <key> <groupname> <consumer>",
        "    Deletes a consumer and its pending entries.",
        "DESTROY <key> <groupname>",
        "    Deletes a group.",
        "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
        "    Sets the id after which a group reads, and the number of entries that it has read.");

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

    // As in Redis, options may be repeated as long as their words are not more than all options have.
    private static bool FitsOrReply(scoped in CommandContext cmd, int wordsMax)
    {
        if (cmd.Count <= wordsMax) return true;
        cmd.ReplySubcommandSyntaxError("XGROUP");
        return false;
    }

    // A group cannot have read more entries than were added. Older servers would count a negative lag, so they get the number.
    private static bool Cap(StreamValue stream, ref long entriesRead)
    {
        long added = stream.Exists ? stream.EntriesAdded : 0;
        if (entriesRead <= added) return false;
        entriesRead = added;
        return true;
    }

    private static bool IsLastId(scoped in CommandContext cmd) => cmd[4] is [(byte)'$'];

    // Redis accepts - and + in SETID and refuses them in CREATE.
    private static bool TryIdOrReply(scoped in CommandContext cmd, StreamValue stream, bool mayBeEnd, out StreamId id)
    {
        if (!IsLastId(cmd)) return mayBeEnd ? StreamIdArgument.TryReadAnyOrReply(cmd, 4, out id) : StreamIdArgument.TryReadOrReply(cmd, 4, out id);
        id = stream.LastId;
        return true;
    }

    private static bool TryFindStreamOrReply(scoped in CommandContext cmd, out StreamValue stream)
    {
        if (!cmd.OpenToWriteStreamOrReply(2, out stream)) return false;
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
