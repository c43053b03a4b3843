using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Server.Commands.Keys;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// The DEBUG subcommands on all data: DIGEST and DIGEST-VALUE compare the data of two servers; RELOAD serializes and
/// deserializes every value.
/// </summary>
internal static class DebugDataset
{
    /// <summary>DEBUG DIGEST: 0 if there are no keys.</summary>
    internal static void Digest(scoped in CommandContext cmd)
    {
        Span<byte> bytes = stackalloc byte[DatasetDigest.Bytes];
        Span<byte> keyBytes = stackalloc byte[DatasetDigest.Bytes];
        bytes.Clear();
        var digest = new DatasetDigest(bytes);
        var keyDigest = new DatasetDigest(keyBytes);
        Keyspace keyspace = cmd.Keyspace;
        for (int index = 0; index < keyspace.Databases.Length; index++)
        {
            Database database = keyspace.Databases[index];
            if (database.Count == 0) continue;
            bool hasKeys = false;
            for (int stripe = 0; stripe < keyspace.Stripes.Length; stripe++)
            {
                cmd.Environment.EnterStripe(stripe);
                foreach (Entry entry in EntriesOf(database, stripe))
                {
                    if (!IsAlive(database, entry, cmd.Expiry)) continue;
                    if (!hasKeys) digest.MixNumber(index);
                    hasKeys = true;
                    keyBytes.Clear();
                    keyDigest.Mix(entry.Key);
                    keyDigest.MixValue(database, entry, cmd.Expiry);
                    digest.Add(keyBytes);
                }

                cmd.Environment.ExitStripe(stripe);
            }
        }

        Reply(cmd, bytes);
    }

    /// <summary>DEBUG DIGEST-VALUE [key ...]: 0 for a missing key.</summary>
    internal static void DigestValues(scoped in CommandContext cmd)
    {
        Span<byte> bytes = stackalloc byte[DatasetDigest.Bytes];
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            bytes.Clear();
            ulong hash = cmd.Keyspace.Hash(cmd[i]);
            int stripe = cmd.Keyspace.StripeOf(hash);
            cmd.Environment.EnterStripe(stripe);
            Entry entry = cmd.Database.FindByHash(hash); // as in Redis, expired or not
            if (entry.Exists && HasValue(cmd.Database, entry, cmd.Expiry)) new DatasetDigest(bytes).MixValue(cmd.Database, entry, cmd.Expiry);
            cmd.Environment.ExitStripe(stripe);
            Reply(cmd, bytes);
        }
    }

    /// <summary>DEBUG RELOAD [option ...]: stripe by stripe, serializes each value and replaces it with the deserialized one.</summary>
    internal static void Reload(scoped in CommandContext cmd)
    {
        bool saves = true;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "NOSAVE"u8))
            {
                saves = false;
            }
            else if (!cmd.Is(i, "MERGE"u8) && !cmd.Is(i, "NOFLUSH"u8))
            {
                cmd.Reply.Error("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."u8);
                return;
            }
        }

        if (!saves)
        {
            cmd.Reply.Error("ERR Error trying to load the RDB dump, there is none: this version keeps data in memory only"u8);
            return;
        }

        foreach (Database database in cmd.Keyspace.Databases)
        {
            for (int stripe = 0; stripe < cmd.Keyspace.Stripes.Length; stripe++)
            {
                cmd.Environment.EnterStripe(stripe);
                string? failed = null;
                foreach (byte[] key in KeysOf(database, stripe))
                {
                    if (!TryReload(cmd, database, key)) failed ??= Encoding.Latin1.GetString(key);
                }

                cmd.Environment.ExitStripe(stripe);
                if (failed is null) continue;
                cmd.Reply.Error($"ERR Error trying to load the RDB dump, the value of '{failed}' was not read");
                return;
            }
        }

        cmd.Reply.Ok();
    }

    // A hash whose fields have all expired counts as removed.
    private static bool IsAlive(Database database, Entry entry, ExpiryClock expiry)
    {
        return !(entry.Expires && expiry.HasPassed(entry.ExpiryMs)) && HasValue(database, entry, expiry);
    }

    private static bool HasValue(Database database, Entry entry, ExpiryClock expiry)
    {
        if (!entry.FieldsExpire) return true;
        HashValue hash = HashValue.Peek(database, entry, expiry);
        return hash.Exists && hash.LivingCount > 0;
    }

    private static bool TryReload(scoped in CommandContext cmd, Database database, byte[] key)
    {
        ulong hash = cmd.Keyspace.Hash(key);
        Entry entry = database.Find(key, hash, cmd.Expiry.ToWrite);
        if (!entry.Exists) return true;
        long expiryMs = entry.ExpiryMs;
        if (!DumpCommands.TryWrite(cmd, database, entry, out RdbOutput payload)) return true;
        entry = database.Find(key, hash, cmd.Expiry.ToWrite);
        bool read = !payload.Overflowed && DumpPayload.IsIntact(payload.Written)
            && DumpCommands.TryReplace(cmd, entry, payload.Written, database, key, hash, entry.AccessClock);
        payload.Clear();
        if (!read) return false;
        if (expiryMs != Database.NoExpiry) database.WriteExpiry(database.Find(key, hash, cmd.Expiry.ToWrite), expiryMs);
        return true;
    }

    private static List<byte[]> KeysOf(Database database, int stripe)
    {
        EntryList entries = EntriesOf(database, stripe);
        var keys = new List<byte[]>(entries.Count);
        foreach (Entry entry in entries) keys.Add(entry.Key.ToArray());
        return keys;
    }

    private static EntryList EntriesOf(Database database, int stripe)
    {
        var entries = new EntryList();
        if (database.TableIn(stripe) is not { Count: > 0 } table) return entries;
        uint prefix = 0;
        while (table.NextSegment(ref prefix, entries))
        {
        }

        return entries;
    }

    private static void Reply(scoped in CommandContext cmd, ReadOnlySpan<byte> digest)
    {
        Span<byte> text = stackalloc byte[2 * DatasetDigest.Bytes];
        Convert.TryToHexStringLower(digest, text, out _);
        cmd.Reply.SimpleString(text);
    }
}
