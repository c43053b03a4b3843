using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Hashes;

/// <summary>
/// Commands on the expiry of a hash's fields, each with a list of fields at its end. The table is their single declaration and
/// this file's contents.
/// </summary>
internal static class FieldExpiryCommands
{
    private const string Complexity = "O(N) where N is the number of specified fields";
    private const string FieldSyntax = "FIELDS fields:(numfields:integer field [field ...])";
    private const string ConditionSyntax = "condition:[NX | XX | GT | LT] " + FieldSyntax;
    private const string GetExSyntax = "key expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] " + FieldSyntax;

    private const string SetExSyntax = "key condition:[FNX | FXX] expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] "
        + "FIELDS fields:(numfields:integer data:<field value [field value ...]>)";

    // The replies for a field.
    private const int NotThere = -2;
    private const int WithoutExpiry = -1;
    private const int ConditionFailed = 0;
    private const int Set = 1;
    private const int Removed = 2;

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Updated = KeySpecs.One(1, ReadWrite | Update);

    internal static readonly CommandFamily Family = new("hash", "hash",
    [
        new("HEXPIRE", -6, Write | Fast, Updated, HExpire, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a number of seconds from now.", "key seconds " + ConditionSyntax)),
        new("HPEXPIRE", -6, Write | Fast, Updated, HPExpire, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a number of milliseconds from now.", "key milliseconds " + ConditionSyntax)),
        new("HEXPIREAT", -6, Write | Fast, Updated, HExpireAt, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a Unix time in seconds.", "key unix-time-seconds " + ConditionSyntax)),
        new("HPEXPIREAT", -6, Write | Fast, Updated, HPExpireAt, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a Unix time in milliseconds.", "key unix-time-milliseconds " + ConditionSyntax)),
        new("HTTL", -5, CommandFlags.ReadOnly | Fast, Accessed, HTtl, new("7.4.0", Complexity, "Returns the remaining time to live of fields in a hash in seconds.", "key " + FieldSyntax)) { Tips = ["nondeterministic_output"] },
        new("HPTTL", -5, CommandFlags.ReadOnly | Fast, Accessed, HPTtl, new("7.4.0", Complexity, "Returns the remaining time to live of fields in a hash in milliseconds.", "key " + FieldSyntax)) { Tips = ["nondeterministic_output"] },
        new("HEXPIRETIME", -5, CommandFlags.ReadOnly | Fast, Accessed, HExpireTime, new("7.4.0", Complexity, "Returns the expiry of fields in a hash as a Unix time in seconds.", "key " + FieldSyntax)),
        new("HPEXPIRETIME", -5, CommandFlags.ReadOnly | Fast, Accessed, HPExpireTime, new("7.4.0", Complexity, "Returns the expiry of fields in a hash as a Unix time in milliseconds.", "key " + FieldSyntax)),
        new("HPERSIST", -5, Write | Fast, Updated, HPersist, new("7.4.0", Complexity, "Removes the expiry of fields in a hash.", "key " + FieldSyntax)),
        new("HGETEX", -5, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Update, "updates because it sets the expiry"), HGetEx, new("8.0.0", Complexity, "Returns the values of fields in a hash and sets or removes their expiry.", GetExSyntax)),
        new("HSETEX", -6, Write | DenyOom | Fast, Updated, HSetEx, new("8.0.0", "O(N) where N is the number of fields being set.", "Sets the values of fields in a hash, optionally on a condition and with an expiry.", SetExSyntax)),
        new("HGETDEL", -5, Write | Fast, KeySpecs.One(1, ReadWrite | Access | KeyFlags.Delete), HGetDel, new("8.0.0", Complexity, "Returns the values of fields in a hash and deletes the fields.", "key " + FieldSyntax)),
    ]);

    // HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    private static void HExpire(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.Seconds);

    // HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    private static void HPExpire(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.Milliseconds);

    // HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    private static void HExpireAt(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.UnixSeconds);

    // HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    private static void HPExpireAt(ref CommandContext cmd) => SetExpiry(ref cmd, ExpiryUnit.UnixMilliseconds);

    private static void SetExpiry(ref CommandContext cmd, ExpiryUnit unit)
    {
        // As in Redis, the key's type is checked before the arguments.
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        if (!ExpiryArgument.TryFieldOrReply(cmd, 2, unit, out long expiryMs)) return;
        var options = new OptionReader(cmd, first: 3);
        ExpiryCondition condition = ExpiryConditions.Take(ref options);
        if (!FieldArguments.TryReadOrReply(ref options, cmd, "ERR Parameter `numFields` should be greater than 0"u8, out FieldArguments fields)) return;

        cmd.Reply.Array(fields.Count);
        hash.ReserveExpiries();
        var changed = new FieldChanges(cmd);
        for (int i = fields.First; i < fields.End; i++)
        {
            int result = SetExpiry(cmd, ref hash, cmd[i], expiryMs, condition);
            if (result > 0) changed.Add(i);
            cmd.Reply.Integer(result);
        }

        if (changed.Count > 0) ReportExpiry(cmd, changed, expiryMs);
    }

    // Fields that got an expiry, or that were removed because it has passed.
    private static void ReportExpiry(scoped in CommandContext cmd, in FieldChanges changed, long expiryMs)
    {
        bool isRemoved = cmd.Expiry.HasPassed(expiryMs);
        cmd.Changed(1, isRemoved ? KeyEvent.HDel : KeyEvent.HExpire, changed.Count);
        if (isRemoved) cmd.Database.CountExpiredFields(cmd.HashOf(1), changed.Count);
        if (isRemoved) changed.WriteHDel(cmd);
        else changed.WriteHPExpireAt(cmd, expiryMs);
    }

    private static int SetExpiry(scoped in CommandContext cmd, ref HashValue hash, ReadOnlySpan<byte> field, long expiryMs, ExpiryCondition condition)
    {
        long oldMs = hash.Exists ? hash.ExpiryOf(field) : HashValue.NoField;
        if (oldMs == HashValue.NoField) return NotThere;
        if (!condition.Holds(oldMs, expiryMs)) return ConditionFailed;
        if (cmd.Expiry.HasPassed(expiryMs))
        {
            hash.Remove(field);
            return Removed;
        }

        hash.WriteExpiry(field, expiryMs);
        return Set;
    }

    // HTTL key FIELDS numfields field [field ...]
    private static void HTtl(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.Seconds);

    // HPTTL key FIELDS numfields field [field ...]
    private static void HPTtl(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.Milliseconds);

    // HEXPIRETIME key FIELDS numfields field [field ...]
    private static void HExpireTime(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.UnixSeconds);

    // HPEXPIRETIME key FIELDS numfields field [field ...]
    private static void HPExpireTime(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.UnixMilliseconds);

    private static void ReplyExpiries(ref CommandContext cmd, ExpiryUnit unit)
    {
        if (!cmd.OpenToReadHashOrReply(1, out HashValue hash)) return;
        if (!TryFieldsOrReply(cmd, out FieldArguments fields)) return;
        cmd.Reply.Array(fields.Count);
        for (int i = fields.First; i < fields.End; i++)
        {
            long expiryMs = hash.Exists ? hash.ExpiryOf(cmd[i]) : HashValue.NoField;
            if (expiryMs == HashValue.NoField) cmd.Reply.Integer(NotThere);
            else if (expiryMs == Database.NoExpiry) cmd.Reply.Integer(WithoutExpiry);
            else cmd.Reply.Integer(ExpiryConditions.InUnit(expiryMs, cmd.NowMs, unit));
        }
    }

    // HPERSIST key FIELDS numfields field [field ...]
    private static void HPersist(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        if (!TryFieldsOrReply(cmd, out FieldArguments fields)) return;
        cmd.Reply.Array(fields.Count);
        bool isChanged = false;
        for (int i = fields.First; i < fields.End; i++)
        {
            long expiryMs = hash.Exists ? hash.ExpiryOf(cmd[i]) : HashValue.NoField;
            if (expiryMs is HashValue.NoField or Database.NoExpiry)
            {
                cmd.Reply.Integer(expiryMs == HashValue.NoField ? NotThere : WithoutExpiry);
                continue;
            }

            hash.WriteExpiry(cmd[i], Database.NoExpiry);
            isChanged = true;
            cmd.Reply.Integer(Set);
        }

        if (isChanged) cmd.Changed(1, KeyEvent.HPersist); // as in Redis, one change for any number of fields
    }

    private static bool TryFieldsOrReply(scoped in CommandContext cmd, out FieldArguments fields)
    {
        var options = new OptionReader(cmd, first: 2);
        return FieldArguments.TryReadOrReply(ref options, cmd, "ERR Number of fields must be a positive integer"u8, out fields);
    }

    // HGETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]
    private static void HGetEx(ref CommandContext cmd)
    {
        // As in Redis, the key's type is checked before the arguments.
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        if (!FieldOptions.TryParseGetExOrReply(cmd, out FieldOptions options)) return;
        long expiryMs = options.HasExpiry ? options.ExpiryMs : Database.NoExpiry;
        FieldArguments fields = options.Fields;
        cmd.Reply.Array(fields.Count);
        if (options.HasExpiry || options.Persists) hash.ReserveExpiries();
        var changed = new FieldChanges(cmd);
        for (int i = fields.First; i < fields.End; i++)
        {
            HashCommands.ReplyValueOrNull(cmd, hash, i);
            if (!options.HasExpiry && !options.Persists) continue;
            long oldMs = hash.Exists ? hash.ExpiryOf(cmd[i]) : HashValue.NoField;
            if (oldMs == HashValue.NoField || (options.Persists && oldMs == Database.NoExpiry)) continue;
            if (options.HasExpiry && cmd.Expiry.HasPassed(expiryMs)) hash.Remove(cmd[i]);
            else hash.WriteExpiry(cmd[i], expiryMs);
            changed.Add(i);
        }

        hash.RemoveIfEmpty();
        if (changed.Count > 0 && options.HasExpiry)
        {
            ReportExpiry(cmd, changed, expiryMs);
        }
        else if (changed.Count > 0)
        {
            cmd.Changed(1, KeyEvent.HPersist, changed.Count);
            changed.WriteHPersist(cmd);
        }
    }

    // HSETEX key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
    //   FIELDS numfields field value [field value ...]
    private static void HSetEx(ref CommandContext cmd)
    {
        if (!FieldOptions.TryParseSetExOrReply(cmd, out FieldOptions options)) return;
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        FieldArguments pairs = options.Fields;
        for (int i = pairs.First; i < cmd.Count; i += 2) hash.RemoveIfExpired(cmd[i]);
        hash.RemoveIfEmpty();
        if ((options.OnlyNew || options.OnlyExisting) && !AllExist(cmd, hash, pairs, wanted: options.OnlyExisting))
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (!hash.Exists) hash = cmd.CreateHash(1);
        HashLimits limits = cmd.HashLimits();
        hash.Expect(pairs.Count, limits);
        bool isPast = options.HasExpiry && cmd.Expiry.HasPassed(options.ExpiryMs);
        for (int i = pairs.First; i < cmd.Count; i += 2)
        {
            if (options.KeepsExpiry) hash.SetAndKeepExpiry(cmd[i], cmd[i + 1], limits);
            else hash.Set(cmd[i], cmd[i + 1], limits);

            // Each expired field is removed before the next one is added, so that fields in the past do not fill a packed hash. The
            // last one keeps the hash alive.
            if (isPast && hash.Count > 1) hash.Remove(cmd[i]);
        }

        cmd.Changed(1, KeyEvent.HSet, pairs.Count);
        if (options.HasExpiry) SetExpiries(cmd, ref hash, pairs, options.ExpiryMs);
        cmd.Reply.Integer(1);
    }

    // After all values are set, so that a field that occurs twice gets the expiry too.
    private static void SetExpiries(scoped in CommandContext cmd, ref HashValue hash, FieldArguments pairs, long expiryMs)
    {
        bool isRemoved = cmd.Expiry.HasPassed(expiryMs);
        hash.ReserveExpiries();
        for (int i = pairs.First; i < cmd.Count; i += 2)
        {
            if (isRemoved) hash.Remove(cmd[i]);
            else hash.WriteExpiry(cmd[i], expiryMs);
        }

        if (isRemoved) cmd.Database.CountExpiredFields(cmd.HashOf(1), pairs.Count); // as in Redis, a field that occurs twice counts twice
        cmd.Changed(1, isRemoved ? KeyEvent.HDel : KeyEvent.HExpire, count: 0);
        if (!cmd.Recording.TakesEffects) return;
        EffectArguments effect = isRemoved
            ? cmd.Effect("HDEL"u8, 2 + pairs.Count).Argument(cmd[1])
            : cmd.Effect("HSETEX"u8, 6 + (2 * pairs.Count)).Argument(cmd[1]).Argument("PXAT"u8).Argument(expiryMs).Argument("FIELDS"u8).Argument(pairs.Count);
        for (int i = pairs.First; i < cmd.Count; i += isRemoved ? 2 : 1) effect.Argument(cmd[i]);
    }

    // Whether all of the fields exist, or none of them.
    private static bool AllExist(scoped in CommandContext cmd, scoped in HashValue hash, FieldArguments pairs, bool wanted)
    {
        for (int i = pairs.First; i < cmd.Count; i += 2)
        {
            if ((hash.Exists && hash.Contains(cmd[i])) != wanted) return false;
        }

        return true;
    }

    // HGETDEL key FIELDS numfields field [field ...]
    private static void HGetDel(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        if (!TryFieldsOrReply(cmd, out FieldArguments fields)) return;
        cmd.Reply.Array(fields.Count);
        var changed = new FieldChanges(cmd);
        for (int i = fields.First; i < fields.End; i++)
        {
            HashCommands.ReplyValueOrNull(cmd, hash, i);
            if (hash.Exists && hash.Remove(cmd[i])) changed.Add(i);
        }

        hash.RemoveIfEmpty();
        if (changed.Count > 0)
        {
            cmd.Changed(1, KeyEvent.HDel, changed.Count);
            changed.WriteHDel(cmd);
        }
    }
}
