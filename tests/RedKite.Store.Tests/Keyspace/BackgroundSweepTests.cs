using System.Diagnostics;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public class BackgroundSweepTests
{
    private const long Never = long.MaxValue;

    [Theory]
    [InlineData(1, 1)]
    [InlineData(16, 1)]
    [InlineData(16, 3)]
    public void Sweeps_expire_exactly_the_due_entries(int stripes, int sweeps)
    {
        using var store = new KeyStore(stripes, 2, guarded: true);
        const int Keys = 20_000;
        for (int i = 0; i < Keys; i++) Write(store, store.Databases[i % 2], i, i % 4 == 0 ? Database.NoExpiry : i % 4 * 1_000);
        BackgroundSweep[] all = [.. Enumerable.Range(0, sweeps).Select(i => new BackgroundSweep(store, i, sweeps))];

        foreach (long nowMs in new long[] { 999, 1_000, 2_500, 3_000 })
        {
            foreach (BackgroundSweep sweep in all) Assert.False(sweep.Run(nowMs, Never, expire: true));
            int left = Enumerable.Range(0, Keys).Count(i => i % 4 == 0 || i % 4 * 1_000 > nowMs);
            Assert.Equal(left, store.Databases[0].Count + store.Databases[1].Count);
            Assert.Equal((Keys - left, Keys - left), (store.ExpiredKeys, store.SweptKeys));
        }

        Assert.Equal(0, store.Databases[0].Expiring + store.Databases[1].Expiring);
        for (int i = 0; i < Keys; i++) Assert.Equal(i % 4 == 0, Exists(store, store.Databases[i % 2], i));
        Assert.All(all, sweep => Assert.Equal(4, sweep.Rounds));
        store.CheckGuards();
    }

    [Fact]
    public void Busy_stripe_is_left_to_the_next_pass()
    {
        const int Busy = 1;
        using var store = new KeyStore(4, 2, guarded: true);
        for (int i = 0; i < 1000; i++) Write(store, store.Databases[0], i, 1_000);
        for (int i = 0; i < 1000; i++) Write(store, store.Databases[1], i, Database.NoExpiry);
        long busy = store.Databases[0].TableIn(Busy)!.Count;
        store.Databases[1].Clear();
        var sweep = new BackgroundSweep(store, 0, 1);
        store.Stripes[Busy].Enter();
        Assert.False(sweep.Run(2_000, Never, expire: true)); // it doesn't wait
        Assert.Equal(busy, store.Databases[0].Count);
        Assert.Equal([Busy], Enumerable.Range(0, 4).Where(stripe => store.Stripes[stripe].HasDropped));
        store.Stripes[Busy].Exit();
        Assert.False(sweep.Run(2_000, Never, expire: true));
        Assert.Equal(0, store.Databases[0].Count);
        Assert.False(store.Stripes[Busy].HasDropped);
        store.CheckGuards();
    }

    // Blocks that are freed one by one are used again soon, and their pages would have to be supplied anew.
    [Fact]
    public void Pages_of_large_blocks_are_released_when_a_database_is_flushed_and_not_when_keys_are_removed()
    {
        const int Keys = 64, Bytes = 40_000;
        using var store = new KeyStore(4, 2, guarded: false);
        for (int round = 0; round < 2; round++)
        {
            for (int i = 0; i < Keys; i++) WriteLarge(store, i, Bytes);
            for (int i = 0; i < Keys; i++) Remove(store, i);
            while (FreeSlice(store))
            {
            }

            Assert.Equal(0, Released(store));
            for (int i = 0; i < Keys; i++) WriteLarge(store, i, Bytes);
            Assert.InRange(store.LargeBytes, (long)Keys * Bytes, (long)Keys * (Bytes + 4096));
            store.Databases[0].Clear();
            while (FreeSlice(store))
            {
            }

            Assert.InRange(Released(store), (long)Keys * Bytes, (long)Keys * (Bytes + 4096));
            Assert.Equal(0, store.LargeBytes);
            foreach (Stripe stripe in store.Stripes) stripe.Arena.TakeLargeBytesReleased();
        }

        // The sweep notes it: behind a large flush the C runtime's heap is trimmed.
        for (int i = 0; i < Keys; i++) WriteLarge(store, i, Bytes);
        store.Databases[0].Clear();
        Assert.False(new BackgroundSweep(store, 0, 1).Run(0, Never, expire: true));
        Assert.Equal(0, Released(store));
        Assert.Equal(0, store.LargeBytes);

        static bool FreeSlice(KeyStore store)
        {
            bool more = false;
            foreach (Stripe stripe in store.Stripes)
            {
                stripe.Enter();
                more |= stripe.FreeDroppedSlice();
                stripe.Exit();
            }

            return more;
        }

        static long Released(KeyStore store)
        {
            long released = 0;
            foreach (Stripe stripe in store.Stripes) released += stripe.Arena.TakeLargeBytesReleased();
            return released;
        }
    }

    [Fact]
    public void Sweep_without_expiry_only_frees_and_samples()
    {
        using var store = new KeyStore(2, 1, guarded: true);
        for (int i = 0; i < 100; i++) Write(store, store.Databases[0], i, 1_000);
        var sweep = new BackgroundSweep(store, 0, 1);
        for (int round = 0; round < 20; round++) Assert.False(sweep.Run(5_000, Never, expire: false));
        Assert.Equal(100, store.Databases[0].Count);
        Assert.InRange(store.Databases[0].StaleKeys, 95, 100);
    }

    [Fact]
    public void Dropped_tables_are_freed_and_their_memory_released()
    {
        using var store = new KeyStore(4, 1);
        long empty = store.UsedBytes;
        for (int i = 0; i < 200_000; i++) Write(store, store.Databases[0], i, Database.NoExpiry);
        long heldFull = store.HeldBytes;
        store.Databases[0].Clear();
        Assert.True(store.UsedBytes > 10_000_000);
        Assert.False(new BackgroundSweep(store, 0, 1).Run(0, Never, expire: true));
        Assert.Equal(empty, store.UsedBytes);
        Assert.DoesNotContain(store.Stripes, stripe => stripe.HasDropped);
        Assert.True(store.HeldBytes < heldFull / 2, $"{heldFull} bytes held with the keys, {store.HeldBytes} without");
    }

    [Fact]
    public void Sweep_stops_at_its_deadline_and_continues_there()
    {
        using var store = new KeyStore(4, 1);
        for (int i = 0; i < 100_000; i++) Write(store, store.Databases[0], i, 1_000);
        var sweep = new BackgroundSweep(store, 0, 1);
        int calls = 0;
        long before = store.Databases[0].Count;
        while (sweep.Run(2_000, deadline: 0, expire: true))
        {
            // A deadline in the past allows one slice: one searched segment.
            long after = store.Databases[0].Count;
            Assert.InRange(before - after, 0, Segment.EntriesMax);
            before = after;
            Assert.True(++calls < 10_000);
        }

        Assert.InRange(calls, 50, 10_000);
        Assert.Equal(0, store.Databases[0].Count);

        for (int i = 0; i < 100_000; i++) Write(store, store.Databases[0], i, Database.NoExpiry);
        store.Databases[0].Clear();
        long start = Stopwatch.GetTimestamp();
        calls = 1;
        while (sweep.Run(2_000, Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 10_000), expire: true)) calls++;
        Assert.InRange(calls, 2, 10_000);
        Assert.DoesNotContain(store.Stripes, stripe => stripe.HasDropped);
        Assert.True(Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(60));
    }

    [Fact]
    public void Memory_is_released_one_slab_at_a_time()
    {
        using var store = new KeyStore(4, 1);
        for (int i = 0; i < 200_000; i++) Write(store, store.Databases[0], i, Database.NoExpiry);
        long full = store.HeldBytes;
        store.Databases[0].Clear();
        foreach (Stripe stripe in store.Stripes)
        {
            while (stripe.FreeDroppedSlice()) Assert.Equal(full, store.HeldBytes); // freeing releases nothing to the system
        }

        var sweep = new BackgroundSweep(store, 0, 1);
        for (bool more = true; more;)
        {
            long before = store.HeldBytes;
            more = sweep.Run(0, deadline: 0, expire: true);
            Assert.InRange(before - store.HeldBytes, 0, SlabSource.LargeSlabBytes);
        }

        Assert.True(store.HeldBytes < full / 2, $"{full} bytes held with the keys, {store.HeldBytes} without");
    }

    private static void Write(KeyStore store, Database database, int number, long expiryMs)
    {
        byte[] key = Encoding.ASCII.GetBytes($"key:{number}");
        database.WriteString(key, store.Hash(key), default, 40, ValueEncoding.Raw, expiryMs, 0).Value.Clear();
    }

    private static void WriteLarge(KeyStore store, int number, int bytes)
    {
        byte[] key = Encoding.ASCII.GetBytes($"key:{number}");
        using LockScope locked = store.Lock(StripeSet.Of(store.StripeOf(store.Hash(key))));
        store.Databases[0].WriteString(key, store.Hash(key), default, bytes, ValueEncoding.Raw, Database.NoExpiry, 0).Value.Clear();
    }

    private static void Remove(KeyStore store, int number)
    {
        byte[] key = Encoding.ASCII.GetBytes($"key:{number}");
        using LockScope locked = store.Lock(StripeSet.Of(store.StripeOf(store.Hash(key))));
        store.Databases[0].Unlink(store.Databases[0].Find(key, store.Hash(key), ExpiryClock.Never), UnlinkReason.Deleted);
    }

    private static bool Exists(KeyStore store, Database database, int number)
    {
        byte[] key = Encoding.ASCII.GetBytes($"key:{number}");
        return database.Find(key, store.Hash(key), ExpiryClock.Never).Exists;
    }
}
