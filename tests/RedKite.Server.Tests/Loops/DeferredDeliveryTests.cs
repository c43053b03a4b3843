using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Tests.Loops;

/// <summary>
/// What is delivered to a client whose blocked command another thread executes, while the client's loop still ends the command that has blocked: each thread has a list of its own.
/// </summary>
public sealed class DeferredDeliveryTests
{
    [Fact]
    public async Task A_loop_writes_nothing_that_the_serving_thread_holds_back()
    {
        var loops = new SteppedLoops();
        var options = new RedKiteOptions { Port = 0, TimeProvider = new ManualClock(), NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", ""), ("appendonly", "no")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        try
        {
            SteppedClient client = loops.Connect();
            while (loops.Loops.FirstOrDefault(static loop => loop.HasWork) is { } ready) loops.Step(ready);
            Session session = server.Engine.Clients.All.Single(session => session.Connection == client.Connection);
            var writer = new ReplyWriter(server.Engine.Buffers);
            Payload ofLoop = Payload.Of(server.Engine.Buffers, "+loop\r\n"u8), ofServer = Payload.Of(server.Engine.Buffers, "+server\r\n"u8);
            session.BeginServing();
            session.Deliver(ofServer);
            session.Defer(ofLoop);
            session.WriteDeferred(writer);
            Assert.Equal("+loop\r\n"u8, writer.Tail);
            session.EndServing(hasReply: false); // it is delivered now
            writer.Clear();
            session.WriteDeferred(writer);
            Assert.Equal(0, writer.Length);
            ofLoop.Buffer.Release();
            ofServer.Buffer.Release();
            while (loops.Loops.FirstOrDefault(static loop => loop.HasWork) is { } ready) loops.Step(ready);
            Assert.Equal("+server\r\n", client.TakeReplies());
        }
        finally
        {
            loops.End();
        }
    }

    // Each step of either thread is a call; the loop's are actions that it gets to when the test lets it.
    [Fact]
    public async Task Each_delivery_arrives_once_and_in_order_whichever_thread_gets_on()
    {
        var loops = new SteppedLoops();
        var options = new RedKiteOptions { Port = 0, TimeProvider = new ManualClock(), NewTransport = loops.New };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("save", ""), ("appendonly", "no")]) options.Settings[name] = value;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        try
        {
            SteppedClient client = loops.Connect();
            RunAll();
            Session session = server.Engine.Clients.All.Single(session => session.Connection == client.Connection);
            for (int seed = 0; seed < 100; seed++) RunOne(client, session, new Random(seed), seed);
        }
        finally
        {
            loops.End();
        }

        void RunOne(SteppedClient client, Session session, Random random, int seed)
        {
            var writer = new ReplyWriter(server.Engine.Buffers);
            bool hasReply = random.Next(2) == 0;
            string expectedOfServer = "";
            Queue<Action> serving = [], loop = [];
            serving.Enqueue(session.BeginServing);
            for (int i = random.Next(4); i > 0; i--)
            {
                string text = $"+s{i}\r\n";
                expectedOfServer += text;
                serving.Enqueue(() => With(text, session.Deliver));
            }

            serving.Enqueue(() => session.EndServing(hasReply));
            string expectedOfLoop = "";
            for (int i = random.Next(4); i > 0; i--)
            {
                string text = $"+l{i}\r\n";
                expectedOfLoop += text;
                loop.Enqueue(() => With(text, session.Defer));
            }

            loop.Enqueue(() => session.WriteDeferred(writer)); // the end of the command that has blocked
            while (serving.Count + loop.Count > 0)
            {
                if (serving.Count > 0 && (loop.Count == 0 || random.Next(2) == 0)) serving.Dequeue()();
                else session.Connection!.Loop.Post(loop.Dequeue());
                for (int steps = random.Next(4); steps > 0; steps--) Step();
            }

            RunAll();
            if (hasReply) session.Connection!.Loop.Post(session.DeliverDeferred); // behind the reply
            RunAll();
            Assert.Equal((seed, expectedOfLoop), (seed, System.Text.Encoding.ASCII.GetString(writer.Tail)));
            Assert.Equal((seed, expectedOfServer), (seed, client.TakeReplies()));
            Assert.Equal(0, session.DeferredBytes);
            writer.Clear();
        }

        void With(string text, Action<Payload> use)
        {
            Payload payload = Payload.Of(server.Engine.Buffers, System.Text.Encoding.ASCII.GetBytes(text));
            use(payload);
            payload.Buffer.Release();
        }

        bool Step()
        {
            if (loops.Loops.FirstOrDefault(static loop => loop.HasWork) is not { } ready) return false;
            loops.Step(ready);
            return true;
        }

        void RunAll()
        {
            while (Step())
            {
            }
        }
    }
}
