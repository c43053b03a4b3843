using System.Globalization;
using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Client;

/// <summary>
/// The arguments of one request as handlers read them: slices of one buffer. Reused from request to request; what a large request has
/// needed is released after it.
/// </summary>
internal sealed class RequestBuffer
{
    private const int InitialBytes = 1024;
    private const int KeptBytesMax = 64 * 1024;
    private const int NumberBytesMax = 32;

    private byte[] _bytes = new byte[InitialBytes];
    private ArgumentSlice[] _slices = new ArgumentSlice[16];
    private int _length;
    private int _count;

    internal Span<byte> Bytes => _bytes.AsSpan(0, _length);

    internal ReadOnlySpan<ArgumentSlice> Slices => _slices.AsSpan(0, _count);

    internal int Count => _count;

    /// <summary>Whether the command has its own name, as a method of the typed client has; otherwise the one that a configuration file may have given it.</summary>
    internal bool HasOwnName { get; set; }

    internal ReadOnlySpan<byte> this[int index] => _bytes.AsSpan(_slices[index].Start, _slices[index].Length);

    /// <summary>Forgets the last request.</summary>
    internal void Clear()
    {
        _length = _count = 0;
        HasOwnName = false;
        if (_bytes.Length > KeptBytesMax) _bytes = new byte[InitialBytes];
    }

    internal void Add(ReadOnlySpan<byte> argument)
    {
        argument.CopyTo(Append(argument.Length));
    }

    /// <summary>Adds text as UTF-8.</summary>
    internal void Add(ReadOnlySpan<char> text)
    {
        int start = _length;
        Reserve(Encoding.UTF8.GetMaxByteCount(text.Length) > _bytes.Length - _length ? Encoding.UTF8.GetByteCount(text) : 0);
        _length += Encoding.UTF8.GetBytes(text, _bytes.AsSpan(_length));
        NoteArgument(start);
    }

    internal void Add(long number)
    {
        int start = _length;
        Reserve(NumberBytesMax);
        _length += RespNumber.Format(number, _bytes.AsSpan(_length));
        NoteArgument(start);
    }

    /// <summary>Adds a number in its shortest form that reads back as the same.</summary>
    internal void Add(double number)
    {
        if (double.IsInfinity(number))
        {
            Add(number > 0 ? "inf"u8 : "-inf"u8);
            return;
        }

        int start = _length;
        Reserve(NumberBytesMax);
        number.TryFormat(_bytes.AsSpan(_length), out int written, "R", CultureInfo.InvariantCulture);
        _length += written;
        NoteArgument(start);
    }

    private Span<byte> Append(int bytes)
    {
        if (_bytes.Length - _length < bytes) Reserve(bytes);
        int start = _length;
        _length += bytes;
        NoteArgument(start);
        return _bytes.AsSpan(start, bytes);
    }

    private void NoteArgument(int start)
    {
        if (_count == _slices.Length) Array.Resize(ref _slices, _count * 2);
        _slices[_count++] = new ArgumentSlice(start, _length - start);
    }

    private void Reserve(int bytes)
    {
        if (_bytes.Length - _length >= bytes) return;
        Array.Resize(ref _bytes, (int)Math.Min(Math.Max((long)_length + bytes, _bytes.Length * 2L), Array.MaxLength));
    }
}
