using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

/// <summary>Blocks that are runs of units, against a model of the bytes in use per slab.</summary>
public unsafe class RunSlabsTests
{
    private const int Unit = BlockSize.RunUnitBytes;
    private const int UnitsMin = (BlockSize.ClassBlockMax / Unit) + 1;
    private const int UnitsMax = BlockSize.RunBlockMax / Unit;
    private const int BlocksOf8KiB = 31; // per slab

    [Fact]
    public void Random_operations_keep_contents_and_release_slabs()
    {
        Randomness.Run(random =>
        {
            using var source = new SlabSource();
            using var runs = new RunSlabs(source, owner: 0);
            var blocks = new List<(nint Address, int Bytes, byte Mark)>();
            for (int step = 0; step < 20_000; step++)
            {
                bool growing = step / 4_000 % 2 == 0;
                int choice = random.Next(10);
                if (blocks.Count == 0 || choice < (growing ? 5 : 2))
                {
                    int bytes = RandomBytes(random);
                    blocks.Add(Fill((nint)runs.Allocate(bytes), bytes, (byte)step));
                    continue;
                }

                int index = random.Next(blocks.Count);
                (nint address, int held, byte mark) = blocks[index];
                Check(blocks[index]);
                int newBytes = RandomBytes(random);
                if (choice < 8)
                {
                    runs.Free((byte*)address, held);
                    blocks[index] = blocks[^1];
                    blocks.RemoveAt(blocks.Count - 1);
                }
                else if (runs.TryResize((byte*)address, held, newBytes))
                {
                    Check((address, Math.Min(held, newBytes), mark));
                    blocks[index] = Fill(address, newBytes, mark);
                }
                else
                {
                    Assert.True(newBytes > held, "A block can always shrink where it is.");
                }
            }

            foreach ((nint address, int bytes, byte mark) in blocks)
            {
                Check((address, bytes, mark));
                runs.Free((byte*)address, bytes);
            }

            Assert.Equal(0, runs.Count);
        });
    }

    [Fact]
    public void Slab_holds_31_blocks_of_8_KiB_and_one_of_the_rest()
    {
        using var source = new SlabSource();
        using var runs = new RunSlabs(source, owner: 0);
        for (int i = 0; i < BlocksOf8KiB; i++) runs.Allocate(8192);
        runs.Allocate(UnitsMin * Unit);
        Assert.Equal(1, runs.Count);
        runs.Allocate(UnitsMin * Unit);
        Assert.Equal(2, runs.Count);
    }

    [Fact]
    public void Block_grows_in_place_into_free_units()
    {
        using var source = new SlabSource();
        using var runs = new RunSlabs(source, owner: 0);
        byte* first = runs.Allocate(5120);
        byte* second = runs.Allocate(5120);
        Assert.Equal((nint)first + 5120, (nint)second);
        Assert.False(runs.TryResize(first, 5120, 5376));
        Assert.True(runs.TryResize(second, 5120, BlockSize.RunBlockMax));
        Assert.True(runs.TryResize(second, BlockSize.RunBlockMax, 5120));
        runs.Free(second, 5120);
        Assert.True(runs.TryResize(first, 5120, BlockSize.RunBlockMax));
        Assert.Equal((nint)first + BlockSize.RunBlockMax, (nint)runs.Allocate(5120));
    }

    [Fact]
    public void Adjacent_freed_blocks_merge()
    {
        using var source = new SlabSource();
        using var runs = new RunSlabs(source, owner: 0);
        var blocks = new nint[BlocksOf8KiB];
        for (int i = 0; i < blocks.Length; i++) blocks[i] = (nint)runs.Allocate(8192);
        runs.Free((byte*)blocks[4], 8192);
        runs.Free((byte*)blocks[6], 8192);
        Assert.NotEqual(blocks[4], (nint)runs.Allocate(8192 + Unit));
        runs.Free((byte*)blocks[5], 8192);
        Assert.Equal(blocks[4], (nint)runs.Allocate(BlockSize.RunBlockMax));
        Assert.Equal(blocks[6], (nint)runs.Allocate(8192));
    }

    // Like list compaction: each node gets a smaller block, in order.
    [Fact]
    public void Blocks_replaced_by_smaller_ones_leave_no_slab_half_empty()
    {
        using var source = new SlabSource();
        using var runs = new RunSlabs(source, owner: 0);
        const int Slabs = 40, Nodes = Slabs * BlocksOf8KiB, SmallBytes = 24 * Unit, SmallInSlab = 1023 / 24;
        var packed = new nint[Nodes];
        for (int i = 0; i < Nodes; i++) packed[i] = (nint)runs.Allocate(8192);
        Assert.Equal(Slabs, runs.Count);
        foreach (nint node in packed)
        {
            runs.Allocate(SmallBytes);
            runs.Free((byte*)node, 8192);
        }

        Assert.InRange(runs.Count, (Nodes / SmallInSlab) + 1, (Nodes / SmallInSlab) + 2);
    }

    private static int RandomBytes(Random random) => random.Next(UnitsMin, UnitsMax + 1) * Unit;

    private static (nint Address, int Bytes, byte Mark) Fill(nint address, int bytes, byte mark)
    {
        new Span<byte>((byte*)address, bytes).Fill(mark);
        return (address, bytes, mark);
    }

    private static void Check((nint Address, int Bytes, byte Mark) block) =>
        Assert.False(new ReadOnlySpan<byte>((byte*)block.Address, block.Bytes).ContainsAnyExcept(block.Mark), "A block's content changed.");
}
