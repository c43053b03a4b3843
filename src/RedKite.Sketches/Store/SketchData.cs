using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Sketches.Store;

/// <summary>
/// The structure of every sketch, whatever its type: a head with numbers, and parts of bytes (<see cref="SketchPart"/>). Freeing, moving, copying and saving
/// need to know no more. All blocks may move.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SketchData
{
    internal const int NumberCount = 8;

    /// <summary>As much as a copy takes in one step.</summary>
    internal const int PageBytes = BlockCopy.PieceBytes;

    private const int CapacityMin = 1;

    // Missing pages that a slice passes over for the price of one block.
    private const int MissingPerBlock = 256;

    private SketchPart* _parts;
    private int _count;
    private int _capacity;
    private long _bytes;
    private fixed ulong _numbers[NumberCount];

    internal readonly int Count => _count;

    /// <summary>The bytes of all blocks.</summary>
    internal readonly long Bytes => _bytes;

    internal static SketchData* Create(Arena arena)
    {
        var data = (SketchData*)arena.Allocate(sizeof(SketchData));
        *data = new SketchData
        {
            _parts = (SketchPart*)arena.Allocate(CapacityMin * sizeof(SketchPart)),
            _capacity = CapacityMin,
            _bytes = BlockSize.RoundUp(sizeof(SketchData)) + BlockSize.RoundUp(CapacityMin * sizeof(SketchPart)),
        };
        return data;
    }

    internal static ref ulong Number(SketchData* data, int index)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)NumberCount);
        return ref data->_numbers[index];
    }

    internal static SketchPart* Part(SketchData* data, int index)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)data->_count);
        return data->_parts + index;
    }

    internal static SketchPart* AddPart(SketchData* data, Arena arena, long bytes, bool isWhole)
    {
        if (data->_count == data->_capacity)
        {
            long old = (long)data->_capacity * sizeof(SketchPart);
            data->_parts = (SketchPart*)arena.Reallocate((byte*)data->_parts, old, old * 2);
            data->_capacity *= 2;
            data->_bytes += BlockSize.RoundUp(old * 2) - BlockSize.RoundUp(old);
        }

        SketchPart* part = data->_parts + data->_count;
        *part = SketchPart.Of(bytes, isWhole);
        if (part->HasDirectory) part->Root = AllocateZeros(data, arena, (long)part->PageCount * sizeof(byte*));
        data->_count++;
        return part;
    }

    /// <summary>Gives a part another length, without its bytes.</summary>
    internal static void ReplacePart(SketchData* data, Arena arena, int index, long bytes)
    {
        SketchPart* part = Part(data, index);
        FreePages(data, arena, part);
        SketchPart old = *part;
        *part = SketchPart.Of(bytes, isWhole: true);
        for (int i = 0; i < SketchPart.NumberCount; i++) SketchPart.Number(part, i) = SketchPart.Number(&old, i);
    }

    internal static void RemoveLastPart(SketchData* data, Arena arena)
    {
        FreePages(data, arena, Part(data, data->_count - 1));
        data->_count--;
    }

    /// <summary>Frees a page, unless it is missing.</summary>
    internal static void FreePage(SketchData* data, Arena arena, SketchPart* part, int page)
    {
        byte** address = SketchPart.PageAddress(part, page);
        if (*address == null) return;
        arena.Free(*address, SketchPart.PageLength(part, page));
        data->_bytes -= BlockSize.RoundUp(SketchPart.PageLength(part, page));
        *address = null;
    }

    internal static void SwapParts(SketchData* data, int a, int b) => (*Part(data, a), *Part(data, b)) = (*Part(data, b), *Part(data, a));

    /// <summary>A page as it is; empty if it is missing.</summary>
    internal static Span<byte> Page(SketchPart* part, int page)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)page, (uint)part->PageCount);
        byte* block = *SketchPart.PageAddress(part, page);
        return block == null ? default : new Span<byte>(block, (int)SketchPart.PageLength(part, page));
    }

    /// <summary>A page to write.</summary>
    internal static Span<byte> PageToWrite(SketchData* data, Arena arena, SketchPart* part, int page)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)page, (uint)part->PageCount);
        byte** address = SketchPart.PageAddress(part, page);
        long bytes = SketchPart.PageLength(part, page);
        if (*address == null) *address = AllocateZeros(data, arena, bytes);
        return new Span<byte>(*address, (int)bytes);
    }

    internal static bool FreeSlice(SketchData* data, Arena arena, int blocksMax)
    {
        int missing = 0;
        while (data->_count > 0)
        {
            SketchPart* part = data->_parts + data->_count - 1;
            for (; part->PageCount > 0; part->PageCount--)
            {
                if (blocksMax <= 0) return true;
                byte** address = SketchPart.PageAddress(part, part->PageCount - 1);
                if (*address != null) arena.Free(*address, SketchPart.PageLength(part, part->PageCount - 1));
                else if (++missing % MissingPerBlock != 0) continue;
                *address = null;
                blocksMax--;
            }

            if (part->HasDirectory) arena.Free(part->Root, DirectoryBytes(part));
            data->_count--;
        }

        arena.Free((byte*)data->_parts, (long)data->_capacity * sizeof(SketchPart));
        arena.Free((byte*)data, sizeof(SketchData));
        return false;
    }

    internal static bool Move(BlockMover mover, ref SketchData* data, ref MoveCursor cursor, ref int work)
    {
        if (cursor.IsAtStart)
        {
            data = (SketchData*)Moved(mover, (byte*)data, sizeof(SketchData), ref work);
            data->_parts = (SketchPart*)Moved(mover, (byte*)data->_parts, (long)data->_capacity * sizeof(SketchPart), ref work);
            cursor = cursor.At(1);
        }

        // The first position is a part's number and 1.
        for (; (int)cursor.Position <= data->_count; cursor = cursor.At(cursor.Position + 1))
        {
            SketchPart* part = data->_parts + (int)cursor.Position - 1;
            int page = (int)Math.Min(cursor.Position2, (ulong)part->PageCount);
            if (page == 0 && part->HasDirectory) part->Root = Moved(mover, part->Root, DirectoryBytes(part), ref work);
            for (; page < part->PageCount; page++)
            {
                if (work <= 0)
                {
                    cursor = cursor.At(cursor.Position, (ulong)page);
                    return true;
                }

                byte** address = SketchPart.PageAddress(part, page);
                if (*address == null) work -= page % MissingPerBlock == 0 ? 1 : 0;
                else *address = Moved(mover, *address, SketchPart.PageLength(part, page), ref work);
            }
        }

        return false;
    }

    private static long DirectoryBytes(SketchPart* part) => (part->Bytes + part->PageBytes - 1) / part->PageBytes * sizeof(byte*);

    private static byte* Moved(BlockMover mover, byte* block, long bytes, ref int work)
    {
        work--;
        byte* moved = mover.Copy(block, bytes);
        if (moved == null) return block;
        mover.Free(block, bytes);
        work -= BlockMover.WorkPerMove;
        return moved;
    }

    private static byte* AllocateZeros(SketchData* data, Arena arena, long bytes)
    {
        byte* block = arena.Allocate(bytes);
        NativeMemory.Clear(block, (nuint)bytes);
        data->_bytes += BlockSize.RoundUp(bytes);
        return block;
    }

    private static void FreePages(SketchData* data, Arena arena, SketchPart* part)
    {
        for (int page = 0; page < part->PageCount; page++) FreePage(data, arena, part, page);
        if (!part->HasDirectory) return;
        arena.Free(part->Root, DirectoryBytes(part));
        data->_bytes -= BlockSize.RoundUp(DirectoryBytes(part));
    }

    /// <summary>The copy of a sketch, page by page.</summary>
    internal struct Copy : IStructureCopy
    {
        private readonly SketchData* _source;
        private readonly SketchData* _copy;
        private readonly Arena _arena;
        private BlockCopy _block;
        private int _page;

        internal Copy(SketchData* source, Arena arena)
        {
            _source = source;
            _arena = arena;
            _copy = Create(arena);
            for (int i = 0; i < NumberCount; i++) Number(_copy, i) = Number(source, i);
        }

        internal readonly byte* Root => (byte*)_copy;

        public bool Step()
        {
            if (_page == 0 && !_block.IsOpen)
            {
                if (_copy->_count == _source->_count) return false;
                SketchPart* next = _source->_parts + _copy->_count;
                SketchPart* added = AddPart(_copy, _arena, next->Bytes, next->PageBytes > SketchData.PageBytes);
                for (int i = 0; i < SketchPart.NumberCount; i++) SketchPart.Number(added, i) = SketchPart.Number(next, i);
            }

            SketchPart* from = _source->_parts + _copy->_count - 1, to = _copy->_parts + _copy->_count - 1;
            int end = Math.Min(from->PageCount, _page + MissingPerBlock);
            while (!_block.IsOpen && _page < end && *SketchPart.PageAddress(from, _page) == null) _page++;
            if (_page < end)
            {
                long bytes = SketchPart.PageLength(from, _page);
                byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, *SketchPart.PageAddress(from, _page), bytes);
                if (block == null) return true;
                *SketchPart.PageAddress(to, _page) = block;
                _copy->_bytes += BlockSize.RoundUp(bytes);
                _page++;
            }

            if (_page < from->PageCount) return true;
            _page = 0;
            return _copy->_count < _source->_count;
        }

        public void DiscardOpenBlock() => _block.Discard(_arena);
    }
}
