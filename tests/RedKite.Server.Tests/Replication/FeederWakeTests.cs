using RedKite.Server.Replication;
using RedKite.Server.Tests.Loops;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Replication;

/// <summary>What is appended while a loop looks at the stream for the last time wakes it: otherwise its replicas would get it with the next tick, or later.</summary>
public sealed class FeederWakeTests
{
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

    // The real code: what is appended while the loop sends comes behind its look at the stream, and before it sleeps.
    [Fact]
    public async Task What_is_appended_while_the_stream_is_sent_wakes_the_loop()
    {
        var loops = new SteppedLoops();
        var options = new RedKiteOptions { Port = 0, TimeProvider = new ManualClock(), NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", "")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        try
        {
            ReplicationStream stream = server.Parts.ReplicaStream;
            stream.Begin();
            SteppedClient client = loops.Connect();
            client.Send($"PSYNC {server.Engine.Replication.Id} {stream.Offset + 1}");
            Drain();
            Assert.StartsWith("+CONTINUE", client.TakeReplies(), StringComparison.Ordinal);
            ReplicaFeeder feeder = server.Parts.Replicas.FeederOf(Assert.Single(server.Parts.Replicas.Replicas));
            Assert.False(feeder.IsAwake);
            client.Sent = () =>
            {
                client.Sent = null;
                var other = new Thread(() => stream.Append(Ping));
                other.Start();
                other.Join();
            };
            stream.Append(Ping);
            Assert.True(feeder.IsAwake);
            Drain();
            Assert.Equal((false, 2L * Ping.Length), (feeder.IsAwake, feeder.StreamedBytes));
        }
        finally
        {
            loops.End();
        }

        void Drain()
        {
            while (loops.Loops[0].HasWork) loops.Step(loops.Loops[0]);
        }
    }
}
