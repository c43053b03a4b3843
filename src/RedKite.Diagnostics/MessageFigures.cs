using RedKite.Server.PubSub;
using RedKite.Server.Tracking;

namespace RedKite.Server.Diagnostics;

/// <summary>The counters of messages and of client-side caching.</summary>
internal readonly record struct MessageFigures
{
    internal MessageFigures(MessageHub messages, KeyTracking tracking)
    {
        Subscribers = messages.Clients;
        Channels = messages.Channels.Count;
        ShardChannels = messages.ShardChannels.Count;
        Patterns = messages.Patterns;
        Published = messages.Published;
        Delivered = messages.Delivered;
        TrackingClients = tracking.Clients;
        TrackedKeys = tracking.Keys;
        TrackedItems = tracking.Items;
        TrackedPrefixes = tracking.Prefixes;
        Invalidations = tracking.Sent;
    }

    internal int Subscribers { get; }

    internal int Channels { get; }

    internal int ShardChannels { get; }

    internal int Patterns { get; }

    internal long Published { get; }

    internal long Delivered { get; }

    internal int TrackingClients { get; }

    internal long TrackedKeys { get; }

    internal long TrackedItems { get; }

    internal int TrackedPrefixes { get; }

    internal long Invalidations { get; }
}
