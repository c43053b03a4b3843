namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// A text that is looked for in others, in time proportional to their length whatever both are (Knuth, Morris and Pratt). Short ones are left to the
/// vectorized search of .NET, which compares at most so many bytes for each one of the text.
/// </summary>
internal sealed class ArrayNeedle
{
    private const int ShortMax = 32;

    private readonly byte[] _text;
    private readonly int[] _borders = []; // for each prefix the longest one that it also ends with
    private readonly bool _ignoresCase;

    /// <param name="text">What is looked for.</param>
    /// <param name="ignoresCase">Whether ASCII letters are compared without case.</param>
    internal ArrayNeedle(byte[] text, bool ignoresCase)
    {
        _text = ignoresCase ? Array.ConvertAll(text, Lower) : text;
        _ignoresCase = ignoresCase;
        if (text.Length <= ShortMax && !ignoresCase) return;
        _borders = new int[text.Length];
        int border = 0;
        for (int i = 1; i < text.Length; i++)
        {
            while (border > 0 && _text[i] != _text[border]) border = _borders[border - 1];
            if (_text[i] == _text[border]) border++;
            _borders[i] = border;
        }
    }

    /// <summary>Whether two texts of any bytes are the same but for the case of ASCII letters.</summary>
    internal static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, ReadOnlySpan<byte> other)
    {
        if (text.Length != other.Length) return false;
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] != other[i] && Lower(text[i]) != Lower(other[i])) return false;
        }

        return true;
    }

    internal bool IsIn(ReadOnlySpan<byte> text)
    {
        if (_text.Length > text.Length) return false;
        if (_text.Length == 0) return true;
        if (_borders.Length == 0) return text.IndexOf(_text) >= 0;
        int matched = 0;
        foreach (byte read in text)
        {
            byte next = _ignoresCase ? Lower(read) : read;
            while (matched > 0 && next != _text[matched]) matched = _borders[matched - 1];
            if (next == _text[matched]) matched++;
            if (matched == _text.Length) return true;
        }

        return false;
    }

    private static byte Lower(byte letter) => letter is >= (byte)'A' and <= (byte)'Z' ? (byte)(letter | 0x20) : letter;
}
