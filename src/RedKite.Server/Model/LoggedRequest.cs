using System.Text;

namespace RedKite.Server.Model;

/// <summary>A request as logs show it: secrets are redacted, and long requests are shortened.</summary>
internal static class LoggedRequest
{
    // Redis's limits for an entry of the slow log.
    private const int ArgumentsMax = 32;
    private const int ArgumentBytesMax = 128;

    internal static byte[][] ArgumentsOf(scoped in CommandContext cmd)
    {
        int shown = Math.Min(cmd.Count, ArgumentsMax);
        var arguments = new byte[shown][];
        for (int i = 0; i < shown; i++)
        {
            arguments[i] = i == shown - 1 && cmd.Count > ArgumentsMax
                ? Text($"... ({cmd.Count - shown + 1} more arguments)")
                : cmd.Arguments.IsRedacted(i) ? Text("(redacted)") : Shortened(cmd[i]);
        }

        return arguments;
    }

    private static byte[] Shortened(ReadOnlySpan<byte> argument) =>
        argument.Length <= ArgumentBytesMax
            ? argument.ToArray()
            : [.. argument[..ArgumentBytesMax], .. Text($"... ({argument.Length - ArgumentBytesMax} more bytes)")];

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);
}
