using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>Finds the keys of series by their labels, without locks in the end: what is done with a key looks at it again.</summary>
internal static class SeriesSearch
{
    private const int BucketsPerSlice = 256;

    /// <summary>Finds the keys in the order of their bytes.</summary>
    /// <returns>False: the handler ends at once, without a reply of its own.</returns>
    internal static bool TryFind(scoped in CommandContext cmd, LabelIndex index, LabelFilter[] filters, out List<byte[]> keys)
    {
        if (index.IsComplete(cmd.Database))
        {
            keys = index.Find(cmd.Database, Array.Find(filters, static filter => filter.IsMatcher)!);
        }
        else if (!TryWalk(cmd, index, filters, out keys))
        {
            return false;
        }

        keys.Sort(static (a, b) => a.AsSpan().SequenceCompareTo(b));
        return true;
    }

    /// <summary>Locks a key's stripe and opens its series, if it still has the labels. The stripe is unlocked by <see cref="Exit"/>, whatever is returned.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="key">The key.</param>
    /// <param name="filters">The filters.</param>
    /// <param name="isRefused">Whether no stripe was locked: the handler ends at once.</param>
    /// <param name="series">The series.</param>
    internal static bool TryEnter(scoped in CommandContext cmd, byte[] key, LabelFilter[] filters, out bool isRefused, out Series series)
    {
        series = default;
        ulong hash = cmd.Keyspace.Hash(key);
        isRefused = !cmd.Environment.TryEnterStripe(cmd.Keyspace.StripeOf(hash));
        if (isRefused || cmd.Keyspace.Hides(key)) return false;
        Entry entry = cmd.Database.Find(key, hash, cmd.Expiry);
        if (!entry.Exists || entry.Type != SeriesType.Instance.Number) return false;
        series = Series.Of(cmd.Database, entry);
        return LabelFilter.Match(filters, series.Labels);
    }

    internal static void Exit(scoped in CommandContext cmd, byte[] key) => cmd.Environment.ExitStripe(cmd.Keyspace.StripeOf(cmd.Keyspace.Hash(key)));

    /// <summary>Whether the user may read all keys; otherwise replies so.</summary>
    internal static bool MayReadOrReply(scoped in CommandContext cmd, List<byte[]> keys)
    {
        if (cmd.Session.User.Permissions is not { } permissions) return true;
        long left = AccessPattern.RequestStepsMax;
        foreach (byte[] key in keys)
        {
            if (permissions.AllowsKey(cmd.Command, key, KeyAccess.Read, ref left)) continue;
            cmd.Reply.Error("NOPERM TSDB: current user doesn't have read permission to one or more keys that match the specified filter"u8);
            return false;
        }

        return true;
    }

    private static bool TryWalk(scoped in CommandContext cmd, LabelIndex index, LabelFilter[] filters, out List<byte[]> keys)
    {
        keys = [];
        var entries = new EntryList();
        long epoch = index.BeginWalk();
        for (int stripe = 0; stripe < cmd.Keyspace.Stripes.Length; stripe++)
        {
            TableCursor cursor = default;
            bool more;
            do
            {
                if (!cmd.Environment.TryEnterStripe(stripe)) return false;
                Table? table = cmd.Database.TableIn(stripe);
                more = table is not null;
                entries.Clear();
                for (int i = 0; more && i < BucketsPerSlice; i++) more = table!.NextBucket(ref cursor, entries);
                foreach (Entry entry in entries)
                {
                    if (entry.Type != SeriesType.Instance.Number) continue;
                    if (epoch >= 0) index.Enter(cmd.Database, cmd.Keyspace.Hash(entry.Key), entry.Key, entry);
                    if (LabelFilter.Match(filters, Series.OfBlock(entry.Address).Labels)) keys.Add(entry.Key.ToArray());
                }

                cmd.Environment.ExitStripe(stripe);
            }
            while (more);
        }

        index.EndWalk(cmd.Database, epoch);
        return true;
    }
}
