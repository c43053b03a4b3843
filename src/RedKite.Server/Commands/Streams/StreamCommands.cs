using RedKite.Server.Commands.Arguments;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// Stream commands. The table is their single declaration; this file has those on entries. Reading is in StreamReading,
/// groups are in StreamGroupCommands, pending entries in StreamPendingCommands, and XINFO is in StreamInfoCommands.
/// </summary>
internal static class StreamCommands
{
    // The most that Redis puts in one packed list.
    private const long EntryBytesMax = 1 << 30;

    private const string TrimSyntax =
        "strategy:<MAXLEN | MINID@6.2.0> [operator:<equal:= | approximately:~>] threshold [LIMIT@6.2.0 count]";

    private const string XAddSyntax =
        "key [NOMKSTREAM@6.2.0] [trim:(" + TrimSyntax + ")] id_or_auto:<auto_id:* | id> field value [field value ...]";

    private const string ReadComplexity =
        "For each stream O(N) with N being the number of entries returned. With BLOCK, the XADD that ends the wait pays O(M) for M waiting clients.";

    private const string XGroupIdSyntax = "key groupname id:<id | new_id:$> ";

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XADD", -5, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Update, "UPDATE instead of INSERT because of the optional trimming feature"), XAdd,
            new("5.0.0", "O(1), or O(N) when N entries are trimmed.", "Adds an entry to a stream; creates it if need be.", XAddSyntax)) { Tips = ["nondeterministic_output"] },
        new("XLEN", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), XLen,
            new("5.0.0", "O(1)", "Returns the number of a stream's entries.", "key")),
        new("XRANGE", -4, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), XRange,
            new("5.0.0", "O(N) with N being the number of entries returned.", "Returns a stream's entries between two ids.", "key start:string end:string [COUNT count]")),
        new("XREVRANGE", -4, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), XRevRange,
            new("5.0.0", "O(N) with N being the number of entries returned.", "Returns a stream's entries between two ids, the last one first.", "key end:string start:string [COUNT count]")),
        new("XDEL", -3, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), XDel,
            new("5.0.0", "O(1) for each entry, whatever the stream's length.", "Deletes entries of a stream.", "key id [id ...]")),
        new("XTRIM", -4, Write, KeySpecs.One(1, ReadWrite | Delete), XTrim,
            new("5.0.0", "O(N) with N being the number of entries deleted, which go in whole nodes.", "Deletes a stream's oldest entries.", "key trim:(" + TrimSyntax + ")")) { Tips = ["nondeterministic_output"] },
        new("XREAD", -4, CommandFlags.ReadOnly | CommandFlags.Blocking, StreamKeys(startFrom: 1), StreamReading.XRead,
            new("5.0.0", ReadComplexity, "Returns what follows an id in each of several streams.",
                "[COUNT count] [BLOCK milliseconds] streams:<STREAMS (key [key ...] id [id ...])>")),
        new("XREADGROUP", -7, Write | CommandFlags.Blocking, StreamKeys(startFrom: 4), StreamReading.XReadGroup,
            new("5.0.0", ReadComplexity, "Returns entries that a group has not had yet, or those pending for a consumer.",
                "group_consumer:<GROUP (group consumer)> [COUNT count] [BLOCK milliseconds] [NOACK] streams:<STREAMS (key [key ...] id [id ...])>")),
        new("XGROUP", -2, CommandFlags.None, KeySpecs.None, StreamGroupCommands.Help, new("5.0.0", "Depends on subcommand.", "Manages consumer groups."),
        [
            new("CREATE", -5, Write | DenyOom, KeySpecs.One(2, ReadWrite | Insert), StreamGroupCommands.Create,
                new("5.0.0", "O(1)", "Creates a consumer group.", XGroupIdSyntax + "[MKSTREAM] [ENTRIESREAD entries_read:integer]")),
            new("CREATECONSUMER", 5, Write | DenyOom, KeySpecs.One(2, ReadWrite | Insert), StreamGroupCommands.CreateConsumer,
                new("6.2.0", "O(1)", "Creates a consumer in a group.", "key groupname consumername")),
            new("DELCONSUMER", 5, Write, KeySpecs.One(2, ReadWrite | Delete), StreamGroupCommands.DelConsumer,
                new("5.0.0", "O(1)", "Deletes a consumer from a group.", "key groupname consumername")),
            new("DESTROY", 4, Write, KeySpecs.One(2, ReadWrite | Delete), StreamGroupCommands.Destroy,
                new("5.0.0", "O(N) where N is the number of the group's pending entries.", "Destroys a consumer group.", "key groupname")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, StreamGroupCommands.Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("SETID", -5, Write, KeySpecs.One(2, ReadWrite | Update), StreamGroupCommands.SetId,
                new("5.0.0", "O(1)", "Sets the id after which a group reads.", XGroupIdSyntax + "[ENTRIESREAD entries_read:integer]")),
        ]),
        new("XACK", -4, Write | Fast, KeySpecs.One(1, ReadWrite | Update), StreamPendingCommands.XAck,
            new("5.0.0", "O(1) for each id.", "Acknowledges pending entries of a group.", "key group id [id ...]")),
        new("XPENDING", -3, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), StreamPendingCommands.XPending,
            new("5.0.0", "O(N) with N being the number of entries returned or passed over because of IDLE; the summary is O(N) with N being the number of consumers.",
                "Tells what is pending in a group.", "key group [filters:([IDLE@6.2.0 min-idle-time:integer] start:string end:string count [consumer])]")) { Tips = ["nondeterministic_output"] },
        new("XCLAIM", -6, Write | Fast, KeySpecs.One(1, ReadWrite | Update), StreamPendingCommands.XClaim,
            new("5.0.0", "O(log N) with N being the number of the group's pending entries.", "Makes pending entries another consumer's.",
                "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID id]")) { Tips = ["nondeterministic_output"] },
        new("XAUTOCLAIM", -6, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), StreamPendingCommands.XAutoClaim,
            new("6.2.0", "O(1) if COUNT is small.", "Makes entries that have been pending for long another consumer's.",
                "key group consumer min-idle-time start:string [COUNT count] [JUSTID]")) { Tips = ["nondeterministic_output"] },
        new("XSETID", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Update), XSetId,
            new("5.0.0", "O(1)", "Sets a stream's last id and counters; meant for replication.",
                "key last-id [ENTRIESADDED@7.0.0 entries_added:integer] [MAXDELETEDID@7.0.0 max_deleted_entry_id]")),
        new("XINFO", -2, CommandFlags.None, KeySpecs.None, StreamInfoCommands.Help, new("5.0.0", "Depends on subcommand.", "Tells what a stream has."),
        [
            new("CONSUMERS", 4, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), StreamInfoCommands.Consumers,
                new("5.0.0", "O(1)", "Lists the consumers of a group.", "key groupname")) { Tips = ["nondeterministic_output"] },
            new("GROUPS", 3, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), StreamInfoCommands.Groups,
                new("5.0.0", "O(1)", "Lists the groups of a stream.", "key")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, StreamInfoCommands.Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("STREAM", -3, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly | Access), StreamInfoCommands.Stream,
                new("5.0.0", "O(1)", "Tells a stream's counters and ends, or all that it has.", "key [full:<FULL ([COUNT count])>]")),
        ]),
    ]);

    // XADD key [NOMKSTREAM] [MAXLEN | MINID [= | ~] threshold [LIMIT count]] * | id field value [field value ...]
    private static void XAdd(ref CommandContext cmd)
    {
        if (!StreamTrimOptions.TryParseAddOrReply(cmd, out StreamTrimOptions options, out int idArgument)) return;
        bool isAuto = idArgument < cmd.Count && cmd[idArgument] is [(byte)'*'];
        StreamId id = default;
        var form = StreamIdForm.Whole;
        if (!isAuto && idArgument < cmd.Count && !StreamIdArgument.TryReadNewOrReply(cmd, idArgument, out id, out form)) return;
        if (!options.TryCompleteOrReply(cmd)) return;
        int firstText = idArgument + 1;
        int texts = cmd.Count - firstText;
        if (texts < 2 || texts % 2 != 0)
        {
            cmd.Reply.Error("ERR wrong number of arguments for 'xadd' command"u8);
            return;
        }

        if (!isAuto && form == StreamIdForm.Whole && id.IsZero)
        {
            cmd.Reply.Error("ERR The ID specified in XADD must be greater than 0-0"u8);
            return;
        }

        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return;
        if (!stream.Exists && options.OnlyExisting)
        {
            cmd.Reply.Null();
            return;
        }

        if (!TryChooseIdOrReply(cmd, stream.LastId, isAuto, form, ref id)) return;
        long textBytes = 0;
        for (int i = firstText; i < cmd.Count; i++) textBytes += cmd[i].Length;
        if (textBytes > EntryBytesMax)
        {
            cmd.Reply.Error("ERR Elements are too large to be stored"u8);
            return;
        }

        if (!stream.Exists) stream = cmd.CreateStream(1, entry);
        Settings settings = cmd.Server.Settings;
        StreamAppender added = stream.Append(id, texts / 2, textBytes, settings.StreamNodeMaxBytes, settings.StreamNodeMaxEntries);
        for (int i = firstText; i < cmd.Count; i += 2) added.Name(cmd[i]);
        for (int i = firstText; i < cmd.Count; i += 2) added.Pair(cmd[i], cmd[i + 1]);
        added.End();
        if (options.Trims) stream.Trim(options.Trimming);
        cmd.Changed();
        StreamReplies.Id(cmd.Reply, id);
    }

    private static bool TryChooseIdOrReply(scoped in CommandContext cmd, StreamId last, bool isAuto, StreamIdForm form, ref StreamId id)
    {
        if (last == StreamId.Max)
        {
            cmd.Reply.Error("ERR The stream has exhausted the last possible ID, unable to add more items"u8);
            return false;
        }

        bool follows = true;
        if (isAuto)
        {
            id = new StreamId((ulong)cmd.NowMs, 0);
            if (id.Ms <= last.Ms) last.TryNext(out id);
        }
        else if (form == StreamIdForm.AutoSequence && id.Ms == last.Ms)
        {
            follows = last.TryNext(out id) && id.Ms == last.Ms;
        }

        if (follows && id > last) return true;
        cmd.Reply.Error("ERR The ID specified in XADD is equal or smaller than the target stream top item"u8);
        return false;
    }

    // XLEN key
    private static void XLen(ref CommandContext cmd)
    {
        if (cmd.IsStreamOrReply(cmd.Find(1), out StreamValue stream)) cmd.Reply.Integer(stream.Length);
    }

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

        Entry entry = cmd.Find(1);
        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return;
        if (entry.Exists && isEmpty) cmd.Reply.NullArray();
        else StreamReplies.Range(cmd.Reply, stream, lowId, highId, countMax, reverse);
    }

    // XDEL key id [id ...]
    private static void XDel(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return;
        if (!entry.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        for (int i = 2; i < cmd.Count; i++)
        {
            if (!StreamIdArgument.TryReadOrReply(cmd, i, out _)) return;
        }

        int deleted = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            StreamIdArgument.TryRead(cmd, i, out StreamId id);
            if (stream.Delete(id)) deleted++;
        }

        cmd.Changed(deleted);
        cmd.Reply.Integer(deleted);
    }

    // XTRIM key MAXLEN | MINID [= | ~] threshold [LIMIT count]
    private static void XTrim(ref CommandContext cmd)
    {
        if (!StreamTrimOptions.TryParseTrimOrReply(cmd, out StreamTrimOptions options)) return;
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return;
        long deleted = entry.Exists ? stream.Trim(options.Trimming) : 0;
        cmd.Changed(deleted);
        cmd.Reply.Integer(deleted);
    }

    // XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]
    private static void XSetId(ref CommandContext cmd)
    {
        long entriesAdded = -1;
        StreamId maxDeletedId = default;
        if (!StreamIdArgument.TryReadOrReply(cmd, 2, out StreamId id)) return;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (options.TakeWithValue("ENTRIESADDED"u8, out int argument))
            {
                if (!cmd.TryIntegerOrReply(argument, out entriesAdded)) return;
                if (entriesAdded >= 0) continue;
                cmd.Reply.Error("ERR entries_added must be positive"u8);
                return;
            }

            if (!options.TakeWithValue("MAXDELETEDID"u8, out argument))
            {
                cmd.ReplySyntaxError();
                return;
            }

            if (!StreamIdArgument.TryReadOrReply(cmd, argument, out maxDeletedId)) return;
            if (id >= maxDeletedId) continue;
            cmd.Reply.Error("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"u8);
            return;
        }

        Entry entry = cmd.FindToWrite(1);
        if (!entry.Exists)
        {
            cmd.Reply.Error("ERR no such key"u8);
            return;
        }

        if (!cmd.IsStreamOrReply(entry, out StreamValue stream)) return;
        if (stream.TryLastEntryId(out StreamId last) && id < last)
        {
            cmd.Reply.Error("ERR The ID specified in XSETID is smaller than the target stream top item"u8);
            return;
        }

        if (entriesAdded >= 0 && stream.Length > entriesAdded)
        {
            cmd.Reply.Error("ERR The entries_added specified in XSETID is smaller than the target stream length"u8);
            return;
        }

        stream.SetLastId(id);
        if (entriesAdded >= 0) stream.SetEntriesAdded(entriesAdded);
        if (!maxDeletedId.IsZero) stream.SetMaxDeletedId(maxDeletedId);
        cmd.Changed();
        cmd.Reply.Ok();
    }

    // Behind STREAMS, the first half of what is left.
    private static KeySpec[] StreamKeys(int startFrom) =>
        [new(1, -1, 1, KeyFlags.ReadOnly | Access) { Keyword = "STREAMS", StartFrom = startFrom, Limit = 2, FindsKeyword = StreamReadOptions.FindStreams }];
}
