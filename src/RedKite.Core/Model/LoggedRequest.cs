using System.Text;

namespace RedKite.Server.Model;

/// <summary>A request as logs show it: secrets are redacted, and long requests are shortened.</summary>
internal static class LoggedRequest
{
    internal static byte[][] ArgumentsOf(scoped in CommandContext cmd)
    {
        int argumentsMax = cmd.Settings.SlowLogEntryArgumentsMax;
        int bytesMax = cmd.Settings.SlowLogEntryBytesMax;
        int shown = Math.Min(cmd.Count, argumentsMax);
        var arguments = new byte[shown][];
        for (int i = 0; i < shown; i++)
        {
            arguments[i] = i == shown - 1 && cmd.Count > argumentsMax
                ? Text($"... ({cmd.Count - shown + 1} more arguments)")
                : cmd.Arguments.IsRedacted(i) ? Text("(redacted)") : Shortened(cmd[i], bytesMax);
        }

        return arguments;
    }

    private static byte[] Shortened(ReadOnlySpan<byte> argument, int bytesMax) =>
        argument.Length <= bytesMax
            ? argument.ToArray()
            : [.. argument[..bytesMax], .. Text($"... ({argument.Length - bytesMax} more bytes)")];

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);
}
