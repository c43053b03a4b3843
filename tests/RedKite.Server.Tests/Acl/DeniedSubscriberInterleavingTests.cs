using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Tests.Loops;

namespace RedKite.Server.Tests.Acl;

/// <summary>
/// A user loses its channels while its clients of two loops subscribe and others publish: in any order in which the real loops' threads get on, none of its clients is subscribed
/// afterwards, and none gets what was published behind the reply to the change.
/// </summary>
public sealed class DeniedSubscriberInterleavingTests
{
    [Fact]
    public async Task No_client_keeps_a_channel_that_its_user_has_lost()
    {
        var loops = new SteppedLoops { StopsAtWake = false };
        var options = new RedKiteOptions { Port = 0, TimeProvider = new ManualClock(), NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "2"), ("diagnostics", "no"), ("save", ""), ("appendonly", "no"), ("timeout", "0")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        server.Engine.Timeline.Added += _ => loops.Stop(); // a client is about to be closed
        server.Engine.HoldForTest((scoped in CommandContext cmd) =>
        {
            loops.Stop(); // a command was admitted by the permissions of then
            return false;
        });
        try
        {
            SteppedClient control = loops.Connect(), publisher = loops.Connect();
            RunAll(loops);
            for (int seed = 0; seed < 60; seed++) RunOne(seed, loops, server.Engine, control, publisher);
        }
        finally
        {
            loops.End();
        }
    }

    private static void RunOne(int seed, SteppedLoops loops, Engine engine, SteppedClient control, SteppedClient publisher)
    {
        var random = new Random(seed);
        control.Send("ACL SETUSER ann on nopass +@all allchannels");
        SteppedClient[] subscribers = [.. Enumerable.Range(0, 3).Select(_ => loops.Connect())];
        RunAll(loops, random);
        foreach (SteppedClient subscriber in subscribers) subscriber.Send("AUTH ann word");
        RunAll(loops, random);
        control.TakeReplies();
        SteppedClient[] confirmed = [];
        List<Action> steps =
        [
            () =>
            {
                confirmed = [.. subscribers.Where(static subscriber => subscriber.Replies.Contains("subscribe", StringComparison.Ordinal))];
                control.Send("ACL SETUSER ann resetchannels");
            },
        ];
        foreach (SteppedClient subscriber in subscribers) steps.Insert(random.Next(steps.Count + 1), () => subscriber.Send(random.Next(2) == 0 ? "SUBSCRIBE c" : "PSUBSCRIBE c*"));
        for (int i = 0; i < 4; i++)
        {
            steps.Insert(random.Next(steps.Count + 1), () =>
            {
                bool isLate = control.Replies.Length > 0;
                publisher.Send(isLate ? "PUBLISH c late" : "PUBLISH c early");
            });
        }

        foreach (Action step in steps)
        {
            step();
            for (int turns = random.Next(15); turns > 0 && Step(loops, random); turns--)
            {
                if (control.Replies.Length > 0) AssertGone();
            }
        }

        RunAll(loops, random);
        publisher.Send("PUBLISH c late");
        RunAll(loops, random);
        Assert.Equal("+OK\r\n", control.TakeReplies());
        Assert.EndsWith(":0\r\n", publisher.TakeReplies(), StringComparison.Ordinal);
        Assert.All(subscribers, subscriber => Assert.DoesNotContain("late", subscriber.Replies, StringComparison.Ordinal));
        foreach (Session session in engine.Clients.All) Assert.False(session.User.Name == "ann" && session.Subscriptions is { Count: > 0 }, $"seed {seed}: a client is subscribed");
        Assert.Equal(0, engine.Messages.Clients);
        control.Send("CLIENT KILL USER ann");
        RunAll(loops, random);
        control.TakeReplies();

        // At the reply, whatever their loop does.
        void AssertGone()
        {
            foreach (Session session in engine.Clients.All) Assert.False(Array.Exists(confirmed, client => client.Connection == session.Connection), $"seed {seed}: a subscriber is there behind the reply");
        }
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
