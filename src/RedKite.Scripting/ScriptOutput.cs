using RedKite.Scripting.Interop;

namespace RedKite.Scripting;

/// <summary>
/// The result of a managed function for a script, while it is written. It counts as the script's memory: what does not fit is refused.
/// One per interpreter, because managed functions do not nest.
/// </summary>
internal sealed class ScriptOutput(LuaAllocator memory)
{
    private const int InitialBytes = 256;
    private const int KeptBytesMax = 1024 * 1024;

    private byte[] _bytes = new byte[InitialBytes];
    private int _bytesMax;

    internal int Length { get; private set; }

    internal ReadOnlySpan<byte> Written => _bytes.AsSpan(0, Length);

    /// <summary>Empties it, and sets its limit.</summary>
    internal ScriptOutput Begin(int bytesMax)
    {
        if (_bytes.Length > KeptBytesMax) _bytes = new byte[InitialBytes];
        _bytesMax = bytesMax;
        Length = 0;
        return this;
    }

    /// <exception cref="LuaException">The script has not that much memory.</exception>
    internal void Write(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _bytes.Length - Length) Grow(bytes.Length);
        bytes.CopyTo(_bytes.AsSpan(Length));
        Length += bytes.Length;
    }

    /// <inheritdoc cref="Write"/>
    internal void WriteByte(byte value)
    {
        if (Length == _bytes.Length) Grow(1);
        _bytes[Length++] = value;
    }

    private void Grow(int bytes)
    {
        long needed = (long)Length + bytes;
        if (needed > _bytesMax) throw memory.OutOfMemory();
        Array.Resize(ref _bytes, (int)Math.Min(Math.Max(needed, _bytes.Length * 2L), Math.Max(_bytesMax, needed)));
    }
}
