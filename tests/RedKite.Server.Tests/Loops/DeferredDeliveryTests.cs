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
}
