using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>Moves slots as a whole between the primaries of a cluster, one move behind the other, until it is stopped. Moves may fail: nothing is known of faults here.</summary>
internal sealed class SlotMover : IDisposable
{
    private const int PauseMs = 50;

    private readonly ClusterNodes _nodes;
    private readonly Random _random;
    private readonly CancellationTokenSource _end = new();
    private readonly Task _work;

    internal SlotMover(ClusterNodes nodes, int seed)
    {
        (_nodes, _random) = (nodes, new Random(seed));
        _work = Task.Factory.StartNew(Work, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }

    /// <summary>How many moves have begun.</summary>
    internal int Begun { get; private set; }

    /// <summary>Begins no more moves, and waits until all have ended.</summary>
    internal void Stop()
    {
        _end.Cancel();
        _work.GetAwaiter().GetResult();
        _nodes.WaitFor(() => Enumerable.Range(0, _nodes.Count).All(HasEnded), "the moves of slots");
    }

    public void Dispose()
    {
        _end.Cancel();
        _work.Wait();
        _end.Dispose();
    }

    private void Work()
    {
        while (!_end.Token.WaitHandle.WaitOne(PauseMs))
        {
            int[] primaries = _nodes.Primaries();
            if (primaries.Length < 2) continue;
            _random.Shuffle(primaries);
            (int from, int to) = (primaries[0], primaries[1]);
            if (_nodes.Try(to, "CLUSTER MYID") is not { Length: 40 } id || OwnRange(from) is not ({ } first, { } last)) continue;

            // At most half of a range, so that each shard keeps slots.
            int count = _random.Next(1, Math.Max(2, (last - first + 1) / 2)), begin = _random.Next(first, last - count + 2);
            if (last == first || _nodes.Try(from, string.Create(CultureInfo.InvariantCulture, $"CLUSTER MIGRATESLOTS SLOTSRANGE {begin} {begin + count - 1} NODE {id}")) != "OK") continue;
            Begun++;
            for (int i = 0; i < 40 && !HasEnded(from); i++) _end.Token.WaitHandle.WaitOne(PauseMs); // one that hangs with a fault is left alone
        }
    }

    // The greatest range of slots that a node has by its own topology; null: none, or it does not answer.
    private (int First, int Last)? OwnRange(int node)
    {
        if (_nodes.Try(node, "CLUSTER NODES")?.Split('\n').FirstOrDefault(static line => line.Contains("myself,master", StringComparison.Ordinal)) is not { } line) return null;
        (int First, int Last)[] ranges = [.. line.Trim().Split(' ').Skip(8).Where(static text => !text.StartsWith('[')).Select(static text => text.Split('-')).Select(static ends => (int.Parse(ends[0], CultureInfo.InvariantCulture), int.Parse(ends[^1], CultureInfo.InvariantCulture)))];
        return ranges.Length == 0 ? null : ranges.MaxBy(static range => range.Last - range.First);
    }

    private bool HasEnded(int node)
    {
        try
        {
            using RespConnection client = _nodes.Connect(node);
            RespValue reply = client.Run("CLUSTER GETSLOTMIGRATIONS");
            return reply is { IsClosed: false, IsTimeout: false } && reply.Items.All(static move => move["state"]?.Text is "success" or "failed" or "cancelled");
        }
        catch (Exception failure) when (failure is System.Net.Sockets.SocketException or IOException)
        {
            return false;
        }
    }
}
