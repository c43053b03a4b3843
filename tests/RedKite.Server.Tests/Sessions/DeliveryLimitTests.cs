using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>
/// Messages count for their receiver's output limit as soon as they are published, wherever they wait: for the end of a script, for another
/// event loop, or for the reply of the receiver's own command.
/// </summary>
public class DeliveryLimitTests : NetworkTests
{
    private const long KeptBytesMax = 24 << 20;
    private const int Messages = 100_000;

    private static readonly string Publishes = $"EVAL \"local m = string.rep('m', 1000) for i = 1, {Messages} do redis.call('publish', 'c', m) end return 'done'\" 0";

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Messages_of_a_running_script_are_limited(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("loops", "1"), ("client-output-buffer-limit", "pubsub 1000000 0 0"));
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        using RespConnection publisher = RespConnection.Connect(server.Port);
        subscriber.Run("SUBSCRIBE c");
        publisher.SendCommand(Publishes);
        long most = MostKept(server, () => publisher.AvailableBytes > 0);
        publisher.Read().IsBulk("done");
        Assert.InRange(most, 0, KeptBytesMax);
        WaitFor(() => server.Engine.Metrics.Server.SubscriberDisconnections == 1 && server.Engine.Buffers.UsedBytes < 1 << 20, "the subscriber to be closed");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Messages_to_a_busy_loop_are_limited(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("enable-debug-command", "yes"), ("client-output-buffer-limit", "pubsub 1000000 0 0"));
        List<RespConnection> clients = [];
        List<int> loops = [];
        while (loops.Distinct().Count() < 2 || loops.Count(loop => loop == loops[0]) < 2) // the kernel chooses the loop of a connection
        {
            clients.Add(RespConnection.Connect(server.Port));
            clients[^1].Run("PING");
            loops.Add(server.Engine.Clients.Find(IdOf(clients[^1]))!.Connection!.Loop.Index);
            Assert.True(clients.Count < 1000, "connections of two loops");
        }

        RespConnection subscriber = clients[0];
        RespConnection sleeper = clients[loops.LastIndexOf(loops[0])];
        RespConnection publisher = clients[loops.FindIndex(loop => loop != loops[0])];
        subscriber.Run("SUBSCRIBE c");
        sleeper.SendCommand("DEBUG SLEEP 3");
        Thread.Sleep(100); // it sleeps
        publisher.SendCommand(Publishes);
        long most = MostKept(server, () => sleeper.AvailableBytes > 0);
        publisher.Read().IsBulk("done");
        Assert.InRange(most, 0, KeptBytesMax);
        WaitFor(() => server.Engine.Metrics.Server.SubscriberDisconnections == 1 && server.Engine.Buffers.UsedBytes < 1 << 20, "the subscriber to be closed");
        sleeper.Read().IsOk();
        clients.ForEach(client => client.Dispose());
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Messages_to_the_publishing_client_itself_are_limited(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("client-output-buffer-limit", "pubsub 1000000 0 0"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3");
        client.SendCommand("SUBSCRIBE c");
        client.SendCommand(Publishes);
        long most = MostKept(server, () => server.Engine.Clients.Count == 0);
        Assert.InRange(most, 0, KeptBytesMax);
        Assert.Equal(1, server.Engine.Metrics.Server.SubscriberDisconnections);
        WaitFor(() => server.Engine.Buffers.UsedBytes < 1 << 20, "the buffers to be released");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Messages_below_the_limit_arrive_in_order(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("client-output-buffer-limit", "pubsub 0 0 0"));
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        using RespConnection publisher = RespConnection.Connect(server.Port);
        subscriber.Run("SUBSCRIBE c");
        publisher.SendCommand("EVAL \"local m = string.rep('m', 1000) for i = 1, 20000 do redis.call('publish', 'c', i .. m) end return 'done'\" 0");
        for (int i = 1; i <= 20_000; i++) Assert.StartsWith($"{i}m", subscriber.Read().Items[2].Text, StringComparison.Ordinal);
        publisher.Read().IsBulk("done");
    }

    private static long MostKept(RedKiteServer server, Func<bool> hasEnded)
    {
        long most = 0;
        WaitFor(
            () =>
            {
                most = Math.Max(most, server.Engine.Buffers.UsedBytes);
                return hasEnded();
            },
            "the end");
        return most;
    }
}
