using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// What locking the stripes of a command with several keys finds out of them: their hashes, which the handler needs again,
/// and their places in memory, which are asked for at once so that the handler does not wait for one after the other.
/// Measured with 10 keys of a million at pipeline 16: MGET takes 2.8 microseconds of CPU in place of 7.7, MSET 4.4 in place
/// of 8.7.
/// </summary>
internal sealed class KeyHashes
{
    // Keys in arguments beyond are hashed again when they are looked up.
    private const int ArgumentsMax = 128;

    private readonly Kept[] _kept = new Kept[ArgumentsMax]; // by argument; a hash of 0: not known
    private int _end;

    /// <summary>Keeps a key's hash, and asks for the bucket that it is in.</summary>
    internal void Keep(Database database, int argument, ulong hash)
    {
        if (argument >= ArgumentsMax) return;
        _kept[argument] = new Kept { Hash = hash, Bucket = database.PrefetchBucket(hash) };
        _end = Math.Max(_end, argument + 1);
    }

    /// <summary>Asks for so many bytes of every kept key's entry, or for what adding it changes.</summary>
    internal void PrefetchEntries(bool mayAdd, int bytes)
    {
        foreach (ref readonly Kept key in _kept.AsSpan(0, _end))
        {
            if (key.Bucket != 0) Database.PrefetchEntry(key.Bucket, key.Hash, mayAdd, bytes);
        }
    }

    /// <summary>An argument's hash; 0: not known.</summary>
    internal ulong Find(int argument) => (uint)argument < (uint)_end ? _kept[argument].Hash : 0;

    /// <summary>The command is over: its arguments are no longer what they were.</summary>
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
