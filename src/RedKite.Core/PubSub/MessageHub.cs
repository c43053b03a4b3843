using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>Channels, sharded channels and patterns with their subscribers, and the delivery of messages. From any thread.</summary>
internal sealed class MessageHub
{
    private readonly PatternTable _patterns;
    private readonly ChannelTable _channels;
    private readonly ChannelTable _shardChannels;
    private int _clients;
    private long _published;
    private long _delivered;

    internal MessageHub(BufferPool pool, KeptMemory kept)
    {
        _patterns = new PatternTable(pool, kept);
        _channels = new ChannelTable(pool, _patterns, kept);
        _shardChannels = new ChannelTable(pool, patterns: null, kept);
    }

    internal ChannelTable Channels => _channels;

    internal ChannelTable ShardChannels => _shardChannels;

    /// <summary>Patterns with subscribers.</summary>
    internal int Patterns => _patterns.Count;

    /// <summary>Clients with subscriptions.</summary>
    internal int Clients => Volatile.Read(ref _clients);

    /// <summary>Messages that were published.</summary>
    internal long Published => Interlocked.Read(ref _published);

    /// <summary>Deliveries of messages, to each receiver.</summary>
    internal long Delivered => Interlocked.Read(ref _delivered);

    /// <summary>Subscribes a client. On its loop.</summary>
    /// <returns>Whether it was not subscribed already.</returns>
    internal bool Subscribe(Session session, SubscriptionKind kind, ReadOnlySpan<byte> name)
    {
        ClientSubscriptions own = session.Subscriptions ??= new ClientSubscriptions(EndAll, Withdraw);
        if (own.Contains(kind, name)) return false;
        var subscription = new Subscription(session, name.ToArray());
        if (own.TryCount(on: true)) Interlocked.Increment(ref _clients);
        own.Add(kind, subscription);
        if (kind == SubscriptionKind.Pattern) _patterns.Add(subscription);
        else TableOf(kind).Add(subscription);
        session.NoteSubscriptions();
        return true;
    }

    /// <summary>Ends one subscription of a client. On its loop.</summary>
    /// <returns>Whether there was one.</returns>
    internal bool Unsubscribe(Session session, SubscriptionKind kind, ReadOnlySpan<byte> name)
    {
        if (session.Subscriptions is not { } own || !own.TryRemove(kind, name, out Subscription? subscription)) return false;
        subscription.IsActive = false;
        Remove(kind, subscription);
        if (own.Count == 0) NoteNone(own);
        session.NoteSubscriptions();
        return true;
    }

    /// <summary>Ends all subscriptions of a client, without a confirmation. On its loop.</summary>
    internal void EndAll(Session session)
    {
        if (session.Subscriptions is not { Count: > 0 } own) return;
        foreach (SubscriptionKind kind in ClientSubscriptions.Kinds)
        {
            foreach (Subscription subscription in own.Clear(kind))
            {
                subscription.IsActive = false;
                Remove(kind, subscription);
            }
        }

        NoteNone(own);
        session.NoteSubscriptions();
    }

    /// <summary>A client that is being closed no longer counts as a subscriber. From any thread.</summary>
    internal void Withdraw(ClientSubscriptions subscriptions)
    {
        subscriptions.ForEach(Remove);
        NoteNone(subscriptions);
    }

    /// <summary>Publishes a message; returns the number of receivers.</summary>
    /// <param name="channel">The channel.</param>
    /// <param name="message">The message.</param>
    /// <param name="budget">The steps that the patterns of subscribers may take for all messages of a command, or of a transaction or script.</param>
    internal int Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message, GlobBudget budget) => Count(_channels.Publish(channel, message, budget));

    /// <summary>Publishes a message to a sharded channel; returns the number of receivers.</summary>
    internal int PublishToShard(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message) => Count(_shardChannels.Publish(channel, message, budget: null));

    /// <summary>Whether a message could have any receiver.</summary>
    internal bool HasSubscribers => _channels.Count + _patterns.Count > 0;

    /// <summary>Releases memory that was kept for messages that did not come. About once a second.</summary>
    internal void ReleaseIdle()
    {
        _channels.ReleaseIdle();
        _shardChannels.ReleaseIdle();
        _patterns.ReleaseIdle();
    }

    /// <summary>The server has stopped.</summary>
    internal void Release()
    {
        _channels.Release();
        _shardChannels.Release();
        _patterns.Release();
    }

    private void NoteNone(ClientSubscriptions subscriptions)
    {
        if (subscriptions.TryCount(on: false)) Interlocked.Decrement(ref _clients);
    }

    private int Count(int receivers)
    {
        Interlocked.Increment(ref _published);
        if (receivers > 0) Interlocked.Add(ref _delivered, receivers);
        return receivers;
    }

    private void Remove(SubscriptionKind kind, Subscription subscription)
    {
        if (kind == SubscriptionKind.Pattern) _patterns.Remove(subscription);
        else TableOf(kind).Remove(subscription);
    }

    private ChannelTable TableOf(SubscriptionKind kind) => kind == SubscriptionKind.ShardChannel ? _shardChannels : _channels;
}
