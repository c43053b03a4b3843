using System.Numerics;
using RedKite.Server.Changes;
using RedKite.Server.Model;

namespace RedKite.Server.Tracking;

/// <summary>
/// The prefixes that clients follow with BCAST, and the changed keys whose invalidations are not sent yet. Keys that one executor
/// changes in an iteration go out together, in their order; no other executor sends them, because this one could be in the middle of a transaction.
/// </summary>
internal sealed class PrefixBroadcast
{
    // Up to here, a key's beginnings are looked up by their length.
    private const int PrefixBytesMax = 63;

    private readonly Lock _lock = new();
    private readonly Dictionary<byte[], Prefix> _prefixes = new(NameComparer.Instance);
    private readonly int[] _countOfLength = new int[PrefixBytesMax + 2];
    private readonly Dictionary<ChangeList, SortedDictionary<byte[], Changed>> _changed = []; // by the executor, which is known by its list

    // Longer prefixes by their first bytes: a key is compared only with those that share them, and most keys are too short.
    private readonly Dictionary<byte[], HashSet<byte[]>> _longByStart = new(NameComparer.Instance);
    private ulong _lengths;
    private int _count;
    private volatile bool _hasChanges;

    /// <summary>Prefixes that clients follow.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>Whether there are changes whose invalidations are not sent yet.</summary>
    internal bool HasChanges => _hasChanges;

    internal void Add(Session session, byte[] name)
    {
        lock (_lock)
        {
            if (!_prefixes.TryGetValue(name, out Prefix? prefix))
            {
                _prefixes.Add(name, prefix = new Prefix(name));
                _count++;
                if (name.Length > PrefixBytesMax) AddLong(name);
                else if (_countOfLength[name.Length]++ == 0) _lengths |= 1UL << name.Length;
            }

            prefix.Clients.Add(session);
        }
    }

    internal void Remove(Session session, byte[] name)
    {
        lock (_lock)
        {
            if (!_prefixes.TryGetValue(name, out Prefix? prefix) || !prefix.Clients.Remove(session) || prefix.Clients.Count > 0) return;
            _prefixes.Remove(name);
            _count--;
            if (name.Length > PrefixBytesMax) RemoveLong(name);
            else if (--_countOfLength[name.Length] == 0) _lengths &= ~(1UL << name.Length);
        }
    }

    /// <summary>Notes that a client has changed a key.</summary>
    internal void Note(ReadOnlySpan<byte> key, long client, ChangeList list)
    {
        lock (_lock)
        {
            Dictionary<byte[], Prefix>.AlternateLookup<ReadOnlySpan<byte>> lookup = _prefixes.GetAlternateLookup<ReadOnlySpan<byte>>();
            for (ulong lengths = _lengths; lengths != 0; lengths &= lengths - 1)
            {
                int length = BitOperations.TrailingZeroCount(lengths);
                if (length > key.Length) break;
                if (lookup.TryGetValue(key[..length], out Prefix? prefix)) Note(prefix, key, client, list);
            }

            if (_longByStart.Count == 0 || key.Length <= PrefixBytesMax) return;
            if (!_longByStart.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(key[..PrefixBytesMax], out HashSet<byte[]>? names)) return;
            foreach (byte[] name in names)
            {
                if (key.StartsWith(name)) Note(_prefixes[name], key, client, list);
            }
        }
    }

    /// <summary>
    /// Calls back with each prefix's clients and the keys that an executor has changed, in the order of the prefixes' bytes as in Redis,
    /// and forgets them.
    /// </summary>
    internal void TakeChanges(ChangeList list, Action<Session, SortedDictionary<byte[], long>> tell)
    {
        lock (_lock)
        {
            if (!_changed.Remove(list, out SortedDictionary<byte[], Changed>? changed)) return;
            _hasChanges = _changed.Count > 0;
            foreach (Changed ofPrefix in changed.Values)
            {
                foreach (Session session in ofPrefix.Prefix.Clients) tell(session, ofPrefix.Keys);
            }
        }
    }

    private void AddLong(byte[] name)
    {
        byte[] start = name[..PrefixBytesMax];
        if (!_longByStart.TryGetValue(start, out HashSet<byte[]>? names)) _longByStart.Add(start, names = new(NameComparer.Instance));
        names.Add(name);
    }

    private void RemoveLong(byte[] name)
    {
        byte[] start = name[..PrefixBytesMax];
        HashSet<byte[]> names = _longByStart[start];
        names.Remove(name);
        if (names.Count == 0) _longByStart.Remove(start);
    }

    private void Note(Prefix prefix, ReadOnlySpan<byte> key, long client, ChangeList list)
    {
        if (!_changed.TryGetValue(list, out SortedDictionary<byte[], Changed>? changed)) _changed.Add(list, changed = NewByName<Changed>());
        if (!changed.TryGetValue(prefix.Name, out Changed? ofPrefix) || ofPrefix.Prefix != prefix) changed[prefix.Name] = ofPrefix = new Changed(prefix);
        ofPrefix.Keys[key.ToArray()] = client;
        _hasChanges = true;
    }

    private static SortedDictionary<byte[], T> NewByName<T>() => new(Comparer<byte[]>.Create((a, b) => a.AsSpan().SequenceCompareTo(b)));

    private sealed class Prefix(byte[] name)
    {
        internal byte[] Name => name;

        internal HashSet<Session> Clients { get; } = [];
    }

    private sealed class Changed(Prefix prefix)
    {
        internal Prefix Prefix => prefix;

        /// <summary>The keys, each with the client that changed it last.</summary>
        internal SortedDictionary<byte[], long> Keys { get; } = NewByName<long>();
    }
}
