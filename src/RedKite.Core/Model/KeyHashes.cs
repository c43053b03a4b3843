using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// The results of locking the stripes of a command with several keys: their hashes, which the handler needs again, and their
/// addresses, which are prefetched together so that the handler does not wait for one after the other.
/// Measured with 10 keys of a million at pipeline 16: MGET takes 2.8 microseconds of CPU instead of 7.7, MSET 4.4 instead of 8.7.
/// </summary>
internal sealed class KeyHashes
{
    // Keys in later arguments are hashed again when they are looked up.
    private const int ArgumentsMax = 128;

    private readonly Kept[] _kept = new Kept[ArgumentsMax]; // by argument; a hash of 0: unknown
    private int _end;

    /// <summary>Keeps a key's hash and prefetches its bucket.</summary>
    internal void Keep(Database database, int argument, ulong hash)
    {
        if (argument >= ArgumentsMax) return;
        _kept[argument] = new Kept { Hash = hash, Bucket = database.PrefetchBucket(hash) };
        _end = Math.Max(_end, argument + 1);
    }

    /// <summary>Prefetches a number of bytes of every kept key's entry, or the memory that adding it changes.</summary>
    internal void PrefetchEntries(bool mayAdd, int bytes)
    {
        foreach (ref readonly Kept key in _kept.AsSpan(0, _end))
        {
            if (key.Bucket != 0) Database.PrefetchEntry(key.Bucket, key.Hash, mayAdd, bytes);
        }
    }

    /// <summary>An argument's hash; 0: unknown.</summary>
    internal ulong Find(int argument) => (uint)argument < (uint)_end ? _kept[argument].Hash : 0;

    /// <summary>Discards the hashes at the end of the command.</summary>
    internal void Forget()
    {
        _kept.AsSpan(0, _end).Clear();
        _end = 0;
    }

    private struct Kept
    {
        internal ulong Hash;
        internal nint Bucket;
    }
}
