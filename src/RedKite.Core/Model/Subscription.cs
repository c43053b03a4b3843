namespace RedKite.Server.Model;

/// <summary>The kinds of subscriptions.</summary>
internal enum SubscriptionKind
{
    Channel,
    Pattern,
    ShardChannel,
}

/// <summary>One client's subscription to one channel or pattern.</summary>
internal sealed class Subscription(Session session, byte[] name)
{
    internal Session Session { get; } = session;

    internal byte[] Name { get; } = name;

    /// <summary>
    /// Whether messages are still delivered. Read and changed on the client's loop alone, so that nothing is delivered after the
    /// subscription's end was confirmed.
    /// </summary>
    internal bool IsActive { get; set; } = true;
}

/// <summary>A client's subscriptions. They belong to the client's loop; the counts are read by others too.</summary>
/// <param name="endAll">Ends all subscriptions, without a confirmation.</param>
internal sealed class ClientSubscriptions(Action<Session> endAll)
{
    private readonly Dictionary<byte[], Subscription>[] _byKind =
    [
        new(NameComparer.Instance),
        new(NameComparer.Instance),
        new(NameComparer.Instance),
    ];

    /// <summary>The number of subscriptions of all kinds.</summary>
    internal int Count => _byKind[0].Count + _byKind[1].Count + _byKind[2].Count;

    /// <summary>Memory of all subscriptions, roughly. Kept by <see cref="Note"/>.</summary>
    internal long Bytes { get; private set; }

    /// <summary>Notes that a subscription has begun or ended.</summary>
    internal void Note(Subscription subscription, bool hasEnded)
    {
        int bytes = subscription.Name.Length + Session.NameOverhead;
        Bytes += hasEnded ? -bytes : bytes;
    }

    internal int CountOf(SubscriptionKind kind) => _byKind[(int)kind].Count;

    /// <summary>The subscriptions of a kind by name.</summary>
    internal Dictionary<byte[], Subscription> Of(SubscriptionKind kind) => _byKind[(int)kind];

    /// <summary>Some of their names, of all kinds. On the client's loop.</summary>
    internal byte[][] First(int count) => [.. _byKind.SelectMany(names => names.Keys).Take(count)];

    /// <summary>Whether a user with these permissions may have all of them.</summary>
    internal bool AreAllowedBy(Permissions permissions)
    {
        foreach (SubscriptionKind kind in (ReadOnlySpan<SubscriptionKind>)[SubscriptionKind.Channel, SubscriptionKind.Pattern, SubscriptionKind.ShardChannel])
        {
            foreach (byte[] name in Of(kind).Keys)
            {
                if (!permissions.AllowsChannel(name, isPattern: kind == SubscriptionKind.Pattern)) return false;
            }
        }

        return true;
    }

    /// <summary>Ends all subscriptions, without a confirmation. On the client's loop.</summary>
    internal void End(Session session) => endAll(session);
}
