using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// The blocked clients of a server, queued for each key in the order in which their requests arrived. A key's queue belongs to the key's
/// stripe and is used with that locked.
/// </summary>
/// <remarks>
/// A client may end its wait at any time without a lock (<see cref="BlockedClient"/>), so that queues may still hold clients
/// that have ended. Their own threads remove them, one stripe at a time.
/// </remarks>
internal sealed class BlockedClients(Keyspace keyspace)
{
    /// <summary>Begins the deadline of a client on its connection's loop.</summary>
    internal required Action<BlockedClient> Begun { get; init; }

    /// <summary>Ends a client's wait on its connection's loop: called there.</summary>
    internal required Action<BlockedClient> Finished { get; init; }

    /// <summary>Keys whose clients are looked at at a time.</summary>
    internal KeyLooks Looks { get; } = new();

    // When the request that a session executes arrived, given the start of the loop's iteration.
    private Func<Session, long, Arrival> _arrivalOf = Arrival.Of;

    /// <summary>A test says when requests arrived.</summary>
    internal void OrderBy(Func<Session, long, Arrival> arrivalOf) => _arrivalOf = arrivalOf;

    private readonly ConcurrentDictionary<BlockedClient, bool> _all = new();
    private readonly Dictionary<KeyIdentity, BlockedQueue>[] _queues = [.. keyspace.Stripes.Select(_ => new Dictionary<KeyIdentity, BlockedQueue>())];
    private int _count;
    private int _withDeadline;
    private int _keys;
    private int _keysWakingWhenGone;

    /// <summary>Blocked clients.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>All of them, callers in the process too, in any order.</summary>
    internal IEnumerable<BlockedClient> All => _all.Select(static each => each.Key);

    /// <summary>Those of them that have a deadline.</summary>
    internal int WithDeadline => Volatile.Read(ref _withDeadline);

    /// <summary>Keys that clients are blocked on.</summary>
    internal int Keys => Volatile.Read(ref _keys);

    /// <summary>Keys with clients that are also woken when the key is gone.</summary>
    internal int KeysWakingWhenGone => Volatile.Read(ref _keysWakingWhenGone);

    /// <summary>The client whose request arrived first, or null. The key's stripe is locked.</summary>
    internal AwaitedKey? FirstOf(KeyIdentity key) => _queues[keyspace.StripeOf(key.Hash)].GetValueOrDefault(key).First;

    /// <summary>The keys of a stripe that clients are blocked on. The stripe is locked.</summary>
    internal IEnumerable<KeyIdentity> KeysIn(int stripe) => _queues[stripe].Keys;

    /// <summary>
    /// Blocks a command's client, behind all clients that wait for its keys and whose requests arrived earlier. The stripes of the command's keys
    /// are locked.
    /// </summary>
    internal BlockedClient Block(scoped in CommandContext cmd, BlockRequest block, StripeSet held, long iterationStart)
    {
        SavedRequest request = SavedRequest.Of(cmd, block.Replacements);
        var client = new BlockedClient(cmd.Session, request, block, held)
        {
            Arrival = _arrivalOf(cmd.Session, iterationStart),
            DropsReply = cmd.Session.ReplyMode != ReplyMode.On,
            DeadlineOfBegin = cmd.Session.Own.Deadline,
            Asks = (cmd.Session.Attention & SessionAttention.Asks) != 0,
        };
        if (block.Type is not null) EnqueueKeys(cmd, client);
        NoteLook(client, block);
        client.IsCounted = true;
        cmd.Session.Blocked = client;

        _all[client] = true;

        // Last: another thread that reads the count finds the client by its session, and may unblock or kill it.
        Interlocked.Increment(ref _count);
        if (client.HasDeadline) Interlocked.Increment(ref _withDeadline);
        return client;
    }

    /// <summary>Has the client's loop watch the deadline of its wait. A caller in the process does so itself, and may have got its reply already.</summary>
    internal void NoteBegun(BlockedClient client, BufferPool buffers)
    {
        if (client.Session.Connection is not null)
        {
            Begun(client);
        }
        else if (client.Block.Late is { } late)
        {
            Interlocked.MemoryBarrier(); // behind the session's field, before the reply
            if (late.Reply is not null) EndByLateReply(client, buffers);
        }
    }

    /// <summary>Ends a wait by the reply that another thread has set. For a connection's client on its loop. No stripe is locked.</summary>
    internal void EndByLateReply(BlockedClient client, BufferPool buffers)
    {
        if (!client.TryEnd()) return;
        client.EndWith(Payload.Of(buffers, client.Block.Late!.Reply!));
        Finish(client);
    }

    /// <summary>Ends a wait, because the server has become a replica: what the client waits for may never come. No stripe is locked.</summary>
    internal void EndForRole(BlockedClient client, BufferPool buffers)
    {
        if (!client.TryEnd()) return;
        client.EndWith(Payload.Of(buffers, "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n"u8));
        if (client.Session.Connection is not { } connection)
        {
            client.Wake();
            return;
        }

        // Posted, as the command may still be executing: the replies in front of this one are sent first.
        EventLoop.Post(connection, () =>
        {
            client.Session.CloseAfterReply();
            Finished(client);
        });
    }

    /// <summary>Ends a wait by an error that sends the client elsewhere. No stripe is locked.</summary>
    internal void EndByRedirect(BlockedClient client, string error, BufferPool buffers)
    {
        if (!client.TryEnd()) return;
        client.EndWith(Payload.Of(buffers, Encoding.Latin1.GetBytes($"-{error}\r\n")));
        if (client.Session.Connection is { } connection) EventLoop.Post(connection, () => Finished(client)); // as above
        else client.Wake();
    }

    /// <summary>
    /// Hands a client that is no longer blocked over to its own thread, which replies: its connection's loop, or the caller in the
    /// process. No stripe is locked.
    /// </summary>
    internal void Finish(BlockedClient client)
    {
        if (client.Session.Connection is not { } connection) client.Wake();
        else if (connection.Loop.IsCurrent) Finished(client);
        else EventLoop.Post(connection, () => Finished(client));
    }

    /// <summary>
    /// Removes a client that has ended from those queues whose stripe no other thread holds. It does not wait; the caller tries
    /// again later. No stripe is locked.
    /// </summary>
    /// <returns>Whether the client has left all queues.</returns>
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

    /// <summary>Removes a client that has ended from its queues, and waits for their stripes. No stripe is locked.</summary>
    internal void Remove(BlockedClient client)
    {
        NoteEnded(client);
        foreach (int stripe in client.QueuedIn)
        {
            using LockScope locked = keyspace.Lock(StripeSet.Of(stripe));
            Dequeue(client, stripe);
        }
    }

    /// <summary>Removes a client that was served from its queues. Its stripes are locked.</summary>
    internal void RemoveLocked(BlockedClient client)
    {
        NoteEnded(client);
        foreach (int stripe in client.QueuedIn) Dequeue(client, stripe);
    }

    /// <summary>Notes when a client's command is executed again even if no key has changed. The stripes of its keys are locked.</summary>
    internal void NoteLook(BlockedClient client, BlockRequest block)
    {
        if (block.LooksAgainMs is { } atMs && client.AnyKey is { } key) Looks.Add(key.Identity, atMs);
    }

    private void EnqueueKeys(scoped in CommandContext cmd, BlockedClient client)
    {
        var keys = new List<AwaitedKey>(cmd.Count);
        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd))
        {
            // A key that the command only writes, such as BLMOVE's destination, serves no client.
            if ((extraction.Spec.Flags & KeyFlags.Access) == 0) continue;
            ulong hash = cmd.HashOf(extraction.Argument);
            var key = new AwaitedKey(client, new KeyIdentity(cmd.Database.Index, hash), cmd.Keyspace.StripeOf(hash), extraction.Argument);
            if (TryEnqueue(key)) keys.Add(key);
        }

        client.SetKeys(CollectionsMarshal.AsSpan(keys));
    }

    // False if the request names the key twice.
    private bool TryEnqueue(AwaitedKey key)
    {
        ref BlockedQueue queue = ref CollectionsMarshal.GetValueRefOrAddDefault(_queues[key.Stripe], key.Identity, out bool exists);

        // Another loop may have blocked clients meanwhile whose requests arrived later.
        AwaitedKey? before = queue.Last;
        while (before is not null && key.Client.Arrival.Precedes(before.Client.Arrival)) before = before.Previous;
        if (before?.Client == key.Client) return false;
        if (!exists) Interlocked.Increment(ref _keys);
        key.Previous = before;
        key.Next = before is null ? queue.First : before.Next;
        if (before is null) queue.First = key;
        else before.Next = key;
        if (key.Next is null) queue.Last = key;
        else key.Next.Previous = key;
        if (key.Client.Block.WakesWhenGone && queue.WakingWhenGone++ == 0) Interlocked.Increment(ref _keysWakingWhenGone);
        keyspace.Stripes[key.Stripe].Watchers++;
        key.Client.QueuedIn = key.Client.QueuedIn.With(key.Stripe);
        return true;
    }

    private void Dequeue(BlockedClient client, int stripe)
    {
        foreach (AwaitedKey key in client.KeysIn(stripe)) Dequeue(key);
        client.QueuedIn = client.QueuedIn.Without(stripe);
    }

    private void Dequeue(AwaitedKey key)
    {
        ref BlockedQueue queue = ref CollectionsMarshal.GetValueRefOrNullRef(_queues[key.Stripe], key.Identity);
        if (key.Previous is null) queue.First = key.Next;
        else key.Previous.Next = key.Next;
        if (key.Next is null) queue.Last = key.Previous;
        else key.Next.Previous = key.Previous;
        keyspace.Stripes[key.Stripe].Watchers--;
        if (key.Client.Block.WakesWhenGone && --queue.WakingWhenGone == 0) Interlocked.Decrement(ref _keysWakingWhenGone);
        if (queue.First is not null) return;
        _queues[key.Stripe].Remove(key.Identity);
        Interlocked.Decrement(ref _keys);
    }

    // By the one thread that ended or served the client.
    private void NoteEnded(BlockedClient client)
    {
        if (!client.IsCounted) return;
        client.IsCounted = false;
        _all.TryRemove(client, out _);
        Interlocked.Decrement(ref _count);
        if (client.HasDeadline) Interlocked.Decrement(ref _withDeadline);
    }
}

/// <summary>The clients that are blocked on a key, the one whose request arrived first in front.</summary>
internal struct BlockedQueue
{
    internal AwaitedKey? First;
    internal AwaitedKey? Last;
    internal int WakingWhenGone; // how many of them are also woken when the key is gone
}
