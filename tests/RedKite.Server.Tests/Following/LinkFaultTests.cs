using System.Collections.Concurrent;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>
/// Links that are cut at random bytes, delayed and paused, while clients write: what WAIT has confirmed is on the replicas, offsets never go back, and in
/// the end all data is the same.
/// </summary>
public class LinkFaultTests
{
    private const int Writers = 3;
    private const int MsOfCutMax = 5_000;

    [Fact]
    public Task A_dozen_cuts_lose_nothing() => Run(TestScale.GivenSeed ?? 1, cuts: 12, backlogBytes: 1 << 20);

    [Theory]
    [Long]
    [InlineData(2, 1 << 20)]
    [InlineData(3, 16 * 1024)]
    public Task Hundreds_of_cuts_lose_nothing(int seed, int backlogBytes) => Run(TestScale.GivenSeed ?? seed, cuts: 200, backlogBytes);

    [Fact]
    public Task A_primary_that_ends_loses_nothing_that_was_confirmed() => Replace(TestScale.GivenSeed ?? 4, rounds: 2);

    [Fact]
    [Long]
    public Task Many_primaries_that_end_lose_nothing_that_was_confirmed() => Replace(TestScale.GivenSeed ?? 5, rounds: 60);

    private static async Task Run(int seed, int cuts, int backlogBytes)
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite");
        chain.Primary.Client.Run($"CONFIG SET repl-backlog-size {backlogBytes}").IsOk();
        new RandomWrites(seed, chain.Primary.Client).Run(300);
        ChainNode[] replicas = [await chain.StartAloneAsync(), await chain.StartAloneAsync()];
        foreach (ChainNode replica in replicas) replica.Server!.Follower.Services.RetryAfter(1, 20);
        LinkProxy[] links = [new(chain.Primary.Port, seed), new(chain.Primary.Port, seed + 1000)];
        try
        {
            for (int i = 0; i < replicas.Length; i++) replicas[i].Follow(links[i].Port);
            using var writers = new ConfirmedWriters(chain.Primary.Port, Writers, confirmations: 2, replicas);
            using var offsets = new OffsetWatch(replicas);
            var random = new RandomWrites(seed, chain.Primary.Client);
            chain.WaitFor(
                () =>
                {
                    random.Run(5);
                    return links.All(link => link.Cuts >= cuts) || writers.Failure is not null || offsets.Failure is not null;
                },
                $"{cuts} cuts",
                MsOfCutMax * cuts);
            foreach (LinkProxy link in links) link.Heal();
            long confirmed = writers.Confirmed;
            chain.WaitFor(() => writers.Confirmed > confirmed || writers.Failure is not null, "a write that both replicas confirm");
            writers.Stop();
            chain.WaitForSame();
            Assert.Null(writers.Failure);
            Assert.Null(offsets.Failure);
            Assert.Equal(0, replicas.Sum(static replica => replica.Server!.Engine.Metrics.Server.StreamErrors));
        }
        finally
        {
            foreach (LinkProxy link in links) link.Dispose();
        }
    }

    // As sentinels do: of the replicas, the one that is ahead becomes the primary, and the other one and the old primary follow it.
    private static async Task Replace(int seed, int rounds)
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite");
        ChainNode[] nodes = [chain.Primary, await chain.StartAloneAsync(), await chain.StartAloneAsync()];
        var links = new LinkProxy[nodes.Length]; // of each server, to whichever it follows
        int primary = 0;
        try
        {
            for (int i = 0; i < nodes.Length; i++) links[i] = new LinkProxy(nodes[primary].Port, seed + i);
            for (int i = 1; i < nodes.Length; i++) nodes[i].Follow(links[i].Port);
            Dictionary<string, long> confirmed = [];
            for (int round = 0; round < rounds; round++)
            {
                using (var writers = new ConfirmedWriters(nodes[primary].Port, Writers, confirmations: 1, [], $"r{round}"))
                {
                    chain.WaitFor(() => writers.Confirmed >= 20 || writers.Failure is not null, "confirmed writes");

                    // The primary is gone for all while they write.
                    foreach (LinkProxy link in links) link.Target = 1;
                    foreach (LinkProxy link in links) link.CutAll();
                    writers.Stop();
                    Assert.Null(writers.Failure);
                    foreach ((string key, long value) in writers.Last) confirmed[key] = value;
                }

                string id = nodes[primary].Server!.Engine.Replication.Id; // one that has not had its data yet is none to choose
                int chosen = Enumerable.Range(0, nodes.Length).Where(i => i != primary && nodes[i].Server!.Engine.Replication.Id == id).MaxBy(i => nodes[i].Server!.Parts.ReplicaStream.Offset);
                nodes[chosen].Client.Run("REPLICAOF NO ONE").IsOk();
                foreach ((string key, long value) in confirmed) Assert.True(ValueOf(nodes[chosen], key) >= value, $"round {round}: {key} was confirmed with {value} and is {ValueOf(nodes[chosen], key)}");
                foreach (LinkProxy link in links) link.Target = nodes[chosen].Port;
                for (int i = 0; i < nodes.Length; i++)
                {
                    if (i != chosen) nodes[i].Follow(links[i].Port);
                }

                primary = chosen;
            }

            foreach (LinkProxy link in links) link.Heal();
            chain.WaitFor(() => nodes.All(node => node.Offset == nodes[primary].Offset && node.Digest == nodes[primary].Digest), "the same data");
        }
        finally
        {
            foreach (LinkProxy? link in links) link?.Dispose();
        }
    }

    private static long ValueOf(ChainNode node, string key) => long.TryParse(node.Client.Run($"GET {key}").Text, CultureInfo.InvariantCulture, out long value) ? value : -1;

    /// <summary>Clients that each count up a key, and wait until replicas have it: then the replicas must show it.</summary>
    private sealed class ConfirmedWriters : IDisposable
    {
        private readonly CancellationTokenSource _end = new();
        private readonly Thread[] _threads;
        private long _confirmed;

        internal ConfirmedWriters(int port, int count, int confirmations, ChainNode[] replicas, string prefix = "w")
        {
            _threads = [.. Enumerable.Range(0, count).Select(i => new Thread(() => Work(port, $"{prefix}:{i}", confirmations, [.. replicas.Select(static replica => replica.Port)])) { IsBackground = true })];
            foreach (Thread thread in _threads) thread.Start();
        }

        internal long Confirmed => Interlocked.Read(ref _confirmed);

        /// <summary>The last confirmed value of each key.</summary>
        internal ConcurrentDictionary<string, long> Last { get; } = new();

        internal string? Failure { get; private set; }

        internal void Stop()
        {
            _end.Cancel();
            foreach (Thread thread in _threads) thread.Join();
        }

        public void Dispose()
        {
            Stop();
            _end.Dispose();
        }

        private void Work(int port, string key, int confirmations, int[] replicas)
        {
            try
            {
                using RespConnection primary = RespConnection.Connect(port);
                RespConnection[] others = [.. replicas.Select(static other => RespConnection.Connect(other))];
                for (long i = 1; !_end.IsCancellationRequested; i++)
                {
                    primary.Run($"SET {key} {i}").IsOk();
                    if (primary.Run($"WAIT {confirmations} 50").Number < confirmations) continue;
                    Last[key] = i;
                    Interlocked.Increment(ref _confirmed);
                    foreach (RespConnection other in others)
                    {
                        RespValue value = other.Run($"GET {key}");
                        if (value.IsError && value.Text.StartsWith("LOADING", StringComparison.Ordinal)) continue; // it gets all data, which has more
                        if (value.IsError || value.IsNull || value.Number < i) Failure = $"{key} was confirmed with {i}, but a replica has {value}";
                    }
                }

                foreach (RespConnection other in others) other.Dispose();
            }
            catch (Exception failure)
            {
                Failure = failure.ToString();
            }
        }
    }

    /// <summary>Looks at offsets all the time.</summary>
    private sealed class OffsetWatch : IDisposable
    {
        private readonly CancellationTokenSource _end = new();
        private readonly Thread _thread;

        internal OffsetWatch(ChainNode[] nodes)
        {
            _thread = new Thread(() => Work(nodes)) { IsBackground = true };
            _thread.Start();
        }

        internal string? Failure { get; private set; }

        public void Dispose()
        {
            _end.Cancel();
            _thread.Join();
            _end.Dispose();
        }

        private void Work(ChainNode[] nodes)
        {
            long[] last = new long[nodes.Length];
            while (!_end.Token.WaitHandle.WaitOne(1))
            {
                for (int i = 0; i < nodes.Length; i++)
                {
                    long offset = nodes[i].Server!.Parts.ReplicaStream.Offset;
                    if (offset < last[i]) Failure = $"the offset of replica {i} went from {last[i]} to {offset}";
                    last[i] = offset;
                }
            }
        }
    }
}
