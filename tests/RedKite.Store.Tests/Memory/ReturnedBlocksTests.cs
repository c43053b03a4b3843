using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

/// <summary>Blocks that are freed or resized through another arena than their own.</summary>
public unsafe class ReturnedBlocksTests
{
    private static readonly int[] Sizes = [1, 8, 16, 40, 250, 1_000, 4_096, 4_097, 8_000, 16_384, 16_385, 100_000];

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Block_freed_elsewhere_is_freed_by_its_own_arena_later(bool guarded)
    {
        using var source = new SlabSource();
        Arena[] arenas = [NewArena(source, guarded), NewArena(source, guarded)];
        foreach (int size in Sizes)
        {
            byte* block = arenas[0].Allocate(size);
            arenas[1].Free(block, size);
            Assert.Equal(0, Used(arenas));
            while (arenas[0].HasWaiting) arenas[0].FreeWaiting(1);
        }

        Assert.Equal((0, 0), (arenas[0].FreeingBytes, arenas[1].FreeingBytes));
        foreach (Arena arena in arenas) arena.Dispose(); // A guard throws for a leak.
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Random_operations_through_any_arena_keep_contents_and_accounting_exact(bool guarded)
    {
        Randomness.Run(random =>
        {
            using var source = new SlabSource();
            Arena[] arenas = [NewArena(source, guarded), NewArena(source, guarded), NewArena(source, guarded)];
            var blocks = new List<(nint Address, byte[] Content)>();
            long expected = 0;
            for (int step = 0; step < 60_000; step++)
            {
                Arena arena = random.Pick<Arena>(arenas);
                int choice = random.Next(10);
                bool growing = step / 10_000 % 2 == 0;
                if (blocks.Count == 0 || choice < (growing ? 4 : 2))
                {
                    byte[] content = random.Bytes(random.Pick<int>(Sizes));
                    byte* block = arena.Allocate(content.Length);
                    content.CopyTo(new Span<byte>(block, content.Length));
                    blocks.Add(((nint)block, content));
                    expected += BlockSize.RoundUp(content.Length);
                }
                else if (choice < 9)
                {
                    int index = random.Next(blocks.Count);
                    (nint address, byte[] content) = blocks[index];
                    Assert.True(new ReadOnlySpan<byte>((void*)address, content.Length).SequenceEqual(content), "A block has changed.");
                    expected -= BlockSize.RoundUp(content.Length);
                    if (choice < 6)
                    {
                        arena.Free((byte*)address, content.Length);
                        blocks[index] = blocks[^1];
                        blocks.RemoveAt(blocks.Count - 1);
                        continue;
                    }

                    byte[] resized = random.Bytes(random.Pick<int>(Sizes));
                    byte* moved = arena.Reallocate((byte*)address, content.Length, resized.Length);
                    int kept = Math.Min(content.Length, resized.Length);
                    Assert.True(new ReadOnlySpan<byte>(moved, kept).SequenceEqual(content.AsSpan(0, kept)), "Resizing has lost bytes.");
                    resized.CopyTo(new Span<byte>(moved, resized.Length));
                    blocks[index] = ((nint)moved, resized);
                    expected += BlockSize.RoundUp(resized.Length);
                }
                else
                {
                    arena.FreeWaiting(random.Next(20));
                }

                if (step % 1_000 == 0) Assert.InRange(Used(arenas), expected, expected + (16L * blocks.Count));
            }

            foreach ((nint address, byte[] content) in blocks) random.Pick<Arena>(arenas).Free((byte*)address, content.Length);
            Assert.Equal(0, Used(arenas));
            foreach (Arena arena in arenas)
            {
                while (arena.HasWaiting) arena.FreeWaiting(100);
            }

            Assert.Equal((0, 0), (Used(arenas), arenas.Sum(arena => arena.FreeingBytes)));
            foreach (Arena arena in arenas) arena.Dispose();
        });
    }

    [Fact]
    public void Several_threads_return_blocks_while_their_arena_works_on()
    {
        const int Rounds = 200;
        const int BlocksPerRound = 1_000;
        using var source = new SlabSource();
        var own = new Arena(source);
        Arena[] others = [new(source), new(source)];
        for (int round = 0; round < Rounds; round++)
        {
            var blocks = new nint[BlocksPerRound];
            for (int i = 0; i < blocks.Length; i++) blocks[i] = (nint)own.Allocate(Size(i));
            Thread[] threads = [.. others.Select((other, which) => new Thread(() =>
            {
                for (int i = which; i < blocks.Length; i += others.Length) other.Free((byte*)blocks[i], Size(i));
            }))];
            foreach (Thread thread in threads) thread.Start();
            for (int i = 0; i < 500; i++)
            {
                own.Free(own.Allocate(40), 40);
                own.FreeWaiting(2);
            }

            foreach (Thread thread in threads) thread.Join();
        }

        while (own.HasWaiting) own.FreeWaiting(1_000);
        Assert.Equal((0, 0), (own.UsedBytes, own.FreeingBytes));
        Assert.Equal(SlabSource.SlabBytes, own.HeldBytes); // the last emptied slab is kept
        foreach (Arena other in others) other.Dispose();
        own.Dispose();

        static int Size(int i) => i % 20 == 0 ? 5_000 : 24 + (i % 5 * 8);
    }

    private static Arena NewArena(SlabSource source, bool guarded) => new(source, guarded ? new ArenaGuard() : null);

    private static long Used(Arena[] arenas) => arenas.Sum(arena => arena.UsedBytes);
}
