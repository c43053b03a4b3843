using System.Globalization;
using System.Text;

namespace RedKite.Host.Transfer;

/// <summary>A word of a command: bytes, a text or a number.</summary>
internal readonly struct Word
{
    private Word(byte[] bytes) => Bytes = bytes;

    internal byte[] Bytes { get; }

    public static implicit operator Word(byte[] bytes) => new(bytes);

    public static implicit operator Word(string text) => new(Encoding.UTF8.GetBytes(text));

    public static implicit operator Word(long number) => new(Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture)));
}
