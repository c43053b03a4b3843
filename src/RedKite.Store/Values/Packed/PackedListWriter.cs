using RedKite.Store.Memory;

namespace RedKite.Store.Values.Packed;

/// <summary>Writes a packed list from the front into an empty buffer, which grows with it.</summary>
internal unsafe struct PackedListWriter
{
    // The bytes around an element's text.
    private const int OverheadMax = 10;

    private readonly NativeBuffer _target;
    private int _count;

    internal PackedListWriter(NativeBuffer target)
    {
        _target = target;
        target.Room(PackedList.EmptyBytes);
        target.Advance(PackedList.Start);
    }

    internal void Append(ReadOnlySpan<byte> bytes)
    {
        _target.Room(bytes.Length + OverheadMax);
        Advance(PackedList.Append(_target.Start, _target.Length, bytes));
    }

    internal void Append(long number)
    {
        _target.Room(OverheadMax);
        Advance(PackedList.Append(_target.Start, _target.Length, number));
    }

    /// <summary>Ends the list; the buffer then holds it.</summary>
    internal readonly void Finish()
    {
        _target.Room(1);
        PackedList.Finish(_target.Start, _target.Length, _count);
        _target.Advance(1);
    }

    private void Advance(int end)
    {
        _target.Advance(end - _target.Length);
        _count++;
    }
}
