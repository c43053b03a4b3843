using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TestSupport;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>A table against a dictionary. Keys are numbers as text; an entry's value is the number it was written with.</summary>
public sealed unsafe class TableTests
{
    private const int Many = 300_000;

    [Theory]
    [InlineData(50)]
    [InlineData(3_000)]
    [InlineData(20_000)]
    public void Random_operations_agree_with_a_dictionary(int keys)
    {
        Randomness.Run(random =>
        {
            using var world = new World(guarded: true);
            for (int step = 0; step < 60_000; step++)
            {
                int key = random.Next(keys);
                // Phases of growth and of shrinking, so that segments split and join.
                bool growing = step / 15_000 % 2 == 0;
                switch (random.Next(10))
                {
                    case < 2: world.AssertFind(key); break;
                    case < 5: world.Write(key, step, random.Next(3) == 0 ? random.Next(1_000_000) : null); break;
                    case < 6 when growing: world.Write(key, step, null); break;
                    case < 9 when !growing: world.Remove(key, random.Next(2) == 0); break;
                    case 9: world.Remove(key, random.Next(2) == 0); break;
                    default: world.AssertFind(random.Next(keys)); break;
                }

                if (step % 5_000 == 0) world.AssertAll();
            }

            world.AssertAll();
            world.Guard!.Check();
        });
    }

    [Fact]
    public void Table_grows_and_shrinks_to_one_segment()
    {
        int many = TestScale.Of(gate: 60_000, full: Many);
        using var world = new World();
        for (int key = 0; key < many; key++) world.Write(key, key, null);
        Assert.InRange(world.Table.Segments, many / Segment.EntriesMax, many * 2 / Segment.EntriesMax);
        world.AssertAll();
        long grown = world.Pool.UsedBytes;
        int[] keys = [.. Enumerable.Range(0, many)];
        new Random(3).Shuffle(keys);
        for (int i = 0; i < many; i++)
        {
            world.Remove(keys[i], inPlace: false);
            if (i % (many / 5) == 0) world.AssertAll();
        }

        Assert.Equal(1, world.Table.Segments);
        Assert.Equal(0, world.Table.Count);
        Assert.InRange(world.Pool.UsedBytes, Segment.Bytes, Segment.Bytes + (grown / 100)); // the directory stays
    }

    // The first eight bits of all hashes are the same, and so few keys need more bits than the upper directory has.
    [Theory]
    [InlineData(1)]
    [InlineData(StripeSet.StripesMax)]
    public void Keys_of_one_slot_share_lower_directories(int stripes)
    {
        const int UpperBytes = (1 + (1 << 16)) * sizeof(long);
        using var world = new World(slotStripes: stripes);
        for (int key = 0; key < Many; key++) world.Write(key, key, null);
        Assert.InRange(world.Pool.UsedBytes - ((long)world.Table.Segments * Segment.Bytes), UpperBytes + 1, UpperBytes + (64 << 10)); // one directory as deep as the deepest segment has twice that
        world.AssertAll();

        var seen = new HashSet<int>();
        var entries = new EntryList();
        TableCursor cursor = default;
        for (bool more = true; more;)
        {
            entries.Clear();
            more = world.Table.NextBucket(ref cursor, entries);
            foreach (nint entry in entries.Blocks) seen.Add(World.KeyOf(entry));
        }

        Assert.Equal(Many, seen.Count);
        for (int key = 0; key < Many; key++) world.Remove(key, inPlace: false);
        Assert.Equal(1, world.Table.Segments);
        Assert.Equal(UpperBytes + Segment.Bytes, world.Pool.UsedBytes); // no lower one is left
        for (int key = 0; key < Many; key++) world.Write(key, key + 1, null);
        world.AssertAll();
    }

    [Fact]
    public void Segments_split_at_different_times()
    {
        using var world = new World();
        int maxPerStep = 0;
        int before = 1;
        for (int key = 0; key < Many; key++)
        {
            world.Write(key, key, null);
            if (key % 10_000 != 0) continue;
            int segments = world.Table.Segments;
            if (key > 50_000) maxPerStep = Math.Max(maxPerStep, segments - before);
            before = segments;
        }

        // Per 10,000 keys, with more than 50,000. If all segments split at once, it would be a hundred or more.
        Assert.InRange(maxPerStep, 1, 40);
    }

    [Fact]
    public void Scan_returns_every_key_that_stays_across_splits_and_joins()
    {
        Randomness.Run(random =>
        {
            for (int round = 0; round < TestScale.Of(gate: 2, full: 6); round++)
            {
                using var world = new World();
                const int Staying = 3_000;
                const int Coming = 40_000;
                for (int key = 0; key < Staying; key++) world.Write(key, key, null);
                bool present = random.Next(2) == 0;
                if (present) WriteRange(world, Staying, Coming);

                var seen = new HashSet<int>();
                var entries = new EntryList();
                TableCursor cursor = default;
                bool more = true;
                long turns = 0;
                while (more)
                {
                    entries.Clear();
                    more = world.Table.NextBucket(ref cursor, entries);
                    foreach (nint entry in entries.Blocks) seen.Add(World.KeyOf(entry));
                    Assert.True(++turns < 5_000_000, "The scan does not terminate.");
                    if (random.Next(300) != 0) continue;
                    present = !present;
                    if (present) WriteRange(world, Staying, Coming);
                    else RemoveRange(world, Staying, Coming);
                }

                for (int key = 0; key < Staying; key++) Assert.True(seen.Contains(key), $"Key {key} was present all the time but not returned.");
            }
        });

        static void WriteRange(World world, int first, int end)
        {
            for (int key = first; key < end; key++) world.Write(key, key, null);
        }

        static void RemoveRange(World world, int first, int end)
        {
            for (int key = first; key < end; key++) world.Remove(key, inPlace: false);
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(900)]
    [InlineData(50_000)]
    public void Without_changes_both_enumerations_return_every_key_once(int keys)
    {
        using var world = new World();
        for (int key = 0; key < keys; key++) world.Write(key, key, null);

        var entries = new EntryList();
        uint prefix = 0;
        int segments = 1;
        while (world.Table.NextSegment(ref prefix, entries)) segments++;
        Assert.Equal(world.Table.Segments, segments);
        Assert.Equal(Enumerable.Range(0, keys), entries.Blocks.Select(World.KeyOf).Order());

        entries.Clear();
        TableCursor cursor = default;
        int buckets = 1;
        while (world.Table.NextBucket(ref cursor, entries)) buckets++;
        Assert.Equal(keys == 0 ? 1 : segments * Segment.Buckets, buckets); // an empty segment is one step
        Assert.Equal(Enumerable.Range(0, keys), entries.Blocks.Select(World.KeyOf).Order());
    }

    // In a nearly full segment many entries are behind their home bucket; in the halves of its split they are at home again, which the walk may have passed.
    [Fact]
    public void Entries_that_a_split_moves_back_are_returned_before()
    {
        for (int bucket = 1; bucket < Segment.Buckets; bucket++)
        {
            using var world = new World();
            int keys = 0;
            while (world.Table.Segments == 1) world.Write(keys++, 0, null);
            int staying = keys - 1; // the last one has split the segment
            while (keys > 0) world.Remove(--keys, inPlace: false);
            Assert.Equal(1, world.Table.Segments);
            for (int key = 0; key < staying; key++) world.Write(key, 0, null);
            Assert.Equal(1, world.Table.Segments);

            var entries = new EntryList();
            TableCursor cursor = default;
            for (int walked = 0; walked < bucket; walked++) world.Table.NextBucket(ref cursor, entries);
            HashSet<int> seen = [.. entries.Blocks.Select(World.KeyOf)];
            world.Write(staying, 0, null);
            Assert.Equal(2, world.Table.Segments);
            entries.Clear();
            while (world.Table.NextBucket(ref cursor, entries)) { }
            seen.UnionWith(entries.Blocks.Select(World.KeyOf));
            for (int key = 0; key < staying; key++) Assert.True(seen.Contains(key), $"Key {key} was present all the time but not returned by a walk that was at bucket {bucket}.");
        }
    }

    [Fact]
    public void Forged_cursor_is_harmless()
    {
        Randomness.Run(random =>
        {
            using var world = new World();
            for (int key = 0; key < 20_000; key++) world.Write(key, key, null);
            var entries = new EntryList();
            for (int i = 0; i < 100_000; i++)
            {
                var cursor = new TableCursor((uint)random.NextInt64(1L << 32), random.Next(34), random.Next(random.Next(2) == 0 ? 128 : 1 << 20));
                entries.Clear();
                world.Table.NextBucket(ref cursor, entries);
                foreach (nint entry in entries.Blocks) Assert.InRange(World.KeyOf(entry), 0, 19_999);
                Assert.InRange(cursor.Bucket, 0, Segment.Buckets - 1);
            }
        });
    }

    [Fact]
    public void Random_sampling_is_nearly_uniform()
    {
        using var world = new World();
        const int Keys = 2_000;
        for (int key = 0; key < Keys; key++) world.Write(key, key, null);
        var counts = new int[Keys];
        var random = new Random(11);
        int hits = 0;
        for (int i = 0; i < 1_000_000; i++)
        {
            byte* entry = world.Table.Pick(random);
            if (entry == null) continue;
            counts[World.KeyOf((nint)entry)]++;
            hits++;
        }

        // Segments are unevenly filled, so a key's chance differs by up to the factor between the fullest and the emptiest.
        Assert.True(hits > 250_000, $"{hits} of a million samples hit an entry");
        double mean = hits / (double)Keys;
        Assert.InRange(counts.Min(), mean / 4, mean);
        Assert.InRange(counts.Max(), mean, mean * 4);
    }

    [Fact]
    public void Expiry_removes_due_entries_and_leaves_no_empty_segments()
    {
        using var world = new World(guarded: false);
        for (int key = 0; key < 100_000; key++) world.Write(key, key, key % 100 == 0 ? null : key % 3 == 0 ? 2_000 : 1_000);
        int segments = world.Table.Segments;
        world.Expire(999);
        Assert.Equal(100_000, world.Table.Count);
        world.Expire(1_000);
        world.AssertAll();
        world.Expire(2_000);
        world.AssertAll();
        Assert.Equal(1_000, world.Table.Count);
        Assert.Equal(0, world.Table.Expiring);
        Assert.InRange(world.Table.Segments, 1, segments / 10);
    }

    private sealed class World : IDisposable
    {
        private readonly KeyStore _store;
        private readonly KeyHasher _hasher;
        private readonly Arena _arena;
        private readonly Dictionary<int, (int Value, long? Expiry)> _model = [];

        private readonly string _before;

        internal World(bool guarded = false, int slotStripes = 0)
        {
            _store = slotStripes > 0 ? new KeyStore(slotStripes, 1, guarded, new KeyHasher { SlotStripes = slotStripes }) : new KeyStore(1, 1, guarded);
            _before = slotStripes > 0 ? "{slot}" : "";
            _hasher = _store.Hasher;
            _arena = _store.Stripes[0].Arena;
            Table = _store.Stripes[0].NewTable();
        }

        internal ArenaGuard? Guard => _store.Stripes[0].Guard;

        internal SegmentPool Pool => _store.Stripes[0].Segments;

        internal Table Table { get; }

        internal static int KeyOf(nint entry) => int.Parse(EntryBlock.Key((byte*)entry)[(EntryBlock.Key((byte*)entry).IndexOf((byte)'}') + 1)..], System.Globalization.CultureInfo.InvariantCulture);

        internal void Write(int key, int value, long? expiry)
        {
            byte[] name = Name(key);
            ulong hash = _hasher.HashKey(name);
            byte* block = _arena.Allocate(EntryBlock.BytesFor(name.Length, sizeof(int), expiry.HasValue));
            EntryBlock.Initialize(block, new ValueHeader(DataType.String, ValueEncoding.Raw, 0), name.Length, sizeof(int), expiry.HasValue, epoch: 0);
            if (expiry.HasValue) EntryBlock.WriteExpiry(block, expiry.Value);
            name.CopyTo(new Span<byte>(EntryBlock.KeyStart(block), name.Length));
            BitConverter.TryWriteBytes(EntryBlock.Value(block), value);
            bool found = Table.TryFind(name, hash, out EntryPosition position);
            Assert.Equal(_model.ContainsKey(key), found);
            if (found)
            {
                byte* old = position.Entry;
                Table.Replace(ref position, block, EntryBlock.CountedFlags(old));
                Table.FreeEntry(old);
            }
            else
            {
                position = Table.Add(hash, block);
            }

            Assert.Equal((nint)block, (nint)position.Entry);
            _model[key] = (value, expiry);
        }

        internal void Remove(int key, bool inPlace)
        {
            byte[] name = Name(key);
            bool found = Table.TryFind(name, _hasher.HashKey(name), out EntryPosition position);
            Assert.Equal(_model.Remove(key), found);
            if (!found) return;
            Table.RemoveInPlace(position);
            if (!inPlace) Table.JoinIfSparse(position);
            Table.FreeEntry(position.Entry);
        }

        internal void Expire(long nowMs)
        {
            ExpiryResult result = default;
            uint prefix = 0;
            while (Table.ExpireSegment(ref prefix, nowMs, _store.Databases[0], _store.Stripes[0], ref result))
            {
            }

            int[] due = [.. _model.Where(entry => entry.Value.Expiry <= nowMs).Select(entry => entry.Key)];
            Assert.Equal(due.Length, result.Expired);
            foreach (int key in due) _model.Remove(key);
        }

        internal void AssertFind(int key)
        {
            byte[] name = Name(key);
            bool found = Table.TryFind(name, _hasher.HashKey(name), out EntryPosition position);
            Assert.Equal(_model.TryGetValue(key, out (int Value, long? Expiry) expected), found);
            if (!found) return;
            Assert.True(EntryBlock.Key(position.Entry).SequenceEqual(name));
            Assert.Equal(expected.Value, BitConverter.ToInt32(EntryBlock.Value(position.Entry)));
            Assert.Equal(expected.Expiry.HasValue, EntryBlock.Expires(position.Entry));
            if (expected.Expiry.HasValue) Assert.Equal(expected.Expiry.Value, EntryBlock.Expiry(position.Entry));
        }

        internal void AssertAll()
        {
            Assert.Equal(_model.Count, Table.Count);
            Assert.Equal(_model.Values.Count(value => value.Expiry.HasValue), Table.Expiring);
            foreach (int key in _model.Keys) AssertFind(key);
            var entries = new EntryList();
            uint prefix = 0;
            while (Table.NextSegment(ref prefix, entries))
            {
            }

            Assert.Equal(_model.Keys.Order(), entries.Blocks.Select(KeyOf).Order());
        }

        public void Dispose()
        {
            uint prefix = 0;
            int bucket = 0;
            while (Table.FreeStep(ref prefix, ref bucket))
            {
            }

            Assert.Equal(0, _arena.UsedBytes);
            Assert.Equal(0, Pool.UsedBytes);
            _store.Dispose();
        }

        private byte[] Name(int key) => Encoding.ASCII.GetBytes(_before + key.ToString(System.Globalization.CultureInfo.InvariantCulture));
    }
}
