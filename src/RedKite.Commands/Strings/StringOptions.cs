using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Strings;

/// <summary>The options of SET, MSETEX and GETEX. Each command accepts its own subset.</summary>
/// <remarks>Only one kind of time is allowed. As in Redis, it may be repeated, and the last one counts.</remarks>
internal struct StringOptions
{
    private int _expiryArgument;
    private ExpiryUnit _unit;

    /// <summary>NX: only if the key does not exist.</summary>
    internal bool OnlyNew { get; private set; }

    /// <summary>XX: only if the key exists.</summary>
    internal bool OnlyExisting { get; private set; }

    /// <summary>IFEQ, IFNE, IFDEQ or IFDNE.</summary>
    internal ValueCondition Condition { get; private set; }

    /// <summary>GET: reply the previous value.</summary>
    internal bool ReturnsOld { get; private set; }

    /// <summary>KEEPTTL: keep the expiry.</summary>
    internal bool KeepsExpiry { get; private set; }

    /// <summary>PERSIST: remove the expiry.</summary>
    internal bool Persists { get; private set; }

    /// <summary>Whether there is a time.</summary>
    internal readonly bool HasExpiry => _expiryArgument > 0;

    /// <summary>Whether the time is absolute, so that it may be in the past.</summary>
    internal readonly bool IsAbsolute => _unit is ExpiryUnit.UnixSeconds or ExpiryUnit.UnixMilliseconds;

    /// <summary>Parses SET's options, from argument 3 on. A time is located here and parsed by <see cref="TryExpiryOrReply"/>.</summary>
    internal static bool TryParseSetOrReply(scoped in CommandContext cmd, out StringOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (!result.OnlyExisting && options.Take("NX"u8)) result.OnlyNew = true;
            else if (!result.OnlyNew && options.Take("XX"u8)) result.OnlyExisting = true;
            else if (result.TryTakeCondition(ref options)) continue;
            else if (options.Take("GET"u8)) result.ReturnsOld = true;
            else if (!result.HasExpiry && options.Take("KEEPTTL"u8)) result.KeepsExpiry = true;
            else if (result.KeepsExpiry || !result.TakeTime(ref options)) return SyntaxError(cmd);
        }

        return true;
    }

    /// <summary>Parses MSETEX's options. A time is located here and parsed by <see cref="TryExpiryOrReply"/>.</summary>
    internal static bool TryParseMSetExOrReply(scoped in CommandContext cmd, int first, out StringOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            if (!result.OnlyExisting && options.Take("NX"u8)) result.OnlyNew = true;
            else if (!result.OnlyNew && options.Take("XX"u8)) result.OnlyExisting = true;
            else if (!result.HasExpiry && options.Take("KEEPTTL"u8)) result.KeepsExpiry = true;
            else if (result.KeepsExpiry || !result.TakeTime(ref options)) return SyntaxError(cmd);
        }

        return true;
    }

    /// <summary>Parses GETEX's options, from argument 2 on. A time is located here and parsed by <see cref="TryExpiryOrReply"/>.</summary>
    internal static bool TryParseGetExOrReply(scoped in CommandContext cmd, out StringOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (!result.TryTakeTimeOrPersist(ref options)) return SyntaxError(cmd);
        }

        return true;
    }

    /// <summary>Takes the next option if it is a time, or PERSIST, and does not contradict an earlier one.</summary>
    internal bool TryTakeTimeOrPersist(ref OptionReader options)
    {
        if (HasExpiry || !options.Take("PERSIST"u8)) return !Persists && TakeTime(ref options);
        Persists = true;
        return true;
    }

    /// <summary>Converts the time, if there is one, to Unix milliseconds.</summary>
    internal readonly bool TryExpiryOrReply(scoped in CommandContext cmd, out long expiryMs)
    {
        expiryMs = Database.NoExpiry;
        return !HasExpiry || ExpiryArgument.TryPositiveOrReply(cmd, _expiryArgument, _unit, out expiryMs);
    }

    // As in Redis, NX and XX may follow such a condition, and not precede it; the same one may be repeated, and the last one counts.
    private bool TryTakeCondition(ref OptionReader options)
    {
        OptionReader next = options;
        if (OnlyNew || OnlyExisting || !ValueCondition.TryTake(ref next, out ValueCondition condition)) return false;
        if (Condition.Exists && Condition with { Argument = condition.Argument } != condition) return false;
        options = next;
        Condition = condition;
        return true;
    }

    private bool TakeTime(ref OptionReader options) =>
        TakeTime(ref options, "EX"u8, ExpiryUnit.Seconds)
        || TakeTime(ref options, "PX"u8, ExpiryUnit.Milliseconds)
        || TakeTime(ref options, "EXAT"u8, ExpiryUnit.UnixSeconds)
        || TakeTime(ref options, "PXAT"u8, ExpiryUnit.UnixMilliseconds);

    private bool TakeTime(ref OptionReader options, ReadOnlySpan<byte> word, ExpiryUnit unit)
    {
        if ((HasExpiry && _unit != unit) || !options.TakeWithValue(word, out int argument)) return false;
        _expiryArgument = argument;
        _unit = unit;
        return true;
    }

    private static bool SyntaxError(scoped in CommandContext cmd)
    {
        cmd.ReplySyntaxError();
        return false;
    }
}
