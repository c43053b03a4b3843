using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>How a handler reads its arguments as words, text and numbers. Options that several commands share: <c>Commands/Arguments</c>.</summary>
internal static class ArgumentReading
{
    /// <summary>Whether an argument is a word, in any case.</summary>
    internal static bool Is(this scoped in CommandContext cmd, int index, ReadOnlySpan<byte> word) => AsciiText.EqualsIgnoreCase(cmd[index], word);

    /// <summary>
    /// The maximum bytes of an argument that becomes text in the managed heap. No name that is kept has more, so a longer argument is the name of
    /// nothing: its beginning, which is a byte longer, is looked up.
    /// </summary>
    internal const int TextBytesMax = 1 << 20;

    /// <summary>An argument as text, one character a byte; of a longer one than <see cref="TextBytesMax"/> the beginning, with one byte more.</summary>
    internal static string Text(this scoped in CommandContext cmd, int index) => Text(cmd[index]);

    internal static string Text(ReadOnlySpan<byte> argument) => Encoding.Latin1.GetString(argument[..Math.Min(argument.Length, TextBytesMax + 1)]);

    /// <summary>An argument as Redis's messages show it: a zero byte ends it, and <see cref="TextBytesMax"/>.</summary>
    internal static string ShownText(this scoped in CommandContext cmd, int index)
    {
        ReadOnlySpan<byte> argument = cmd[index];
        if (argument.Length > TextBytesMax) argument = argument[..TextBytesMax];
        int end = argument.IndexOf((byte)0);
        return Encoding.Latin1.GetString(end < 0 ? argument : argument[..end]);
    }

    /// <summary>The command's name as clients know it, in capitals: rename-command may have changed it.</summary>
    internal static string ContainerText(this scoped in CommandContext cmd) => cmd.ShownText(0).ToUpperInvariant();

    /// <summary>Reads an integer argument, or replies that it is not one.</summary>
    internal static bool TryIntegerOrReply(this scoped in CommandContext cmd, int argument, out long value)
    {
        if (RespNumber.TryParseInt64(cmd[argument], out value)) return true;
        cmd.Reply.Error("ERR value is not an integer or out of range"u8);
        return false;
    }
}
