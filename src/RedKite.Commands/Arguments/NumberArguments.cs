using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Reads arguments that are numbers in a range, with Redis's errors for others.</summary>
internal static class NumberArguments
{
    /// <summary>Reads a floating-point number: a score, an increment or a coordinate.</summary>
    internal static bool TryFloatOrReply(this scoped in CommandContext cmd, int argument, out double value) =>
        cmd.TryFloatOrReply(argument, "ERR value is not a valid float"u8, out value);

    /// <summary>Reads a floating-point number, with the command's own error.</summary>
    internal static bool TryFloatOrReply(this scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> message, out double value)
    {
        if (FloatText.TryParse(cmd[argument], out value)) return true;
        cmd.Reply.Error(message);
        return false;
    }

    /// <summary>Reads an integer whose sign selects a direction or a mode, so that its negation must not overflow.</summary>
    internal static bool TrySignedOrReply(this scoped in CommandContext cmd, int argument, out long value)
    {
        if (!cmd.TryIntegerOrReply(argument, out value)) return false;
        if (value != long.MinValue) return true;
        cmd.Reply.Error("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"u8);
        return false;
    }

    /// <summary>Reads a count that is not negative.</summary>
    internal static bool TryCountOrReply(this scoped in CommandContext cmd, int argument, out long value) =>
        cmd.TryCountOrReply(argument, "ERR value is out of range, must be positive"u8, out value);

    /// <summary>Reads a count that is not negative, with the command's own error.</summary>
    internal static bool TryCountOrReply(this scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> message, out long value)
    {
        if (RespNumber.TryParseInt64(cmd[argument], out value) && value >= 0) return true;
        cmd.Reply.Error(message);
        return false;
    }

    /// <summary>Reads a count of at least 1, with the command's own error.</summary>
    internal static bool TryPositiveOrReply(this scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> message, out long value)
    {
        if (RespNumber.TryParseInt64(cmd[argument], out value) && value > 0) return true;
        cmd.Reply.Error(message);
        return false;
    }
}
