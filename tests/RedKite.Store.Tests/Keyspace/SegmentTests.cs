using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public sealed unsafe class SegmentTests : IDisposable
{
    private readonly byte* _segment = (byte*)NativeMemory.AlignedAlloc(Segment.Bytes, 64);
    private readonly byte* _entry = (byte*)NativeMemory.AllocZeroed(64);

    public SegmentTests() => Segment.Initialize(_segment, 0x80000000, 1);

    [Fact]
    public void A_new_segment_is_empty()
    {
        Segment.Header* header = Segment.Of(_segment);
        Assert.Equal((0x80000000, 1, 0, 0, long.MaxValue), (header->Prefix, header->Depth, header->Count, header->Expiring, header->EarliestExpiry));
        for (int index = 0; index < Segment.Buckets; index++) Assert.Equal(0u, Segment.Occupied(Segment.Bucket(_segment, index)));
    }

    [Fact]
    public void A_slot_keeps_an_address_of_48_bits_and_leaves_its_neighbours()
    {
        byte* bucket = Segment.Bucket(_segment, 5);
        var addresses = new nuint[Segment.SlotsPerBucket];
        for (int slot = 0; slot < addresses.Length; slot++)
        {
            addresses[slot] = unchecked((nuint)(0x7FFF_FFFF_FFF8 - ((ulong)slot << 40) + (ulong)slot));
            Segment.WriteSlot(bucket, slot, addresses[slot]);
        }

        for (int slot = 0; slot < addresses.Length; slot++) Assert.Equal(addresses[slot], Segment.Slot(bucket, slot));
        Assert.Equal(0u, Segment.Occupied(bucket)); // tags are apart from slots
        Assert.Equal(0u, Segment.Occupied(Segment.Bucket(_segment, 6)));
        Assert.False(Segment.IsPassed(bucket));
    }

    [Fact]
    public void Hashes_have_a_home_and_a_tag_that_is_never_the_free_one()
    {
        for (int low = 0; low < 256; low++) Assert.InRange(Segment.Tag((ulong)low), 1, 255);
        for (ulong home = 0; home <= 0xFFFF; home++) Assert.InRange(Segment.Home(home << 16), 0, Segment.Buckets - 1);
        Assert.Equal(Segment.Buckets - 1, Segment.Home(0xFFFF_0000));
    }

    [Fact]
    public void A_full_bucket_is_passed_and_forgets_how_often_only_after_254_times()
    {
        // Every entry has home 0. The first nine stay there; all others go past it.
        var added = new List<(ulong Hash, nint Bucket, int Slot)>();
        void Add(int count)
        {
            for (int i = 0; i < count; i++)
            {
                ulong hash = (ulong)(1 + (added.Count % 255));
                Segment.Add(_segment, hash, _entry, out byte* bucket, out int slot);
                added.Add((hash, (nint)bucket, slot));
            }
        }

        void RemoveLast(int count)
        {
            for (int i = 0; i < count; i++)
            {
                (ulong hash, nint bucket, int slot) = added[^1];
                Segment.Remove(_segment, hash, (byte*)bucket, slot);
                added.RemoveAt(added.Count - 1);
            }
        }

        byte* home = Segment.Bucket(_segment, 0);
        Add(9);
        Assert.False(Segment.IsPassed(home));
        Add(254);
        Assert.True(Segment.IsPassed(home));
        RemoveLast(254);
        Assert.False(Segment.IsPassed(home));
        Add(255);
        RemoveLast(255);
        Assert.True(Segment.IsPassed(home)); // it has forgotten, and stays passed until the segment splits
        RemoveLast(9);
        Assert.Equal(0, Segment.Of(_segment)->Count);
        for (int index = 0; index < Segment.Buckets; index++) Assert.Equal(0u, Segment.Occupied(Segment.Bucket(_segment, index)));
    }

    [Fact]
    public void A_segment_takes_as_many_entries_as_it_says_wherever_their_home_is()
    {
        for (int i = 0; i < Segment.EntriesMax; i++) Segment.Add(_segment, 0xFFFF_0000 | (ulong)(byte)i, _entry, out _, out _);
        Assert.Equal(Segment.EntriesMax, Segment.Of(_segment)->Count);
        int occupied = 0;
        for (int index = 0; index < Segment.Buckets; index++) occupied += System.Numerics.BitOperations.PopCount(Segment.Occupied(Segment.Bucket(_segment, index)));
        Assert.Equal(Segment.EntriesMax, occupied);
    }

    public void Dispose()
    {
        NativeMemory.AlignedFree(_segment);
        NativeMemory.Free(_entry);
    }
}
