using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Arguments;

/// <summary>When HEXPIRE, SEXPIRE and their variants set the expiry of a field or member. One without an expiry lives forever.</summary>
internal enum ExpiryCondition
{
    None,
    WithoutExpiry,
    WithExpiry,
    Later,
    Earlier,
}

/// <summary>The conditions of commands that set the expiry of fields and members, and the units of those that reply it.</summary>
internal static class ExpiryConditions
{
    /// <summary>Takes NX, XX, GT or LT.</summary>
    internal static ExpiryCondition Take(ref OptionReader options)
    {
        if (options.Take("NX"u8)) return ExpiryCondition.WithoutExpiry;
        if (options.Take("XX"u8)) return ExpiryCondition.WithExpiry;
        if (options.Take("GT"u8)) return ExpiryCondition.Later;
        return options.Take("LT"u8) ? ExpiryCondition.Earlier : ExpiryCondition.None;
    }

    /// <summary>Whether a condition holds for an expiry; <see cref="Database.NoExpiry"/>: there is none.</summary>
    internal static bool Holds(this ExpiryCondition condition, long oldMs, long expiryMs)
    {
        bool expires = oldMs != Database.NoExpiry;
        return condition switch
        {
            ExpiryCondition.WithoutExpiry => !expires,
            ExpiryCondition.WithExpiry => expires,
            ExpiryCondition.Later => expires && expiryMs > oldMs,
            ExpiryCondition.Earlier => !expires || expiryMs < oldMs,
            _ => true,
        };
    }

    /// <summary>An expiry in a unit; seconds are rounded up.</summary>
    internal static long InUnit(long expiryMs, long nowMs, ExpiryUnit unit) => unit switch
    {
        ExpiryUnit.Seconds => (expiryMs - nowMs + 999) / 1000,
        ExpiryUnit.Milliseconds => expiryMs - nowMs,
        ExpiryUnit.UnixSeconds => (expiryMs + 999) / 1000,
        _ => expiryMs,
    };
}
