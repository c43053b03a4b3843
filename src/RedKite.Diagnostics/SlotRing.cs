namespace RedKite.Server.Diagnostics;

/// <summary>
/// The slots of the last seconds or minutes, found by their time. Slots are allocated in blocks when their time comes, so that a server
/// that runs for a short time takes little; then a slot is used again. Its owner locks it.
/// </summary>
/// <param name="kept">How many slots there are: a multiple of <see cref="BlockSlots"/>.</param>
/// <param name="newBlock">Makes what <see cref="BlockSlots"/> slots hold.</param>
internal sealed class SlotRing<TBlock>(int kept, Func<TBlock> newBlock)
    where TBlock : class
{
    internal const int BlockSlots = 240;

    private readonly long[] _times = new long[kept]; // 0: nothing was observed
    private readonly TBlock?[] _blocks = new TBlock?[kept / BlockSlots];

    /// <summary>The time of the slot that was opened last; 0: there is none.</summary>
    internal long Latest { get; private set; }

    /// <summary>Returns the slot of a time to be written, in place of the one that is too old to be kept.</summary>
    internal (TBlock Block, int Slot) Open(long time)
    {
        int at = (int)(time % kept);
        _times[at] = time;
        Latest = time;
        return (_blocks[at / BlockSlots] ??= newBlock(), at % BlockSlots);
    }

    /// <summary>The observed slots of a range of time, oldest first.</summary>
    internal IEnumerable<(long Time, TBlock Block, int Slot)> Range(long from, long to)
    {
        for (long time = Math.Max(Math.Max(from, 1), Latest - kept + 1); time <= Math.Min(to, Latest); time++)
        {
            int at = (int)(time % kept);
            if (_times[at] == time) yield return (time, _blocks[at / BlockSlots]!, at % BlockSlots);
        }
    }
}
