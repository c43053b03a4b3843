using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>Patterns with their subscribers.</summary>
internal sealed class PatternTable(BufferPool pool, KeptMemory kept)
{
    // A place in the dictionary and in the index, the pattern, and a list with one loop and one subscriber. The name belongs to a subscription.
    private const int PatternBytes = 320;

    private readonly Lock _lock = new();
    private readonly Dictionary<byte[], SubscribedPattern> _patterns = new(NameComparer.Instance);
    private readonly PatternIndex _index = new();
    private readonly MessageBlock _block = new(pool);
    private readonly List<SubscribedPattern> _matches = [];
    private int _count;

    /// <summary>Patterns with subscribers.</summary>
    internal int Count => Volatile.Read(ref _count);

    internal void Add(Subscription subscription)
    {
        lock (_lock)
        {
            if (!_patterns.TryGetValue(subscription.Name, out SubscribedPattern? pattern))
            {
                _patterns.Add(subscription.Name, pattern = new SubscribedPattern(subscription.Name));
                _index.Add(pattern);
                _count++;
                kept.Add(Kept.Channels, PatternBytes);
            }

            pattern.Subscribers.Add(subscription);
            subscription.IsListed = true;
        }
    }

    /// <summary>Takes a subscription out, if it is there. From any thread.</summary>
    internal void Remove(Subscription subscription)
    {
        lock (_lock)
        {
            if (!subscription.IsListed) return;
            SubscribedPattern pattern = _patterns[subscription.Name];
            pattern.Subscribers.Remove(subscription);
            if (pattern.Subscribers.Count > 0) return;
            _patterns.Remove(subscription.Name);
            _index.Remove(pattern);
            _count--;
            kept.Add(Kept.Channels, -PatternBytes);
        }
    }

    /// <summary>Delivers a channel's message to the subscribers of all patterns that match; returns their number. Under the channel's lock.</summary>
    internal int Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message, GlobBudget budget)
    {
        lock (_lock)
        {
            _index.FindMatches(channel, _matches, budget);
            if (_matches.Count == 0) return 0;
            int receivers = 0;
            foreach (SubscribedPattern pattern in _matches)
            {
                SubscriberList subscribers = pattern.Subscribers;
                Span<byte> to = _block.Reserve(MessageText.BytesMax(pattern.Text, channel, message));
                subscribers.Deliver(_block.Take(MessageText.WritePatternMessage(to, subscribers.PrefersResp3, pattern.Text, channel, message)));
                _block.End();
                receivers += subscribers.Count;
            }

            _matches.Clear();
            return receivers;
        }
    }

    internal void ReleaseIdle()
    {
        lock (_lock) _block.ReleaseIfIdle();
    }

    internal void Release()
    {
        lock (_lock) _block.Release();
    }
}
