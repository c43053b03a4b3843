using System.Globalization;
using System.Text;

namespace RedKite.Server.Config;

/// <summary>
/// One line of a configuration file: splits it into words with redis.conf's quotes and escapes, and writes a word so that
/// splitting returns it.
/// </summary>
/// <remarks>
/// Double quotes have the escapes \xHH, \n, \r, \t, \b and \a; any other escaped character stands for itself. Single quotes
/// have \' only. A closing quote must end the word. '#' starts a comment only at the start of a line, which the file's
/// reader handles.
/// </remarks>
internal static class ConfigLine
{
    /// <summary>Splits a line into words. Returns false if a quote is not closed or text follows a closing quote directly.</summary>
    internal static bool TrySplit(string line, out List<string> words)
    {
        words = [];
        int index = 0;
        while (true)
        {
            while (index < line.Length && IsSpace(line[index]))
            {
                index++;
            }

            if (index == line.Length) return true;
            if (!TryReadWord(line, ref index, out string word)) return false;
            words.Add(word);
        }
    }

    /// <summary>Puts a word in double quotes and escapes everything that is not printable ASCII.</summary>
    internal static string Quote(string word)
    {
        StringBuilder quoted = new(word.Length + 2);
        quoted.Append('"');
        AppendEscaped(quoted, word, '"');
        return quoted.Append('"').ToString();
    }

    /// <summary>Puts a word in single quotes for a message: one line of printable ASCII.</summary>
    internal static string Show(string word)
    {
        StringBuilder shown = new(word.Length + 2);
        shown.Append('\'');
        AppendEscaped(shown, word, '\'');
        return shown.Append('\'').ToString();
    }

    private static bool TryReadWord(string line, ref int index, out string word)
    {
        StringBuilder built = new();
        word = "";
        while (index < line.Length && !IsSpace(line[index]))
        {
            char quote = line[index++];
            if (quote is not ('"' or '\''))
            {
                built.Append(quote);
                continue;
            }

            if (!TryReadQuoted(line, ref index, quote, built)) return false;
            if (index < line.Length && !IsSpace(line[index])) return false;
        }

        word = built.ToString();
        return true;
    }

    private static bool TryReadQuoted(string line, ref int index, char quote, StringBuilder built)
    {
        while (index < line.Length)
        {
            char current = line[index++];
            if (current == quote) return true;
            if (current != '\\' || index == line.Length)
            {
                built.Append(current);
            }
            else if (quote == '"')
            {
                built.Append(ReadEscape(line, ref index));
            }
            else if (line[index] == '\'')
            {
                built.Append('\'');
                index++;
            }
            else
            {
                built.Append('\\');
            }
        }

        return false;
    }

    private static char ReadEscape(string line, ref int index)
    {
        if (line[index] == 'x' && index + 2 < line.Length
            && char.IsAsciiHexDigit(line[index + 1]) && char.IsAsciiHexDigit(line[index + 2]))
        {
            int value = int.Parse(line.AsSpan(index + 1, 2), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            index += 3;
            return (char)value;
        }

        char escaped = line[index++];
        return escaped switch
        {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\b',
            'a' => '\a',
            _ => escaped,
        };
    }

    private static void AppendEscaped(StringBuilder text, string word, char quote)
    {
        foreach (char current in word)
        {
            _ = current switch
            {
                '\\' => text.Append(@"\\"),
                '\n' => text.Append(@"\n"),
                '\r' => text.Append(@"\r"),
                '\t' => text.Append(@"\t"),
                '\b' => text.Append(@"\b"),
                '\a' => text.Append(@"\a"),
                _ when current == quote => text.Append('\\').Append(current),
                >= ' ' and <= '~' => text.Append(current),
                _ => text.Append(CultureInfo.InvariantCulture, $"\\x{(int)current & 0xff:x2}"),
            };
        }
    }

    // C's whitespace. char.IsWhiteSpace would include the Latin-1 no-break space, which is a byte of UTF-8 texts.
    private static bool IsSpace(char value) => value is ' ' or (>= '\t' and <= '\r');
}
