using RedKite.Net.Interop;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// MIGRATE: sends keys to another server and removes them here. The table is its single declaration.
/// </summary>
/// <remarks>
/// Redis blocks the whole server until the target has answered. Here the client alone waits: the values are serialized with their stripes
/// locked, sent with none locked (<see cref="MigrationService"/>), and then each key is removed that the target has accepted and that has not
/// changed since (<see cref="KeyWatch"/>). One that has changed is sent again, so an acknowledged write is either at the target or here.
/// A key has one such command at a time (<see cref="MigrationClaims"/>): others wait until that has ended, as they would in Redis.
/// Rejected: executing in transactions and scripts, which hold their stripes for as long as the target takes.
/// </remarks>
internal sealed class MigrateCommands(MigrationService service, ReplicationState replication)
{
    /// <summary>A transfer has at most so many keys: with their values, they are serialized and removed in a few milliseconds.</summary>
    internal const int BatchKeysMax = 512;

    /// <summary>From this size on a transfer gets no further key. A value is never divided.</summary>
    internal const int BatchBytesMax = 1 << 20;

    /// <summary>How often keys are sent again that change each time before they are removed, while others may write.</summary>
    internal const int FreeRestartsMax = 3;

    /// <summary>How often they are sent again at all. Behind the others, commands that write wait; those that had begun may still change a key.</summary>
    internal const int RestartsMax = FreeRestartsMax + 2;

    private const string TargetError = "ERR Target instance replied with error: ";

    // Redis, where a command waits for the one before it, has no such limit: the target could not be written to.
    private const string WaitedTooLong = "IOERR error or timeout writing to target instance";

    private const string Syntax = "host port key-selector:<key | empty-string:\"\"> destination-db timeout:integer [COPY]@3.0.0 [REPLACE]@3.0.0 authentication:[AUTH auth{password}@4.0.7 | AUTH2@6.0.0 auth2:<username password>] [KEYS@3.0.6 keys{key}:key#1 ...]";

    private static readonly KeySpec[] KeySpecs =
    [
        new(3, 3, 1, ReadWrite | Access | KeyFlags.Delete) { AppliesTo = MigrateOptions.NamesOneKey },
        new(1, -1, 1, ReadWrite | Access | KeyFlags.Delete | Incomplete) { Keyword = "KEYS", StartFrom = -2, FindsKeyword = MigrateOptions.FindKeys },
    ];

    [ThreadStatic]
    private static ReplyWriter? _request;

    [ThreadStatic]
    private static BufferPool? _requestPool;

    internal CommandFamily Family => new("generic", "keyspace",
    [
        new("MIGRATE", -6, Write, KeySpecs, Migrate,
            new("2.6.0", "This command actually executes a DUMP+DEL in the source instance, and a RESTORE in the target instance. See the pages of these commands for time complexity. Also an O(N) data transfer between the two instances is performed.", "Sends keys to another server, and removes them here once it has accepted them.", Syntax)
            {
                History = [("3.0.0", "Adds `COPY` and `REPLACE`."), ("3.0.6", "Adds `KEYS`."), ("4.0.7", "Adds `AUTH`."), ("6.0.0", "Adds `AUTH2`.")],
            }) { Categories = AclCategory.Dangerous, Tips = ["nondeterministic_output"], MovesKeys = true },
    ]);

    // MIGRATE host port <key | ""> destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 username password] [KEYS key [key ...]]
    private void Migrate(ref CommandContext cmd)
    {
        cmd.ReplaceEffect(); // replicas and the log get what is removed
        if (!MigrateOptions.TryReadOrReply(ref cmd, out MigrateOptions options)) return;
        var ended = (MigrationRound?)cmd.Environment.Blocking.CompleteWork;
        MigrationProgress? migration = ended?.Migration ?? BeginOrReply(cmd, options);
        if (migration is null) return;
        if (ended?.Result is { } result) Finish(cmd, ended, result);
        else if (migration.Ticket.HasExpired) migration.GiveUp(WaitedTooLong);
        if (!migration.HasFailed && NextRound(cmd, migration, hasTicket: ended is not null) is { } next)
        {
            cmd.BlockOnWork(next);
            return;
        }

        migration.End();
        if (migration.Error is { } error) cmd.Reply.Error(error);
        else if (migration.HasSent) cmd.Reply.Ok();
        else cmd.Reply.SimpleString("NOKEY"u8);
    }

    private MigrationProgress? BeginOrReply(scoped in CommandContext cmd, in MigrateOptions options)
    {
        bool hasKey = false;
        for (int i = options.FirstKey; i < options.EndOfKeys; i++) hasKey |= cmd.Find(i).Exists;
        if (!hasKey)
        {
            cmd.Reply.SimpleString("NOKEY"u8);
            return null;
        }

        // A log and a primary's stream have no MIGRATE: what it removed is in them.
        if (cmd.Environment.IsInUnit || cmd.WasAccepted)
        {
            cmd.Reply.Error("ERR MIGRATE cannot be used in a transaction or script, because it waits for another server"u8);
            return null;
        }

        return new MigrationProgress(service, options.TargetOf(cmd), options, replication.IsReplica);
    }

    // What the client waits for next; null: nothing is left.
    private MigrationRound? NextRound(scoped in CommandContext cmd, MigrationProgress migration, bool hasTicket)
    {
        var round = new MigrationRound(migration, cmd.Keyspace);
        if (!hasTicket && !service.TryBegin(migration.Ticket)) return round;
        if (migration.Restarts > FreeRestartsMax && migration.Again.Count > 0) round.Hold();
        ReplyWriter request = RequestFor(cmd.Environment.Buffers);
        Fill(cmd, round, request);
        if (round.PausesWrites && round.Keys.Count == 0)
        {
            // What changed has expired.
            round.End();
            Fill(cmd, round, request);
        }

        if (round.WaitsForKey) return round;
        if (round.Keys.Count == 0) return null;
        migration.BeginTransfer();
        round.Send(service.Send(migration.Target, Payload.Of(cmd.Environment.Buffers, request), round.Keys.Count, round.PausesWrites));
        request.Clear();
        return round;
    }

    // Nothing is held for keys that are sent for the first time.
    private static void Fill(scoped in CommandContext cmd, MigrationRound round, ReplyWriter request)
    {
        MigrationProgress migration = round.Migration;
        while (round.Keys.Count < BatchKeysMax && request.Length < BatchBytesMax)
        {
            if (migration.Again.TryDequeue(out MigratedKey again)) AddAgain(cmd, round, request, again);
            else if (round.PausesWrites || migration.NextKey >= migration.Options.EndOfKeys || !TryAddNext(cmd, round, request)) return;
        }
    }

    // False if another command sends the key. It is waited for when nothing else can be sent: its sender has removed it then, or has failed.
    private static bool TryAddNext(scoped in CommandContext cmd, MigrationRound round, ReplyWriter request)
    {
        MigrationProgress migration = round.Migration;
        int argument = migration.NextKey;
        ulong hash = cmd.HashOf(argument);
        if (cmd.Peek(argument).Exists)
        {
            bool waits = round.Keys.Count == 0;
            if (!migration.TryClaim(hash, waits))
            {
                if (waits) round.WaitForKey();
                return false;
            }

            AddKey(cmd, round, request, new MigratedKey(argument, new KeyIdentity(cmd.Database.Index, hash)));
        }

        migration.PassKey();
        return true;
    }

    // The payload of an empty string, in a version of RDB that every server reads which has a cluster of this kind.
    internal static readonly byte[] EmptyString = [0x00, 0x00, 0x09, 0x00, 0x8D, 0x69, 0x0D, 0x8C, 0x5B, 0xF9, 0xC1, 0x6B];

    private static void AddAgain(scoped in CommandContext cmd, MigrationRound round, ReplyWriter request, MigratedKey key)
    {
        if (AddKey(cmd, round, request, key)) return;

        // The target has what is no longer here: a client has removed it, so it is removed there, too. What has expired does so there by itself.
        if (!key.WasAccepted || (key.ExpiryMs != Database.NoExpiry && cmd.Expiry.HasPassed(key.ExpiryMs))) return;
        round.Add(key with { IsRemoval = true });
        if (!cmd.Settings.ClusterEnabled)
        {
            request.Array(2);
            request.Bulk("DEL"u8);
            request.Bulk(cmd[key.Argument]);
            return;
        }

        // The target imports the slot, and executes nothing else for it: what has expired when it is restored removes what is there.
        request.Array(6);
        request.Bulk("RESTORE-ASKING"u8);
        request.Bulk(cmd[key.Argument]);
        request.Bulk("1"u8);
        request.Bulk(EmptyString);
        request.Bulk("REPLACE"u8);
        request.Bulk("ABSTTL"u8);
    }

    // False if there is no such key.
    private static bool AddKey(scoped in CommandContext cmd, MigrationRound round, ReplyWriter request, MigratedKey key)
    {
        Entry entry = cmd.Peek(key.Argument);
        if (!entry.Exists) return false;
        long expiryMs = entry.ExpiryMs;
        int version = round.Migration.SendsOldPayloads ? PersistedTypes.Of(entry.Type).LowestVersionOf(entry) : RdbFormat.Version;
        if (!DumpCommands.TryWrite(cmd, cmd.Database, entry, out RdbOutput payload, version)) return false; // its last fields had expired
        if (payload.Overflowed)
        {
            round.Migration.Fail("ERR a value is too large for MIGRATE");
            payload.Clear();
            return true;
        }

        bool replaces = key.WasAccepted || round.Migration.Options.Replaces;
        request.Array(replaces ? 5 : 4);
        request.Bulk(cmd.Settings.ClusterEnabled ? "RESTORE-ASKING"u8 : "RESTORE"u8);
        request.Bulk(cmd[key.Argument]);
        request.BulkInteger(expiryMs == Database.NoExpiry ? 0 : Math.Max(1, expiryMs - cmd.NowMs));
        request.Bulk(payload.Written);
        if (replaces) request.Bulk("REPLACE"u8);
        payload.Clear();
        round.Add(key with { ExpiryMs = expiryMs });
        return true;
    }

    // Removes what the target has accepted.
    private void Finish(scoped in CommandContext cmd, MigrationRound round, TransferResult result)
    {
        MigrationProgress migration = round.Migration;
        if (replication.IsReplica != migration.IsOfReplica)
        {
            migration.GiveUp("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)");
        }
        else
        {
            NoteErrors(migration, result);
            SortOut(cmd, round, result);
        }

        round.End();
        migration.ReleaseSent();
    }

    private static void NoteErrors(MigrationProgress migration, TransferResult result)
    {
        if (result.Error is { } refused) migration.Fail(TargetError + refused);
        string? failure = result.Failure switch
        {
            TransferFailure.Connecting => "IOERR error or timeout connecting to the client",
            TransferFailure.Writing => "IOERR error or timeout writing to target instance",
            TransferFailure.Reading => "IOERR error or timeout reading to target instance",
            _ => null,
        };
        if (result.IsRefused || failure is not null) migration.GiveUp(failure);
    }

    private static void SortOut(scoped in CommandContext cmd, MigrationRound round, TransferResult result)
    {
        MigrationProgress migration = round.Migration;
        var removed = new List<int>();
        HashSet<KeyIdentity>? changed = null;
        bool wasOld = migration.SendsOldPayloads;
        for (int i = 0; i < round.Keys.Count; i++)
        {
            MigratedKey key = round.Keys[i];
            if (result.Outcomes[i] == TransferOutcome.RefusedVersion)
            {
                migration.SendOlder(key, wasOld, TargetError + result.VersionError);
            }
            else if (result.Outcomes[i] == TransferOutcome.Accepted && !migration.Options.Copies && !key.IsRemoval)
            {
                if (round.IsUnchanged(key.Identity)) removed.Add(key.Argument);
                else if ((changed ??= []).Add(key.Identity)) migration.Again.Enqueue(key with { WasAccepted = true });
            }
        }

        // The target keeps what it was sent, as after any other failure. Removing that would remove the key here, if the target is this server.
        if (!migration.TryGoOn(changed is not null, RestartsMax)) migration.Fail("IOERR a key changes too often to be removed after it was sent, so it stays here");

        if (removed.Count > 0) Remove(cmd, removed);
    }

    // As in Redis, a key that is named twice is in the effect twice.
    private static void Remove(scoped in CommandContext cmd, List<int> arguments)
    {
        EffectArguments effect = cmd.Effect("DEL"u8, arguments.Count + 1);
        foreach (int argument in arguments)
        {
            effect.Argument(cmd[argument]);
            Entry entry = cmd.Peek(argument);
            if (!entry.Exists) continue;
            cmd.Database.Unlink(entry, UnlinkReason.Deleted);
            cmd.Changed(argument, KeyEvent.Del);
        }
    }

    private static ReplyWriter RequestFor(BufferPool pool)
    {
        if (_request is null || _requestPool != pool) (_request, _requestPool) = (new ReplyWriter(pool), pool);
        return _request;
    }
}
