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

    /// <summary>Whether it is among its channel's or pattern's subscribers. Under the lock of their table.</summary>
    internal bool IsListed { get; set; }
}
