using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>How a handler reads its arguments as words, text and numbers. Options that several commands share: <c>Commands/Arguments</c>.</summary>
internal static class ArgumentReading
{
    /// <summary>Whether an argument is a word, in any case.</summary>
    internal static bool Is(this scoped in CommandContext cmd, int index, ReadOnlySpan<byte> word) => AsciiText.EqualsIgnoreCase(cmd[index], word);

    /// <summary>An argument as text, one character a byte.</summary>
    internal static string Text(this scoped in CommandContext cmd, int index) => Encoding.Latin1.GetString(cmd[index]);

    /// <summary>An argument as Redis's messages show it: a zero byte ends it.</summary>
    internal static string ShownText(this scoped in CommandContext cmd, int index)
    {
        ReadOnlySpan<byte> argument = cmd[index];
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
