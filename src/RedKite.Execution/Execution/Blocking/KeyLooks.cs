using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// Keys whose blocked clients may have to be served at a certain time although nothing changes the key: a pending entry of a stream has then been idle for long
/// enough. Each key is kept once, with the earliest time that any of its clients has asked for. From any thread.
/// </summary>
/// <remarks>
/// A client adds its key before it is queued, with the key's stripe locked. The thread that takes the key locks the stripe before it reads the queue, so it
/// finds the client. A client that could not be served adds its key again; a time that was added by a client which has left costs one more look.
/// </remarks>
internal sealed class KeyLooks
{
    private readonly Lock _changing = new();
    private readonly Dictionary<KeyIdentity, long> _times = [];
    private readonly HashSet<KeyIdentity> _new = []; // those that were created when their clients could not be served
    private readonly PriorityQueue<KeyIdentity, long> _order = new(); // a key that is looked at earlier than before is there twice
    private long _nextMs = long.MaxValue;

    /// <summary>The next time, by the steady clock; the maximum if there is none.</summary>
    internal long NextMs => Volatile.Read(ref _nextMs);

    /// <summary>Adds a key, or makes its time an earlier one.</summary>
    /// <param name="key">The key.</param>
    /// <param name="atMs">The time.</param>
    /// <param name="isNew">Whether the key was created, and its clients could not be served then.</param>
    internal void Add(KeyIdentity key, long atMs, bool isNew = false)
    {
        lock (_changing)
        {
            if (isNew) _new.Add(key);
            if (_times.TryGetValue(key, out long before) && before <= atMs) return;
            _times[key] = atMs;
            _order.Enqueue(key, atMs);
            NoteNext();
        }
    }

    /// <summary>Removes one key that is due.</summary>
    /// <returns>False if there is none.</returns>
    internal bool TryTake(long nowMs, out KeyIdentity key, out bool isNew)
    {
        (key, isNew) = (default, false);
        if (NextMs > nowMs) return false;
        lock (_changing)
        {
            bool found = false;
            while (!found && _order.TryPeek(out key, out long atMs) && atMs <= nowMs)
            {
                _order.Dequeue();
                found = _times.TryGetValue(key, out long timeMs) && timeMs == atMs;
                if (found) _times.Remove(key);
            }

            if (found) isNew = _new.Remove(key);
            NoteNext();
            return found;
        }
    }

    private void NoteNext() => Volatile.Write(ref _nextMs, _order.TryPeek(out _, out long atMs) ? atMs : long.MaxValue);
}
