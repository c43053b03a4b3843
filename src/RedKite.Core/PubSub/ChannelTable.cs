using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>
/// Channels with their subscribers. The table has parts, selected by the hash of the channel's name, with a lock each. A message is delivered
/// under its channel's lock, to patterns too, so that all subscribers get a channel's messages in the same order.
/// </summary>
internal sealed class ChannelTable
{
    private const int Parts = 64;

    // A place in the dictionary, and a list with one loop and one subscriber. The name belongs to a subscription.
    private const int ChannelBytes = 200;

    private readonly KeptMemory _kept;
    private readonly bool _isShard;
    private readonly PatternTable? _patterns;
    private readonly Part[] _parts = new Part[Parts];
    private int _count;

    /// <param name="pool">Where messages are kept.</param>
    /// <param name="patterns">The patterns that also get the table's messages; null: none, because the channels are sharded.</param>
    /// <param name="kept">Where channels are counted.</param>
    internal ChannelTable(BufferPool pool, PatternTable? patterns, KeptMemory kept)
    {
        _kept = kept;
        _patterns = patterns;
        _isShard = patterns is null;
        for (int i = 0; i < Parts; i++) _parts[i] = new Part(pool);
    }

    /// <summary>Channels with subscribers.</summary>
    internal int Count => Volatile.Read(ref _count);

    internal void Add(Subscription subscription)
    {
        Part part = PartOf(subscription.Name);
        lock (part._lock)
        {
            if (!part.Channels.TryGetValue(subscription.Name, out SubscriberList? subscribers))
            {
                part.Channels.Add(subscription.Name, subscribers = new SubscriberList());
                Interlocked.Increment(ref _count);
                _kept.Add(Kept.Channels, ChannelBytes);
            }

            subscribers.Add(subscription);
            subscription.IsListed = true;
        }
    }

    /// <summary>Takes a subscription out, if it is there. From any thread.</summary>
    internal void Remove(Subscription subscription)
    {
        Part part = PartOf(subscription.Name);
        lock (part._lock)
        {
            if (!subscription.IsListed) return;
            SubscriberList subscribers = part.Channels[subscription.Name];
            subscribers.Remove(subscription);
            if (subscribers.Count > 0) return;
            part.Channels.Remove(subscription.Name);
            Interlocked.Decrement(ref _count);
            _kept.Add(Kept.Channels, -ChannelBytes);
        }
    }

    /// <summary>Delivers a message; returns the number of receivers.</summary>
    /// <param name="channel">The channel.</param>
    /// <param name="message">The message.</param>
    /// <param name="budget">The steps that patterns may take, if there can be some.</param>
    internal int Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message, GlobBudget? budget)
    {
        Part part = PartOf(channel);
        lock (part._lock)
        {
            int receivers = 0;
            if (part.Names.TryGetValue(channel, out SubscriberList? subscribers))
            {
                Span<byte> to = part.Block.Reserve(MessageText.BytesMax([], channel, message));
                subscribers.Deliver(part.Block.Take(MessageText.WriteMessage(to, subscribers.PrefersResp3, _isShard, channel, message)));
                part.Block.End();
                receivers = subscribers.Count;
            }

            return _patterns is { Count: > 0 } ? receivers + _patterns.Publish(channel, message, budget!) : receivers;
        }
    }

    /// <summary>The number of a channel's subscribers.</summary>
    internal int CountOf(ReadOnlySpan<byte> channel)
    {
        Part part = PartOf(channel);
        lock (part._lock) return part.Names.TryGetValue(channel, out SubscriberList? subscribers) ? subscribers.Count : 0;
    }

    /// <summary>The channels that match a pattern.</summary>
    /// <param name="pattern">The pattern.</param>
    /// <param name="patterns">The steps that it may take; the list is not complete if they are used up.</param>
    internal List<byte[]> Matching(ReadOnlySpan<byte> pattern, GlobBudget patterns)
    {
        var names = new List<byte[]>();
        foreach (Part part in _parts)
        {
            lock (part._lock)
            {
                foreach (byte[] name in part.Channels.Keys)
                {
                    if (patterns.IsUsedUp) return names;
                    if (patterns.IsMatch(pattern, name)) names.Add(name);
                }
            }
        }

        return names;
    }

    /// <summary>Releases memory that was kept for messages that did not come.</summary>
    internal void ReleaseIdle()
    {
        foreach (Part part in _parts)
        {
            lock (part._lock) part.Block.ReleaseIfIdle();
        }
    }

    /// <summary>The server has stopped.</summary>
    internal void Release()
    {
        foreach (Part part in _parts)
        {
            lock (part._lock) part.Block.Release();
        }
    }

    private Part PartOf(ReadOnlySpan<byte> channel) => _parts[(int)(NameComparer.Hash(channel) >> 58)];

    private sealed class Part
    {
        internal readonly Lock _lock = new();

        internal Part(BufferPool pool)
        {
            Block = new MessageBlock(pool);
            Channels = new(NameComparer.Instance);
            Names = Channels.GetAlternateLookup<ReadOnlySpan<byte>>();
        }

        internal Dictionary<byte[], SubscriberList> Channels { get; }

        internal Dictionary<byte[], SubscriberList>.AlternateLookup<ReadOnlySpan<byte>> Names { get; }

        internal MessageBlock Block { get; }
    }
}
