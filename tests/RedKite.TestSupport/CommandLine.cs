using System.Text;

namespace RedKite.TestSupport;

/// <summary>
/// Commands as text, in redis-cli's notation: words, single quotes, and double quotes with \n \r \t \b \a and \xHH.
/// <see cref="Split"/> reads what <see cref="Format(IEnumerable{byte[]})"/> prints, so a printed transcript can be
/// pasted into a test.
/// </summary>
public static class CommandLine
{
    /// <summary>Splits a line into the bytes of its words. Characters above 127 become UTF-8.</summary>
    public static byte[][] Split(string line)
    {
        List<byte[]> words = [];
        int at = 0;
        while (true)
        {
            while (at < line.Length && char.IsWhiteSpace(line[at])) at++;
            if (at == line.Length) return [.. words];
            words.Add(ReadWord(line, ref at));
        }
    }

    /// <summary>Splits a line into words of text.</summary>
    public static List<string> SplitText(string line) => [.. Split(line).Select(Encoding.UTF8.GetString)];

    /// <summary>A command as the array of bulk strings that clients send.</summary>
    public static byte[] Encode(IReadOnlyList<byte[]> arguments)
    {
        using MemoryStream stream = new();
        stream.Write(Encoding.ASCII.GetBytes($"*{arguments.Count}\r\n"));
        foreach (byte[] argument in arguments)
        {
            stream.Write(Encoding.ASCII.GetBytes($"${argument.Length}\r\n"));
            stream.Write(argument);
            stream.Write("\r\n"u8);
        }

        return stream.ToArray();
    }

    public static string Format(IEnumerable<byte[]> arguments) => string.Join(' ', arguments.Select(argument => Format(argument)));

    /// <summary>One word: bare if it needs no quotes, otherwise double-quoted with escapes.</summary>
    public static string Format(ReadOnlySpan<byte> word)
    {
        bool bare = word.Length > 0 && word.IndexOfAnyExceptInRange((byte)33, (byte)126) < 0 && word.IndexOfAny("\"'\\"u8) < 0;
        return bare ? Escape(word) : $"\"{Escape(word)}\"";
    }

    /// <summary>The escapes between double quotes.</summary>
    public static string Escape(ReadOnlySpan<byte> bytes)
    {
        StringBuilder text = new(bytes.Length);
        foreach (byte b in bytes)
        {
            text.Append(b switch
            {
                (byte)'"' => "\\\"",
                (byte)'\\' => "\\\\",
                (byte)'\n' => "\\n",
                (byte)'\r' => "\\r",
                (byte)'\t' => "\\t",
                < 32 or > 126 => $"\\x{b:x2}",
                _ => ((char)b).ToString(),
            });
        }

        return text.ToString();
    }

    private static byte[] ReadWord(string line, ref int at)
    {
        List<byte> word = [];
        while (at < line.Length && !char.IsWhiteSpace(line[at]))
        {
            switch (line[at])
            {
                case '"': ReadDoubleQuoted(line, ref at, word); break;
                case '\'': ReadSingleQuoted(line, ref at, word); break;
                default: Append(word, line, ref at); break;
            }
        }

        return [.. word];
    }

    private static void ReadDoubleQuoted(string line, ref int at, List<byte> word)
    {
        at++;
        while (line[at] != '"')
        {
            if (line[at] != '\\')
            {
                Append(word, line, ref at);
                continue;
            }

            char escape = line[at + 1];
            at += 2;
            switch (escape)
            {
                case 'x':
                    word.Add(Convert.ToByte(line.Substring(at, 2), 16));
                    at += 2;
                    break;
                case 'n': word.Add((byte)'\n'); break;
                case 'r': word.Add((byte)'\r'); break;
                case 't': word.Add((byte)'\t'); break;
                case 'b': word.Add((byte)'\b'); break;
                case 'a': word.Add((byte)'\a'); break;
                default: word.Add((byte)escape); break;
            }
        }

        at++;
    }

    private static void ReadSingleQuoted(string line, ref int at, List<byte> word)
    {
        at++;
        while (line[at] != '\'') Append(word, line, ref at);
        at++;
    }

    private static void Append(List<byte> word, string line, ref int at)
    {
        int length = char.IsHighSurrogate(line[at]) ? 2 : 1;
        word.AddRange(Encoding.UTF8.GetBytes(line.Substring(at, length)));
        at += length;
    }
}
