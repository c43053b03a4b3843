using System.Diagnostics.CodeAnalysis;

namespace RedKite.Server.Model;

/// <summary>A client's subscriptions. Only the client's loop changes them; others read the counts, and what they are under the lock.</summary>
/// <param name="endAll">Ends all subscriptions, without a confirmation.</param>
/// <param name="withdraw">Takes them out of their tables.</param>
internal sealed class ClientSubscriptions(Action<Session> endAll, Action<ClientSubscriptions> withdraw)
{
    private readonly Lock _changing = new();
    /// <summary>All kinds.</summary>
    internal static ReadOnlySpan<SubscriptionKind> Kinds => [SubscriptionKind.Channel, SubscriptionKind.Pattern, SubscriptionKind.ShardChannel];

    private readonly Dictionary<byte[], Subscription>[] _byKind =
    [
        new(NameComparer.Instance),
        new(NameComparer.Instance),
        new(NameComparer.Instance),
    ];

    private int _isCounted;

    /// <summary>The number of subscriptions of all kinds.</summary>
    internal int Count => _byKind[0].Count + _byKind[1].Count + _byKind[2].Count;

    /// <summary>Memory of all subscriptions, roughly.</summary>
    internal long Bytes { get; private set; }

    internal int CountOf(SubscriptionKind kind) => _byKind[(int)kind].Count;

    /// <summary>The names of a kind. On the client's loop.</summary>
    internal IReadOnlyCollection<byte[]> NamesOf(SubscriptionKind kind) => _byKind[(int)kind].Keys;

    internal bool Contains(SubscriptionKind kind, ReadOnlySpan<byte> name) => _byKind[(int)kind].GetAlternateLookup<ReadOnlySpan<byte>>().ContainsKey(name);

    /// <summary>Adds a subscription that is not there. On the client's loop.</summary>
    internal void Add(SubscriptionKind kind, Subscription subscription)
    {
        lock (_changing) _byKind[(int)kind].Add(subscription.Name, subscription);
        Bytes += subscription.Name.Length + Session.NameOverhead;
    }

    /// <summary>Removes a subscription. On the client's loop.</summary>
    internal bool TryRemove(SubscriptionKind kind, ReadOnlySpan<byte> name, [NotNullWhen(true)] out Subscription? subscription)
    {
        lock (_changing)
        {
            if (!_byKind[(int)kind].GetAlternateLookup<ReadOnlySpan<byte>>().Remove(name, out _, out subscription)) return false;
        }

        Bytes -= subscription.Name.Length + Session.NameOverhead;
        return true;
    }

    /// <summary>Removes all subscriptions of a kind. On the client's loop.</summary>
    internal Subscription[] Clear(SubscriptionKind kind)
    {
        Subscription[] all = [.. _byKind[(int)kind].Values];
        lock (_changing) _byKind[(int)kind].Clear();
        foreach (Subscription subscription in all) Bytes -= subscription.Name.Length + Session.NameOverhead;
        return all;
    }

    /// <summary>Counts the client among those with subscriptions, or no longer. False: it already was, or was not.</summary>
    internal bool TryCount(bool on) => Interlocked.Exchange(ref _isCounted, on ? 1 : 0) != (on ? 1 : 0);

    /// <summary>Calls an action with each subscription, under the lock. From any thread.</summary>
    internal void ForEach(Action<SubscriptionKind, Subscription> action)
    {
        lock (_changing)
        {
            foreach (SubscriptionKind kind in Kinds)
            {
                foreach (Subscription subscription in _byKind[(int)kind].Values) action(kind, subscription);
            }
        }
    }

    /// <summary>Some of their names, of all kinds. On the client's loop.</summary>
    internal byte[][] First(int count) => [.. _byKind.SelectMany(names => names.Keys).Take(count)];

    /// <summary>Whether a user with these permissions may have all of them. From any thread.</summary>
    /// <param name="permissions">The permissions.</param>
    /// <param name="left">The steps that may still be taken for all clients (<see cref="AccessPattern.RequestStepsMax"/>).</param>
    internal bool AreAllowedBy(Permissions permissions, ref long left)
    {
        lock (_changing)
        {
            foreach (SubscriptionKind kind in Kinds)
            {
                foreach (byte[] name in _byKind[(int)kind].Keys)
                {
                    if (!permissions.AllowsChannel(name, isPattern: kind == SubscriptionKind.Pattern, ref left)) return false;
                }
            }
        }

        return true;
    }

    /// <summary>Ends all subscriptions, without a confirmation. On the client's loop.</summary>
    internal void End(Session session) => endAll(session);

    /// <summary>
    /// The client is being closed: it no longer counts as a subscriber, although its loop has yet to deliver what was published before. From any thread.
    /// </summary>
    internal void Withdraw() => withdraw(this);
}
