using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Tests.Loops;

/// <summary>
/// A pause, its end by CLIENT UNPAUSE or by time, and the gate of writes, with clients of two loops: in any order in which the real loops' threads get on,
/// every command that had to wait is executed once nothing holds it, without a tick where another thread has ended what held it.
/// </summary>
public sealed class PauseInterleavingTests
{
    private const int PauseMs = 1000;

    // No script: its mutex outlasts the command, so a stopped thread would keep the other waiting.
    private static readonly string[] Commands = ["SET key value", "PFCOUNT hll", "PUBLISH channel message", "GET key", "INCR n"];

    private enum End
    {
        Unpause,
        TimesOut,
        GateAlone,
    }

    [Theory]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task Every_command_that_waits_is_resumed(bool stopsBeforeLook, bool isReplica)
    {
        var clock = new ManualClock();
        var loops = new SteppedLoops();
        var options = new RedKiteOptions { Port = 0, TimeProvider = clock, NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "2"), ("diagnostics", "no"), ("save", ""), ("appendonly", "no"), ("timeout", "0")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Engine engine = server.Engine;
        if (isReplica)
        {
            engine.Replication.FollowNew("127.0.0.1", 1);
            engine.Attention.Set(ServerAttention.IsReplica, on: true);
        }

        engine.Timeline.Added += _ => loops.Stop(); // a client is held, and not yet left alone by its loop
        if (stopsBeforeLook)
        {
            engine.HoldForTest((scoped in CommandContext cmd) =>
            {
                loops.Stop(); // before the look at the pause and at the gate
                return false;
            });
        }

        try
        {
            // A loop that stood still for long gets none for a while.
            List<SteppedClient> connected = [];
            for (int i = 0; i < 5 || (i < 1000 && connected.DistinctBy(static client => client.Connection.Loop).Count() < 2); i++)
            {
                connected.Add(loops.Connect());
                RunAll(loops);
            }

            SteppedClient[] clients = [.. connected.TakeLast(5)];
            SteppedClient control = loops.Connect();
            RunAll(loops);
            Assert.Equal(2, clients.Select(static client => client.Connection.Loop).Distinct().Count());
            for (int seed = 0; seed < 150; seed++) RunOne(seed, loops, engine, clock, clients, control);
        }
        finally
        {
            loops.End();
        }
    }

    private static void RunOne(int seed, SteppedLoops loops, Engine engine, ManualClock clock, SteppedClient[] clients, SteppedClient control)
    {
        var random = new Random(seed);
        var end = (End)random.Next(3);
        bool closesGate = end == End.GateAlone || random.Next(2) == 0;
        List<Action> steps = [];
        if (end != End.GateAlone) steps.Add(() => control.Send($"CLIENT PAUSE {PauseMs} {(end == End.TimesOut && random.Next(2) == 0 ? "ALL" : "WRITE")}"));
        if (end == End.Unpause) steps.Add(() => control.Send("CLIENT UNPAUSE"));
        if (end == End.TimesOut) steps.Add(() => clock.Advance(PauseMs));
        if (closesGate)
        {
            // Both of one thread, in their order, anywhere among the others.
            int first = random.Next(steps.Count + 1);
            steps.Insert(first, () => engine.WriteGate.Close(WriteHold.Log));
            steps.Insert(random.Next(first + 1, steps.Count + 1), () => engine.WriteGate.Open(WriteHold.Log));
        }

        foreach (SteppedClient client in clients) steps.Insert(random.Next(steps.Count + 1), () => client.Send(Commands[random.Next(Commands.Length)]));
        foreach (Action step in steps)
        {
            step();
            for (int turns = random.Next(12); turns > 0; turns--) Step(loops, random);
        }

        RunAll(loops, random);
        if (end == End.TimesOut)
        {
            clock.Advance(PauseMs); // a client that was held before its clock was read waits for the tick behind that
            foreach (SteppedTransport loop in loops.Loops) loop.Ticks = true;
            RunAll(loops, random);
        }

        foreach (SteppedClient client in clients)
        {
            Assert.True(client.TakeReplies().Length > 0, $"seed {seed}, {end}: a client waits for ever");
            Assert.True(client.Connection.IsReading, $"seed {seed}, {end}: a client is not read from");
        }

        control.TakeReplies();
        Assert.DoesNotContain(engine.Clients.All, static session => session.IsPaused);
        Assert.False(engine.WriteGate.Waits);
        Assert.True(engine.Pause.EndIfOver(engine.Clock.SteadyMs));
        Assert.Equal(0, (int)(engine.Attention.Flags & (ServerAttention.Paused | ServerAttention.WritesGated)));
    }

    private static bool Step(SteppedLoops loops, Random? random)
    {
        SteppedTransport[] ready = [.. loops.Loops.Where(static loop => loop.HasWork)];
        if (ready.Length == 0) return false;
        loops.Step(random is null ? ready[0] : ready[random.Next(ready.Length)]);
        return true;
    }

    private static void RunAll(SteppedLoops loops, Random? random = null)
    {
        while (Step(loops, random))
        {
        }
    }
}
