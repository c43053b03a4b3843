using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using RedKite.Server.Client;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite;

/// <summary>A message that a subscription has received.</summary>
/// <param name="Channel">Its channel.</param>
/// <param name="Pattern">The subscribed pattern that the channel matches; null: the channel itself was subscribed to.</param>
/// <param name="Bytes">The message.</param>
public sealed record RedKiteMessage(string Channel, string? Pattern, ReadOnlyMemory<byte> Bytes)
{
    /// <summary>The message as UTF-8.</summary>
    public string Text => Encoding.UTF8.GetString(Bytes.Span);
}

/// <summary>
/// A subscription to channels or patterns, from its creation to <see cref="Dispose"/>. Its messages are read by `await foreach`, by one reader at a time, which keeps
/// no thread while there is none.
/// </summary>
/// <remarks>
/// What is not read yet is kept, up to the hard limit of `client-output-buffer-limit pubsub` (32 MiB if that has none): beyond it the subscription ends, and reading
/// on throws a <see cref="RedKiteException"/> of the class OVERFLOW.
/// </remarks>
public sealed class RedKiteSubscription : IAsyncEnumerable<RedKiteMessage>, IDisposable, IEndsWithServer
{
    private const long PendingBytesDefault = 32L << 20;

    private readonly ClientParts _parts;
    private readonly Session _session;
    private readonly SemaphoreSlim _arrived = new(0);
    private readonly long _pendingBytesMax;
    private long _pendingBytes;
    private volatile bool _overflowed;
    private volatile bool _serverStopped;
    private volatile bool _disposed;
    private readonly int[] _slots; // of sharded channels
    private volatile string? _moved; // the error, since one of them is elsewhere

    internal RedKiteSubscription(ClientParts parts, ReadOnlySpan<byte> command, ReadOnlySpan<string> names)
    {
        _parts = parts;
        ulong limit = parts.Engine.Settings.PubSubClientLimit.HardBytes;
        _pendingBytesMax = limit == 0 ? PendingBytesDefault : (long)Math.Min(limit, long.MaxValue);
        Caller caller = parts.Callers.Take(0);
        _session = parts.Engine.Clients.AddCaller(parts.Engine.Clock.SteadyMs, parts.Engine.Users.InProcess, delivered: Arrived);
        _session.Resp3 = true;
        try
        {
            new ClientCall(caller).Add(command).Add(names);
            caller.ExecuteForWithSpan(_session);
            RedKiteReply.Parse(caller.Reply).OrThrow();
        }
        finally
        {
            caller.End();
        }

        _slots = command.StartsWith("SSUBSCRIBE"u8) ? SlotsOf(names) : [];
        parts.Subscriptions.Add(this);
        if (parts.Engine.Routing.Value is { } routing) EndIfMoved(routing); // it may have changed in between
    }

    /// <summary>The messages from now on, without end: until the subscription is disposed of, which ends the enumeration.</summary>
    /// <exception cref="RedKiteException">OVERFLOW: too much was kept for the reader. MOVED, CLUSTERDOWN: the slot of a sharded channel is another node's, or no node's.</exception>
    /// <exception cref="ObjectDisposedException">The server has stopped.</exception>
    public async IAsyncEnumerator<RedKiteMessage> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        while (true)
        {
            while (TryTake(out RedKiteMessage? message))
            {
                if (message is not null) yield return message;
            }

            if (_disposed) yield break;
            if (_overflowed) throw new RedKiteException("OVERFLOW", "OVERFLOW the subscription's reader is too slow, see client-output-buffer-limit pubsub");
            if (_moved is { } moved) throw new RedKiteException(moved[..moved.IndexOf(' ', StringComparison.Ordinal)], moved);
            if (_serverStopped) throw CallerPool.ServerStopped();
            await _arrived.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Ends the subscription. What was not read is discarded.</summary>
    public void Dispose()
    {
        if (_disposed) return;
        _disposed = true;
        _parts.Subscriptions.Remove(this);
        End();
        while (_session.TryTakeDelivery(out Payload payload)) payload.Buffer.Release();
        _arrived.Release();
    }

    void IEndsWithServer.Stop()
    {
        _serverStopped = true;
        End();
        while (_session.TryTakeDelivery(out Payload payload)) payload.Buffer.Release();
        _arrived.Release();
    }

    /// <summary>Ends the subscription if the slot of one of its sharded channels is elsewhere.</summary>
    internal void EndIfMoved(SlotRouting routing)
    {
        foreach (int slot in _slots)
        {
            if (_moved is not null) return;
            int owner = routing.OwnerOf(slot);
            if (owner != SlotRouting.NoNode && (owner == routing.Self || owner == routing.Primary)) continue;
            _moved = owner == SlotRouting.NoNode ? "CLUSTERDOWN Hash slot not served" : string.Create(CultureInfo.InvariantCulture, $"MOVED {slot} {routing.Nodes[owner].Endpoint}");
            End();
            _arrived.Release();
        }
    }

    private static int[] SlotsOf(ReadOnlySpan<string> names)
    {
        int[] slots = new int[names.Length];
        for (int i = 0; i < slots.Length; i++) slots[i] = KeySlot.Of(Encoding.UTF8.GetBytes(names[i]));
        return slots;
    }

    private void End() => _session.Subscriptions?.End(_session);

    // On the publisher's thread, which has a channel locked.
    private void Arrived(int bytes)
    {
        if (_overflowed || Interlocked.Add(ref _pendingBytes, bytes) > _pendingBytesMax)
        {
            _overflowed = true;
            while (_session.TryTakeDelivery(out Payload payload)) payload.Buffer.Release();
        }

        _arrived.Release();
    }

    private bool TryTake(out RedKiteMessage? message)
    {
        message = null;
        if (!_session.TryTakeDelivery(out Payload payload)) return false;
        RedKiteReply push;
        try
        {
            push = RedKiteReply.Parse(payload.Bytes);
        }
        finally
        {
            Interlocked.Add(ref _pendingBytes, -payload.Length);
            payload.Buffer.Release();
        }

        message = push.Items switch
        {
            [{ Text: "message" or "smessage" }, { } channel, { } bytes] => new RedKiteMessage(channel.Text!, null, bytes.Bytes),
            [{ Text: "pmessage" }, { } pattern, { } channel, { } bytes] => new RedKiteMessage(channel.Text!, pattern.Text, bytes.Bytes),
            _ => null,
        };
        return true;
    }
}

/// <summary>What ends with the server at the latest.</summary>
internal interface IEndsWithServer
{
    /// <summary>Ends it with the server.</summary>
    void Stop();
}

/// <summary>The subscriptions of a server's host.</summary>
internal sealed class SubscriptionRegistry
{
    private readonly ConcurrentDictionary<IEndsWithServer, bool> _subscriptions = new();
    private volatile bool _ended;

    internal int Count => _subscriptions.Count;

    internal void Add(IEndsWithServer subscription)
    {
        _subscriptions[subscription] = true;
        if (_ended) subscription.Stop();
    }

    /// <summary>Ends those to sharded channels whose slots are elsewhere.</summary>
    internal void EndMoved(SlotRouting routing)
    {
        foreach (RedKiteSubscription subscription in _subscriptions.Keys.OfType<RedKiteSubscription>()) subscription.EndIfMoved(routing);
    }

    internal void Remove(IEndsWithServer subscription) => _subscriptions.TryRemove(subscription, out _);

    internal void End()
    {
        _ended = true;
        foreach (IEndsWithServer subscription in _subscriptions.Keys) subscription.Stop();
    }
}
