using System.Runtime.InteropServices;

namespace RedKite.Server.Tracking;

/// <summary>
/// The keys of one stripe that clients have read, by hash, with the clients' ids. As in Redis, keys of the same name in all
/// databases are one. Used with the stripe locked. Disconnected clients stay until their keys change.
/// </summary>
internal sealed class TrackedKeys
{
    private readonly Dictionary<ulong, Readers> _keys = [];

    internal int Count => _keys.Count;

    /// <summary>Remembers that a client has read a key.</summary>
    /// <param name="isNew">Whether no client had.</param>
    /// <returns>Whether this client had not.</returns>
    internal bool Add(ulong hash, ReadOnlySpan<byte> key, long client, out bool isNew)
    {
        ref Readers readers = ref CollectionsMarshal.GetValueRefOrAddDefault(_keys, hash, out bool exists);
        isNew = !exists;
        if (isNew) readers.Key = key.ToArray();
        return readers.Add(client);
    }

    /// <summary>Removes a key; null: no client has read it.</summary>
    internal Readers? Remove(ulong hash) => _keys.Remove(hash, out Readers readers) ? readers : null;

    /// <summary>Removes some key other than a given one; null: there is no other.</summary>
    internal Readers? RemoveAny(ulong except)
    {
        foreach (ulong hash in _keys.Keys)
        {
            if (hash != except) return Remove(hash);
        }

        return null;
    }

    /// <summary>The hashes of all keys; a copy.</summary>
    internal ulong[] Hashes => [.. _keys.Keys];

    internal void Clear() => _keys.Clear();

    /// <summary>The clients that have read a key. A small number of them are an array: a read of a tracked key searches it, nearly always without a match.</summary>
    internal struct Readers
    {
        private const int FewMax = 64;

        private long _first;
        private long[]? _few; // the others, or
        private HashSet<long>? _many;

        internal byte[] Key { get; set; }

        internal int Count { get; private set; }

        internal readonly IEnumerable<long> Clients => _many is not null ? [_first, .. _many] : _few is not null ? [_first, .. _few.AsSpan(0, Count - 1)] : [_first];

        /// <summary>Adds a client.</summary>
        /// <returns>False if it is there.</returns>
        internal bool Add(long client)
        {
            if (Count == 0)
            {
                _first = client;
            }
            else if (_many is not null)
            {
                if (client == _first || !_many.Add(client)) return false;
            }
            else
            {
                Span<long> few = _few.AsSpan(0, Count - 1);
                if (client == _first || few.Contains(client)) return false;
                if (few.Length == FewMax)
                {
                    _many = [.. few, client];
                    _few = null;
                }
                else
                {
                    if (few.Length == (_few?.Length ?? 0)) Array.Resize(ref _few, Math.Max(4, 2 * few.Length));
                    _few![few.Length] = client;
                }
            }

            Count++;
            return true;
        }
    }
}
