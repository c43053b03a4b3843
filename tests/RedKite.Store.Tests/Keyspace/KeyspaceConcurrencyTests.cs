using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>
/// Threads on one keyspace as the loops use it: keys under their stripes' locks, prefetching without locks, while tables
/// split, join, expire, are dropped and swapped. Values contain their key's number, so that a torn or wrong one is detected.
/// </summary>
public class KeyspaceConcurrencyTests
{
    private const int Batch = 16;

    [Theory]
    [InlineData(1, true, 400)]
    [InlineData(8, true, 40_000)]
    [InlineData(8, false, 40_000)]
    [InlineData(64, false, 300_000)]
    public void Concurrent_use_breaks_nothing(int stripes, bool guarded, int keys)
    {
        using var store = new KeyStore(stripes, 2, guarded);
        var clock = Stopwatch.StartNew();
        const int Threads = 6;
        StripeLockTests.Run(Threads, index =>
        {
            var random = new Random(index);
            var sweep = new BackgroundSweep(store, index, Threads);
            while (clock.ElapsedMilliseconds < TestScale.Of(gate: 300, full: 2_000))
            {
                for (int i = 0; i < 50; i++) Work(store, keys, random, clock);
                sweep.Run(clock.ElapsedMilliseconds, Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 5_000), expire: true);
                if (random.Next(200) == 0) ChangeDatabases(store, random);
            }
        });

        store.CheckGuards();
        foreach (Database database in store.Databases)
        {
            long found = Enumerable.Range(0, keys).Count(number => Check(store, database, number));
            long deadAlready = database.Count; // lookups removed expired keys
            Assert.Equal(found, deadAlready);
        }

        store.CheckGuards();
    }

    [Fact]
    public void Prefetching_reads_no_unmapped_memory()
    {
        using var store = new KeyStore(1, 1);
        Database database = store.Databases[0];
        bool done = false;
        StripeLockTests.Run(3, index =>
        {
            if (index > 0)
            {
                var random = new Random(index);
                while (!Volatile.Read(ref done))
                {
                    ulong hash = (ulong)random.NextInt64(long.MinValue, long.MaxValue);
                    nint bucket = database.PrefetchBucket(hash);
                    if (bucket != 0) Database.PrefetchEntry(bucket, hash, mayAdd: true, bytes: 512);
                }

                return;
            }

            // Grow enough that slabs and segments release their pages when everything is dropped.
            for (int round = 0; round < 4; round++)
            {
                for (int number = 0; number < 150_000; number++)
                {
                    byte[] key = Encoding.ASCII.GetBytes($"key:{number}");
                    using LockScope locked = store.LockAll();
                    database.WriteString(key, store.Hash(key), default, 30, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Clear();
                }

                using (store.LockAll()) database.Clear();
                new BackgroundSweep(store, 0, 1).Run(0, long.MaxValue, expire: false);
            }

            Volatile.Write(ref done, true);
        });
        Assert.Equal(0, database.Count);
        Assert.Equal(0, store.UsedBytes);
    }

    [Fact]
    public void Multi_stripe_commands_are_atomic_and_deadlock_free()
    {
        using var store = new KeyStore(16, 1, guarded: true);
        Database database = store.Databases[0];
        byte[][] keys = [.. Enumerable.Range(0, 20).Select(number => Encoding.ASCII.GetBytes($"key:{number}"))];
        foreach (byte[] key in keys) WriteNumber(store, database, key, 100);
        StripeLockTests.Run(6, index =>
        {
            var random = new Random(index);
            for (int i = 0; i < 5_000; i++)
            {
                byte[] from = keys[random.Next(keys.Length)];
                byte[] to = keys[random.Next(keys.Length)];
                using LockScope locked = store.Lock(i % 500 == 0 ? store.AllStripes : StripesOf(store, from).With(StripesOf(store, to)));
                if (i % 500 == 0) Assert.Equal(2_000, keys.Sum(key => ReadNumber(store, database, key)));
                long taken = ReadNumber(store, database, from);
                if (taken > 0)
                {
                    WriteNumber(store, database, from, taken - 1);
                    WriteNumber(store, database, to, ReadNumber(store, database, to) + 1);
                }
            }
        });
        Assert.Equal(2_000, keys.Sum(key => ReadNumber(store, database, key)));
    }

    private static void Work(KeyStore store, int keys, Random random, Stopwatch clock)
    {
        Span<int> numbers = stackalloc int[Batch];
        Span<ulong> hashes = stackalloc ulong[Batch];
        Span<nint> buckets = stackalloc nint[Batch];
        Database database = store.Databases[random.Next(2)];
        for (int i = 0; i < Batch; i++)
        {
            numbers[i] = random.Next(random.Next(3) == 0 ? Math.Min(keys, 10) : keys); // some keys are contended
            hashes[i] = store.Hash(Key(numbers[i]));
        }

        for (int i = 0; i < Batch; i++) buckets[i] = database.PrefetchBucket(hashes[i]);
        for (int i = 0; i < Batch; i++)
        {
            if (buckets[i] != 0) Database.PrefetchEntry(buckets[i], hashes[i], mayAdd: true, bytes: 512);
        }

        for (int i = 0; i < Batch; i++)
        {
            byte[] key = Key(numbers[i]);
            using LockScope locked = store.Lock(StripesOf(store, key));
            long nowMs = clock.ElapsedMilliseconds;
            Entry entry = database.Find(key, hashes[i], ExpiryClock.RemovingAt(nowMs));
            if (entry.Exists) AssertWhole(entry, numbers[i]);
            switch (random.Next(6))
            {
                case < 2:
                    long expiry = random.Next(3) == 0 ? nowMs + random.Next(1, 300) : Database.NoExpiry;
                    Fill(database.WriteString(key, hashes[i], entry, random.Next(0, 40) * 4, ValueEncoding.Raw, expiry, 0), numbers[i]);
                    break;
                case 2 when entry.Exists:
                    Fill(database.ResizeValue(entry, random.Next(0, 60) * 4), numbers[i]);
                    break;
                case 3 when entry.Exists:
                    AssertWhole(database.WriteExpiry(entry, random.Next(2) == 0 ? nowMs + random.Next(1, 300) : Database.NoExpiry), numbers[i]);
                    break;
                case 4 when entry.Exists:
                    database.Unlink(entry, UnlinkReason.Deleted);
                    break;
            }
        }
    }

    private static void ChangeDatabases(KeyStore store, Random random)
    {
        using LockScope locked = store.LockAll();
        if (random.Next(2) == 0) store.Databases[0].SwapWith(store.Databases[1]);
        else store.Databases[random.Next(2)].Clear();
    }

    private static bool Check(KeyStore store, Database database, int number)
    {
        byte[] key = Key(number);
        Entry entry = database.Find(key, store.Hash(key), ExpiryClock.RemovingAt(1_000_000));
        if (entry.Exists) AssertWhole(entry, number);
        return entry.Exists;
    }

    private static void Fill(Entry entry, int number) => MemoryMarshal.Cast<byte, int>(entry.Value).Fill(number);

    private static void AssertWhole(Entry entry, int number)
    {
        if (!entry.Key.SequenceEqual(Key(number))) throw new InvalidOperationException("A key was found that is another one.");
        if (MemoryMarshal.Cast<byte, int>(entry.Value).ContainsAnyExcept(number)) throw new InvalidOperationException($"Key {number} has a foreign value.");
    }

    private static StripeSet StripesOf(KeyStore store, byte[] key) => StripeSet.Of(store.StripeOf(store.Hash(key)));

    private static byte[] Key(int number) => Encoding.ASCII.GetBytes($"key:{number}");

    private static long ReadNumber(KeyStore store, Database database, byte[] key) =>
        BitConverter.ToInt64(database.Find(key, store.Hash(key), ExpiryClock.Never).Value);

    private static void WriteNumber(KeyStore store, Database database, byte[] key, long value) =>
        BitConverter.TryWriteBytes(database.WriteString(key, store.Hash(key), database.Find(key, store.Hash(key), ExpiryClock.Never), 8, ValueEncoding.Raw, Database.NoExpiry, 0).Value, value);
}
