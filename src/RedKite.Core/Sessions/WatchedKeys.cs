using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Sessions;

/// <summary>
/// The keys that clients watch. Those of a stripe are used with the stripe locked, and the stripe is observed while there are any.
/// </summary>
internal sealed class WatchedKeys(Keyspace keyspace)
{
    // The first watcher of each key, by stripe.
    private readonly Dictionary<KeyIdentity, WatchedKey>[] _keys = [.. keyspace.Stripes.Select(_ => new Dictionary<KeyIdentity, WatchedKey>())];
    private readonly ConcurrentQueue<ClientWatch> _ended = new();
    private int _clients;
    private int _count;

    /// <summary>Clients that watch keys.</summary>
    internal int Clients => Volatile.Read(ref _clients);

    /// <summary>Keys that are watched, each once.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>Begins to watch a key. Its stripe is locked.</summary>
    internal void Watch(scoped in CommandContext cmd, int argument)
    {
        ulong hash = cmd.HashOf(argument);
        var identity = new KeyIdentity(cmd.Database.Index, hash);
        ClientWatch client = cmd.Session.Watch ??= new ClientWatch();
        if (client.Contains(identity)) return;
        int stripe = cmd.Keyspace.StripeOf(hash);
        var key = new WatchedKey(client, identity, stripe, cmd[argument].ToArray(), cmd.Peek(argument).Exists);
        ref WatchedKey? first = ref CollectionsMarshal.GetValueRefOrAddDefault(_keys[stripe], identity, out bool exists);
        if (exists)
        {
            key.Next = first;
            first!.Previous = key;
        }
        else
        {
            Interlocked.Increment(ref _count);
        }

        first = key;
        if (client.Keys.Count == 0) Interlocked.Increment(ref _clients);
        client.Add(key);
        keyspace.Stripes[stripe].Observe(StripeObservers.WatchedKeys, isOn: true);
    }

    /// <summary>Ends all watches of a client. The stripes of its keys are locked.</summary>
    internal void Forget(ClientWatch? client)
    {
        if (client is null || client.Keys.Count == 0) return;
        foreach (WatchedKey key in client.Keys) Remove(key);
        client.Clear();
        Interlocked.Decrement(ref _clients);
    }

    /// <summary>
    /// Ends all watches of a client that has disconnected, or whose EXEC was refused. No stripe is locked. Those of a busy script's stripes
    /// are removed later, by <see cref="RemoveEnded"/>: the thread has other clients to serve.
    /// </summary>
    internal void Closed(Session session)
    {
        if (session.Watch is not { Keys.Count: > 0 } client || TryForget(client)) return;
        session.Watch = null;
        _ended.Enqueue(client);
    }

    /// <summary>Removes the watches of clients that could not be removed at once. No stripe is locked.</summary>
    internal void RemoveEnded()
    {
        for (int left = _ended.Count; left > 0 && _ended.TryDequeue(out ClientWatch? client); left--)
        {
            if (!TryForget(client)) _ended.Enqueue(client);
        }
    }

    private bool TryForget(ClientWatch client)
    {
        if (!keyspace.TryLock(client.Stripes, keyspace.Scripts.Busy, out LockScope locked)) return false;
        Forget(client);
        locked.Dispose();
        return true;
    }

    /// <summary>Marks the clients that watch keys which a command has changed. The keys' stripes are locked.</summary>
    internal void Note(ChangeList changes, ReadOnlySpan<Database> databases, ExpiryClock expiry)
    {
        for (int i = 0; i < changes.Count; i++)
        {
            Change change = changes[i];
            if (change.Event == KeyEvent.Flush) NoteFlush(databases[change.Database], expiry);
            else if (KeyEvents.IsModification(change.Event)) Note(change.Identity, change.Event);
        }
    }

    // A key that was expired already when it was watched, and is removed now, has not changed.
    private void Note(KeyIdentity identity, KeyEvent what)
    {
        WatchedKey? key = _keys[keyspace.StripeOf(identity.Hash)].GetValueOrDefault(identity);
        for (; key is not null; key = key.Next)
        {
            if (key.Existed || what != KeyEvent.Expired) key.Watcher.NoteChange();
        }
    }

    // A key that is missing before and after has not changed.
    private void NoteFlush(Database database, ExpiryClock expiry)
    {
        foreach (Dictionary<KeyIdentity, WatchedKey> keys in _keys)
        {
            foreach ((KeyIdentity identity, WatchedKey first) in keys)
            {
                if (identity.Database != database.Index) continue;
                bool exists = database.Find(first.Name, identity.Hash, expiry).Exists;
                for (WatchedKey? key = first; key is not null; key = key.Next)
                {
                    if (key.Existed || exists) key.Watcher.NoteChange();
                }
            }
        }
    }

    private void Remove(WatchedKey key)
    {
        Dictionary<KeyIdentity, WatchedKey> keys = _keys[key.Stripe];
        if (key.Next is not null) key.Next.Previous = key.Previous;
        if (key.Previous is not null)
        {
            key.Previous.Next = key.Next;
        }
        else if (key.Next is not null)
        {
            keys[key.Identity] = key.Next;
        }
        else
        {
            keys.Remove(key.Identity);
            Interlocked.Decrement(ref _count);
            if (keys.Count == 0) keyspace.Stripes[key.Stripe].Observe(StripeObservers.WatchedKeys, isOn: false);
        }
    }
}
