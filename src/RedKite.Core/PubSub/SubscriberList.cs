using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>
/// The subscribers of one channel or pattern, by their loops: a message is posted once to each loop, which delivers it to its own
/// subscribers. Changed and read under the lock of the table that the list is in.
/// </summary>
/// <remarks>
/// A loop gets an array and a count, and reads it later without the lock. So an array only grows behind that count. A subscription that
/// is taken out stays where it is until half of the array has ended; then the rest moves to a new one.
///
/// A loop delivers to its own subscribers at once, unless messages from other loops wait for it: those were published before.
/// </remarks>
internal sealed class SubscriberList
{
    // If fewer bytes than this are on their way to a loop, they are not compared with the limit.
    private const long LimitedBytesMin = 64 * 1024;

    private Group[] _groups = [];

    /// <summary>Subscriptions that have not ended.</summary>
    internal int Count { get; private set; }

    /// <summary>The first subscriber's protocol, in which a message is written first.</summary>
    internal bool PrefersResp3 { get; private set; }

    internal void Add(Subscription subscription)
    {
        EventLoop? loop = subscription.Session.Connection?.Loop;
        int index = Array.FindIndex(_groups, group => group.Loop == loop);
        if (index < 0)
        {
            index = _groups.Length;
            _groups = [.. _groups, new Group { Loop = loop, Subscriptions = new Subscription[1] }];
        }

        ref Group group = ref _groups[index];
        if (group.Length == group.Subscriptions.Length) group.Subscriptions = Copied(group, group.Length * 2);
        group.Subscriptions[group.Length++] = subscription;
        if (Count++ == 0) PrefersResp3 = subscription.Session.Resp3;
    }

    /// <summary>Takes a subscription out. A message on its way to its client is still delivered while the subscription is active.</summary>
    internal void Remove(Subscription subscription)
    {
        EventLoop? loop = subscription.Session.Connection?.Loop;
        ref Group group = ref _groups[Array.FindIndex(_groups, group => group.Loop == loop)];
        subscription.IsListed = false;
        Count--;
        if (++group.Ended * 2 <= group.Length) return;
        Subscription[] active = [.. group.Subscriptions.AsSpan(0, group.Length).ToArray().Where(other => other.IsListed)];
        group.Length = active.Length;
        group.Ended = 0;
        group.Subscriptions = active.Length == 0 ? new Subscription[1] : active;
    }

    /// <summary>Delivers a message to all subscribers; those of other loops get it when their loops handle the posted message.</summary>
    internal void Deliver(in Payload message)
    {
        foreach (ref Group group in _groups.AsSpan())
        {
            if (group.Length == group.Ended) continue;
            if (group.Loop is null)
            {
                DeliverInProcess(group.Subscriptions.AsSpan(0, group.Length), message);
                continue;
            }

            if (group.Loop.IsCurrent && !group.Loop.HasMessages)
            {
                Deliver(group.Subscriptions.AsSpan(0, group.Length), message, group.Loop.Pool);
                continue;
            }

            Post(ref group, message);
        }
    }

    // To the inboxes of subscribers in the process, which read both protocols.
    private static void DeliverInProcess(ReadOnlySpan<Subscription> subscriptions, in Payload message)
    {
        foreach (Subscription subscription in subscriptions)
        {
            if (subscription.IsActive) subscription.Session.Deliver(message);
        }
    }

    // Bytes that wait for the loop count against each subscriber's limit. Beyond it the rest is dropped, and the subscribers are closed.
    private static void Post(ref Group group, in Payload message)
    {
        Backlog backlog = group.Backlog ??= new Backlog();
        if (backlog.IsOver) return;
        var posted = new Posted(group, message);
        long waiting = Interlocked.Add(ref backlog.Bytes, message.Length);
        message.Buffer.AddReference();
        group.Loop!.Post(posted.Deliver, message.Buffer);
        if (waiting < LimitedBytesMin || !group.Loop.Handler.IsOverLimit(posted.AnyConnection, waiting)) return;
        backlog.IsOver = true;
        group.Loop.Post(posted.Close);
    }

    // On the subscribers' loop.
    private static void Deliver(ReadOnlySpan<Subscription> subscriptions, in Payload message, BufferPool pool)
    {
        bool isResp3 = message.Bytes[0] == '>';
        Payload other = default;
        foreach (Subscription subscription in subscriptions)
        {
            if (!subscription.IsActive) continue;
            if (subscription.Session.Resp3 == isResp3)
            {
                subscription.Session.Deliver(message);
                continue;
            }

            if (other.Length == 0) other = MessageText.InOtherProtocol(pool, message);
            subscription.Session.Deliver(other);
        }

        if (other.Length > 0) other.Buffer.Release();
    }

    private static Subscription[] Copied(in Group group, int capacity)
    {
        var copy = new Subscription[capacity];
        group.Subscriptions.AsSpan(0, group.Length).CopyTo(copy);
        return copy;
    }

    // Subscribers of one loop.
    private struct Group
    {
        internal EventLoop? Loop; // null: they are in the process
        internal Subscription[] Subscriptions;
        internal int Length;
        internal int Ended;
        internal Backlog? Backlog; // since the first message from another loop
    }

    // Messages on their way to a loop.
    private sealed class Backlog
    {
        internal long Bytes;
        internal volatile bool IsOver;
    }

    // A message on its way to another loop.
    private sealed class Posted(in Group group, Payload message)
    {
        private readonly Subscription[] _subscriptions = group.Subscriptions;
        private readonly int _length = group.Length;
        private readonly BufferPool _pool = group.Loop!.Pool;
        private readonly Backlog _backlog = group.Backlog!;

        internal Connection AnyConnection => (Array.Find(_subscriptions, subscription => subscription is { IsActive: true }) ?? _subscriptions[0]).Session.Connection!;

        internal void Deliver()
        {
            Interlocked.Add(ref _backlog.Bytes, -message.Length);
            SubscriberList.Deliver(_subscriptions.AsSpan(0, _length), message, _pool);
        }

        internal void Close()
        {
            _backlog.IsOver = false;
            foreach (Subscription subscription in _subscriptions.AsSpan(0, _length))
            {
                if (subscription is { IsActive: true, Session.Connection: { } connection }) connection.Loop.Handler.OnLimitExceeded(connection);
            }
        }
    }
}
