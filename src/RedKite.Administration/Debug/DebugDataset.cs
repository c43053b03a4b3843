using System.Diagnostics;
using RedKite.Persistence.Types;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// The DEBUG subcommands DIGEST and DIGEST-VALUE, which compare the data of two servers.
/// </summary>
internal static class DebugDataset
{
    /// <summary>DEBUG DIGEST: 0 if there is no data. What takes longer than a slice goes on while the client waits, except in a transaction or script.</summary>
    internal static void Digest(scoped in CommandContext cmd, KeylessData keyless)
    {
        var work = (DigestWork?)cmd.Environment.Blocking.CompleteWork;
        if (work is null)
        {
            work = new DigestWork(cmd.Keyspace, keyless, ExpiryOf(cmd));
            if (!TryRun(cmd, work, DigestWork.SliceEnd)) return;
            if (!work.IsComplete && (cmd.BlockOnWork(work) || !TryRun(cmd, work, long.MaxValue))) return;
        }

        Reply(cmd, work.Digest);
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
            if (entry.Exists && StoredTypes.Of(entry).HasLiving(cmd.Database, entry, ExpiryOf(cmd))) new DatasetDigest(bytes).MixValue(cmd.Database, entry, ExpiryOf(cmd));
            cmd.Environment.ExitStripe(stripe);
            Reply(cmd, bytes);
        }
    }

    // False: a busy script holds a stripe.
    private static bool TryRun(scoped in CommandContext cmd, DigestWork work, long end)
    {
        do
        {
            int stripe = work.Stripe;
            if (!cmd.Environment.TryEnterStripe(stripe)) return false;
            work.AddStripe(end);
            cmd.Environment.ExitStripe(stripe);
        }
        while (!work.IsComplete && Stopwatch.GetTimestamp() < end);
        return true;
    }

    // On a replica all that it has counts, until its primary removes it: so both have the same digest at the same offset.
    private static ExpiryClock ExpiryOf(scoped in CommandContext cmd) => cmd.Expiry.Policy == ExpiryPolicy.Hide ? ExpiryClock.Never : cmd.Expiry;

    private static void Reply(scoped in CommandContext cmd, ReadOnlySpan<byte> digest)
    {
        Span<byte> text = stackalloc byte[2 * DatasetDigest.Bytes];
        Convert.TryToHexStringLower(digest, text, out _);
        cmd.Reply.SimpleString(text);
    }
}
