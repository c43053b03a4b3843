using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Hashes;

/// <summary>
/// Hash commands that name fields. The table is their single declaration and this file's contents. Commands on whole hashes are
/// in HashScanCommands, commands on the expiry of fields in FieldExpiryCommands.
/// </summary>
internal static class HashCommands
{
    private static readonly KeySpec[] Inspected = KeySpecs.One(1, KeyFlags.ReadOnly);
    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Updated = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Counted = KeySpecs.One(1, ReadWrite | Access | Update);

    internal static readonly CommandFamily Family = new("hash", "hash",
    [
        new("HSET", -4, Write | DenyOom | Fast, Updated, HSet,
            new("2.0.0", "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the command is called with multiple field/value pairs.", "Sets the values of fields in a hash and returns the number of new fields. Creates the key if it doesn't exist.", "key data:<field value [field value ...]>") { History = [("4.0.0", "Accepts several fields.")] }),
        new("HMSET", -4, Write | DenyOom | Fast, Updated, HMSet,
            new("2.0.0", "O(N) where N is the number of fields being set.", "Sets the values of fields in a hash. Creates the key if it doesn't exist.", "key data:<field value [field value ...]>") { DeprecatedSince = "4.0.0", ReplacedBy = "`HSET` with multiple field-value pairs" }),
        new("HSETNX", 4, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), HSetNx,
            new("2.0.0", "O(1)", "Sets the value of a field in a hash only if the field doesn't exist.", "key field value")),
        new("HGET", 3, CommandFlags.ReadOnly | Fast, Accessed, HGet,
            new("2.0.0", "O(1)", "Returns the value of a field in a hash.", "key field")),
        new("HMGET", -3, CommandFlags.ReadOnly | Fast, Accessed, HMGet,
            new("2.0.0", "O(N) where N is the number of fields being requested.", "Returns the values of one or more fields in a hash.", "key field [field ...]")),
        new("HDEL", -3, Write | Fast, KeySpecs.One(1, ReadWrite | KeyFlags.Delete), HDel,
            new("2.0.0", "O(N) where N is the number of fields to be removed.", "Deletes fields of a hash. Deletes the key with its last field.", "key field [field ...]") { History = [("2.4.0", "Accepts several fields.")] }),
        new("HEXISTS", 3, CommandFlags.ReadOnly | Fast, Inspected, HExists,
            new("2.0.0", "O(1)", "Returns whether a field exists in a hash.", "key field")),
        new("HLEN", 2, CommandFlags.ReadOnly | Fast, Inspected, HLen,
            new("2.0.0", "O(1)", "Returns the number of fields in a hash.", "key")),
        new("HSTRLEN", 3, CommandFlags.ReadOnly | Fast, Inspected, HStrLen,
            new("3.2.0", "O(1)", "Returns the length of the value of a field in a hash.", "key field")),
        new("HINCRBY", 4, Write | DenyOom | Fast, Counted, HIncrBy,
            new("2.0.0", "O(1)", "Increments the integer value of a field in a hash by a number. A missing field counts as 0.", "key field increment")),
        new("HINCRBYFLOAT", 4, Write | DenyOom | Fast, Counted, HIncrByFloat,
            new("2.6.0", "O(1)", "Increments the floating-point value of a field in a hash by a number. A missing field counts as 0.", "key field increment:double")),
    ]);

    // HSET key field value [field value ...]
    private static void HSet(ref CommandContext cmd)
    {
        if (TrySetOrReply(ref cmd, out long added)) cmd.Reply.Integer(added);
    }

    // HMSET key field value [field value ...]
    private static void HMSet(ref CommandContext cmd)
    {
        if (TrySetOrReply(ref cmd, out _)) cmd.Reply.Ok();
    }

    private static bool TrySetOrReply(ref CommandContext cmd, out long added)
    {
        added = 0;
        if (cmd.Count % 2 == 1)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return false;
        }

        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash, createIfMissing: true)) return false;
        HashLimits limits = cmd.HashLimits();
        hash.Expect((cmd.Count - 2) / 2, limits);
        for (int i = 2; i < cmd.Count; i += 2)
        {
            if (hash.Set(cmd[i], cmd[i + 1], limits)) added++;
            cmd.ChangedField(i);
        }

        cmd.Changed(1, KeyEvent.HSet, (cmd.Count - 2) / 2);
        return true;
    }

    // HSETNX key field value
    private static void HSetNx(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        hash.RemoveIfExpired(cmd[2]);
        if (hash.Exists && hash.Contains(cmd[2]))
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (!hash.Exists) hash = cmd.CreateHash(1);
        hash.Set(cmd[2], cmd[3], cmd.HashLimits());
        cmd.ChangedField(2);
        cmd.Changed(1, KeyEvent.HSet);
        cmd.Reply.Integer(1);
    }

    // HGET key field
    private static void HGet(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        if (!ReplyValueOrNull(cmd, hash, 2)) hash.RemoveIfEmpty();
    }

    // HMGET key field [field ...]
    private static void HMGet(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) ReplyValueOrNull(cmd, hash, i);
        hash.RemoveIfEmpty();
    }

    /// <summary>
    /// Replies the value of the field at an argument, or null. An expired field is removed: the caller ends with <see cref="HashValue.RemoveIfEmpty"/>.
    /// </summary>
    /// <returns>Whether the field has a value.</returns>
    internal static bool ReplyValueOrNull(scoped in CommandContext cmd, scoped in HashValue hash, int argument)
    {
        if (hash.Exists && hash.TryGetLive(cmd[argument], out PackedElement value))
        {
            cmd.Reply.Element(value);
            return true;
        }

        cmd.Reply.Null();
        return false;
    }

    // HDEL key field [field ...]
    private static void HDel(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        long removed = 0;
        for (int i = 2; i < cmd.Count && hash.Exists; i++)
        {
            if (!hash.Remove(cmd[i])) continue;
            removed++;
            cmd.ChangedField(i);
        }

        if (removed > 0) cmd.Changed(1, KeyEvent.HDel, removed);
        cmd.Reply.Integer(removed);
    }

    // HEXISTS key field
    private static void HExists(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        cmd.Reply.Integer(hash.Exists && hash.TryGetLive(cmd[2], out _) ? 1 : 0);
        hash.RemoveIfEmpty();
    }

    // HLEN key
    private static void HLen(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        cmd.Reply.Integer(hash.Exists ? hash.Count : 0);
    }

    // HSTRLEN key field
    private static void HStrLen(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        cmd.Reply.Integer(hash.Exists && hash.TryGetLive(cmd[2], out PackedElement value) ? value.Bytes(digits).Length : 0);
        hash.RemoveIfEmpty();
    }

    // HINCRBY key field increment
    private static void HIncrBy(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(3, out long increment)) return;
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        hash.RemoveIfExpired(cmd[2]);
        long value = 0;
        if (hash.Exists && hash.TryGet(cmd[2], out PackedElement text) && !TryInteger(text, out value))
        {
            cmd.Reply.Error("ERR hash value is not an integer"u8);
            return;
        }

        long sum = unchecked(value + increment);
        if (((value ^ sum) & (increment ^ sum)) < 0)
        {
            cmd.Reply.Error("ERR increment or decrement would overflow"u8);
            return;
        }

        Span<byte> buffer = stackalloc byte[RespNumber.Int64TextMax];
        if (!hash.Exists) hash = cmd.CreateHash(1);
        hash.SetAndKeepExpiry(cmd[2], buffer[..RespNumber.Format(sum, buffer)], cmd.HashLimits());
        cmd.ChangedField(2);
        cmd.Changed(1, KeyEvent.HIncrBy);
        cmd.Reply.Integer(sum);
    }

    private static bool TryInteger(PackedElement element, out long value)
    {
        value = element.Number;
        return element.IsNumber || RespNumber.TryParseInt64(element.Bytes(default), out value);
    }

    // HINCRBYFLOAT key field increment
    private static void HIncrByFloat(ref CommandContext cmd)
    {
        if (!ExtendedDouble.TryParse(cmd[3], out ExtendedDouble increment))
        {
            cmd.Reply.Error("ERR value is not a valid float"u8);
            return;
        }

        if (!increment.IsFinite)
        {
            cmd.Reply.Error("ERR value is NaN or Infinity"u8);
            return;
        }

        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        hash.RemoveIfExpired(cmd[2]);
        ExtendedDouble value = default;
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        if (hash.Exists && hash.TryGet(cmd[2], out PackedElement old) && !ExtendedDouble.TryParse(old.Bytes(digits), out value))
        {
            cmd.Reply.Error("ERR hash value is not a float"u8);
            return;
        }

        ExtendedDouble sum = value + increment;
        if (!sum.IsFinite)
        {
            cmd.Reply.Error("ERR increment would produce NaN or Infinity"u8);
            return;
        }

        Span<byte> buffer = sum.TextIsShort ? stackalloc byte[ExtendedDouble.ShortTextBytesMax] : new byte[ExtendedDouble.TextBytesMax];
        ReadOnlySpan<byte> text = buffer[..sum.Format(buffer)];
        if (!hash.Exists) hash = cmd.CreateHash(1);
        hash.SetAndKeepExpiry(cmd[2], text, cmd.HashLimits());
        cmd.ChangedField(2);
        cmd.Changed(1, KeyEvent.HIncrByFloat);
        if (cmd.Recording.TakesEffects) WriteEffect(cmd, hash, text);
        cmd.Reply.Bulk(text);
    }

    // The resulting text, not the increment: another machine's arithmetic may round differently. HSET would remove the field's expiry.
    private static void WriteEffect(scoped in CommandContext cmd, scoped in HashValue hash, scoped ReadOnlySpan<byte> text)
    {
        EffectArguments effect = hash.ExpiryOf(cmd[2]) == Database.NoExpiry
            ? cmd.Effect("HSET"u8, 4).Argument(cmd[1])
            : cmd.Effect("HSETEX"u8, 7).Argument(cmd[1]).Argument("KEEPTTL"u8).Argument("FIELDS"u8).Argument(1);
        effect.Argument(cmd[2]).Argument(text);
    }
}
