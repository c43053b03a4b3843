using RedKite.Server.Changes;
using RedKite.Server.Commands.Elements;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Members;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using Expiries = RedKite.Server.Commands.Elements.ElementExpiryCommands<RedKite.Server.Commands.Hashes.FieldExpiryCommands.FieldAccess, RedKite.Store.Values.Hashes.HashValue, RedKite.Store.Values.Hashes.HashValue>;

namespace RedKite.Server.Commands.Hashes;

/// <summary>
/// Commands on the expiry of a hash's fields, each with a list of fields; options may stand on both sides of it. The table is their single declaration and
/// this file's contents.
/// </summary>
internal static class FieldExpiryCommands
{
    private const string Complexity = "O(N) where N is the number of specified fields";
    private const string FieldSyntax = "FIELDS fields:(numfields:integer field [field ...])";
    private const string ConditionSyntax = "condition:[NX | XX | GT | LT] " + FieldSyntax;
    private const string GetExSyntax = "key expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] " + FieldSyntax;

    private const string SetExSyntax = "key key-condition:[NX | XX]@9.0.0 condition:[FNX | FXX] expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] "
        + "FIELDS fields:(numfields:integer data:<field value [field value ...]>)";

    private static readonly ElementKind Fields = new()
    {
        List = "FIELDS"u8.ToArray(),
        OnlyNew = "FNX"u8.ToArray(),
        OnlyExisting = "FXX"u8.ToArray(),
        HasKeyConditions = true,
        BothConditionsError = "ERR Only one of FXX or FNX arguments can be specified"u8.ToArray(),
        NoListError = "ERR Mandatory argument FIELDS is missing or not at the right position"u8.ToArray(),
        MissingListError = "ERR missing FIELDS argument"u8.ToArray(),
        RepeatedListError = "ERR FIELDS keyword specified multiple times"u8.ToArray(),
        EmptyListError = "ERR FIELDS requires at least numfields and one field argument"u8.ToArray(),
        CountError = "ERR Number of fields must be a positive integer"u8.ToArray(),
        ExpireCountError = "ERR Parameter `numFields` should be greater than 0"u8.ToArray(),
        OptionCountError = "ERR invalid number of fields"u8.ToArray(),
        MismatchError = "ERR The `numfields` parameter must match the number of arguments"u8.ToArray(),
        TooFewError = "ERR wrong number of arguments"u8.ToArray(),
        Removed = KeyEvent.HDel,
        Expires = KeyEvent.HExpire,
        Persisted = KeyEvent.HPersist,
        RemoveCommand = "HDEL"u8.ToArray(),
        ExpireCommand = "HPEXPIREAT"u8.ToArray(),
        PersistCommand = "HPERSIST"u8.ToArray(),
        SetCommand = "HSETEX"u8.ToArray(),
    };

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Updated = KeySpecs.One(1, ReadWrite | Update);

    internal static readonly CommandFamily Family = new("hash", "hash",
    [
        new("HEXPIRE", -6, Write | Fast, Updated, Expiries.Expire, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a number of seconds from now.", "key seconds " + ConditionSyntax)),
        new("HPEXPIRE", -6, Write | Fast, Updated, Expiries.PExpire, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a number of milliseconds from now.", "key milliseconds " + ConditionSyntax)),
        new("HEXPIREAT", -6, Write | Fast, Updated, Expiries.ExpireAt, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a Unix time in seconds.", "key unix-time-seconds " + ConditionSyntax)),
        new("HPEXPIREAT", -6, Write | Fast, Updated, Expiries.PExpireAt, new("7.4.0", Complexity, "Sets the expiry of fields in a hash to a Unix time in milliseconds.", "key unix-time-milliseconds " + ConditionSyntax)),
        new("HTTL", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.Ttl, new("7.4.0", Complexity, "Returns the remaining time to live of fields in a hash in seconds.", "key " + FieldSyntax)) { Tips = ["nondeterministic_output"] },
        new("HPTTL", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.PTtl, new("7.4.0", Complexity, "Returns the remaining time to live of fields in a hash in milliseconds.", "key " + FieldSyntax)) { Tips = ["nondeterministic_output"] },
        new("HEXPIRETIME", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.ExpireTime, new("7.4.0", Complexity, "Returns the expiry of fields in a hash as a Unix time in seconds.", "key " + FieldSyntax)),
        new("HPEXPIRETIME", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.PExpireTime, new("7.4.0", Complexity, "Returns the expiry of fields in a hash as a Unix time in milliseconds.", "key " + FieldSyntax)),
        new("HPERSIST", -5, Write | Fast, Updated, Expiries.Persist, new("7.4.0", Complexity, "Removes the expiry of fields in a hash.", "key " + FieldSyntax)),
        new("HGETEX", -5, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Update, "updates because it sets the expiry"), HGetEx, new("8.0.0", Complexity, "Returns the values of fields in a hash and sets or removes their expiry.", GetExSyntax)),
        new("HSETEX", -6, Write | DenyOom | Fast, Updated, HSetEx, new("8.0.0", "O(N) where N is the number of fields being set.", "Sets the values of fields in a hash, optionally on a condition and with an expiry.", SetExSyntax)),
        new("HGETDEL", -5, Write | Fast, KeySpecs.One(1, ReadWrite | Access | KeyFlags.Delete), HGetDel, new("8.0.0", Complexity, "Returns the values of fields in a hash and deletes the fields.", "key " + FieldSyntax)),
    ]);

    internal readonly struct FieldAccess : IElementAccess<HashValue, HashValue>
    {
        public static ElementKind Kind => Fields;

        public static bool OpenToWriteOrReply(scoped in CommandContext cmd, out HashValue value) => cmd.OpenToWriteHashOrReply(1, out value);

        public static bool OpenToLookUpOrReply(scoped in CommandContext cmd, out HashValue view) => cmd.OpenToReadHashOrReply(1, out view);

        public static void Reserve(scoped ref HashValue value) => value.ReserveExpiries();
    }

    // HGETEX key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]
    private static void HGetEx(ref CommandContext cmd)
    {
        // As in Redis, the key's type is checked before the arguments.
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        if (!ElementOptions.TryParseOrReply(cmd, Fields, sets: false, step: 1, out ElementOptions expiry)) return;
        ElementArguments fields = expiry.Elements;
        cmd.Reply.Array(fields.Count);
        bool changes = expiry.HasExpiry || expiry.Persists;
        long expiryMs = expiry.HasExpiry ? expiry.ExpiryMs : Database.NoExpiry;
        if (changes) hash.ReserveExpiries();
        var changed = new ElementChanges(cmd, Fields);
        for (int i = fields.First; i < fields.End; i++)
        {
            HashCommands.ReplyValueOrNull(cmd, hash, i);
            if (!changes) continue;
            long oldMs = hash.ExpiryOf(cmd[i]);
            if (oldMs == IElementExpiries.Missing || (expiry.Persists && oldMs == Database.NoExpiry)) continue;
            ElementExpiry.Write(cmd, ref hash, cmd[i], expiryMs);
            changed.Add(cmd, i);
        }

        hash.RemoveIfEmpty();
        if (expiry.HasExpiry) changed.ReportExpiry(cmd, expiryMs);
        else changed.ReportPersisted(cmd, changed.Count);
    }

    // HSETEX key [NX | XX] [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
    //   FIELDS numfields field value [field value ...]
    private static void HSetEx(ref CommandContext cmd)
    {
        if (!ElementOptions.TryParseOrReply(cmd, Fields, sets: true, step: 2, out ElementOptions options)) return;
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        ElementArguments pairs = options.Elements;
        for (int i = pairs.First; i < pairs.End; i += 2) hash.RemoveIfExpired(cmd[i]);
        hash.RemoveIfEmpty();
        if ((options.OnlyNewKey && hash.Exists) || (options.OnlyExistingKey && !hash.Exists) || !ElementExpiry.Holds(cmd, hash, options))
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (!hash.Exists) hash = cmd.CreateHash(1);
        HashLimits limits = cmd.HashLimits();
        hash.Expect(pairs.Count, limits);
        bool isPast = options.HasExpiry && cmd.Expiry.HasPassed(options.ExpiryMs);
        for (int i = pairs.First; i < pairs.End; i += 2)
        {
            if (options.KeepsExpiry) hash.SetAndKeepExpiry(cmd[i], cmd[i + 1], limits);
            else hash.Set(cmd[i], cmd[i + 1], limits);

            // Each expired field is removed before the next one is added, so that fields in the past do not fill a packed hash. The
            // last one keeps the hash alive.
            if (isPast && hash.Count > 1) hash.Remove(cmd[i]);
        }

        ChangedFields(cmd, pairs);
        cmd.Changed(1, KeyEvent.HSet, pairs.Count);
        if (options.HasExpiry) SetExpiries(cmd, ref hash, options);
        else if (options.OnlyNewKey || options.OnlyExistingKey) ElementChanges.WriteSet(cmd, Fields, options); // conditions that Redis does not know
        cmd.Reply.Integer(1);
    }

    // After all values are set, so that a field that occurs twice gets the expiry too.
    private static void SetExpiries(scoped in CommandContext cmd, ref HashValue hash, in ElementOptions options)
    {
        ElementArguments pairs = options.Elements;
        bool isRemoved = cmd.Expiry.HasPassed(options.ExpiryMs);
        hash.ReserveExpiries();
        for (int i = pairs.First; i < pairs.End; i += 2)
        {
            if (isRemoved) hash.Remove(cmd[i]);
            else hash.WriteExpiry(cmd[i], options.ExpiryMs);
        }

        if (isRemoved) cmd.Database.CountExpiredFields(cmd.HashOf(1), pairs.Count); // as in Redis, a field that occurs twice counts twice
        ChangedFields(cmd, pairs);
        cmd.Changed(1, isRemoved ? KeyEvent.HDel : KeyEvent.HExpire, count: 0);
        if (!isRemoved)
        {
            ElementChanges.WriteSet(cmd, Fields, options);
            return;
        }

        EffectArguments effect = cmd.Effect("HDEL"u8, 2 + pairs.Count).Argument(cmd[1]);
        for (int i = pairs.First; i < pairs.End; i += 2) effect.Argument(cmd[i]);
    }

    private static void ChangedFields(scoped in CommandContext cmd, ElementArguments pairs)
    {
        for (int i = pairs.First; i < pairs.End; i += 2) cmd.ChangedField(i);
    }

    // HGETDEL key FIELDS numfields field [field ...]
    private static void HGetDel(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteHashOrReply(1, out HashValue hash)) return;
        if (!ElementArguments.TryReadOrReply(cmd, Fields, 2, out ElementArguments fields)) return;
        cmd.Reply.Array(fields.Count);
        var changed = new ElementChanges(cmd, Fields);
        for (int i = fields.First; i < fields.End; i++)
        {
            HashCommands.ReplyValueOrNull(cmd, hash, i);
            if (hash.Remove(cmd[i])) changed.Add(cmd, i);
        }

        hash.RemoveIfEmpty();
        changed.ReportRemoved(cmd);
    }
}
