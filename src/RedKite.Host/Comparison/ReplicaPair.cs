using System.Diagnostics;
using System.Globalization;
using RedKite.Host.Transfer;

namespace RedKite.Host.Comparison;

/// <summary>
/// A primary and its replica, by their offsets in the primary's stream; or two servers of which neither follows the other, such as the source and the target of an
/// import, which are compared as they are.
/// </summary>
internal sealed class ReplicaPair(ServerLink primary, ServerLink replica, int waitSeconds)
{
    private const int PollMs = 20;
    private const int DigestAttempts = 3;

    private bool _isFollowing;

    internal ServerLink Primary => primary;

    internal ServerLink Replica => replica;

    /// <summary>Waits until the replica has its primary's history, and goes on with it. False: it is no replica.</summary>
    /// <exception cref="TransferException">It has not within the time.</exception>
    internal bool WaitForLink()
    {
        _isFollowing = SourceServer.FieldOf(InfoOf(replica), "role") == "slave";
        if (!_isFollowing) return false;
        string problem = "";
        WaitUntil(
            () =>
            {
                string info = InfoOf(replica);
                if (SourceServer.FieldOf(info, "role") != "slave") throw replica.Fail("it is no replica any more");
                string id = SourceServer.FieldOf(InfoOf(primary), "master_replid");
                string replicaId = SourceServer.FieldOf(info, "master_replid");
                problem = SourceServer.FieldOf(info, "master_link_status") != "up" ? "its link to its primary is down"
                    : id != replicaId ? $"it does not follow {primary.Address}: the history of its data is {replicaId}, that of the primary {id}"
                    : "";
                return problem.Length == 0;
            },
            () => problem);
        return true;
    }

    /// <summary>Compares digests of all data at the same offset.</summary>
    /// <param name="digest">The digest, if both are equal.</param>
    /// <param name="why">Otherwise why the keys have to be compared.</param>
    /// <returns>False: they differ, or DEBUG is not allowed, or the offset moves all the time.</returns>
    internal bool TryDigests(out string digest, out string why)
    {
        (digest, why) = ("", "the primary is written to all the time");
        for (int attempt = 0; attempt < DigestAttempts; attempt++)
        {
            long offset = WaitForReplica();
            foreach (ServerLink link in (ServerLink[])[primary, replica])
            {
                link.Queue("DEBUG", "DIGEST");
                link.Flush();
            }

            Reply expected = primary.Read(), actual = replica.Read();
            if (expected.IsError || actual.IsError)
            {
                why = $"{(expected.IsError ? primary : replica).Address} does not allow DEBUG DIGEST";
                return false;
            }

            digest = expected.Text;
            if (expected.Text == actual.Text) return true;
            if (!_isFollowing || (OffsetOf(primary) == offset && OffsetOf(replica) == offset))
            {
                why = "their digests differ, as those of different versions may";
                return false;
            }
        }

        return false;
    }

    /// <summary>Waits until the replica has executed what the primary has executed now.</summary>
    /// <returns>The offset of that.</returns>
    /// <exception cref="TransferException">It has not within the time.</exception>
    internal long WaitForReplica()
    {
        if (!_isFollowing) return 0;
        long offset = OffsetOf(primary), reached = -1;
        WaitUntil(
            () => (reached = OffsetOf(replica)) >= offset,
            () => string.Create(CultureInfo.InvariantCulture, $"it has not reached offset {offset} of its primary: it is at {reached}"));
        return offset;
    }

    private void WaitUntil(Func<bool> condition, Func<string> problem)
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            if (Stopwatch.GetElapsedTime(start).TotalSeconds >= waitSeconds) throw replica.Fail(string.Create(CultureInfo.InvariantCulture, $"{problem()} (waited for {waitSeconds} seconds)"));
            Thread.Sleep(PollMs);
        }
    }

    private static string InfoOf(ServerLink link) => link.RunOrFail("INFO", "replication").Text;

    // A replica's own field counts what it has executed.
    private static long OffsetOf(ServerLink link)
    {
        string info = InfoOf(link);
        string text = SourceServer.FieldOf(info, "slave_repl_offset");
        if (text.Length == 0) text = SourceServer.FieldOf(info, "master_repl_offset");
        return long.TryParse(text, CultureInfo.InvariantCulture, out long offset) ? offset : throw link.Fail("INFO replication has no offset");
    }
}
