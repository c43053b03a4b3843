using System.Runtime.InteropServices;

namespace RedKite.Server.Tracking;

/// <summary>
/// The keys of one stripe that clients have read, by hash, with the clients' ids. Like in Redis keys of all databases are one. Used with the
/// stripe locked. Clients that are gone stay until their keys change.
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
        if (!exists)
        {
            readers.Key = key.ToArray();
            readers.First = client;
            return true;
        }

        return readers.First != client && (readers.Others ??= []).Add(client);
    }

    /// <summary>Removes a key; null: no client has read it.</summary>
    internal Readers? Remove(ulong hash) => _keys.Remove(hash, out Readers readers) ? readers : null;

    /// <summary>Removes any key but one; null: there is no other.</summary>
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

    /// <summary>The clients that have read a key.</summary>
    internal struct Readers
    {
        internal byte[] Key;
        internal long First;
        internal HashSet<long>? Others;

        internal readonly int Count => 1 + (Others?.Count ?? 0);
    }
}
