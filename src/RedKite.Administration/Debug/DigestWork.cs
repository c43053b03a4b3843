using System.Diagnostics;
using RedKite.Persistence.Types;
using RedKite.Server.Durability;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// The digest of all keys, in slices: DEBUG DIGEST. It locks one stripe at a time, and goes over a database's keys in the order of their hashes,
/// so what other clients change meanwhile is in it or not. Beginning again after each change would never end on a server that is written to.
/// </summary>
/// <param name="keyspace">The data.</param>
/// <param name="keyless">What there is beside keys.</param>
/// <param name="expiry">The time of the whole digest: what expires meanwhile is in it.</param>
internal sealed class DigestWork(Keyspace keyspace, KeylessData keyless, ExpiryClock expiry) : SlicedWork
{
    // As long as a slice of a loop's background work; a part of a value is added, or a string.
    private const int SliceMicroseconds = 100;

    // Some 100 microseconds: 128 short elements.
    private const int PartBytes = 1 << 16;

    private readonly byte[] _digest = new byte[DatasetDigest.Bytes];
    private readonly byte[] _keyDigest = new byte[DatasetDigest.Bytes];
    private readonly EntryList _entries = new();
    private int _database;
    private bool _hasKeys; // of that database so far
    private TableCursor _cursor;
    private int _at; // of the cursor's bucket

    // Of a key's value only some parts are mixed in. If the key has another type then, or is not where it was, the rest is left out.
    private bool _isPartial;
    private ulong _partialHash;
    private DataType _partialType;
    private DatasetDigest.ValuePosition _position;

    /// <summary>0 if there is no data.</summary>
    internal ReadOnlySpan<byte> Digest => _digest;

    /// <summary>The stripe whose keys are next.</summary>
    internal int Stripe { get; private set; }

    /// <summary>When a slice ends that begins now, as a timestamp.</summary>
    internal static long SliceEnd => Stopwatch.GetTimestamp() + (SliceMicroseconds * Stopwatch.Frequency / 1_000_000);

    internal override bool RunSlice()
    {
        long end = SliceEnd;
        do
        {
            int index = Stripe;
            Stripe stripe = keyspace.Stripes[index];
            if (!stripe.TryEnterSoon()) return false;
            try
            {
                AddStripe(end);
            }
            catch (Exception failure) when (keyspace.FailStop.Ends(failure, StripeSet.Of(index), "DEBUG DIGEST"))
            {
                throw;
            }

            stripe.Exit();
        }
        while (!IsComplete && Stopwatch.GetTimestamp() < end);
        return IsComplete;
    }

    /// <summary>Adds the next keys of <see cref="Stripe"/>, which is locked, a part of one at least.</summary>
    /// <param name="end">The timestamp at which it ends before the stripe does.</param>
    internal void AddStripe(long end)
    {
        Database database = keyspace.Databases[_database];
        if (database.TableIn(Stripe) is { Count: > 0 } table)
        {
            bool more;
            do
            {
                TableCursor next = _cursor;
                _entries.Clear();
                more = table.NextBucket(ref next, _entries);
                for (; _at < _entries.Count; _at++)
                {
                    if (!TryAdd(database, _entries[_at], end)) return;
                }

                (_cursor, _at) = (next, 0);
            }
            while (more && Stopwatch.GetTimestamp() < end);
            if (more) return;
        }

        if (_isPartial) EndKey();
        (_cursor, _at) = (default, 0);
        if (++Stripe < keyspace.Stripes.Length) return;
        (Stripe, _hasKeys) = (0, false);
        do
        {
            _database++;
        }
        while (_database < keyspace.Databases.Length && keyspace.Databases[_database].Count == 0);
        IsComplete = _database == keyspace.Databases.Length;
        if (IsComplete) AddKeyless();
    }

    private void AddKeyless()
    {
        foreach (IKeylessData kind in keyless.Kinds)
        {
            if (!kind.Digest.IsEmpty) new DatasetDigest(_digest).Add(kind.Digest.Span);
        }
    }

    internal override void Discard()
    {
    }

    // False: the time is over before the key's value is.
    private bool TryAdd(Database database, Entry entry, long end)
    {
        if (_isPartial && (entry.Type != _partialType || keyspace.Hash(entry.Key) != _partialHash)) EndKey();
        var digest = new DatasetDigest(_keyDigest);
        if (!_isPartial)
        {
            if (!IsAlive(database, entry)) return true;
            if (!_hasKeys) new DatasetDigest(_digest).MixNumber(_database);
            _hasKeys = true;
            digest.Mix(entry.Key);
        }

        while (!digest.MixValue(database, entry, expiry, ref _position, new DatasetDigest.WorkLeft(PartBytes)))
        {
            if (Stopwatch.GetTimestamp() < end) continue;
            (_isPartial, _partialHash, _partialType) = (true, keyspace.Hash(entry.Key), entry.Type);
            return false;
        }

        EndKey();
        return true;
    }

    private void EndKey()
    {
        new DatasetDigest(_digest).Add(_keyDigest);
        Array.Clear(_keyDigest);
        (_isPartial, _position) = (false, default);
    }

    private bool IsAlive(Database database, Entry entry) => !(entry.Expires && expiry.HasPassed(entry.ExpiryMs)) && StoredTypes.Of(entry).HasLiving(database, entry, expiry);
}
