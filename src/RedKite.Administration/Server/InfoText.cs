using System.Buffers;
using System.Globalization;
using System.Text;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// Builds INFO's text in a rented buffer: sections with a heading, and lines with a name and a value. Names are ASCII; values
/// have one byte per character.
/// </summary>
internal sealed class InfoText : IDisposable
{
    private byte[] _buffer = ArrayPool<byte>.Shared.Rent(16 * 1024);
    private int _length;

    internal ReadOnlySpan<byte> Written => _buffer.AsSpan(0, _length);

    internal void Section(ReadOnlySpan<byte> name)
    {
        if (_length > 0) Raw("\r\n"u8);
        Raw("# "u8);
        Raw(name);
        Raw("\r\n"u8);
    }

    internal void Line(ReadOnlySpan<byte> name, long value)
    {
        Begin(name);
        Span<byte> digits = stackalloc byte[20];
        value.TryFormat(digits, out int length, default, CultureInfo.InvariantCulture);
        Raw(digits[..length]);
        Raw("\r\n"u8);
    }

    internal void Line(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        Begin(name);
        Raw(value);
        Raw("\r\n"u8);
    }

    internal void Line(ReadOnlySpan<byte> name, string value)
    {
        Begin(name);
        Reserve(value.Length);
        _length += Encoding.Latin1.GetBytes(value, _buffer.AsSpan(_length));
        Raw("\r\n"u8);
    }

    /// <summary>Writes a number with a fixed number of decimals.</summary>
    internal void Line(ReadOnlySpan<byte> name, double value, int decimals, ReadOnlySpan<byte> unit = default)
    {
        Begin(name);
        Span<byte> text = stackalloc byte[64];
        string format = decimals switch { 2 => "F2", 3 => "F3", _ => "F6" };
        value.TryFormat(text, out int length, format, CultureInfo.InvariantCulture);
        Raw(text[..length]);
        Raw(unit);
        Raw("\r\n"u8);
    }

    /// <summary>Writes a size in readable form: 1.50K, 2.00M.</summary>
    internal void HumanLine(ReadOnlySpan<byte> name, long bytes)
    {
        double units = Math.Abs((double)bytes);
        ReadOnlySpan<byte> suffixes = "BKMGTP"u8;
        int unit = 0;
        for (; units >= 1024 && unit < suffixes.Length - 1; unit++) units /= 1024;
        if (unit == 0)
        {
            Begin(name);
            Raw(Encoding.ASCII.GetBytes(bytes.ToString(CultureInfo.InvariantCulture)));
            Raw("B\r\n"u8);
            return;
        }

        Line(name, bytes < 0 ? -units : units, 2, suffixes.Slice(unit, 1));
    }

    /// <summary>Writes a complete line, for names that are composed.</summary>
    internal void Line(string line)
    {
        Reserve(line.Length);
        _length += Encoding.Latin1.GetBytes(line, _buffer.AsSpan(_length));
        Raw("\r\n"u8);
    }

    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = [];
        _length = 0;
    }

    private void Begin(ReadOnlySpan<byte> name)
    {
        Raw(name);
        Raw(":"u8);
    }

    private void Raw(ReadOnlySpan<byte> bytes)
    {
        Reserve(bytes.Length);
        bytes.CopyTo(_buffer.AsSpan(_length));
        _length += bytes.Length;
    }

    private void Reserve(int bytes)
    {
        if (_buffer.Length - _length >= bytes) return;
        byte[] larger = ArrayPool<byte>.Shared.Rent(Math.Max(_buffer.Length * 2, _length + bytes));
        Written.CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = larger;
    }
}
