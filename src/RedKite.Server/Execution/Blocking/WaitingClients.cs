using RedKite.Net;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Loops;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// All clients of a server that wait for keys, queued for each key in the order in which they began. A key's queue
/// belongs to the key's stripe and is used with that locked; what concerns a waiter as a whole, with all of its stripes.
/// </summary>
internal sealed class WaitingClients(Keyspace keyspace)
{
    private readonly Dictionary<KeyIdentity, WaitQueue>[] _queues = [.. keyspace.Stripes.Select(_ => new Dictionary<KeyIdentity, WaitQueue>())];
    private int _count;
    private int _withDeadline;
    private int _keys;
    private int _keysToBeGone;

    /// <summary>Clients that wait.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>Those of them that wait for a limited time.</summary>
    internal int WithDeadline => Volatile.Read(ref _withDeadline);

    /// <summary>Keys that are waited for.</summary>
    internal int Keys => Volatile.Read(ref _keys);

    /// <summary>Keys whose end would be told to somebody.</summary>
    internal int KeysToBeGone => Volatile.Read(ref _keysToBeGone);

    /// <summary>The queue of a key, or null. Its stripe is locked.</summary>
    internal WaitQueue? QueueOf(int stripe, KeyIdentity key) => _queues[stripe].GetValueOrDefault(key);

    /// <summary>Lets a client wait behind all others. Its stripes are locked.</summary>
    internal void Add(Waiter waiter)
    {
        Interlocked.Increment(ref _count);
        if (waiter.DeadlineMs != TimeoutArgument.Never) Interlocked.Increment(ref _withDeadline);
        for (int i = 0; i < waiter.Keys.Length; i++)
        {
            ref AwaitedKey key = ref waiter.Keys[i];
            if (!_queues[key.Stripe].TryGetValue(key.Identity, out WaitQueue? queue))
            {
                queue = new WaitQueue();
                _queues[key.Stripe].Add(key.Identity, queue);
                Interlocked.Increment(ref _keys);
            }

            key.Node = queue.Waiters.AddLast(waiter);
            if (waiter.WakesWhenGone && queue.WakingWhenGone++ == 0) Interlocked.Increment(ref _keysToBeGone);
            keyspace.Stripes[key.Stripe].Watchers++;
        }
    }

    /// <summary>Takes a waiter out of its queues: it waits no more. Its stripes are locked.</summary>
    internal void Remove(Waiter waiter)
    {
        waiter.HasEnded = true;
        Interlocked.Decrement(ref _count);
        if (waiter.DeadlineMs != TimeoutArgument.Never) Interlocked.Decrement(ref _withDeadline);
        foreach (AwaitedKey key in waiter.Keys)
        {
            WaitQueue queue = _queues[key.Stripe][key.Identity];
            queue.Waiters.Remove(key.Node);
            keyspace.Stripes[key.Stripe].Watchers--;
            if (waiter.WakesWhenGone && --queue.WakingWhenGone == 0) Interlocked.Decrement(ref _keysToBeGone);
            if (queue.Waiters.Count > 0) continue;
            _queues[key.Stripe].Remove(key.Identity);
            Interlocked.Decrement(ref _keys);
        }
    }

    /// <summary>Ends a wait, unless it has ended. No stripe is locked.</summary>
    /// <returns>Whether it was waiting until now; then nobody else ends it, and who calls replies.</returns>
    internal bool TryEnd(Waiter waiter)
    {
        using LockScope locked = keyspace.Lock(waiter.Stripes);
        return TryEndLocked(waiter);
    }

    /// <summary>Ends a wait, unless it has ended. Its stripes are locked.</summary>
    internal bool TryEndLocked(Waiter waiter)
    {
        if (waiter.HasEnded) return false;
        Remove(waiter);
        return true;
    }

    /// <summary>Lets every key of a database that is waited for be looked at, after all of them changed. All stripes are locked.</summary>
    internal void TouchAll(Database database)
    {
        if (Count == 0) return;
        for (int stripe = 0; stripe < _queues.Length; stripe++)
        {
            foreach (KeyIdentity key in _queues[stripe].Keys)
            {
                if (key.Database == database.Index) keyspace.Stripes[stripe].NoteTouched(key.Database, key.Hash);
            }
        }
    }

    /// <summary>Hands the reply of a wait that has ended to the client: on its loop, or to the caller in the process. No stripe is locked.</summary>
    internal static void Deliver(Waiter waiter)
    {
        if (waiter.Session.Connection is not { } connection)
        {
            waiter.Wake();
            return;
        }

        if (connection.Loop.IsCurrent) Finish(connection, waiter);
        else connection.Loop.Post(() => Finish(connection, waiter));
    }

    /// <summary>Whether one of the stripes has touched keys that are waited for.</summary>
    internal bool HasTouched(StripeSet stripes)
    {
        if (Count == 0) return false;
        foreach (int stripe in stripes)
        {
            if (keyspace.Stripes[stripe].HasTouched) return true;
        }

        return false;
    }

    private static void Finish(Connection connection, Waiter waiter) => ((SessionLoop)connection.Loop.Handler).Waiting.Finish(connection, waiter);
}

/// <summary>The clients that wait for a key, first come first.</summary>
internal sealed class WaitQueue
{
    internal LinkedList<Waiter> Waiters { get; } = new();

    /// <summary>How many of them are told when the key is gone.</summary>
    internal int WakingWhenGone { get; set; }
}
