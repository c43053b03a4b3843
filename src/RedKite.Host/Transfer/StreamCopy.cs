using System.Globalization;

namespace RedKite.Host.Transfer;

/// <summary>
/// Copies a stream with commands: entries, counters, groups, consumers and pending entries. Entries that are pending but deleted are added
/// without content, claimed and deleted again, since only an entry that exists can be claimed. Not copied: the times at which consumers
/// were last seen, because no command sets them.
/// </summary>
internal sealed class StreamCopy(SourceServer source, TargetServer target, byte[] scratch)
{
    private const string MakerGroup = "redkite-import";
    private const int PendingCount = 500;

    private readonly List<UInt128> _deleted = []; // pending, and after the first entry that exists
    private UInt128[] _pending = [];
    private int _nextPending;
    private UInt128 _first;
    private bool _hasTrimmed; // pending entries before the first one that exists
    private long _length;

    /// <summary>Copies the stream; false: the key has another type by now, or is gone.</summary>
    internal bool TryCopy(byte[] key)
    {
        if (!TryAsk(out Reply info, "XINFO", "STREAM", key) || !TryAsk(out Reply groups, "XINFO", "GROUPS", key) || !TryReadPendingIds(key, groups)) return false;

        // Creates it, also without entries.
        target.Send("XGROUP", "CREATE", scratch, MakerGroup, "0", "MKSTREAM");
        target.Send("XGROUP", "DESTROY", scratch, MakerGroup);
        if (!TryCopyEntries(key)) return false;
        SetCounters(info, isFinal: false);
        foreach (Reply group in groups.Array)
        {
            if (!TryCopyGroup(key, group)) return false;
        }

        RemoveDeleted();
        SetCounters(info, isFinal: true);
        return true;
    }

    private bool TryReadPendingIds(byte[] key, Reply groups)
    {
        List<UInt128> ids = [];
        foreach (Reply group in groups.Array)
        {
            if (!TryReadPending(key, NameOf(group), pending => ids.Add(Parse(pending.Array[0].Text)))) return false;
        }

        _pending = [.. ids.Distinct().Order()];
        return true;
    }

    private bool TryCopyEntries(byte[] key)
    {
        var page = new PageSize();
        string from = "-";
        while (true)
        {
            if (!PlainCopy.TryAsk(source.Link, out Reply reply, "XRANGE", key, from, "+", "COUNT", page.Count)) return false;
            if (reply.Array.Length == 0) break;
            foreach (Reply entry in reply.Array)
            {
                if (entry.Array is not [{ } id, { Items: { } fields }]) throw source.Link.Fail("the reply to XRANGE is not as expected");
                UInt128 number = Parse(id.Text);
                AddDeletedBefore(number);
                if (_nextPending < _pending.Length && _pending[_nextPending] == number) _nextPending++;
                if (_first == default) _first = number;
                target.Send(["XADD", scratch, id.Bytes!, .. fields.Select(field => (Word)field.Bytes!)]);
                _length++;
                from = Shown(number + 1);
            }

            page.Adapt(reply.Array.Length, reply.Size);
        }

        AddDeletedBefore(UInt128.MaxValue);
        return true;
    }

    private void AddDeletedBefore(UInt128 id)
    {
        for (; _nextPending < _pending.Length && _pending[_nextPending] < id; _nextPending++)
        {
            UInt128 deleted = _pending[_nextPending];
            if (_first == default) _hasTrimmed = true;
            else _deleted.Add(deleted);
            target.Send("XADD", scratch, Shown(deleted), "deleted", "");
            _length++;
        }
    }

    // What was trimmed is trimmed, and what was deleted is deleted, because only the latter shows in the stream's counters.
    private void RemoveDeleted()
    {
        if (_hasTrimmed && _first == default) target.Send("XTRIM", scratch, "MAXLEN", "0");
        else if (_hasTrimmed) target.Send("XTRIM", scratch, "MINID", Shown(_first));
        foreach (UInt128 id in _deleted) target.Send("XDEL", scratch, Shown(id));
    }

    private void SetCounters(Reply info, bool isFinal)
    {
        string last = info["last-generated-id"]?.Text ?? "0-0";
        if (info["entries-added"] is not { } added || info["max-deleted-entry-id"] is not { } deleted)
        {
            target.Send("XSETID", scratch, last);
            return;
        }

        target.Send("XSETID", scratch, last, "ENTRIESADDED", isFinal ? added.Number : Math.Max(added.Number, _length), "MAXDELETEDID", deleted.Text);
    }

    private bool TryCopyGroup(byte[] key, Reply group)
    {
        byte[] name = NameOf(group);
        string last = group["last-delivered-id"]?.Text ?? "0-0";
        if (group["entries-read"] is { IsNull: false } read) target.Send("XGROUP", "CREATE", scratch, name, last, "ENTRIESREAD", read.Number);
        else target.Send("XGROUP", "CREATE", scratch, name, last);
        if (!TryAsk(out Reply consumers, "XINFO", "CONSUMERS", key, name)) return false;
        foreach (Reply consumer in consumers.Array) target.Send("XGROUP", "CREATECONSUMER", scratch, name, NameOf(consumer));
        return TryReadPending(key, name, pending =>
        {
            if (pending.Array is not [{ } id, { } consumer, { } idle, { } deliveries]) throw source.Link.Fail("the reply to XPENDING is not as expected");
            target.Send("XCLAIM", scratch, name, consumer.Bytes!, 0, id.Bytes!, "IDLE", idle.Number, "RETRYCOUNT", deliveries.Number, "FORCE", "JUSTID");
        });
    }

    private bool TryReadPending(byte[] key, byte[] group, Action<Reply> take)
    {
        string from = "-";
        while (true)
        {
            Reply reply = source.Link.Run("XPENDING", key, group, from, "+", PendingCount);
            if (reply.IsError) return false;
            if (reply.Array.Length == 0) return true;
            foreach (Reply pending in reply.Array) take(pending);
            from = Shown(Parse(reply.Array[^1].Array[0].Text) + 1);
        }
    }

    private bool TryAsk(out Reply reply, params ReadOnlySpan<Word> words)
    {
        reply = source.Link.Run(words);
        return !reply.IsError;
    }

    private static byte[] NameOf(Reply groupOrConsumer) => groupOrConsumer["name"]?.Bytes ?? [];

    private static UInt128 Parse(string id)
    {
        int dash = id.IndexOf('-', StringComparison.Ordinal);
        return new UInt128(ulong.Parse(id.AsSpan(0, dash), CultureInfo.InvariantCulture), ulong.Parse(id.AsSpan(dash + 1), CultureInfo.InvariantCulture));
    }

    private static string Shown(UInt128 id) => string.Create(CultureInfo.InvariantCulture, $"{(ulong)(id >> 64)}-{(ulong)id}");
}
