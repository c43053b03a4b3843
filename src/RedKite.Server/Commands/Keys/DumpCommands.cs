using RedKite.Persistence.Rdb;
using RedKite.Server.Acl;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// DUMP and RESTORE: a value as bytes that Redis reads and writes too. The table is their single declaration and this
/// file's contents; the bytes are <see cref="DumpPayload"/>'s affair.
/// </summary>
internal static class DumpCommands
{
    private const string RestoreComplexity = "O(N*M) for N elements of M bytes; O(N*M*log(N)) for a sorted set.";
    private const string RestoreSyntax = "key ttl:integer serialized-value [REPLACE]@3.0.0 [ABSTTL]@5.0.0 [IDLETIME seconds:integer]@5.0.0 [FREQ frequency:integer]@5.0.0";

    private static readonly KeySpec[] Restored = KeySpecs.One(1, Overwrite | Update);

    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
        new("DUMP", 2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), Dump,
            new("2.6.0", "O(N*M) for N elements of M bytes.", "Returns a key's value as bytes for RESTORE.", "key")) { Tips = ["nondeterministic_output"] },
        new("RESTORE", -4, Write | DenyOom, Restored, Restore,
            new("2.6.0", RestoreComplexity, "Makes a key hold the value that DUMP gave as bytes.", RestoreSyntax)) { Categories = AclCategory.Dangerous },
    ]);

    internal static readonly CommandFamily ClusterFamily = new("server", "keyspace",
    [
        new("RESTORE-ASKING", -4, Write | DenyOom | Asking, Restored, Restore,
            new("3.0.0", RestoreComplexity, "RESTORE while a cluster moves the key's slot.", RestoreSyntax) { IsSystemCommand = true }) { Categories = AclCategory.Dangerous },
    ]);

    [ThreadStatic]
    private static RdbOutput? _output;

    [ThreadStatic]
    private static RdbScratch? _scratch;

    // DUMP key
    private static void Dump(ref CommandContext cmd)
    {
        Entry entry = cmd.Find(1);
        if (!entry.Exists || !TryWrite(cmd, cmd.Database, entry, forLater: false, out RdbOutput payload))
        {
            cmd.Reply.Null();
            return;
        }

        if (payload.Overflowed) cmd.Reply.FitsOrOverflows(long.MaxValue);
        else cmd.Reply.Bulk(payload.Written);
        payload.Clear();
    }

    // RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
    private static void Restore(ref CommandContext cmd)
    {
        if (!RestoreOptions.TryReadOrReply(cmd, first: 4, out RestoreOptions options)) return;
        Entry existing = cmd.FindToWrite(1);
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
        if (!DumpPayload.IsIntact(payload))
        {
            cmd.Reply.Error("ERR DUMP payload version or checksum are wrong"u8);
            return;
        }

        bool changed = existing.Exists;
        if (!TryReplace(cmd, existing, payload, cmd.Database, cmd[1], cmd.HashOf(1), cmd.NewAccessClock))
        {
            cmd.Reply.Error("ERR Bad data format"u8);
            return;
        }

        changed |= TrySetTimes(cmd, ttlMs, options);
        if (changed) cmd.Changed();
        cmd.Reply.Ok();
    }

    /// <summary>
    /// Makes a key of a locked stripe hold a payload's value, without an expiry; false if there is none in it, and then
    /// nothing has changed. What the key held is put aside until the new value is there as a whole.
    /// </summary>
    internal static bool TryReplace(scoped in CommandContext cmd, Entry existing, scoped ReadOnlySpan<byte> payload, Database database, scoped ReadOnlySpan<byte> key, ulong hash, uint accessClock)
    {
        nint kept = database.BeginReplacing(hash, existing);
        var target = new RdbTarget(database, key, hash, accessClock, cmd.NowMs, Limits(cmd.Server.Settings));
        RdbOutcome outcome = DumpPayload.Read(payload, target, _scratch ??= new RdbScratch());
        bool isReplaced = outcome != RdbOutcome.Corrupt;
        database.EndReplacing(kept, key, hash, isReplaced);
        return isReplaced;
    }

    /// <summary>A value as a payload, until the next one; false if it is a hash whose last fields expired, whose key is gone then.</summary>
    internal static bool TryWrite(scoped in CommandContext cmd, Database database, Entry entry, bool forLater, out RdbOutput payload)
    {
        payload = _output ??= new RdbOutput();
        if (!RdbValueWriter.TryOpen(database, entry, cmd.NowMs, forLater, out RdbValueWriter writer)) return false;
        RdbScratch scratch = _scratch ??= new RdbScratch();
        payload.Compresses = cmd.Server.Settings.RdbCompression;
        DumpPayload.Write(payload, writer, scratch);
        scratch.Clear();
        return true;
    }

    // A key whose time is over already is not made; whether there is one.
    private static bool TrySetTimes(scoped in CommandContext cmd, long ttlMs, RestoreOptions options)
    {
        Entry entry = cmd.Peek(1);
        if (!entry.Exists) return false;
        if (ttlMs > 0)
        {
            // As in Redis, a time that no number can hold is one that is over.
            long expiryMs = options.IsAbsolute ? ttlMs : unchecked(ttlMs + cmd.NowMs);
            if (expiryMs <= cmd.NowMs)
            {
                cmd.Database.Unlink(entry, UnlinkReason.Deleted);
                return false;
            }

            entry = cmd.Database.WriteExpiry(entry, expiryMs);
        }

        bool countsFrequency = cmd.Server.CountsFrequency;
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
