using System.Text;
using RedKite.Scripting;
using RedKite.Server.Config;

namespace RedKite.Server.Commands.Scripting;

/// <summary>
/// The first line of a script or library: #!lua flags=no-writes, or #!lua name=library. Its words may be quoted like those of a line of the
/// configuration.
/// </summary>
internal static class ScriptShebang
{
    // The line is split into words in the managed heap, and errors show them.
    private const int LineBytesMax = 64 * 1024;

    /// <summary>Reads a script's first line, if it is one.</summary>
    /// <param name="source">The script.</param>
    /// <param name="flags">What the script may do; null: it has no such line.</param>
    /// <param name="body">The script without it; line numbers stay.</param>
    /// <returns>The error, or null.</returns>
    internal static string? ReadScript(ReadOnlySpan<byte> source, out ScriptFlags? flags, out ReadOnlySpan<byte> body)
    {
        flags = null;
        body = source;
        if (!source.StartsWith("#!"u8)) return null;
        int end = source.IndexOf((byte)'\n');
        if (end < 0) return "ERR Invalid script shebang";
        if (end > LineBytesMax) return $"ERR the script's first line has more than {LineBytesMax} bytes";
        body = source[end..];
        if (!TrySplit(source[..end], out List<string> words)) return "ERR Invalid engine in script shebang";
        if (words[0] != "#!lua") return $"ERR Unexpected engine in script shebang: {words[0]}";
        flags = ScriptFlags.None;
        foreach (string word in words.Skip(1))
        {
            if (!word.StartsWith("flags=", StringComparison.Ordinal)) return $"ERR Unknown lua shebang option: {word}";
            string names = word["flags=".Length..];
            foreach (string name in names.Length == 0 ? [] : names.Split(','))
            {
                (string Name, ScriptFlags Flag) known = Array.Find(FunctionRegistration.FlagNames, flag => flag.Name == name);
                if (known.Name is null) return $"ERR Unexpected flag in script shebang: {name}";
                flags |= known.Flag;
            }
        }

        return null;
    }

    /// <summary>Reads a library's first line.</summary>
    internal static string? ReadLibrary(ReadOnlySpan<byte> source, out string name, out ReadOnlySpan<byte> body)
    {
        name = "";
        body = source;
        if (!source.StartsWith("#!"u8)) return "ERR Missing library metadata";
        int end = source.IndexOf((byte)'\n');
        if (end < 0) return "ERR Invalid library metadata";
        if (end > LineBytesMax) return $"ERR the script's first line has more than {LineBytesMax} bytes";
        body = source[end..];
        if (!TrySplit(source[..end], out List<string> words)) return "ERR Invalid library metadata";
        bool hasName = false;
        foreach (string word in words.Skip(1))
        {
            if (!word.StartsWith("name=", StringComparison.OrdinalIgnoreCase)) return $"ERR Invalid metadata value given: {word}";
            if (hasName) return "ERR Invalid metadata value, name argument was given multiple times";
            hasName = true;
            name = word["name=".Length..];
        }

        if (!words[0].Equals("#!lua", StringComparison.OrdinalIgnoreCase)) return $"ERR Engine '{words[0][2..]}' not found";
        if (!hasName) return "ERR Library name was not given";
        return FunctionRegistration.IsValidName(name) ? null : "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";
    }

    // There is at least one word: the line begins with #!.
    private static bool TrySplit(ReadOnlySpan<byte> line, out List<string> words) => ConfigLine.TrySplit(Encoding.Latin1.GetString(line), out words);
}
