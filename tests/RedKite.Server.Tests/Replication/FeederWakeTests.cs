using RedKite.Server.Replication;
using RedKite.Server.Tests.Loops;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Replication;

/// <summary>What is appended while a loop looks at the stream for the last time wakes it: otherwise its replicas would get it with the next tick, or later.</summary>
public sealed class FeederWakeTests
{
    private const int Rounds = 4_000;
    private const int DelaysMax = 128;

    private static readonly byte[] Ping = "*1\r\n$4\r\nPING\r\n"u8.ToArray();

    [Theory]
    [InlineData(1, 2)]
    [InlineData(2, 1)]
    public void No_wake_up_is_lost_in_any_schedule(int appenders, int records) =>
        Assert.InRange(Interleavings.ExploreAll(preemptionsMax: 3, schedule => new FeederWakeModel(schedule, FeederFault.None, appenders, records)), 20, int.MaxValue);

    [Fact]
    public void No_wake_up_is_lost_in_random_schedules() =>
        Interleavings.ExploreRandomly(5_000, static (schedule, number) => new FeederWakeModel(schedule, FeederFault.None, appenders: 1 + (number % 3), records: 3));

    [Theory]
    [InlineData(FeederFault.NoFenceBehindRecord)]
    [InlineData(FeederFault.NoFenceBeforeLook)]
    [InlineData(FeederFault.LooksBeforeFlag)]
    public void The_checker_finds_a_faulty_feeder(FeederFault fault) =>
        Assert.Throws<ModelViolationException>(() => Interleavings.ExploreRandomly(20_000, (schedule, number) => new FeederWakeModel(schedule, fault, appenders: 1 + (number % 3), records: 3)));

    // The real code: one thread appends while another one looks at the stream as the loop does, each round at another moment.
    [Fact]
    public async Task No_record_stays_behind_a_loop_that_sleeps()
    {
        var loops = new SteppedLoops();
        var options = new RedKiteOptions { Port = 0, TimeProvider = new ManualClock(), NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", ""), ("repl-backlog-size", "1mb")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        try
        {
            ReplicationStream stream = server.Parts.ReplicaStream;
            stream.Begin();
            SteppedClient client = loops.Connect();
            client.Send($"PSYNC {server.Engine.Replication.Id} {stream.Offset + 1}");
            while (loops.Loops[0].HasWork) loops.Step(loops.Loops[0]);
            Assert.StartsWith("+CONTINUE", client.TakeReplies(), StringComparison.Ordinal);
            ReplicaFeeder feeder = server.Parts.Replicas.FeederOf(Assert.Single(server.Parts.Replicas.Replicas));
            int beginning = 0, appended = 0, lost = 0;
            var appender = new Thread(() =>
            {
                for (int round = 1; round <= Rounds; round++)
                {
                    while (Volatile.Read(ref beginning) < round) Thread.Yield();
                    stream.Append(Ping);
                    Volatile.Write(ref appended, round);
                }
            });
            appender.Start();
            for (int round = 1; round <= Rounds; round++)
            {
                feeder.Wake(); // the loop has begun an iteration
                Volatile.Write(ref beginning, round);
                Thread.SpinWait(round % DelaysMax);
                feeder.Feed(reads: 0);
                while (Volatile.Read(ref appended) < round) Thread.Yield();
                if (!feeder.IsAwake && feeder.StreamedBytes < (long)round * Ping.Length) lost++;
                feeder.Feed(reads: 0);
                Assert.Equal((long)round * Ping.Length, feeder.StreamedBytes);
                client.TakeReplies();
            }

            appender.Join();
            Assert.Equal(0, lost);
        }
        finally
        {
            loops.End();
        }
    }
}
