using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Acl;

/// <summary>One line of ACL LOG: a denied command, key or channel or a failed login, with how often it has happened.</summary>
internal sealed class AclLogEntry
{
    internal required long Id { get; init; }

    internal required DenialReason Reason { get; init; }

    internal required DenialContext Context { get; init; }

    /// <summary>The command, key or channel; for a login the command's name as it was written.</summary>
    internal required byte[] Object { get; init; }

    internal required string UserName { get; init; }

    internal required long CreatedMs { get; init; }

    internal long Count { get; private set; }

    internal long UpdatedMs { get; private set; }

    /// <summary>The client's line in CLIENT LIST at the latest time.</summary>
    internal string Client { get; private set; } = "";

    /// <summary>Memory of the entry: itself, its place in the log, and its texts. The user's name is the user's.</summary>
    internal long KeptBytes => Overhead + Object.Length + ((long)Client.Length * sizeof(char));

    private const int Overhead = 208;

    /// <summary>It has happened once more.</summary>
    internal void Note(string client, long nowMs)
    {
        Count++;
        UpdatedMs = nowMs;
        Client = client;
    }

    internal bool IsLike(DenialReason reason, DenialContext context, ReadOnlySpan<byte> what, string userName, long nowMs, long periodMs) =>
        Reason == reason && Context == context && nowMs - UpdatedMs <= periodMs && UserName == userName && what.SequenceEqual(Object);
}

/// <summary>Describes a client as CLIENT LIST does.</summary>
internal delegate string ClientText(scoped in CommandContext cmd);

/// <summary>
/// The denials of users' requests, newest first. The same denial within a minute is one entry with a count, if it is among the latest ten.
/// </summary>
/// <param name="settings">The log's length.</param>
/// <param name="limits">Counts what is dropped.</param>
/// <param name="kept">Counts the memory.</param>
/// <param name="describeClient">How an entry shows its client.</param>
internal sealed class AclLog(Settings settings, LimitCounts limits, KeptMemory kept, ClientText describeClient)
{
    // As in Redis, determined by experiment.
    private const int ComparedEntries = 10;
    private const long SamePeriodMs = 60_000;

    // Of a command, key, channel or user's name. The log's length is limited, so its memory is.
    private const int TextBytesMax = 4096;

    private readonly Lock _lock = new();
    private readonly LinkedList<AclLogEntry> _entries = new();
    private long _nextId;

    /// <summary>The number of entries.</summary>
    internal int Count
    {
        get
        {
            lock (_lock) return _entries.Count;
        }
    }

    internal void Add(scoped in CommandContext cmd, DenialReason reason, DenialContext context, ReadOnlySpan<byte> what, string userName) =>
        Add(describeClient(cmd).TrimEnd('\n'), reason, context, what, userName, cmd.NowMs);

    /// <param name="client">What the entry shows as its client.</param>
    internal void Add(string client, DenialReason reason, DenialContext context, ReadOnlySpan<byte> what, string userName, long nowMs)
    {
        what = what[..Math.Min(what.Length, TextBytesMax)];
        userName = userName[..Math.Min(userName.Length, TextBytesMax)];
        lock (_lock)
        {
            LinkedListNode<AclLogEntry>? node = Find(reason, context, what, userName, nowMs);
            if (node is not null) Remove(node);
            else node = new(new AclLogEntry { Id = _nextId++, Reason = reason, Context = context, Object = what.ToArray(), UserName = userName, CreatedMs = nowMs });
            node.Value.Note(client, nowMs);
            _entries.AddFirst(node);
            kept.Add(Kept.Denials, node.Value.KeptBytes);
            if (_entries.Count > settings.AclLogMaxLength) limits.Note(Limit.AclLogEntries);
            while (_entries.Count > settings.AclLogMaxLength) Remove(_entries.Last!);
        }
    }

    internal void Clear()
    {
        lock (_lock)
        {
            while (_entries.Last is { } last) Remove(last);
        }
    }

    /// <summary>The newest entries.</summary>
    internal AclLogEntry[] Newest(long countMax)
    {
        lock (_lock) return [.. _entries.Take((int)Math.Clamp(countMax, 0, int.MaxValue))];
    }

    private void Remove(LinkedListNode<AclLogEntry> node)
    {
        kept.Add(Kept.Denials, -node.Value.KeptBytes);
        _entries.Remove(node);
    }

    private LinkedListNode<AclLogEntry>? Find(DenialReason reason, DenialContext context, ReadOnlySpan<byte> what, string userName, long nowMs)
    {
        LinkedListNode<AclLogEntry>? node = _entries.First;
        for (int i = 0; node is not null && i < ComparedEntries; i++, node = node.Next)
        {
            if (node.Value.IsLike(reason, context, what, userName, nowMs, SamePeriodMs)) return node;
        }

        return null;
    }
}
