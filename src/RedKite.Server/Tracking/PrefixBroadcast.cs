using System.Numerics;
using RedKite.Server.Model;

namespace RedKite.Server.Tracking;

/// <summary>
/// The prefixes that clients follow with BCAST, and the changed keys that they are not told of yet. Keys that change in one turn of a
/// loop go out together, in their order.
/// </summary>
internal sealed class PrefixBroadcast
{
    // Keys that wait for the end of a turn. The rest of a larger command goes out behind it in another message.
    private const int PrefixBytesMax = 63;

    private readonly Lock _lock = new();
    private readonly Dictionary<byte[], Prefix> _prefixes = new(NameComparer.Instance);
    private readonly int[] _countOfLength = new int[PrefixBytesMax + 2];
    private readonly List<Prefix> _changed = [];

    // Longer prefixes by their first bytes: a key is compared with those alone that share them, and most keys are too short.
    private readonly Dictionary<byte[], HashSet<byte[]>> _longByStart = new(NameComparer.Instance);
    private ulong _lengths;
    private int _count;
    private volatile bool _hasChanges;

    /// <summary>Prefixes that clients follow.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>Whether there are changes that clients are not told of yet.</summary>
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
            if (prefix.Changed.Count > 0) _changed.Remove(prefix);
            _count--;
            if (name.Length > PrefixBytesMax) RemoveLong(name);
            else if (--_countOfLength[name.Length] == 0) _lengths &= ~(1UL << name.Length);
        }
    }

    /// <summary>Notes that a client has changed a key.</summary>
    internal void Note(ReadOnlySpan<byte> key, long client)
    {
        lock (_lock)
        {
            Dictionary<byte[], Prefix>.AlternateLookup<ReadOnlySpan<byte>> lookup = _prefixes.GetAlternateLookup<ReadOnlySpan<byte>>();
            for (ulong lengths = _lengths; lengths != 0; lengths &= lengths - 1)
            {
                int length = BitOperations.TrailingZeroCount(lengths);
                if (length > key.Length) break;
                if (lookup.TryGetValue(key[..length], out Prefix? prefix)) Note(prefix, key, client);
            }

            if (_longByStart.Count == 0 || key.Length <= PrefixBytesMax) return;
            if (!_longByStart.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(key[..PrefixBytesMax], out HashSet<byte[]>? names)) return;
            foreach (byte[] name in names)
            {
                if (key.StartsWith(name)) Note(_prefixes[name], key, client);
            }
        }
    }

    /// <summary>Calls back with each prefix's clients and changed keys, in the order of the prefixes' bytes as in Redis, and forgets them.</summary>
    internal void TakeChanges(Action<Session, SortedDictionary<byte[], long>> tell)
    {
        lock (_lock)
        {
            _hasChanges = false;
            if (_changed.Count > 1) _changed.Sort((a, b) => a.Name.AsSpan().SequenceCompareTo(b.Name));
            foreach (Prefix prefix in _changed)
            {
                foreach (Session session in prefix.Clients) tell(session, prefix.Changed);
                prefix.Changed.Clear();
            }

            _changed.Clear();
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

    private void Note(Prefix prefix, ReadOnlySpan<byte> key, long client)
    {
        if (prefix.Changed.Count == 0) _changed.Add(prefix);
        prefix.Changed[key.ToArray()] = client;
        _hasChanges = true;
    }

    private sealed class Prefix(byte[] name)
    {
        internal byte[] Name => name;

        internal HashSet<Session> Clients { get; } = [];

        internal SortedDictionary<byte[], long> Changed { get; } = new(Comparer<byte[]>.Create((a, b) => a.AsSpan().SequenceCompareTo(b)));
    }
}
