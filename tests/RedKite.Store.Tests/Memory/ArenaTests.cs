using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Memory;

/// <summary>An arena against a model: a list of blocks with their expected bytes.</summary>
public unsafe class ArenaTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Random_operations_keep_contents_and_accounting_exact(bool guarded)
    {
        Randomness.Run(random =>
        {
            using var source = new SlabSource();
            using ArenaGuard? guard = guarded ? new ArenaGuard() : null;
            var arena = new Arena(source, guard);
            var blocks = new List<Block>();
            for (int step = 0; step < TestScale.Of(gate: 40_000, full: 100_000); step++)
            {
                // Phases in which blocks accumulate, and phases in which they are freed.
                bool growing = step / 10_000 % 2 == 0;
                int choice = random.Next(10);
                if (blocks.Count == 0 || choice < (growing ? 5 : 2)) blocks.Add(Allocate(arena, random));
                else if (choice < 8) Free(arena, blocks, random.Next(blocks.Count));
                else Reallocate(arena, blocks, random.Next(blocks.Count), random);
                if (step % 5_000 == 0)
                {
                    CheckAccounts(arena, blocks, guarded);
                    guard?.Check();
                }
            }

            CheckAccounts(arena, blocks, guarded);
            while (blocks.Count > 0) Free(arena, blocks, blocks.Count - 1);
            Assert.Equal(0, arena.UsedBytes);
            Assert.Equal(0, arena.LargeBytes);
            if (!guarded) arena.Dispose();
        });
    }

    [Fact]
    public void Blocks_do_not_overlap_and_are_aligned()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        var taken = new SortedDictionary<nint, long>();
        for (int size = 1; size <= 20_000; size += size < 6_000 ? 7 : 97)
        {
            for (int i = 0; i < 3; i++)
            {
                byte* block = arena.Allocate(size);
                Assert.Equal(0, (nint)block & 7);
                taken.Add((nint)block, BlockSize.RoundUp(size));
            }
        }

        nint end = 0;
        foreach ((nint block, long bytes) in taken)
        {
            Assert.True(block >= end, "Two blocks overlap.");
            end = block + (nint)bytes;
        }

        foreach ((nint block, long bytes) in taken) arena.Free((byte*)block, bytes);
    }

    [Fact]
    public void Slabs_return_to_the_source_when_their_blocks_are_freed()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        const int Count = 400_000;
        var blocks = new nint[Count];
        for (int i = 0; i < Count; i++) blocks[i] = (nint)arena.Allocate(72);
        long heldFull = arena.HeldBytes;
        Assert.InRange(heldFull, Count * 72L, Count * 73L);
        Assert.True(source.HeldBytes >= heldFull);

        new Random(1).Shuffle(blocks);
        foreach (nint block in blocks) arena.Free((byte*)block, 72);
        Assert.Equal(0, arena.UsedBytes);
        Assert.Equal(SlabSource.SlabBytes, arena.HeldBytes); // the last emptied slab is kept
        Assert.True(source.HeldBytes >= heldFull); // pages are released later
        while (source.GiveBack())
        {
        }

        Assert.InRange(source.HeldBytes, 0, 65L * SlabSource.SlabBytes);
    }

    [Fact]
    public void Last_emptied_slab_is_reused()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        byte* first = arena.Allocate(100);
        arena.Free(first, 100);
        long held = arena.HeldBytes;
        for (int i = 0; i < 1_000; i++)
        {
            byte* block = arena.Allocate(100);
            Assert.Equal((nint)first, (nint)block);
            arena.Free(block, 100);
        }

        Assert.Equal(held, arena.HeldBytes);
    }

    [Fact]
    public void Block_growing_through_all_classes_leaves_one_empty_slab()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        byte* block = arena.Allocate(1);
        for (int bytes = 1; bytes < BlockSize.RunBlockMax; bytes++) block = arena.Reallocate(block, bytes, bytes + 1);
        Assert.Equal(SlabSource.SlabBytes + SlabSource.LargeSlabBytes, arena.HeldBytes);
        arena.Free(block, BlockSize.RunBlockMax);
        Assert.Equal(SlabSource.SlabBytes, arena.HeldBytes);
        Assert.Equal(0, arena.UsedBytes);
    }

    [Theory]
    [InlineData(1, 1499, 5_000)] // one of 64 stripes with 300,000 strings
    [InlineData(1, 1499, 500)]
    [InlineData(1, 4096, 2_000)]
    [InlineData(900, 1100, 1_000)]
    [InlineData(1, 64, 10_000)]
    [InlineData(1, 1499, 100_000)]
    public void Blocks_of_mixed_sizes_leave_little_free_space(int bytesMin, int bytesMax, int count)
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        var random = new Random(1);
        var classes = new HashSet<int>();
        for (int i = 0; i < count; i++)
        {
            int bytes = random.Next(bytesMin, bytesMax + 1);
            arena.Allocate(bytes);
            classes.Add(BlockSize.ClassOf(bytes));
        }

        // An eighth, and a page or seven blocks for each class.
        long perClass = classes.Sum(sizeClass => (long)Math.Max(4096, BlockSize.BytesOfClass(sizeClass) * 7));
        Assert.InRange(arena.HeldBytes, arena.UsedBytes, (arena.UsedBytes * 9 / 8) + perClass + SlabSource.SlabBytes);
    }

    // The classes' slabs have 1 to 8 pages, so that runs of free pages of all lengths remain between them.
    [Theory]
    [InlineData(18_000, 1.10)]
    [InlineData(40_000, 1.075)]
    public void Pages_between_small_slabs_are_used(int count, double heldByUsedMax)
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        var random = new Random(1);
        for (int i = 0; i < count; i++) arena.Allocate(random.Next(5) == 0 ? random.Next(1, 1500) : random.Next(8, 1000));
        Assert.InRange((double)arena.HeldBytes / arena.UsedBytes, 1, heldByUsedMax);
    }

    [Fact]
    public void Divided_slabs_return_to_the_source_when_their_blocks_are_freed()
    {
        Randomness.Run(random =>
        {
            using var source = new SlabSource();
            using var arena = new Arena(source);
            var blocks = new List<(nint Block, int Bytes)>();
            for (int i = 0; i < 5_000; i++)
            {
                int bytes = random.Next(1, 4097);
                blocks.Add(((nint)arena.Allocate(bytes), bytes));
            }

            foreach ((nint block, int bytes) in blocks.OrderBy(_ => random.Next()).ToList()) arena.Free((byte*)block, bytes);
            Assert.Equal(0, arena.UsedBytes);
            Assert.Equal(SlabSource.SlabBytes, arena.HeldBytes); // the last emptied slab is kept
            arena.ReleaseUnused();
            Assert.Equal(0, arena.HeldBytes);
            source.ReleaseKept();
            Assert.Equal(0, source.HeldBytes);
        });
    }

    [Fact]
    public void Free_pages_of_divided_slabs_are_released()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        var blocks = new List<nint>();
        for (int i = 0; i < 100; i++) blocks.Add((nint)arena.Allocate(500));
        byte* other = arena.Allocate(300); // keeps its slab
        byte* last = arena.Allocate(200);
        foreach (nint block in blocks) arena.Free((byte*)block, 500);
        arena.Free(last, 200);
        arena.ReleaseUnused();
        Assert.InRange(arena.HeldBytes, 2 * 4096, 3 * 4096);
        Assert.InRange(arena.ReleasedBytes, 1, SlabSource.SlabBytes);

        // Released pages count again when they are used.
        for (int i = 0; i < 100; i++) blocks[i] = (nint)arena.Allocate(500);
        foreach (nint block in blocks) new Span<byte>((byte*)block, 500).Fill(1);
        Assert.InRange(arena.HeldBytes, 100 * 512, 2 * SlabSource.SlabBytes);
        foreach (nint block in blocks) arena.Free((byte*)block, 500);
        arena.Free(other, 300);
        arena.ReleaseUnused();
        Assert.Equal(0, arena.HeldBytes);
        Assert.Equal(0, arena.ReleasedBytes);
    }

    [Fact]
    public void Block_is_not_moved_within_its_class()
    {
        using var source = new SlabSource();
        using var arena = new Arena(source);
        byte* block = arena.Allocate(130);
        Assert.Equal((nint)block, (nint)arena.Reallocate(block, 130, 136));
        Assert.NotEqual((nint)block, (nint)(block = arena.Reallocate(block, 136, 137)));
        arena.Free(block, 137);
    }

    private static Block Allocate(Arena arena, Random random)
    {
        int bytes = RandomSize(random);
        byte[] content = random.Bytes(bytes);
        byte* address = arena.Allocate(bytes);
        content.CopyTo(new Span<byte>(address, bytes));
        return new Block((nint)address, content);
    }

    private static void Free(Arena arena, List<Block> blocks, int index)
    {
        Block block = blocks[index];
        Assert.True(new ReadOnlySpan<byte>((byte*)block.Address, block.Content.Length).SequenceEqual(block.Content), "A block's content changed.");
        arena.Free((byte*)block.Address, block.Content.Length);
        blocks[index] = blocks[^1];
        blocks.RemoveAt(blocks.Count - 1);
    }

    private static void Reallocate(Arena arena, List<Block> blocks, int index, Random random)
    {
        Block block = blocks[index];
        int bytes = RandomSize(random);
        byte* moved = arena.Reallocate((byte*)block.Address, block.Content.Length, bytes);
        int kept = Math.Min(bytes, block.Content.Length);
        Assert.True(new ReadOnlySpan<byte>(moved, kept).SequenceEqual(block.Content.AsSpan(0, kept)), "Reallocation lost content.");
        byte[] content = random.Bytes(bytes);
        content.CopyTo(new Span<byte>(moved, bytes));
        blocks[index] = new Block((nint)moved, content);
    }

    private static void CheckAccounts(Arena arena, List<Block> blocks, bool guarded)
    {
        // A large block counts 16 more bytes for the header of the system's allocator.
        long expected = blocks.Sum(block => BlockSize.RoundUp(block.Content.Length) + (!guarded && block.Content.Length > BlockSize.RunBlockMax ? 16 : 0));
        Assert.Equal(expected, arena.UsedBytes);
        Assert.True(arena.HeldBytes >= arena.UsedBytes);
    }

    private static int RandomSize(Random random) => random.Next(20) switch
    {
        0 => random.Next(100_000),
        1 => 0,
        < 4 => random.Next(5_000),
        < 6 => random.Next(20_000),
        < 10 => random.Next(600),
        _ => random.Next(100),
    };

    private sealed record Block(nint Address, byte[] Content);
}
