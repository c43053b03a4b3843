using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Blocking;

/// <summary>
/// Keys whose blocked clients are to be looked at at a time, although nothing changes the key: a pending entry of a stream becomes idle for long enough.
/// A key is there once, with the earliest time that any of its clients has asked for. From any thread.
/// </summary>
/// <remarks>
/// A client asks before it is queued, with the key's stripe locked. Whoever takes the key locks the stripe before it looks at the queue, so it finds the client.
/// Clients ask again whenever they are looked at in vain; what those who have gone have asked for is looked at once more.
/// </remarks>
internal sealed class KeyLooks
{
    private readonly Lock _changing = new();
    private readonly Dictionary<KeyIdentity, long> _times = [];
    private readonly PriorityQueue<KeyIdentity, long> _order = new(); // a key that is looked at earlier than before is there twice
    private long _nextMs = long.MaxValue;

    /// <summary>The next time, by the steady clock; the maximum if there is none.</summary>
    internal long NextMs => Volatile.Read(ref _nextMs);

    /// <summary>Adds a key, or makes its time an earlier one.</summary>
    internal void Add(KeyIdentity key, long atMs)
    {
        lock (_changing)
        {
            if (_times.TryGetValue(key, out long before) && before <= atMs) return;
            _times[key] = atMs;
            _order.Enqueue(key, atMs);
            NoteNext();
        }
    }

    /// <summary>Removes a key whose time has come; false: there is none.</summary>
    internal bool TryTake(long nowMs, out KeyIdentity key)
    {
        key = default;
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

            NoteNext();
            return found;
        }
    }

    private void NoteNext() => Volatile.Write(ref _nextMs, _order.TryPeek(out _, out long atMs) ? atMs : long.MaxValue);
}
