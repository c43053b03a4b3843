using System.Text;

namespace RedKite.Server.Commands.Arrays;

/// <summary>Writes the named classes of POSIX in a regular expression (<c>[[:digit:]]</c>), which .NET does not know, as ranges of ASCII.</summary>
internal static class PosixClasses
{
    private static readonly (string Name, string Members)[] Classes =
    [
        ("[:alnum:]", "a-zA-Z0-9"),
        ("[:alpha:]", "a-zA-Z"),
        ("[:blank:]", @" \t"),
        ("[:cntrl:]", @"\x00-\x1F\x7F"),
        ("[:digit:]", "0-9"),
        ("[:graph:]", "!-~"),
        ("[:lower:]", "a-z"),
        ("[:print:]", " -~"),
        ("[:punct:]", @"!-/:-@\[-`{-~"),
        ("[:space:]", @" \t-\r"),
        ("[:upper:]", "A-Z"),
        ("[:xdigit:]", "0-9A-Fa-f"),
    ];

    /// <summary>The pattern with its classes written out; one without any as it is.</summary>
    internal static string Replace(string pattern)
    {
        if (!pattern.Contains("[:", StringComparison.Ordinal)) return pattern;
        var replaced = new StringBuilder(pattern.Length * 2);
        bool isInSet = false;
        for (int i = 0; i < pattern.Length; i++)
        {
            char c = pattern[i];
            int written = 1;
            if (c == '\\') written = 2;
            else if (isInSet && c == ']') isInSet = false;
            else if (isInSet && TryClass(pattern.AsSpan(i), out string members, out int length))
            {
                replaced.Append(members);
                i += length - 1;
                continue;
            }
            else if (!isInSet && c == '[')
            {
                // What follows at once is a member, even if it is the bracket that ends sets.
                isInSet = true;
                if (i + written < pattern.Length && pattern[i + written] == '^') written++;
                if (i + written < pattern.Length && pattern[i + written] == ']') written++;
            }

            written = Math.Min(written, pattern.Length - i);
            replaced.Append(pattern, i, written);
            i += written - 1;
        }

        return replaced.ToString();
    }

    private static bool TryClass(ReadOnlySpan<char> text, out string members, out int length)
    {
        foreach ((string name, string found) in Classes)
        {
            if (!text.StartsWith(name, StringComparison.Ordinal)) continue;
            members = found;
            length = name.Length;
            return true;
        }

        members = "";
        length = 0;
        return false;
    }
}
