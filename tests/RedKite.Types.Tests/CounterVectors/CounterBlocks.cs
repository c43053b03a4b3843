using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Types.Tests.CounterVectors;

/// <summary>The structure of a longer vector: a head, a directory of addresses, and blocks of counters. All of them may move.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct CounterBlocks
{
    internal const int PerBlock = 64;
    internal const int BlockBytes = PerBlock * sizeof(long);

    private const int DirectoryMin = 4;

    private long** _blocks;
    private int _capacity;
    private int _count;

    internal readonly int Count => _count;

    private readonly int BlockCount => (_count + PerBlock - 1) / PerBlock;

    internal static CounterBlocks* Create(Arena arena)
    {
        var head = (CounterBlocks*)arena.Allocate(sizeof(CounterBlocks));
        *head = new CounterBlocks { _blocks = (long**)arena.Allocate(DirectoryMin * sizeof(long*)), _capacity = DirectoryMin };
        return head;
    }

    internal static ref long At(CounterBlocks* head, int index) => ref head->_blocks[index / PerBlock][index % PerBlock];

    /// <summary>Adds counters of 0 until there is a number of them.</summary>
    internal static void Grow(CounterBlocks* head, Arena arena, int count)
    {
        int counters = Math.Max(head->_count, count);
        for (int blocks = (counters + PerBlock - 1) / PerBlock; head->BlockCount < blocks;)
        {
            var block = (long*)arena.Allocate(BlockBytes);
            new Span<byte>(block, BlockBytes).Clear();
            AddBlock(head, arena, block, PerBlock);
        }

        head->_count = counters;
    }

    internal static long Bytes(CounterBlocks* head) =>
        BlockSize.RoundUp(sizeof(CounterBlocks)) + BlockSize.RoundUp((long)head->_capacity * sizeof(long*)) + (head->BlockCount * BlockSize.RoundUp(BlockBytes));

    internal static bool FreeSlice(CounterBlocks* head, Arena arena, int blocksMax)
    {
        while (head->_count > 0)
        {
            if (blocksMax-- <= 0) return true;
            arena.Free((byte*)head->_blocks[head->BlockCount - 1], BlockBytes);
            head->_count = (head->BlockCount - 1) * PerBlock;
        }

        arena.Free((byte*)head->_blocks, (long)head->_capacity * sizeof(long*));
        arena.Free((byte*)head, sizeof(CounterBlocks));
        return false;
    }

    internal static bool Move(BlockMover mover, ref CounterBlocks* head, ref MoveCursor cursor, ref int work)
    {
        if (cursor.IsAtStart)
        {
            head = (CounterBlocks*)Moved(mover, (byte*)head, sizeof(CounterBlocks), ref work);
            head->_blocks = (long**)Moved(mover, (byte*)head->_blocks, (long)head->_capacity * sizeof(long*), ref work);
        }

        int next = (int)Math.Min(cursor.Position, (ulong)head->BlockCount);
        for (; work > 0 && next < head->BlockCount; next++) head->_blocks[next] = (long*)Moved(mover, (byte*)head->_blocks[next], BlockBytes, ref work);
        cursor = cursor.At((ulong)next);
        return next < head->BlockCount;
    }

    private static byte* Moved(BlockMover mover, byte* block, long bytes, ref int work)
    {
        work--;
        byte* moved = mover.Copy(block, bytes);
        if (moved == null) return block;
        mover.Free(block, bytes);
        work -= BlockMover.WorkPerMove;
        return moved;
    }

    private static void AddBlock(CounterBlocks* head, Arena arena, long* block, int counters)
    {
        int blocks = head->BlockCount;
        if (blocks == head->_capacity)
        {
            head->_blocks = (long**)arena.Reallocate((byte*)head->_blocks, (long)head->_capacity * sizeof(long*), 2L * head->_capacity * sizeof(long*));
            head->_capacity *= 2;
        }

        head->_blocks[blocks] = block;
        head->_count = (blocks * PerBlock) + counters;
    }

    /// <summary>The copy of a vector, block by block.</summary>
    internal struct Copy(CounterBlocks* source, Arena arena) : IStructureCopy
    {
        private readonly CounterBlocks* _copy = Create(arena);
        private BlockCopy _block;
        private int _next;

        internal readonly byte* Root => (byte*)_copy;

        public bool Step()
        {
            if (_next == source->BlockCount) return false;
            byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(arena, (byte*)source->_blocks[_next], BlockBytes);
            if (block == null) return true;
            AddBlock(_copy, arena, (long*)block, Math.Min(PerBlock, source->_count - (_next * PerBlock)));
            return ++_next < source->BlockCount;
        }

        public void DiscardOpenBlock() => _block.Discard(arena);
    }
}
