using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>The keys that a client watches (WATCH), and whether one of them has changed.</summary>
internal sealed class ClientWatch : IKeyWatcher
{
    // The watched key with its name's array, its places in this list and set, and in the server's dictionary, which have doubled.
    private const int KeyBytes = 208;

    private readonly List<WatchedKey> _keys = [];
    private readonly HashSet<KeyIdentity> _identities = [];
    private volatile bool _isDirty;

    internal IReadOnlyList<WatchedKey> Keys => _keys;

    /// <summary>The stripes of the keys.</summary>
    internal StripeSet Stripes { get; private set; }

    /// <summary>Whether a key has changed since it was watched.</summary>
    internal bool IsDirty => _isDirty;

    /// <summary>Memory of the keys, roughly.</summary>
    internal long Bytes { get; private set; }

    /// <inheritdoc/>
    public void NoteChange() => _isDirty = true;

    internal bool Contains(KeyIdentity identity) => _identities.Contains(identity);

    internal void Add(WatchedKey key)
    {
        _keys.Add(key);
        _identities.Add(key.Identity);
        Bytes += key.Name.Length + KeyBytes;
        Stripes = Stripes.With(key.Stripe);
    }

    internal void Clear()
    {
        _keys.Clear();
        _identities.Clear();
        Bytes = 0;
        Stripes = StripeSet.Empty;
        _isDirty = false;
    }
}

/// <summary>Learns that a key that it watches has changed.</summary>
internal interface IKeyWatcher
{
    /// <summary>Notes the change. With the key's stripe locked, from any thread.</summary>
    void NoteChange();
}

/// <summary>A key that a client watches, and its neighbours among the watches of the same key.</summary>
/// <param name="watcher">The client's side.</param>
/// <param name="identity">The key's database and hash.</param>
/// <param name="stripe">The key's stripe.</param>
/// <param name="name">The key's name.</param>
/// <param name="existed">Whether the key existed when it was watched.</param>
internal sealed class WatchedKey(IKeyWatcher watcher, KeyIdentity identity, int stripe, byte[] name, bool existed)
{
    internal IKeyWatcher Watcher => watcher;

    internal KeyIdentity Identity => identity;

    internal int Stripe => stripe;

    internal byte[] Name => name;

    internal bool Existed => existed;

    /// <summary>The neighbours. With the key's stripe locked.</summary>
    internal WatchedKey? Previous { get; set; }

    internal WatchedKey? Next { get; set; }
}
