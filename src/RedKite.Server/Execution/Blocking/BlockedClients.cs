using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// The blocked clients of a server, queued for each key in the order in which they blocked. A key's queue belongs to the key's
/// stripe and is used with that locked.
/// </summary>
/// <remarks>
/// A client may end its wait at any time without a lock (<see cref="BlockedClient"/>), so that queues may still hold clients
/// that have ended. Their own threads take them out, one stripe at a time.
/// </remarks>
internal sealed class BlockedClients(Keyspace keyspace)
{
    /// <summary>Begins the deadline of a client on its connection's loop.</summary>
    internal required Action<BlockedClient> Begun { get; init; }

    /// <summary>Ends a client's wait on its connection's loop: called there.</summary>
    internal required Action<BlockedClient> Finished { get; init; }

    private readonly Dictionary<KeyIdentity, BlockedQueue>[] _queues = [.. keyspace.Stripes.Select(_ => new Dictionary<KeyIdentity, BlockedQueue>())];
    private int _count;
    private int _withDeadline;
    private int _keys;
    private int _keysWakingWhenGone;

    /// <summary>Blocked clients.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>Those of them that have a deadline.</summary>
    internal int WithDeadline => Volatile.Read(ref _withDeadline);

    /// <summary>Keys that clients are blocked on.</summary>
    internal int Keys => Volatile.Read(ref _keys);

    /// <summary>Keys with clients that are also woken when the key is gone.</summary>
    internal int KeysWakingWhenGone => Volatile.Read(ref _keysWakingWhenGone);

    /// <summary>The queue of a key, or null. Its stripe is locked.</summary>
    internal BlockedQueue? QueueOf(KeyIdentity key) => _queues[keyspace.StripeOf(key.Hash)].GetValueOrDefault(key);

    /// <summary>The keys of a stripe that clients are blocked on. The stripe is locked.</summary>
    internal IEnumerable<KeyIdentity> KeysIn(int stripe) => _queues[stripe].Keys;

    /// <summary>Blocks a command's client, behind all others of its keys. The stripes of the command's keys are locked.</summary>
    internal BlockedClient Block(scoped in CommandContext cmd, BlockRequest block, StripeSet held)
    {
        SavedRequest request = SavedRequest.Of(cmd, block.Replacements);
        AwaitedKey[] keys = block.Type is null ? [] : KeysOf(cmd);
        var client = new BlockedClient(cmd.Session, request, block, keys, held) { DropsReply = cmd.Session.ReplyMode != ReplyMode.On };
        Interlocked.Increment(ref _count);
        if (client.HasDeadline) Interlocked.Increment(ref _withDeadline);
        for (int i = 0; i < keys.Length; i++) Enqueue(client, ref keys[i]);
        client.IsCounted = true;
        cmd.Session.Blocked = client;
        return client;
    }

    /// <summary>A client has blocked: its loop sees to the deadline. A caller in the process does so itself.</summary>
    internal void NoteBegun(BlockedClient client)
    {
        if (client.Session.Connection is not null) Begun(client);
    }

    /// <summary>
    /// Hands a client that is blocked no more over to its own thread, which replies: its connection's loop, or the caller in the
    /// process. No stripe is locked.
    /// </summary>
    internal void Finish(BlockedClient client)
    {
        if (client.Session.Connection is not { } connection) client.Wake();
        else if (connection.Loop.IsCurrent) Finished(client);
        else connection.Loop.Post(() => Finished(client));
    }

    /// <summary>
    /// Takes a client that has ended out of its queues, where no other thread holds a key's stripe. It does not wait; the caller
    /// tries again later. No stripe is locked.
    /// </summary>
    /// <returns>Whether the client is in no queue any more.</returns>
    internal bool TryRemove(BlockedClient client)
    {
        NoteEnded(client);
        foreach (int stripe in client.QueuedIn)
        {
            if (!keyspace.Stripes[stripe].TryEnterSoon()) continue;
            using LockScope locked = LockScope.Adopt(keyspace, StripeSet.Of(stripe));
            Dequeue(client, stripe);
        }

        return client.QueuedIn.IsEmpty;
    }

    /// <summary>Takes a client that has ended out of its queues, and waits for their stripes. No stripe is locked.</summary>
    internal void Remove(BlockedClient client)
    {
        NoteEnded(client);
        foreach (int stripe in client.QueuedIn)
        {
            using LockScope locked = keyspace.Lock(StripeSet.Of(stripe));
            Dequeue(client, stripe);
        }
    }

    /// <summary>Takes a client that was served out of its queues. Its stripes are locked.</summary>
    internal void RemoveLocked(BlockedClient client)
    {
        NoteEnded(client);
        foreach (int stripe in client.QueuedIn) Dequeue(client, stripe);
    }

    private static AwaitedKey[] KeysOf(scoped in CommandContext cmd)
    {
        var keys = new List<AwaitedKey>();
        var known = new HashSet<KeyIdentity>();
        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd))
        {
            // A key that the command only writes, such as BLMOVE's destination, serves nobody.
            if ((extraction.Spec.Flags & KeyFlags.Access) == 0) continue;
            ulong hash = cmd.HashOf(extraction.Argument);
            var identity = new KeyIdentity(cmd.Database.Index, hash);
            if (!known.Add(identity)) continue; // the same key twice
            keys.Add(new AwaitedKey { Identity = identity, Stripe = cmd.StripeOf(hash), Argument = extraction.Argument });
        }

        // By stripe, so that each stripe is locked once for the cleanup.
        keys.Sort(static (a, b) => a.Stripe.CompareTo(b.Stripe));
        return [.. keys];
    }

    private void Enqueue(BlockedClient client, ref AwaitedKey key)
    {
        if (!_queues[key.Stripe].TryGetValue(key.Identity, out BlockedQueue? queue))
        {
            queue = new BlockedQueue();
            _queues[key.Stripe].Add(key.Identity, queue);
            Interlocked.Increment(ref _keys);
        }

        key.Node = queue.Clients.AddLast(client);
        if (client.Block.WakesWhenGone && queue.WakingWhenGone++ == 0) Interlocked.Increment(ref _keysWakingWhenGone);
        keyspace.Stripes[key.Stripe].Watchers++;
        client.QueuedIn = client.QueuedIn.With(key.Stripe);
    }

    // The keys are sorted by stripe.
    private void Dequeue(BlockedClient client, int stripe)
    {
        AwaitedKey[] keys = client.Keys;
        int first = Array.FindIndex(keys, key => key.Stripe == stripe);
        for (int i = first; i < keys.Length && keys[i].Stripe == stripe; i++) Dequeue(client, keys[i]);
        client.QueuedIn = client.QueuedIn.Without(stripe);
    }

    private void Dequeue(BlockedClient client, in AwaitedKey key)
    {
        BlockedQueue queue = _queues[key.Stripe][key.Identity];
        queue.Clients.Remove(key.Node!);
        keyspace.Stripes[key.Stripe].Watchers--;
        if (client.Block.WakesWhenGone && --queue.WakingWhenGone == 0) Interlocked.Decrement(ref _keysWakingWhenGone);
        if (queue.Clients.Count > 0) return;
        _queues[key.Stripe].Remove(key.Identity);
        Interlocked.Decrement(ref _keys);
    }

    // By the one thread that ended or served the client.
    private void NoteEnded(BlockedClient client)
    {
        if (!client.IsCounted) return;
        client.IsCounted = false;
        Interlocked.Decrement(ref _count);
        if (client.HasDeadline) Interlocked.Decrement(ref _withDeadline);
    }
}

/// <summary>The clients that are blocked on a key, the one that blocked first in front.</summary>
internal sealed class BlockedQueue
{
    internal LinkedList<BlockedClient> Clients { get; } = new();

    /// <summary>How many of them are also woken when the key is gone.</summary>
    internal int WakingWhenGone { get; set; }
}
