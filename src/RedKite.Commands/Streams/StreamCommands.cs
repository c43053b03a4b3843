using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// Stream commands that add and delete entries. The table is their single declaration and this file's contents. Ranges are in
/// StreamRangeCommands, XREAD and XREADGROUP in StreamReadCommands, XGROUP is in StreamGroupCommands, commands on pending entries
/// are in StreamPendingCommands, and XINFO is in StreamInfoCommands.
/// </summary>
internal static class StreamCommands
{
    // The limit of one packed list in Redis.
    private const long EntryBytesMax = 1 << 30;

    private const string TrimSyntax =
        "strategy:<MAXLEN | MINID@6.2.0> [operator:<equal:= | approximately:~>] threshold [LIMIT@6.2.0 count]";

    private const string PolicySyntax = "condition:[KEEPREF | DELREF | ACKED]@8.2.0";

    private const string ProducerSyntax = "idmp:[idmpauto-with-pid:(<idmpauto-token:IDMPAUTO> pid) | idmp-with-pid-iid:(<idmp-token:IDMP> pid iid)]@8.6.0";

    private const string XAddSyntax =
        "key [NOMKSTREAM@6.2.0] " + PolicySyntax + " " + ProducerSyntax + " [trim:(" + TrimSyntax + ")] id-selector:<auto-id:* | id> data:<field value [field value ...]>";

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XADD", -5, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Update, "updates because it may trim"), XAdd,
            new("5.0.0", "O(1), or O(N) when N entries are trimmed.", "Adds an entry to a stream. Creates the key if it doesn't exist.", XAddSyntax) { History = [("6.2.0", "Adds `NOMKSTREAM`, `MINID` and `LIMIT`."), ("7.0.0", "Accepts ids of the form `<ms>-*`."), ("8.2.0", "Adds `KEEPREF`, `DELREF` and `ACKED`."), ("8.6.0", "Adds `IDMP` and `IDMPAUTO`.")] }) { Tips = ["nondeterministic_output"] },
        new("XLEN", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), XLen,
            new("5.0.0", "O(1)", "Returns the number of entries in a stream.", "key")),
        new("XDEL", -3, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), XDel,
            new("5.0.0", "O(1) for each entry, whatever the stream's length.", "Deletes entries from a stream.", "key id [id ...]")),
        new("XTRIM", -4, Write, KeySpecs.One(1, ReadWrite | Delete), XTrim,
            new("5.0.0", "O(N) with N being the number of entries deleted, which go in whole nodes.", "Deletes the oldest entries of a stream.", "key trim:(" + TrimSyntax + " " + PolicySyntax + ")") { History = [("6.2.0", "Adds `MINID` and `LIMIT`."), ("8.2.0", "Adds `KEEPREF`, `DELREF` and `ACKED`.")] }) { Tips = ["nondeterministic_output"] },
        new("XSETID", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Update), XSetId,
            new("5.0.0", "O(1)", "Sets the last id and the counters of a stream. Used by replication.",
                "key last-id [ENTRIESADDED@7.0.0 entries-added:integer] [MAXDELETEDID@7.0.0 max-deleted-id]") { History = [("7.0.0", "Adds `ENTRIESADDED` and `MAXDELETEDID`.")] }),
    ]);

    // XADD key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [IDMPAUTO pid | IDMP pid iid] [MAXLEN | MINID [= | ~] threshold [LIMIT count]]
    //   * | id field value [field value ...]
    private static void XAdd(ref CommandContext cmd)
    {
        if (!StreamTrimOptions.TryParseAddOrReply(cmd, out StreamTrimOptions options, out int idArgument)) return;
        bool isAuto = idArgument < cmd.Count && cmd[idArgument] is [(byte)'*'];
        StreamId id = default;
        var form = StreamIdForm.Whole;
        if (!isAuto && idArgument < cmd.Count && !StreamIdArgument.TryReadNewOrReply(cmd, idArgument, out id, out form)) return;
        ProducerArguments producer = options.Producer;
        if (producer.Exist && !isAuto && idArgument < cmd.Count)
        {
            cmd.Reply.Error("ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"u8);
            return;
        }

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

        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        if (!stream.Exists && options.OnlyExisting)
        {
            cmd.Reply.Null();
            return;
        }

        Span<byte> content = stackalloc byte[ProducerArguments.ContentIdBytes];
        scoped ReadOnlySpan<byte> producerId = producer.Exist ? producer.IdOf(cmd, firstText, content) : default;
        if (producer.Exist && stream.TryFindAdded(cmd[producer.Name], producerId, cmd.NowMs, out StreamId known))
        {
            stream.CountDuplicate();
            StreamReplies.Id(cmd.Reply, known);
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

        if (!stream.Exists) stream = cmd.CreateStream(1);
        Settings settings = cmd.Settings;
        StreamAppender added = stream.Append(id, texts / 2, textBytes, settings.StreamNodeMaxBytes, settings.StreamNodeMaxEntries);
        for (int i = firstText; i < cmd.Count; i += 2) added.Name(cmd[i]);
        for (int i = firstText; i < cmd.Count; i += 2) added.Pair(cmd[i], cmd[i + 1]);
        added.End();
        cmd.Changed(1, KeyEvent.XAdd);
        if (producer.Exist)
        {
            AddRemembered(cmd, stream, id, firstText, options, cmd[producer.Name], producerId);
            return;
        }

        StreamRemovals? removals = options.Trims && options.NamesPolicy ? new StreamRemovals() : null;
        long trimmed = options.Trims ? stream.Trim(options.Trimming, removals) : 0;
        if (trimmed > 0) cmd.Changed(1, KeyEvent.XTrim, count: 0);
        if (cmd.Recording.TakesEffects && (isAuto || form != StreamIdForm.Whole || options.Trimming.IsApproximate || options.NamesPolicy))
        {
            StreamEffects.Add(cmd, 1, id, firstText, isTrimmed: trimmed > 0 && removals is not { Entries.Count: > 0 }, stream.Length);
            if (removals is not null) StreamEffects.Removals(cmd, 1, stream, removals);
        }

        StreamReplies.Id(cmd.Reply, id);
    }

    // The rest of XADD for an entry with a producer's id: the effects name it while the entry is there, then what a trimming removes.
    private static void AddRemembered(
        scoped in CommandContext cmd, StreamValue stream, in StreamId id, int firstText, in StreamTrimOptions options, scoped ReadOnlySpan<byte> producer, scoped ReadOnlySpan<byte> producerId)
    {
        if (cmd.Recording.TakesEffects) StreamEffects.Add(cmd, 1, id, firstText, isTrimmed: false, stream.Length);
        StreamProducerCommands.Configure(cmd, 1, stream);
        stream.Remember(producer, producerId, id);
        StreamEffects.Remember(cmd, 1, producer, producerId, id);
        var removals = new StreamRemovals();
        long trimmed = options.Trims ? stream.Trim(options.Trimming, options.NamesPolicy ? removals : null) : 0;
        if (trimmed > 0)
        {
            if (removals.Entries.Count == 0) StreamEffects.Trim(cmd, 1, stream.Length);
            StreamEffects.Removals(cmd, 1, stream, removals);
            cmd.Changed(1, KeyEvent.XTrim, count: 0);
        }

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
        if (cmd.OpenToReadStreamOrReply(1, out StreamValue stream)) cmd.Reply.Integer(stream.Length);
    }

    // XDEL key id [id ...]
    private static void XDel(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        if (!stream.Exists)
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

        if (deleted > 0) cmd.Changed(1, KeyEvent.XDel, deleted);
        cmd.Reply.Integer(deleted);
    }

    // XTRIM key MAXLEN | MINID [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]
    private static void XTrim(ref CommandContext cmd)
    {
        if (!StreamTrimOptions.TryParseTrimOrReply(cmd, out StreamTrimOptions options)) return;
        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        StreamRemovals? removals = options.NamesPolicy ? new StreamRemovals() : null;
        long deleted = stream.Exists ? stream.Trim(options.Trimming, removals) : 0;
        if (deleted > 0)
        {
            if (removals is not null) StreamEffects.Removals(cmd, 1, stream, removals);
            if ((options.Trimming.IsApproximate || options.NamesPolicy) && removals is not { Entries.Count: > 0 }) StreamEffects.Trim(cmd, 1, stream.Length);
            cmd.Changed(1, KeyEvent.XTrim, deleted);
        }

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

        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        if (!stream.Exists)
        {
            cmd.Reply.Error("ERR no such key"u8);
            return;
        }

        if (id < stream.MaxDeletedId)
        {
            cmd.Reply.Error("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"u8);
            return;
        }

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
        cmd.Changed(1, KeyEvent.XSetId);
        cmd.Reply.Ok();
    }
}
