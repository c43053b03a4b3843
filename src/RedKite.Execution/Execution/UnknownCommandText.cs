using System.Text;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>The error of a command that does not exist.</summary>
internal static class UnknownCommandText
{
    private const int ArgumentsShownBytesMax = 128;

    internal static string Of(scoped in CommandContext cmd)
    {
        var text = new StringBuilder("ERR unknown command '").Append(Shown(cmd[0])).Append("', with args beginning with: ");
        int shown = 0;
        for (int i = 1; i < cmd.Count && shown < ArgumentsShownBytesMax; i++)
        {
            ReadOnlySpan<byte> argument = cmd[i];
            string part = Printable(argument, ArgumentsShownBytesMax - shown);
            text.Append('\'').Append(part).Append("' ");
            shown += part.Length + 3;
        }

        return text.ToString();
    }

    /// <summary>A name as errors show it.</summary>
    internal static string Shown(ReadOnlySpan<byte> name) => Printable(name, ArgumentsShownBytesMax);

    // A NUL ends the text, as for a C string.
    private static string Printable(ReadOnlySpan<byte> text, int bytesMax)
    {
        int end = text.IndexOf((byte)0);
        if (end < 0) end = text.Length;
        return Encoding.Latin1.GetString(text[..Math.Min(end, bytesMax)]);
    }
}
