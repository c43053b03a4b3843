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
/// ends stays where it is until half of the array has ended; then the rest moves to a new one.
///
/// A loop delivers to its own subscribers at once, unless messages from other loops wait for it: those were published before.
/// </remarks>
internal sealed class SubscriberList
{
    private Group[] _groups = [];

    /// <summary>Subscriptions that have not ended.</summary>
    internal int Count { get; private set; }

    /// <summary>The protocol that the first subscriber has, in which a message is written first.</summary>
    internal bool PrefersResp3 { get; private set; }

    internal void Add(Subscription subscription)
    {
        EventLoop loop = subscription.Session.Connection!.Loop;
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

    /// <summary>Ends a subscription. On its client's loop.</summary>
    internal void Remove(Subscription subscription)
    {
        EventLoop loop = subscription.Session.Connection!.Loop;
        ref Group group = ref _groups[Array.FindIndex(_groups, group => group.Loop == loop)];
        subscription.IsActive = false;
        Count--;
        if (++group.Ended * 2 <= group.Length) return;
        Subscription[] active = [.. group.Subscriptions.AsSpan(0, group.Length).ToArray().Where(other => other.IsActive)];
        group.Length = active.Length;
        group.Ended = 0;
        group.Subscriptions = active.Length == 0 ? new Subscription[1] : active;
    }

    /// <summary>Delivers a message to all subscribers; those of other loops get it when these handle what was posted.</summary>
    internal void Deliver(in Payload message)
    {
        foreach (ref readonly Group group in _groups.AsSpan())
        {
            if (group.Length == group.Ended) continue;
            if (group.Loop.IsCurrent && !group.Loop.HasMessages)
            {
                Deliver(group.Subscriptions.AsSpan(0, group.Length), message, group.Loop.Pool);
                continue;
            }

            message.Buffer.AddReference();
            group.Loop.Post(new Posted(group.Subscriptions, group.Length, message, group.Loop.Pool).Deliver, message.Buffer);
        }
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
        internal EventLoop Loop;
        internal Subscription[] Subscriptions;
        internal int Length;
        internal int Ended;
    }

    // A message on its way to another loop.
    private sealed class Posted(Subscription[] subscriptions, int length, Payload message, BufferPool pool)
    {
        internal void Deliver() => SubscriberList.Deliver(subscriptions.AsSpan(0, length), message, pool);
    }
}
