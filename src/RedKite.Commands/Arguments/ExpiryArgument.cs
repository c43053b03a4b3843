using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>The meaning of the number in a time argument.</summary>
internal enum ExpiryUnit
{
    /// <summary>From now on: EX, EXPIRE.</summary>
    Seconds,

    /// <summary>From now on: PX, PEXPIRE.</summary>
    Milliseconds,

    /// <summary>Since 1970: EXAT, EXPIREAT.</summary>
    UnixSeconds,

    /// <summary>Since 1970: PXAT, PEXPIREAT.</summary>
    UnixMilliseconds,
}

/// <summary>
/// Converts the time arguments of commands that set an expiry to Unix milliseconds. A time that overflows 64 bits is refused
/// with an error that has the command's full name.
/// </summary>
internal static class ExpiryArgument
{
    // Redis stores a field's expiry in 46 bits.
    private const long FieldExpiryMaxMs = (1L << 46) - 1;

    /// <summary>
    /// Reads the time of SET, SETEX, PSETEX and GETEX, which refuse zero and negative numbers. An absolute time may lie in
    /// the past.
    /// </summary>
    internal static bool TryPositiveOrReply(scoped in CommandContext cmd, int argument, ExpiryUnit unit, out long expiryMs)
    {
        if (!cmd.TryIntegerOrReply(argument, out expiryMs)) return false;
        if (expiryMs > 0 && TryConvert(unit, cmd.NowMs, ref expiryMs)) return true;
        ReplyInvalid(cmd);
        return false;
    }

    /// <summary>Reads the time of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT, which may be zero or negative: a time in the past.</summary>
    internal static bool TryAnyOrReply(scoped in CommandContext cmd, int argument, ExpiryUnit unit, out long expiryMs)
    {
        if (!cmd.TryIntegerOrReply(argument, out expiryMs)) return false;
        if (TryConvert(unit, cmd.NowMs, ref expiryMs)) return true;
        ReplyInvalid(cmd);
        return false;
    }

    /// <summary>Reads the expiry of a hash field, which must not be negative and has a lower maximum than a key's.</summary>
    internal static bool TryFieldOrReply(scoped in CommandContext cmd, int argument, ExpiryUnit unit, out long expiryMs)
    {
        if (!cmd.TryIntegerOrReply(argument, out expiryMs)) return false;
        if (expiryMs < 0)
        {
            cmd.Reply.Error("ERR invalid expire time, must be >= 0"u8);
            return false;
        }

        if (TryConvert(unit, cmd.NowMs, ref expiryMs) && expiryMs <= FieldExpiryMaxMs) return true;
        ReplyInvalid(cmd);
        return false;
    }

    /// <summary>Takes EX, PX, EXAT or PXAT with its time.</summary>
    internal static bool Take(ref OptionReader options, out int argument, out ExpiryUnit unit)
    {
        unit = ExpiryUnit.Seconds;
        if (options.TakeWithValue("EX"u8, out argument)) return true;
        unit = ExpiryUnit.Milliseconds;
        if (options.TakeWithValue("PX"u8, out argument)) return true;
        unit = ExpiryUnit.UnixSeconds;
        if (options.TakeWithValue("EXAT"u8, out argument)) return true;
        unit = ExpiryUnit.UnixMilliseconds;
        return options.TakeWithValue("PXAT"u8, out argument);
    }

    /// <summary>Replies that the time is invalid, with the command's name.</summary>
    internal static void ReplyInvalid(scoped in CommandContext cmd) =>
        cmd.Reply.Error($"ERR invalid expire time in '{cmd.Command.FullName}' command");

    private static bool TryConvert(ExpiryUnit unit, long nowMs, ref long time)
    {
        if (unit is ExpiryUnit.Seconds or ExpiryUnit.UnixSeconds)
        {
            if (time is > long.MaxValue / 1000 or < long.MinValue / 1000) return false;
            time *= 1000;
        }

        if (unit is ExpiryUnit.Seconds or ExpiryUnit.Milliseconds)
        {
            if (time > long.MaxValue - nowMs) return false;
            time += nowMs;
        }

        return true;
    }
}
