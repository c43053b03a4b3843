using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>Commands that set, return and remove the expiry of a key. The table is their single declaration and this file's contents.</summary>
internal static class ExpiryCommands
{
    private static readonly KeySpec[] Updated = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Inspected = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
        new("EXPIRE", -3, Write | Fast, Updated, Expire, new("1.0.0", "O(1)", "Sets the expiry of a key to a number of seconds from now.", "key seconds condition:[NX | XX | GT | LT]@7.0.0") { History = [("7.0.0", "Adds `NX`, `XX`, `GT` and `LT`.")] }),
        new("PEXPIRE", -3, Write | Fast, Updated, PExpire, new("2.6.0", "O(1)", "Sets the expiry of a key to a number of milliseconds from now.", "key milliseconds condition:[NX | XX | GT | LT]@7.0.0") { History = [("7.0.0", "Adds `NX`, `XX`, `GT` and `LT`.")] }),
        new("EXPIREAT", -3, Write | Fast, Updated, ExpireAt, new("1.2.0", "O(1)", "Sets the expiry of a key to a Unix time in seconds.", "key unix-time-seconds condition:[NX | XX | GT | LT]@7.0.0") { History = [("7.0.0", "Adds `NX`, `XX`, `GT` and `LT`.")] }),
        new("PEXPIREAT", -3, Write | Fast, Updated, PExpireAt, new("2.6.0", "O(1)", "Sets the expiry of a key to a Unix time in milliseconds.", "key unix-time-milliseconds condition:[NX | XX | GT | LT]@7.0.0") { History = [("7.0.0", "Adds `NX`, `XX`, `GT` and `LT`.")] }),
        new("TTL", 2, CommandFlags.ReadOnly | Fast, Inspected, Ttl, new("1.0.0", "O(1)", "Returns the remaining time to live of a key in seconds.", "key") { History = [("2.8.0", "Returns -2 for a missing key.")] }) { Tips = ["nondeterministic_output"] },
        new("PTTL", 2, CommandFlags.ReadOnly | Fast, Inspected, PTtl, new("2.6.0", "O(1)", "Returns the remaining time to live of a key in milliseconds.", "key") { History = [("2.8.0", "Returns -2 for a missing key.")] }) { Tips = ["nondeterministic_output"] },
        new("EXPIRETIME", 2, CommandFlags.ReadOnly | Fast, Inspected, ExpireTime, new("7.0.0", "O(1)", "Returns the expiry of a key as a Unix time in seconds.", "key")),
        new("PEXPIRETIME", 2, CommandFlags.ReadOnly | Fast, Inspected, PExpireTime, new("7.0.0", "O(1)", "Returns the expiry of a key as a Unix time in milliseconds.", "key")),
        new("PERSIST", 2, Write | Fast, Updated, Persist, new("2.2.0", "O(1)", "Removes the expiry of a key.", "key")),
    ]);

    /// <summary>When EXPIRE and its variants set the expiry. GT and LT may be combined with XX.</summary>
    [Flags]
    private enum Condition
    {
        None = 0,
        WithoutExpiry = 1,
        WithExpiry = 2,
        Later = 4,
        Earlier = 8,
    }

    // EXPIRE key seconds [NX | XX | GT | LT]
    private static void Expire(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.Seconds);

    // PEXPIRE key milliseconds [NX | XX | GT | LT]
    private static void PExpire(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.Milliseconds);

    // EXPIREAT key unix-time-seconds [NX | XX | GT | LT]
    private static void ExpireAt(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.UnixSeconds);

    // PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]
    private static void PExpireAt(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.UnixMilliseconds);

    // TTL key
    private static void Ttl(ref CommandContext cmd)
    {
        if (TryExpiryOrReply(ref cmd, out long expiryMs)) cmd.Reply.Integer(RoundedSeconds(expiryMs - cmd.NowMs));
    }

    // PTTL key
    private static void PTtl(ref CommandContext cmd)
    {
        if (TryExpiryOrReply(ref cmd, out long expiryMs)) cmd.Reply.Integer(expiryMs - cmd.NowMs);
    }

    // EXPIRETIME key
    private static void ExpireTime(ref CommandContext cmd)
    {
        if (TryExpiryOrReply(ref cmd, out long expiryMs)) cmd.Reply.Integer(RoundedSeconds(expiryMs));
    }

    // PEXPIRETIME key
    private static void PExpireTime(ref CommandContext cmd)
    {
        if (TryExpiryOrReply(ref cmd, out long expiryMs)) cmd.Reply.Integer(expiryMs);
    }

    // PERSIST key
    private static void Persist(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        if (!entry.Exists || !entry.Expires)
        {
            cmd.Reply.Integer(0);
            return;
        }

        cmd.Database.WriteExpiry(entry, Database.NoExpiry);
        cmd.Changed(1, KeyEvent.Persist);
        cmd.Reply.Integer(1);
    }

    private static void SetExpiry(ref CommandContext cmd, ExpiryUnit unit)
    {
        // As in Redis, the options are parsed before the time: an unknown option takes precedence over an invalid time.
        if (!TryConditionOrReply(cmd, out Condition condition)) return;
        if (!ExpiryArgument.TryAnyOrReply(cmd, 2, unit, out long expiryMs)) return;
        Entry entry = cmd.FindToWrite(1);
        if (!entry.Exists || !Holds(condition, entry, expiryMs))
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (cmd.Expiry.HasPassed(expiryMs))
        {
            cmd.Database.Unlink(entry, UnlinkReason.Deleted);
            cmd.Changed(1, KeyEvent.Del);
            cmd.EffectDelete(1);
        }
        else
        {
            cmd.Database.WriteExpiry(entry, expiryMs);
            cmd.Changed(1, KeyEvent.Expire);
            cmd.EffectExpireAt(1, expiryMs);
        }

        cmd.Reply.Integer(1);
    }

    private static bool TryConditionOrReply(scoped in CommandContext cmd, out Condition condition)
    {
        condition = Condition.None;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (options.Take("NX"u8))
            {
                condition |= Condition.WithoutExpiry;
            }
            else if (options.Take("XX"u8))
            {
                condition |= Condition.WithExpiry;
            }
            else if (options.Take("GT"u8))
            {
                condition |= Condition.Later;
            }
            else if (options.Take("LT"u8))
            {
                condition |= Condition.Earlier;
            }
            else
            {
                cmd.Reply.Error("ERR Unsupported option " + cmd.ShownText(options.Position));
                return false;
            }
        }

        if ((condition & Condition.WithoutExpiry) != 0 && condition != Condition.WithoutExpiry)
        {
            cmd.Reply.Error("ERR NX and XX, GT or LT options at the same time are not compatible"u8);
            return false;
        }

        if ((condition & (Condition.Later | Condition.Earlier)) == (Condition.Later | Condition.Earlier))
        {
            cmd.Reply.Error("ERR GT and LT options at the same time are not compatible"u8);
            return false;
        }

        return true;
    }

    // A key without an expiry lives forever: no time is later, and every time is earlier.
    private static bool Holds(Condition condition, Entry entry, long expiryMs)
    {
        if (condition == Condition.None) return true;
        if (!entry.Expires) return (condition & (Condition.WithExpiry | Condition.Later)) == 0;
        if ((condition & Condition.WithoutExpiry) != 0) return false;
        if ((condition & Condition.Later) != 0) return expiryMs > entry.ExpiryMs;
        return (condition & Condition.Earlier) == 0 || expiryMs < entry.ExpiryMs;
    }

    // Replies -2 for a missing key and -1 for a key without an expiry.
    private static bool TryExpiryOrReply(ref CommandContext cmd, out long expiryMs)
    {
        Entry entry = cmd.Inspect(1);
        expiryMs = entry.Exists ? entry.ExpiryMs : Database.NoExpiry;
        if (expiryMs != Database.NoExpiry) return true;
        cmd.Reply.Integer(entry.Exists ? -1 : -2);
        return false;
    }

    // Unsigned, because the latest expiry is the maximum of a long.
    private static long RoundedSeconds(long ms) => (long)(((ulong)ms + 500) / 1000);
}
