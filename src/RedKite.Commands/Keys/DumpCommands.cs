using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// DUMP and RESTORE: a value in a serialized form that is compatible with Redis. The table is their single declaration and this
/// file's contents; <see cref="DumpPayload"/> defines the form.
/// </summary>
internal sealed class DumpCommands(ServerRun run, Func<int> streamVersion)
{
    private const string RestoreComplexity = "O(N*M) for N elements of M bytes; O(N*M*log(N)) for a sorted set.";
    private const string RestoreSyntax = "key ttl:integer serialized-value [REPLACE]@3.0.0 [ABSTTL]@5.0.0 [IDLETIME seconds:integer]@5.0.0 [FREQ frequency:integer]@5.0.0";

    private static readonly (string Version, string Change)[] RestoreHistory =
        [("3.0.0", "Adds `REPLACE`."), ("5.0.0", "Adds `ABSTTL`."), ("5.0.0", "Adds `IDLETIME` and `FREQ`.")];

    private static readonly KeySpec[] Restored = KeySpecs.One(1, Overwrite | Update);

    internal CommandFamily Family => new("generic", "keyspace",
    [
        new("DUMP", 2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), Dump,
            new("2.6.0", "O(N*M) for N elements of M bytes.", "Returns the value of a key in serialized form.", "key")) { Tips = ["nondeterministic_output"] },
        new("RESTORE", -4, Write | DenyOom, Restored, Restore,
            new("2.6.0", RestoreComplexity, "Creates a key from a value that DUMP serialized.", RestoreSyntax) { History = RestoreHistory }) { Categories = AclCategory.Dangerous },
    ]);

    internal CommandFamily ClusterFamily => new("server", "keyspace",
    [
        new("RESTORE-ASKING", -4, Write | DenyOom | Asking, Restored, Restore,
            new("3.0.0", RestoreComplexity, "Creates a key from a serialized value while a cluster migrates the key's slot.", RestoreSyntax) { IsSystemCommand = true, History = RestoreHistory }) { Categories = AclCategory.Dangerous, NeedsNoMemory = OnlyRemoves },
    ]);

    // As MIGRATE removes what was removed at the source since: what has expired when it is restored replaces the key by nothing.
    private static bool OnlyRemoves(scoped in CommandContext cmd)
    {
        if (!RespNumber.TryParseInt64(cmd[2], out long expiryMs) || expiryMs <= 0 || expiryMs > cmd.NowMs) return false;
        bool replaces = false, isAbsolute = false;
        for (int i = 4; i < cmd.Count; i++)
        {
            replaces |= cmd.Is(i, "REPLACE"u8);
            isAbsolute |= cmd.Is(i, "ABSTTL"u8);
        }

        return replaces && isAbsolute;
    }

    [ThreadStatic]
    private static RdbOutput? _output;

    [ThreadStatic]
    private static RdbScratch? _scratch;

    // DUMP key
    private static void Dump(ref CommandContext cmd)
    {
        Entry entry = cmd.Find(1);
        if (!entry.Exists || !TryWrite(cmd, cmd.Database, entry, out RdbOutput payload))
        {
            cmd.Reply.Null();
            return;
        }

        if (payload.Overflowed) cmd.Reply.OverflowAtOnce();
        else cmd.Reply.Bulk(payload.Written);
        payload.Clear();
    }

    // RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
    private void Restore(ref CommandContext cmd)
    {
        if (!RestoreOptions.TryReadOrReply(cmd, first: 4, out RestoreOptions options)) return;

        // As in Redis, a key that is to be replaced is not reported as expired.
        Entry existing = options.Replaces ? cmd.Database.Find(cmd[1], cmd.HashOf(1), ExpiryClock.Never) : cmd.FindToReplace(1);
        if (existing.Exists && !options.Replaces)
        {
            cmd.Reply.Error("BUSYKEY Target key name already exists."u8);
            return;
        }

        if (!cmd.TryIntegerOrReply(2, out long ttlMs)) return;
        if (ttlMs < 0)
        {
            cmd.Reply.Error("ERR Invalid TTL value, must be >= 0"u8);
            return;
        }

        ReadOnlySpan<byte> payload = cmd[3];
        if (!DumpPayload.IsIntact(payload, run.SkipsChecksums))
        {
            cmd.Reply.Error("ERR DUMP payload version or checksum are wrong"u8);
            return;
        }

        bool existed = existing.Exists;
        cmd.Metrics.CountCheckedPayload();
        if (!TryReplace(cmd, existing, payload, cmd.Database, cmd[1], cmd.HashOf(1), cmd.Accesses.NewClock))
        {
            cmd.Reply.Error("ERR Bad data format"u8);
            return;
        }

        if (TrySetTimes(cmd, ttlMs, options, out long expiryMs))
        {
            cmd.Changed(1, KeyEvent.Restore);
            WriteEffects(cmd, ttlMs > 0 ? expiryMs : 0, isRelative: ttlMs > 0 && !options.IsAbsolute);
        }
        else if (existed)
        {
            cmd.Changed(1, KeyEvent.Del);
            cmd.EffectDelete(1);
        }

        cmd.Reply.Ok();
    }

    // The request with an absolute expiry in place of a relative one. For replicas its payload has the version that servers of both families read, if its value has such a form: a
    // replica passes the stream on as it came, to replicas that this server does not know. Other forms are converted for this server's own replicas.
    private void WriteEffects(scoped in CommandContext cmd, long expiryMs, bool isRelative)
    {
        if (!cmd.Recording.TakesEffects) return;
        int version = streamVersion();
        RdbOutput converted = _output ??= new RdbOutput();
        if (version != ReplicationState.NoStream && DumpPayload.HasCommonForm(cmd[3]))
        {
            DumpPayload.WriteCommon(converted, cmd[3]);
            if (!converted.Overflowed) WriteEffect(cmd, expiryMs, isRelative, converted.Written, EffectTargets.All);
            bool isWritten = !converted.Overflowed;
            converted.Clear();
            if (isWritten) return;
        }

        if (version == ReplicationState.NoStream || DumpPayload.IsReadableBy(version, cmd[3]) || !TryConvert(cmd, version, out converted))
        {
            if (isRelative) WriteEffect(cmd, expiryMs, isRelative, cmd[3], EffectTargets.All);
            return;
        }

        WriteEffect(cmd, expiryMs, isRelative, cmd[3], EffectTargets.Log);
        WriteEffect(cmd, expiryMs, isRelative, converted.Written, EffectTargets.Replicas);
        converted.Clear();
    }

    private static void WriteEffect(scoped in CommandContext cmd, long expiryMs, bool isRelative, ReadOnlySpan<byte> payload, EffectTargets targets)
    {
        EffectArguments effect = cmd.Effect("RESTORE"u8, cmd.Count + (isRelative ? 1 : 0), targets).Argument(cmd[1]).Argument(expiryMs).Argument(payload);
        for (int i = 4; i < cmd.Count; i++) effect.Argument(cmd[i]);
        if (isRelative) effect.Argument("ABSTTL"u8);
    }

    // What has no form in that version stays as it is: no server reads it that has not its module.
    private static bool TryConvert(scoped in CommandContext cmd, int version, out RdbOutput payload)
    {
        payload = _output ??= new RdbOutput();
        Entry entry = cmd.Peek(1);
        if (!entry.Exists || !RdbValueWriter.TryOpenRemovingExpired(cmd.Database, entry, cmd.Expiry, out RdbValueWriter writer, version) || writer.Type == RdbType.Module) return false;
        RdbScratch scratch = _scratch ??= new RdbScratch();
        payload.Compresses = cmd.Settings.RdbCompression;
        DumpPayload.Write(payload, writer, scratch, version);
        scratch.Clear();
        if (!payload.Overflowed) return true;
        payload.Clear();
        return false;
    }

    /// <summary>
    /// Replaces a key's value by that of a payload, without an expiry. The key's stripe is locked. If the payload is corrupt, returns false
    /// and nothing has changed: the old value is kept until the new one is complete.
    /// </summary>
    internal static bool TryReplace(scoped in CommandContext cmd, Entry existing, scoped ReadOnlySpan<byte> payload, Database database, scoped ReadOnlySpan<byte> key, ulong hash, uint accessClock)
    {
        nint kept = database.BeginReplacing(hash, existing);
        var target = new RdbTarget(database, key, hash, accessClock, cmd.NowMs, cmd.Expiry, Limits(cmd.Settings))
        {
            IsOfClient = !cmd.WasAccepted, // a log and a primary's stream contain what was accepted
        };
        RdbScratch scratch = _scratch ??= new RdbScratch();
        scratch.IsStrict = cmd.Settings.SanitizeDumpPayload is var sanitize && (sanitize == SanitizeDumpPayload.Yes || (sanitize == SanitizeDumpPayload.Clients && cmd.Session.Connection is not null));
        RdbOutcome outcome = DumpPayload.Read(payload, target, scratch);
        bool isReplaced = outcome != RdbOutcome.Corrupt;
        database.EndReplacing(kept, key, hash, isReplaced);
        return isReplaced;
    }

    /// <summary>
    /// Serializes a value into a payload that is valid until the next call. Returns false for a hash with only expired fields: its key is
    /// removed.
    /// </summary>
    internal static bool TryWrite(scoped in CommandContext cmd, Database database, Entry entry, out RdbOutput payload, int version = RdbFormat.Version)
    {
        payload = _output ??= new RdbOutput();
        if (!RdbValueWriter.TryOpenRemovingExpired(database, entry, cmd.Expiry, out RdbValueWriter writer, version)) return false;
        RdbScratch scratch = _scratch ??= new RdbScratch();
        payload.Compresses = cmd.Settings.RdbCompression;
        DumpPayload.Write(payload, writer, scratch, version);
        scratch.Clear();
        return true;
    }

    // Sets the expiry and the access clock. Returns false if there is no key: its expiry has passed, or all fields of a hash have expired.
    private static bool TrySetTimes(scoped in CommandContext cmd, long ttlMs, RestoreOptions options, out long expiryMs)
    {
        expiryMs = Database.NoExpiry;
        Entry entry = cmd.Peek(1);
        if (!entry.Exists) return false;
        if (ttlMs > 0)
        {
            // As in Redis, a time that overflows has passed.
            expiryMs = options.IsAbsolute ? ttlMs : unchecked(ttlMs + cmd.NowMs);
            if (cmd.Expiry.HasPassed(expiryMs))
            {
                cmd.Database.CountExpiredKey(cmd.HashOf(1));
                cmd.Database.Unlink(entry, UnlinkReason.Deleted);
                return false;
            }

            entry = cmd.Database.WriteExpiry(entry, expiryMs);
        }

        bool countsFrequency = cmd.Settings.CountsFrequency;
        if (countsFrequency && options.Frequency != RestoreOptions.NotGiven) entry.SetAccessClock(AccessClock.Lfu(cmd.NowMs, (int)options.Frequency));
        if (!countsFrequency && options.IdleSeconds != RestoreOptions.NotGiven) entry.SetAccessClock(AccessClock.LruBefore(cmd.NowMs, options.IdleSeconds));
        return true;
    }

    private static RdbLimits Limits(Settings settings) => new(
        new(settings.HashMaxListpackEntries, settings.HashMaxListpackValueBytes),
        new(settings.SetMaxIntsetEntries, settings.SetMaxListpackEntries, settings.SetMaxListpackValueBytes),
        new(settings.SortedSetMaxListpackEntries, settings.SortedSetMaxListpackValueBytes),
        new ListLimits(settings.ListMaxListpackSize));
}
