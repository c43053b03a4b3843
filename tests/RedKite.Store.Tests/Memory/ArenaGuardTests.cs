using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

/// <summary>Makes each mistake that the guarded arena detects.</summary>
public unsafe class ArenaGuardTests
{
    private const string Behind = "Something wrote behind a block of 64 bytes.";
    private const string Before = "Something wrote before a block of 64 bytes.";

    [Fact]
    public void Correct_use_is_accepted()
    {
        using var source = new SlabSource();
        using var guard = new ArenaGuard();
        var arena = new Arena(source, guard);
        byte* block = arena.Allocate(60);
        new Span<byte>(block, 64).Clear(); // the whole size of the class is usable
        Assert.Equal(1, guard.LiveBlocks);
        guard.Check();
        arena.Free(block, 57);
        guard.Check();
        Assert.Equal(0, guard.LiveBlocks);
    }

    [Theory]
    [InlineData(64, Behind)]
    [InlineData(127, Behind)]
    [InlineData(-1, Before)]
    [InlineData(-64, Before)]
    public void Write_outside_a_block_is_detected(int offset, string message)
    {
        var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(60, ref used);
        byte kept = block[offset];
        block[offset] ^= 1;
        Assert.Equal(message, Assert.Throws<InvalidOperationException>(guard.Check).Message);
        block[offset] = kept;
        guard.Check();
        block[offset] ^= 1;
        Assert.Equal(message, Assert.Throws<InvalidOperationException>(() => Free(guard, block, 60)).Message);
        guard.Dispose();
    }

    [Fact]
    public void Write_to_a_freed_block_is_detected()
    {
        var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(60, ref used);
        Free(guard, block, 60);
        block[30] = 1;
        Assert.Equal("Something wrote to a freed block of 64 bytes, at 30.", Assert.Throws<InvalidOperationException>(guard.Check).Message);
        block[30] = 0xDD;
        guard.Dispose();
    }

    [Fact]
    public void Write_to_a_freed_block_is_detected_when_it_leaves_quarantine()
    {
        var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(8, ref used);
        Free(guard, block, 8);
        block[0] = 0;
        Assert.Throws<InvalidOperationException>(() =>
        {
            for (int i = 0; i < 2_000; i++) Free(guard, guard.Allocate(8, ref used), 8);
        });
        guard.Dispose();
    }

    [Fact]
    public void Double_free_is_detected()
    {
        using var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(60, ref used);
        Free(guard, block, 60);
        Assert.Equal("A block was freed that is not in use.", Assert.Throws<InvalidOperationException>(() => Free(guard, block, 60)).Message);
    }

    [Fact]
    public void Free_of_the_middle_of_a_block_is_detected()
    {
        using var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(60, ref used);
        Assert.Throws<InvalidOperationException>(() => Free(guard, block + 8, 52));
        Free(guard, block, 60);
    }

    [Fact]
    public void Free_with_another_size_is_detected()
    {
        var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(60, ref used);
        Assert.Equal("A block of 64 bytes was freed as one of 72.", Assert.Throws<InvalidOperationException>(() => Free(guard, block, 65)).Message);
        guard.Dispose();
    }

    [Fact]
    public void Leaked_block_is_detected()
    {
        var guard = new ArenaGuard();
        long used = 0;
        guard.Allocate(60, ref used);
        guard.Allocate(60, ref used);
        Assert.Equal(128, used);
        Assert.Equal("2 blocks were never freed.", Assert.Throws<InvalidOperationException>(guard.Dispose).Message);
    }

    private static void Free(ArenaGuard guard, byte* block, long bytes)
    {
        long used = 0;
        guard.Free(block, bytes, ref used);
    }
}
