using RedKite.Store.Values.Arrays;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads an array. The form that Redis has for it is not documented, so it is that of a module of RedKite's own, which other servers refuse by its
/// name:
/// <code>
/// id of the module
/// index at which the next element is inserted   size of the ring (0: none)
/// elements in the order of their indexes: indexes without an element before it, element
/// </code>
/// Each is a part of a module's data: see <see cref="RdbModule"/>. There is at least one element.
/// </summary>
internal static class RdbArrayReader
{
    internal static bool TryRead(ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!RdbModule.TryUnsigned(ref input, out ulong next) || !RdbModule.TryUnsigned(ref input, out ulong ring)) return false;
        ArrayValue array = default;
        ulong lowest = 0;
        while (true)
        {
            if (!RdbModule.TryUnsignedOrEnd(ref input, out ulong gap, out bool isEnd)) return false;
            if (isEnd) break;
            if (lowest > ArrayData.IndexMax || gap > ArrayData.IndexMax - lowest) return false;
            if (!RdbModule.TryString(ref input, scratch.First, out ReadOnlySpan<byte> element)) return false;
            if (!array.Exists) array = ArrayValue.Create(target.Database, target.Key, target.Hash, target.AccessClock);
            array.Set(lowest + gap, element);
            lowest += gap + 1;
        }

        if (!array.Exists) return false;
        array.TakeOverState(next, ring);
        return true;
    }
}
