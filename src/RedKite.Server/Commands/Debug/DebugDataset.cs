using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Sets;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// The DEBUG subcommands DIGEST and DIGEST-VALUE, which compare the data of two servers.
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
                if (!cmd.Environment.TryEnterStripe(stripe)) return;
                foreach (Entry entry in EntriesOf(database, stripe))
                {
                    if (!IsAlive(database, entry, ExpiryOf(cmd))) continue;
                    if (!hasKeys) digest.MixNumber(index);
                    hasKeys = true;
                    keyBytes.Clear();
                    keyDigest.Mix(entry.Key);
                    keyDigest.MixValue(database, entry, ExpiryOf(cmd));
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
            if (!cmd.Environment.TryEnterStripe(stripe)) return;
            Entry entry = cmd.Database.FindByHash(hash); // as in Redis, expired or not
            if (entry.Exists && HasValue(cmd.Database, entry, ExpiryOf(cmd))) new DatasetDigest(bytes).MixValue(cmd.Database, entry, ExpiryOf(cmd));
            cmd.Environment.ExitStripe(stripe);
            Reply(cmd, bytes);
        }
    }

    // On a replica all that it has counts, until its primary removes it: so both have the same digest at the same offset.
    private static ExpiryClock ExpiryOf(scoped in CommandContext cmd) => cmd.Expiry.Policy == ExpiryPolicy.Hide ? ExpiryClock.Never : cmd.Expiry;

    // A hash whose fields have all expired counts as removed, as does a set whose members have.
    private static bool IsAlive(Database database, Entry entry, ExpiryClock expiry)
    {
        return !(entry.Expires && expiry.HasPassed(entry.ExpiryMs)) && HasValue(database, entry, expiry);
    }

    private static bool HasValue(Database database, Entry entry, ExpiryClock expiry)
    {
        if (!entry.FieldsExpire || entry.Type == DataType.Stream) return true;
        if (entry.Type == DataType.Set) return SetView.Of(database, entry, expiry).Count > 0;
        HashValue hash = HashValue.Peek(database, entry, expiry);
        return hash.Exists && hash.LivingCount > 0;
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
