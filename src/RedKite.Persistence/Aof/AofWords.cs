using System.Globalization;
using System.Text;

namespace RedKite.Persistence.Aof;

/// <summary>
/// The words of a manifest's line, as Redis writes and reads them: separated by spaces; quoted with escapes if a word has other characters
/// than printable ASCII ones.
/// </summary>
internal static class AofWords
{
    /// <summary>Writes a word, in quotes if it needs them.</summary>
    internal static string Quote(string word)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(word);
        bool isPlain = bytes.Length > 0 && bytes.All(b => b is > (byte)' ' and < 0x7F and not (byte)'"' and not (byte)'\\');
        if (isPlain) return word;
        var quoted = new StringBuilder("\"");
        foreach (byte b in bytes)
        {
            switch (b)
            {
                case (byte)'"' or (byte)'\\':
                    quoted.Append('\\').Append((char)b);
                    break;
                case (byte)'\n':
                    quoted.Append("\\n");
                    break;
                case (byte)'\r':
                    quoted.Append("\\r");
                    break;
                case (byte)'\t':
                    quoted.Append("\\t");
                    break;
                case (byte)'\a':
                    quoted.Append("\\a");
                    break;
                case (byte)'\b':
                    quoted.Append("\\b");
                    break;
                case >= (byte)' ' and < 0x7F:
                    quoted.Append((char)b);
                    break;
                default:
                    quoted.Append(CultureInfo.InvariantCulture, $"\\x{b:x2}");
                    break;
            }
        }

        return quoted.Append('"').ToString();
    }

    /// <summary>Splits a line; false if its quotes are not closed, or not followed by a space.</summary>
    internal static bool TrySplit(ReadOnlySpan<byte> line, out List<string> words)
    {
        words = [];
        int at = 0;
        while (true)
        {
            while (at < line.Length && IsSpace(line[at])) at++;
            if (at == line.Length) return true;
            List<byte> word = [];
            if (!TryWord(line, ref at, word)) return false;
            words.Add(Encoding.UTF8.GetString([.. word]));
        }
    }

    private static bool TryWord(ReadOnlySpan<byte> line, ref int at, List<byte> word)
    {
        while (at < line.Length && !IsSpace(line[at]))
        {
            byte b = line[at++];
            if (b is (byte)'"' or (byte)'\'') return TryQuoted(line, ref at, b, word) && (at == line.Length || IsSpace(line[at]));
            word.Add(b);
        }

        return true;
    }

    // Single quotes have one escape, the quote itself.
    private static bool TryQuoted(ReadOnlySpan<byte> line, ref int at, byte quote, List<byte> word)
    {
        while (at < line.Length)
        {
            byte b = line[at++];
            if (b == quote) return true;
            bool escapes = b == (byte)'\\' && at < line.Length && (quote == (byte)'"' || line[at] == quote);
            word.Add(escapes ? Escaped(line, ref at, quote) : b);
        }

        return false;
    }

    private static byte Escaped(ReadOnlySpan<byte> line, ref int at, byte quote)
    {
        byte b = line[at++];
        if (quote != (byte)'"') return b;
        if (b == (byte)'x' && at + 2 <= line.Length && byte.TryParse(line.Slice(at, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out byte code))
        {
            at += 2;
            return code;
        }

        return b switch { (byte)'n' => (byte)'\n', (byte)'r' => (byte)'\r', (byte)'t' => (byte)'\t', (byte)'a' => (byte)'\a', (byte)'b' => (byte)'\b', _ => b };
    }

    private static bool IsSpace(byte b) => b is (byte)' ' or (>= (byte)'\t' and <= (byte)'\r');
}
