using System.Globalization;
using System.Text;
using RedKite.Protocol;

namespace RedKite.Host.Transfer;

/// <summary>What became of a key.</summary>
internal enum PlainOutcome
{
    Copied,

    /// <summary>The target had the key, and keeps its own.</summary>
    Kept,

    /// <summary>The key no longer exists in the source.</summary>
    Gone,

    Failed,
}

/// <summary>
/// Copies a key with the commands of its type, in pages. In the target it is composed under another name and renamed at its end, so that
/// clients see either the old value or the new one. A value of several pages is as it was while they were read, not at one moment.
/// </summary>
internal sealed class PlainCopy(SourceServer source, TargetServer target, string scratchName, bool keepsExisting)
{
    // A key whose type changes while it is read is read again.
    private const int AttemptsMax = 3;

    private const ulong ArrayIndexMax = ulong.MaxValue - 1;

    private readonly byte[] _scratch = Encoding.UTF8.GetBytes(scratchName);
    private bool _hasFieldExpiries = true;
    private bool? _takesDocuments;

    /// <summary>Copies a key of the selected database.</summary>
    /// <param name="key">The key.</param>
    /// <param name="type">Its type a moment ago.</param>
    /// <param name="onReply">Receives the outcome when the target has replied, if it is not known at once.</param>
    /// <param name="problem">Why it failed.</param>
    /// <returns>The outcome; null: it is reported later.</returns>
    internal PlainOutcome? Copy(byte[] key, string type, Action<PlainOutcome> onReply, out string problem)
    {
        problem = "";
        if (keepsExisting && Exists(key)) return PlainOutcome.Kept;
        for (int attempt = 0; attempt < AttemptsMax; attempt++)
        {
            if (attempt > 0) type = source.TypesOf([key])[0];
            if (type == "none") return PlainOutcome.Gone;
            RemoveScratch();
            long? expiry = null;
            bool? copied = type switch
            {
                "string" => TryCopyText(key, ["GET", key], ["SET", _scratch], ref expiry),
                "ReJSON-RL" when TakesDocuments() => TryCopyText(key, ["JSON.GET", key, "."], ["JSON.SET", _scratch, "$"], ref expiry),
                "list" => TryCopyList(key),
                "set" => TryCopyPages("SSCAN", "SADD", key, each: 1),
                "zset" => TryCopyPages("ZSCAN", "ZADD", key, each: 2),
                "hash" => TryCopyPages("HSCAN", "HSET", key, each: 2),
                "array" => TryCopyArray(key),
                "vectorset" => new VectorSetCopy(source, target, _scratch).TryCopy(key),
                "stream" => new StreamCopy(source, target, _scratch).TryCopy(key),
                _ => null,
            };
            if (copied == false) continue;
            if (copied == true)
            {
                Finish(key, expiry, onReply);
                return null;
            }

            problem = $"type {type}";
            return PlainOutcome.Failed;
        }

        problem = "its type changed while it was read";
        return PlainOutcome.Failed;
    }

    /// <summary>Deletes what an interrupted copy left.</summary>
    internal void RemoveScratch() => target.Send("DEL", _scratch);

    private bool Exists(byte[] key)
    {
        target.Drain();
        return target.Link.Run("EXISTS", key).Number == 1;
    }

    private void Finish(byte[] key, long? knownExpiry, Action<PlainOutcome> onReply)
    {
        if (knownExpiry is not { } expiry)
        {
            source.AskExpiry(key);
            source.Link.Flush();
            expiry = source.ReadExpiry();
        }

        if (expiry >= 0) target.Send(source.HasAbsoluteTimes ? "PEXPIREAT" : "PEXPIRE", _scratch, expiry);
        target.Link.Queue(keepsExisting ? "RENAMENX" : "RENAME", _scratch, key);
        target.Expect(reply =>
        {
            if (reply.IsError && reply.Text.Contains("no such key", StringComparison.Ordinal)) onReply(PlainOutcome.Gone);
            else if (reply.IsError) throw target.Refused(reply);
            else onReply(keepsExisting && reply.Number == 0 ? PlainOutcome.Kept : PlainOutcome.Copied);
        });
        if (keepsExisting) RemoveScratch();
    }

    // A server without the module would refuse the first document, which ends a transfer.
    private bool TakesDocuments()
    {
        if (_takesDocuments is { } known) return known;
        target.Drain();
        bool takes = target.Link.Run("COMMAND", "INFO", "JSON.SET").Array is [{ IsNull: false }];
        _takesDocuments = takes;
        return takes;
    }

    // Through, in pieces: it may be large.
    private bool TryCopyText(byte[] key, ReadOnlySpan<Word> read, ReadOnlySpan<Word> write, ref long? expiry)
    {
        source.Link.Queue(read);
        source.AskExpiry(key);
        source.Link.Flush();
        ReplyElement element = source.Link.ReadElement();
        bool isString = element.IsString;
        if (isString && element.Number >= 0) CopyValue(element, write);
        expiry = source.ReadExpiry();
        return isString;
    }

    private void CopyValue(ReplyElement element, ReadOnlySpan<Word> write)
    {
        ServerLink link = target.Link;
        link.Begin(write.Length + 1);
        foreach (Word word in write) link.Add(word);
        link.BeginWord(element.Number);
        link.Piece(element.Bytes);
        while (!element.IsWhole)
        {
            element = source.Link.ReadElement();
            link.Piece(element.Bytes);
        }

        link.EndWord();
        target.Expect(target.OrFail);
    }

    private bool TryCopyList(byte[] key)
    {
        var page = new PageSize();
        for (long start = 0; ; start += page.Read)
        {
            if (!TryAsk(source.Link, out Reply reply, "LRANGE", key, start, start + page.Count - 1)) return false;
            if (reply.Array.Length == 0) return true;
            target.Send(["RPUSH", _scratch, .. Words(reply.Array)]);
            page.Adapt(reply.Array.Length, reply.Size);
        }
    }

    // Elements that move meanwhile may come twice, which changes nothing.
    private bool TryCopyPages(string scan, string add, byte[] key, int each)
    {
        var page = new PageSize();
        string cursor = "0";
        do
        {
            if (!TryAsk(source.Link, out Reply reply, scan, key, cursor, "COUNT", page.Count)) return false;
            if (reply.Array is not [{ } next, { Items: { } items }]) throw source.Link.Fail($"the reply to {scan} is not as expected");
            cursor = next.Text;
            if (items.Length == 0) continue;
            if (add == "ZADD") SwapPairs(items);
            target.Send([add, _scratch, .. Words(items)]);
            if (add == "HSET") CopyFieldExpiries(key, items);
            page.Adapt(items.Length / each, reply.Size);
        }
        while (cursor != "0");
        return true;
    }

    // The size of a ring is in no reply: the next ARRING has it.
    private bool TryCopyArray(byte[] key)
    {
        var page = new PageSize();
        for (ulong from = 0; from <= ArrayIndexMax;)
        {
            if (!TryAsk(source.Link, out Reply reply, "ARSCAN", key, Shown(from), Shown(ArrayIndexMax), "LIMIT", page.Count)) return false;
            if (reply.Array.Length == 0) break;
            List<Word> words = ["ARMSET", _scratch];
            foreach (Reply pair in reply.Array)
            {
                if (pair.Array is not [{ } index, { Bytes: { } element }] || !ulong.TryParse(index.Text, CultureInfo.InvariantCulture, out ulong last) || last < from || last > ArrayIndexMax)
                {
                    throw source.Link.Fail("the reply to ARSCAN is not as expected");
                }

                words.AddRange([index.Text, element]);
                from = last + 1;
            }

            target.Send([.. words]);
            page.Adapt(reply.Array.Length, reply.Size);
        }

        if (!TryAsk(source.Link, out Reply next, "ARNEXT", key)) return false;
        target.Send("ARSEEK", _scratch, next.IsNull ? Shown(ulong.MaxValue) : next.Text);
        return true;

        static string Shown(ulong index) => index.ToString(CultureInfo.InvariantCulture);
    }

    private void CopyFieldExpiries(byte[] key, Reply[] pairs)
    {
        if (!_hasFieldExpiries) return;
        Reply times = source.Link.Run(["HPEXPIRETIME", key, "FIELDS", pairs.Length / 2, .. Words(pairs.Where((_, i) => i % 2 == 0))]);
        if (times.IsError && times.Text.Contains("unknown command", StringComparison.OrdinalIgnoreCase)) _hasFieldExpiries = false;
        for (int i = 0; i < times.Array.Length; i++)
        {
            if (times.Array[i].Number > 0) target.Send("HPEXPIREAT", _scratch, times.Array[i].Number, "FIELDS", 1, pairs[2 * i].Bytes!);
        }
    }

    // ZSCAN replies members and scores, ZADD takes scores and members.
    private static void SwapPairs(Reply[] pairs)
    {
        for (int i = 0; i + 1 < pairs.Length; i += 2) (pairs[i], pairs[i + 1]) = (pairs[i + 1], pairs[i]);
    }

    private static IEnumerable<Word> Words(IEnumerable<Reply> replies) => replies.Select(reply => (Word)reply.Bytes!);

    /// <summary>Reads something of a key; false: it has another type by now.</summary>
    internal static bool TryAsk(ServerLink link, out Reply reply, params ReadOnlySpan<Word> words)
    {
        reply = link.Run(words);
        if (!reply.IsError) return true;
        if (reply.Text.StartsWith("WRONGTYPE", StringComparison.Ordinal) || reply.Text.Contains("no such key", StringComparison.Ordinal)) return false;
        throw link.Refused(reply);
    }
}
