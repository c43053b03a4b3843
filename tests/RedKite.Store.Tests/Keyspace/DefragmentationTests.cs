using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TestSupport;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>Sparse slabs are emptied and released, and every value stays unchanged.</summary>
public class DefragmentationTests
{
    private const long Never = long.MaxValue;

    [Theory]
    [InlineData(1, 200)]
    [InlineData(4, 40)]
    [InlineData(4, 1000)]
    [InlineData(4, 3000)]
    public void Sparse_slabs_are_emptied_and_released(int stripes, int valueBytes)
    {
        using var store = new KeyStore(stripes, 2);
        int keys = 20_000_000 / valueBytes;
        for (int i = 0; i < keys; i++) Write(store, i, valueBytes);
        for (int i = 0; i < keys; i++)
        {
            if (i % 10 != 0) Remove(store, i);
        }

        long used = store.UsedBytes;
        long free = store.FragmentedBytes;
        Assert.True(free > 10_000_000, $"{free} bytes are free between {used}.");
        DefragmentationCounts counts = Defragment(store);
        Assert.Equal(used, store.UsedBytes);
        Assert.InRange(store.FragmentedBytes, 0, (stripes * 3L * 8192) + (used / 50)); // pages, and what full slabs leave
        Assert.InRange(counts.Hits, 1, keys / 10);
        Assert.Equal(counts.Hits, counts.KeyHits);
        for (int i = 0; i < keys; i++) Check(store, i, i % 10 == 0 ? valueBytes : -1);
        Assert.Equal(0, Defragment(store).Hits); // there is nothing left to do
    }

    [Fact]
    public void Slabs_that_are_emptied_are_taken_by_other_size_classes()
    {
        using var store = new KeyStore(4, 2);
        for (int i = 0; i < 20_000; i++) Write(store, i, 1000);
        for (int i = 0; i < 20_000; i++)
        {
            if (i % 10 != 0) Remove(store, i);
        }

        Defragment(store);
        for (int i = 20_000; i < 100_000; i++) Write(store, i, 150);
        Assert.InRange(store.HeldBytes, store.UsedBytes, 26_000_000);
    }

    [Fact]
    public void Random_commands_and_moves_in_any_order()
    {
        Randomness.Run(random =>
        {
            using var store = new KeyStore(2, 2);
            int[] sizes = new int[3000];
            sizes.AsSpan().Fill(-1);
            var defragmentation = new Defragmentation(store, 0, 1);
            for (int step = 0; step < TestScale.Of(gate: 60_000, full: 200_000); step++)
            {
                int key = random.Next(sizes.Length);
                int phase = step / 20_000 % 2;
                if (random.Next(10) < 3)
                {
                    Remove(store, key);
                    sizes[key] = -1;
                }
                else
                {
                    sizes[key] = phase == 0 ? random.Next(600, 1200) : random.Next(0, 120);
                    Write(store, key, sizes[key]);
                }

                if (step % 50 == 0) defragmentation.Run(deadline: 0); // a slice
                if (step % 20_000 != 0) continue;
                for (int i = 0; i < sizes.Length; i++) Check(store, i, sizes[i]);
            }

            for (int i = 0; i < sizes.Length; i++) Check(store, i, sizes[i]);
            Assert.True(defragmentation.TakeCounts().Hits > 1000);
        });
    }

    [Fact]
    public void Block_that_only_looks_like_an_entry_stays()
    {
        // Members of a set that contain the bytes of an entry of the same stripe.
        using var store = new KeyStore(1, 1);
        Write(store, 1, 40);
        byte[] entry = new byte[80];
        unsafe
        {
            var block = (byte*)Find(store, 1).Address;
            new Span<byte>(block, (int)EntryBlock.Bytes(block)).CopyTo(entry);
        }

        Arena arena = store.Stripes[0].Arena;
        List<nint> blocks = [];
        unsafe
        {
            for (int i = 0; i < 5000; i++)
            {
                byte* block = arena.Allocate(EntryBlock.Bytes((byte*)Find(store, 1).Address));
                entry.AsSpan(0, 56).CopyTo(new Span<byte>(block, 56));
                if (i % 10 == 0) blocks.Add((nint)block);
                else arena.Free(block, 56);
            }

            Assert.InRange(Defragment(store).Hits, 0, 1);
            foreach (nint block in blocks)
            {
                Assert.Equal(entry.AsSpan(0, 56), new Span<byte>((byte*)block, 56));
                arena.Free((byte*)block, 56);
            }
        }

        Check(store, 1, 40);
    }

    [Fact]
    public void Busy_stripe_is_left_to_the_next_pass()
    {
        using var store = new KeyStore(2, 1);
        for (int i = 0; i < 20_000; i++) Write(store, i, 200);
        for (int i = 0; i < 20_000; i++)
        {
            if (i % 5 != 0) Remove(store, i);
        }

        store.Stripes[0].Enter();
        Defragment(store);
        long free = store.Stripes[0].Arena.FragmentedBytes;
        store.Stripes[0].Exit();
        Defragment(store);
        Assert.True(store.Stripes[0].Arena.FragmentedBytes < free / 10);
    }

    private static DefragmentationCounts Defragment(KeyStore store)
    {
        var defragmentation = new Defragmentation(store, 0, 1);
        for (int pass = 0; pass < 4; pass++) Assert.True(defragmentation.Run(Never));
        return defragmentation.TakeCounts();
    }

    private static byte[] Key(int number) => Encoding.ASCII.GetBytes($"key:{number}");

    private static Entry Find(KeyStore store, int number) => store.Databases[number % store.Databases.Length].Find(Key(number), store.Hash(Key(number)), ExpiryClock.Never);

    private static void Write(KeyStore store, int number, int bytes)
    {
        byte[] key = Key(number);
        Database database = store.Databases[number % store.Databases.Length];
        Entry written = database.WriteString(key, store.Hash(key), Find(store, number), bytes, ValueEncoding.Raw, number % 3 == 0 ? 1_000_000 : Database.NoExpiry, 0);
        for (int i = 0; i < bytes; i++) written.Value[i] = (byte)(number + i);
    }

    private static void Remove(KeyStore store, int number)
    {
        Entry entry = Find(store, number);
        if (entry.Exists) store.Databases[number % store.Databases.Length].Unlink(entry, UnlinkReason.Deleted);
    }

    private static void Check(KeyStore store, int number, int bytes)
    {
        Entry entry = Find(store, number);
        Assert.Equal(bytes >= 0, entry.Exists);
        if (bytes < 0) return;
        Assert.Equal(bytes, entry.Value.Length);
        Assert.Equal(number % 3 == 0 ? 1_000_000 : Database.NoExpiry, entry.ExpiryMs);
        for (int i = 0; i < bytes; i++) Assert.Equal((byte)(number + i), entry.Value[i]);
    }
}
