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
    private const int Utf8BytesMax = 3; // of one UTF-16 unit

    private byte[] _bytes = new byte[InitialBytes];
    private ArgumentSlice[] _slices = new ArgumentSlice[16];
    private int _length;
    private int _count;

    internal Span<byte> Bytes => _bytes.AsSpan(0, _length);

    internal ReadOnlySpan<ArgumentSlice> Slices => _slices.AsSpan(0, _count);

    internal int Count => _count;

    /// <summary>The longest argument's bytes.</summary>
    internal int LargestArgument { get; private set; }

    /// <summary>Whether an argument was left out because all together do not fit into one buffer.</summary>
    internal bool IsTooLarge { get; private set; }

    /// <summary>Whether the command has its own name, as a method of the typed client has; otherwise the one that a configuration file may have given it.</summary>
    internal bool HasOwnName { get; set; }

    internal ReadOnlySpan<byte> this[int index] => _bytes.AsSpan(_slices[index].Start, _slices[index].Length);

    /// <summary>Forgets the last request.</summary>
    internal void Clear()
    {
        _length = _count = 0;
        LargestArgument = 0;
        HasOwnName = IsTooLarge = false;
        if (_bytes.Length > KeptBytesMax) _bytes = new byte[InitialBytes];
    }

    internal void Add(ReadOnlySpan<byte> argument)
    {
        if (!TryReserve(argument.Length)) return;
        argument.CopyTo(_bytes.AsSpan(_length));
        NoteArgument(argument.Length);
    }

    /// <summary>Adds text as UTF-8.</summary>
    internal void Add(ReadOnlySpan<char> text)
    {
        if (text.Length > (_bytes.Length - _length) / Utf8BytesMax && !TryReserve(Encoding.UTF8.GetByteCount(text))) return;
        NoteArgument(Encoding.UTF8.GetBytes(text, _bytes.AsSpan(_length)));
    }

    /// <summary>Adds names and values, one after the other.</summary>
    internal void Add(IReadOnlyDictionary<string, string> pairs)
    {
        foreach ((string name, string value) in pairs)
        {
            Add(name);
            Add(value);
        }
    }

    /// <summary>Adds scores and members, one after the other.</summary>
    internal void Add(ReadOnlySpan<RedKiteScoredMember> members)
    {
        foreach (RedKiteScoredMember member in members)
        {
            Add(member.Score);
            Add(member.Member.Span);
        }
    }

    internal void Add(long number)
    {
        if (TryReserve(NumberBytesMax)) NoteArgument(RespNumber.Format(number, _bytes.AsSpan(_length)));
    }

    /// <summary>Adds a number in its shortest form that reads back as the same.</summary>
    internal void Add(double number)
    {
        if (double.IsInfinity(number))
        {
            Add(number > 0 ? "inf"u8 : "-inf"u8);
            return;
        }

        if (!TryReserve(NumberBytesMax)) return;
        number.TryFormat(_bytes.AsSpan(_length), out int written, "R", CultureInfo.InvariantCulture);
        NoteArgument(written);
    }

    private void NoteArgument(int bytes)
    {
        if (_count == _slices.Length) Array.Resize(ref _slices, _count * 2);
        _slices[_count++] = new ArgumentSlice(_length, bytes);
        _length += bytes;
        if (bytes > LargestArgument) LargestArgument = bytes;
    }

    private bool TryReserve(int bytes) => _bytes.Length - _length >= bytes || TryGrow(bytes);

    private bool TryGrow(int bytes)
    {
        long needed = (long)_length + bytes;
        IsTooLarge |= needed > Array.MaxLength;
        if (!IsTooLarge) Array.Resize(ref _bytes, (int)Math.Min(Math.Max(needed, _bytes.Length * 2L), Array.MaxLength));
        return !IsTooLarge;
    }
}
