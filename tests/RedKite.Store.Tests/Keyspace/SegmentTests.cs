using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public sealed unsafe class SegmentTests : IDisposable
{
    private readonly byte* _segment = (byte*)NativeMemory.AlignedAlloc(Segment.Bytes, 64);
    private readonly byte* _entry = (byte*)NativeMemory.AllocZeroed(64);

    public SegmentTests() => Segment.Initialize(_segment, 0x80000000, 1);

    [Fact]
    public void New_segment_is_empty()
    {
        Segment.Header* header = Segment.Of(_segment);
        Assert.Equal((0x80000000, 1, 0, 0, long.MaxValue), (header->Prefix, header->Depth, header->Count, header->Expiring, header->EarliestExpiry));
        for (int index = 0; index < Segment.Buckets; index++) Assert.Equal(0u, Segment.Occupied(Segment.Bucket(_segment, index)));
    }

    [Fact]
    public void Slot_keeps_a_48_bit_address_and_its_neighbours()
    {
        byte* bucket = Segment.Bucket(_segment, 5);
        for (int slot = 0; slot < Segment.SlotsPerBucket; slot++) Segment.Replace(bucket, slot, Address(slot), expires: slot % 2 == 0);
        for (int slot = 0; slot < Segment.SlotsPerBucket; slot++)
        {
            Assert.Equal((nint)Address(slot), (nint)Segment.Entry(bucket, slot));
            Assert.Equal(slot % 2 == 0, Segment.Expires(Segment.Slot(bucket, slot)));
        }

        static byte* Address(int slot) => (byte*)unchecked((nuint)(0xFFFF_FFFF_FFF8 - ((ulong)slot << 40) - (ulong)(slot * 8)));
        Assert.Equal(0u, Segment.Occupied(bucket)); // tags are separate from slots
        Assert.Equal(0u, Segment.Occupied(Segment.Bucket(_segment, 6)));
        Assert.False(Segment.IsPassed(bucket));
    }

    [Fact]
    public void Hashes_have_a_home_and_a_nonzero_tag()
    {
        for (int low = 0; low < 256; low++) Assert.InRange(Segment.Tag((ulong)low), 1, 255);
        for (ulong home = 0; home <= 0xFFFF; home++) Assert.InRange(Segment.Home(home << 16), 0, Segment.Buckets - 1);
        Assert.Equal(Segment.Buckets - 1, Segment.Home(0xFFFF_0000));
    }

    [Fact]
    public void Slot_distinguishes_hashes_of_one_tag_even_when_its_block_moves()
    {
        Segment.Add(_segment, 0x4001, _entry, out byte* bucket, out int slot);
        Segment.Replace(bucket, slot, _entry + 8, expires: true);
        Assert.Equal((nint)(_entry + 8), (nint)Segment.Entry(bucket, slot));
        for (ulong more = 0; more < 4; more++) Assert.Equal(more == 1, Segment.MayHave(Segment.Slot(bucket, slot), (more << 14) | 1));
    }

    [Fact]
    public void Bucket_records_which_eighths_of_the_tags_overflowed()
    {
        Randomness.Run(random =>
        {
            using var blocks = new KeyBlocks(random);
            Segment.Initialize(_segment, 0, 0);
            var added = new List<(ulong Hash, nint Bucket, int Slot)>();
            for (int step = 0; step < 4_000; step++)
            {
                // Phases of growth and of shrinking; few homes, so that many entries overflow their bucket.
                bool grows = step / 1_000 % 2 == 0;
                if (added.Count < 300 && random.Next(10) < (grows ? 7 : 3))
                {
                    (ulong hash, nint entry) = blocks.Pick(homes: 20);
                    Segment.Add(_segment, hash, (byte*)entry, out byte* bucket, out int slot);
                    added.Add((hash, (nint)bucket, slot));
                }
                else if (added.Count > 0)
                {
                    int index = random.Next(added.Count);
                    (ulong hash, nint bucket, int slot) = added[index];
                    Segment.Remove(_segment, hash, (byte*)bucket, slot, blocks.Hasher);
                    added[index] = added[^1];
                    added.RemoveAt(added.Count - 1);
                }

                if (step % 10 == 0) AssertPassed(added);
            }

            while (added.Count > 0)
            {
                (ulong hash, nint bucket, int slot) = added[^1];
                Segment.Remove(_segment, hash, (byte*)bucket, slot, blocks.Hasher);
                added.RemoveAt(added.Count - 1);
            }

            AssertPassed(added);
            Assert.Equal(0, Segment.Of(_segment)->Count);
        });
    }

    [Fact]
    public void Segment_holds_its_capacity_for_any_distribution()
    {
        for (int i = 0; i < Segment.EntriesMax; i++) Segment.Add(_segment, 0xFFFF_0000 | (ulong)(byte)i, _entry, out _, out _);
        Assert.Equal(Segment.EntriesMax, Segment.Of(_segment)->Count);
        int occupied = 0;
        for (int index = 0; index < Segment.Buckets; index++) occupied += System.Numerics.BitOperations.PopCount(Segment.Occupied(Segment.Bucket(_segment, index)));
        Assert.Equal(Segment.EntriesMax, occupied);
    }

    private void AssertPassed(List<(ulong Hash, nint Bucket, int Slot)> entries)
    {
        var expected = new int[Segment.Buckets];
        foreach ((ulong hash, nint bucket, _) in entries)
        {
            for (int index = Segment.Home(hash); (nint)Segment.Bucket(_segment, index) != bucket; index = Segment.Next(index))
            {
                expected[index] |= 1 << (Segment.Tag(hash) >> 5);
            }
        }

        for (int index = 0; index < Segment.Buckets; index++)
        {
            byte* bucket = Segment.Bucket(_segment, index);
            Assert.Equal(expected[index] != 0, Segment.IsPassed(bucket));
            for (int eighth = 0; eighth < 8; eighth++) Assert.Equal((expected[index] >> eighth & 1) != 0, Segment.IsPassed(bucket, (byte)(eighth << 5)));
        }
    }

    public void Dispose()
    {
        NativeMemory.AlignedFree(_segment);
        NativeMemory.Free(_entry);
    }

    /// <summary>Entries with random keys.</summary>
    private sealed class KeyBlocks(Random random) : IDisposable
    {
        private const int KeyBytes = 12;

        private readonly List<nint> _blocks = [];

        internal KeyHasher Hasher { get; } = new(random.Bytes(24));

        /// <summary>An entry whose home is among the last few buckets and the first.</summary>
        internal (ulong Hash, nint Entry) Pick(int homes)
        {
            byte[] key;
            ulong hash;
            do
            {
                key = random.Bytes(KeyBytes);
                hash = Hasher.Hash(key);
            }
            while ((Segment.Home(hash) + (homes / 2)) % Segment.Buckets >= homes);

            var block = (byte*)NativeMemory.AllocZeroed((nuint)EntryBlock.BytesFor(KeyBytes, 0, expires: false));
            EntryBlock.Initialize(block, new ValueHeader(DataType.String, ValueEncoding.Raw, 0), KeyBytes, 0, expires: false, epoch: 0);
            key.CopyTo(new Span<byte>(EntryBlock.KeyStart(block), KeyBytes));
            _blocks.Add((nint)block);
            return (hash, (nint)block);
        }

        public void Dispose()
        {
            foreach (nint block in _blocks) NativeMemory.Free((void*)block);
        }
    }
}
