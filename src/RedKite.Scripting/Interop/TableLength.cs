namespace RedKite.Scripting.Interop;

/// <summary>
/// The length that Lua 5.1 finds. Any position before a nil may be the length of a table with holes; which one Lua 5.1 finds follows from
/// the size of the table's array, because it searches backwards from there. Lua 5.4 lets arrays grow by the same rule, but remembers
/// earlier lengths.
/// </summary>
/// <remarks>
/// A table of Lua 5.4 with 64 bits: flags 10 (the highest bit: the limit is not the array's size), limit 12, array 16. Elements have 16
/// bytes, the type is at 8; its lower four bits are 0 for every kind of nil.
/// </remarks>
internal static unsafe class TableLength
{
    /// <summary>The length of the table at an index.</summary>
    internal static long Of(nint state, int index)
    {
        nint table = Lua.ToPointer(state, index);
        long size = ArraySize(*(uint*)(table + 12), (*(byte*)(table + 10) & 0x80) == 0);
        if (size == 0 || !IsNil(table, size)) return InHash(state, index, size);
        long present = 0;
        for (long absent = size; absent - present > 1;)
        {
            long middle = (present + absent) / 2;
            if (IsNil(table, middle)) absent = middle;
            else present = middle;
        }

        return present;
    }

    private static bool IsNil(nint table, long position) => (*(byte*)(*(nint*)(table + 16) + ((position - 1) * 16) + 8) & 0x0F) == 0;

    // While the limit is that of an earlier length, the size is the power of two above it.
    private static long ArraySize(uint limit, bool isSize) => isSize ? limit : System.Numerics.BitOperations.RoundUpToPowerOf2(limit);

    // Behind the array, positions are doubled until one is nil.
    private static long InHash(nint state, int index, long size)
    {
        long present = size;
        long absent = size + 1;
        while (!IsNil(state, index, absent))
        {
            present = absent;
            absent *= 2;
            if (absent <= int.MaxValue - 2) continue;
            for (present = 1; !IsNil(state, index, present); present++)
            {
            }

            return present - 1;
        }

        while (absent - present > 1)
        {
            long middle = (present + absent) / 2;
            if (IsNil(state, index, middle)) absent = middle;
            else present = middle;
        }

        return present;
    }

    private static bool IsNil(nint state, int index, long position)
    {
        Lua.RawGet(state, index, position);
        bool isNil = Lua.TypeOf(state, -1) == LuaType.Nil;
        Lua.Pop(state);
        return isNil;
    }
}
