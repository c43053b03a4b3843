using System.Diagnostics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Sessions;

/// <summary>
/// The keys to which clients of a writable replica (replica-read-only no) have given an expiry. What else has expired on a replica stays until its primary removes it, but of these keys
/// the primary knows nothing. From any thread.
/// </summary>
internal sealed class LocalExpiries(Keyspace keyspace)
{
    // The maximum number of remembered keys. Keys beyond it expire as on any replica: they are hidden, and stay until the next full synchronization.
    private const int KeysMax = 1_000_000;

    // The number of keys examined between two readings of the clock.
    private const int KeysPerStep = 32;

    private readonly Lock _lock = new();
    private readonly HashSet<KeyIdentity> _known = [];
    private readonly Queue<(KeyIdentity Identity, byte[] Name)> _keys = new();

    /// <summary>The keys that are remembered.</summary>
    internal int Count
    {
        get
        {
            lock (_lock) return _known.Count;
        }
    }

    /// <summary>Remembers the keys of a command that has written, as far as they expire. Their stripes are locked.</summary>
    internal void Note(scoped in CommandContext cmd)
    {
        var keys = new KeyExtraction(cmd.Command);
        while (keys.MoveNext(cmd))
        {
            ReadOnlySpan<byte> name = cmd[keys.Argument];
            ulong hash = cmd.Keyspace.Hash(name);
            if (cmd.Database.Find(name, hash, ExpiryClock.Never) is not { Exists: true, ExpiryMs: >= 0 }) continue;
            Remember(new KeyIdentity(cmd.Database.Index, hash), name);
        }
    }

    /// <summary>Removes those that have expired, until a deadline (a <see cref="Stopwatch"/> time) or until each was looked at. No stripe is locked.</summary>
    /// <param name="nowMs">The time.</param>
    /// <param name="deadline">When it stops.</param>
    /// <param name="entered">Called with each stripe that was just locked.</param>
    /// <param name="exiting">Called before an observed stripe is unlocked, to publish what was removed.</param>
    internal void Sweep(long nowMs, long deadline, Action<Stripe> entered, Action exiting)
    {
        int left = Count;
        for (int i = 1; i <= left; i++)
        {
            if (!TryTake(out KeyIdentity identity, out byte[] name)) return;
            if (ExpiresLater(identity, name, nowMs, entered, exiting)) Remember(identity, name);
            if (i % KeysPerStep == 0 && Stopwatch.GetTimestamp() >= deadline) return;
        }
    }

    /// <summary>Forgets all: the data is another, or the server removes what has expired by itself.</summary>
    internal void Clear()
    {
        lock (_lock)
        {
            _known.Clear();
            _keys.Clear();
        }
    }

    private void Remember(in KeyIdentity identity, ReadOnlySpan<byte> name)
    {
        lock (_lock)
        {
            if (_known.Count < KeysMax && _known.Add(identity)) _keys.Enqueue((identity, name.ToArray()));
        }
    }

    private bool TryTake(out KeyIdentity identity, out byte[] name)
    {
        lock (_lock)
        {
            bool isThere = _keys.TryDequeue(out (KeyIdentity Identity, byte[] Name) key);
            (identity, name) = (key.Identity, key.Name);
            return isThere && _known.Remove(identity);
        }
    }

    // One that is gone, or no longer expires, is forgotten.
    private bool ExpiresLater(in KeyIdentity identity, byte[] name, long nowMs, Action<Stripe> entered, Action exiting)
    {
        int index = keyspace.StripeOf(identity.Hash);
        Stripe stripe = keyspace.Stripes[index];
        if (!stripe.TryEnterSoon()) return true;
        try
        {
            entered(stripe);
            bool expires = keyspace.Databases[identity.Database].Find(name, identity.Hash, ExpiryClock.RemovingAt(nowMs)) is { Exists: true, ExpiryMs: >= 0 };
            if (stripe.Observers != StripeObservers.None) exiting();
            stripe.Exit();
            return expires;
        }
        catch (Exception failure) when (keyspace.FailStop.Ends(failure, StripeSet.Of(index), "expiry of local keys"))
        {
            throw;
        }
    }
}
