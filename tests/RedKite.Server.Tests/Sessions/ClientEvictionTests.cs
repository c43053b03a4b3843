using RedKite.Net;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>maxmemory-clients: the clients with the largest buffers are closed.</summary>
public class ClientEvictionTests : NetworkTests
{
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Largest_client_is_closed_and_the_others_stay(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("maxmemory-clients", "4mb"));
        using RespConnection small = RespConnection.Connect(server.Port);
        using RespConnection medium = RespConnection.Connect(server.Port);
        using RespConnection large = RespConnection.Connect(server.Port);
        medium.Send("*2\r\n$4\r\nECHO\r\n$1000000\r\n" + new string('x', 500_000));
        large.Send("*2\r\n$4\r\nECHO\r\n$9000000\r\n" + new string('x', 5_000_000));
        Assert.True(large.Read().IsClosed);
        small.Run("PING").IsSimple("PONG");
        medium.Send(new string('x', 500_000) + "\r\n");
        Assert.Equal(1_000_000, medium.Read().Text.Length);
        Assert.Equal((1, 2), (server.Engine.Metrics.Server.EvictedClients, server.Engine.Clients.Count));
        Assert.Contains("evicted_clients:1\r\n", small.Run("INFO stats").Text, StringComparison.Ordinal);
    }

    // It is counted again before it is closed: when its kill is not handled yet, and when its unfinished request has ended it.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Client_is_evicted_once(bool byRequest)
    {
        await using RedKiteServer server = await StartAsync("sockets", ("maxmemory-clients", "1mb"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
        Session session = server.Engine.Clients.All.Single();
        using var counted = new ManualResetEventSlim();
        EventLoop.Post(session.Connection!, () =>
        {
            ClientEviction eviction = server.Engine.ClientEviction;
            if (byRequest) Assert.True(eviction.Evicts(session, 2_000_000));
            eviction.Note(session, 2_000_000);
            eviction.Note(session, 3_000_000);
            if (byRequest) session.Connection!.Close();
            counted.Set();
        });
        Assert.True(counted.Wait(PatienceMs, TestContext.Current.CancellationToken));
        Assert.True(client.Read().IsClosed);
        Assert.Equal(1, server.Engine.Metrics.Server.EvictedClients);
    }

    // Not by the timer, which is off.
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Limit_is_enforced_when_it_is_exceeded(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("maxmemory-clients", "8mb"));
        server.Engine.Run.IsBackgroundPaused = true;
        RespConnection[] clients = [.. Enumerable.Range(0, 5).Select(_ => RespConnection.Connect(server.Port))];
        foreach (RespConnection client in clients[1..]) client.Send("*2\r\n$4\r\nECHO\r\n$1000000\r\n" + new string('x', 900_000));
        try
        {
            clients[0].Send("*2\r\n$4\r\nECHO\r\n$7000000\r\n" + new string('x', 6_000_000));
            Assert.True(clients[0].Read().IsClosed);
        }
        catch (IOException)
        {
            // closed while it sent
        }

        foreach (RespConnection client in clients[1..])
        {
            client.Send(new string('x', 100_000) + "\r\n");
            Assert.Equal(1_000_000, client.Read().Text.Length);
        }

        Assert.Equal(1, server.Engine.Metrics.Server.EvictedClients);

        // Output counts as input does, and what a client no longer uses does not.
        clients[1].Run("SET k " + new string('v', 1_000_000)).IsOk();
        foreach (RespConnection client in clients[1..4]) client.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 40)));
        WaitFor(() => server.Engine.Metrics.Server.EvictedClients >= 2, "one of them is closed: each has some 4 MiB of output when it is suspended");
        clients[4].Run("PING").IsSimple("PONG");
        foreach (RespConnection client in clients) client.Dispose();
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Client_that_reads_nothing_is_closed_before_its_own_limit(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("maxmemory-clients", "2mb"));
        using RespConnection slow = RespConnection.Connect(server.Port);
        slow.Run("SET k " + new string('v', 100_000)).IsOk();
        slow.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 400)));
        WaitFor(() => server.Engine.Clients.Count == 0, "it is closed");
        Assert.Equal(1, server.Engine.Metrics.Server.EvictedClients);
    }

    // Of a client's output only what waits counts, also while the client sends nothing more.
    [Fact]
    public async Task Output_that_was_read_no_longer_counts()
    {
        await using RedKiteServer server = await StartAsync("sockets", ("maxmemory-clients", "100mb"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("SET k " + new string('v', 1_000_000)).IsOk();
        client.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 40)));
        Session session = Assert.Single(server.Engine.Clients.All);
        WaitFor(() => session.CountedClientBytes > 1_000_000, "its output counts");
        for (int i = 0; i < 40; i++) Assert.Equal(1_000_000, client.Read().Text.Length);
        WaitFor(() => session.CountedClientBytes < 200_000, "it counts no longer");
    }

    [Fact]
    public async Task Limit_that_no_client_could_meet_counts_as_128_KiB()
    {
        await using RedKiteServer server = await StartAsync("sockets", ("maxmemory-clients", "10"));
        using RespConnection small = RespConnection.Connect(server.Port);
        using RespConnection large = RespConnection.Connect(server.Port);
        small.Run("PING").IsSimple("PONG");
        large.Send("*2\r\n$4\r\nECHO\r\n$1000000\r\n" + new string('x', 500_000));
        Assert.True(large.Read().IsClosed);
        small.Run("CONFIG GET maxmemory-clients").IsArray("maxmemory-clients", "10");
    }

    // It would be executed before the next look.
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Request_that_exceeds_the_limit_alone_is_not_executed(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("maxmemory-clients", "1mb"));
        for (int i = 0; i < 10; i++)
        {
            using RespConnection large = RespConnection.Connect(server.Port);
            large.Run("PING").IsSimple("PONG");
            try
            {
                large.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000000\r\n" + new string('x', 3_000_000) + "\r\n");
                Assert.True(large.Read().IsClosed);
            }
            catch (IOException)
            {
                // closed while it sent
            }
        }

        using RespConnection small = RespConnection.Connect(server.Port);
        small.Run("EXISTS k").IsInteger(0);
        Assert.Equal(10, server.Engine.Metrics.Server.EvictedClients);
    }

    // The client is closed for its request; that it is still there until the turn ends must not cost another client, or count it again.
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Client_that_is_closed_for_its_request_is_counted_once_and_no_other_with_it(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("maxmemory-clients", "800kb"));
        server.Engine.Run.IsBackgroundPaused = true;
        using RespConnection other = RespConnection.Connect(server.Port);
        other.Send("*2\r\n$4\r\nECHO\r\n$200000\r\n" + new string('x', 100_000));
        using RespConnection large = RespConnection.Connect(server.Port);
        try
        {
            large.Send("*2\r\n$4\r\nECHO\r\n$4000000\r\n" + new string('x', 3_000_000));
            Assert.True(large.Read().IsClosed);
        }
        catch (IOException)
        {
            // closed while it sent
        }

        other.Send(new string('x', 100_000) + "\r\n");
        Assert.Equal(200_000, other.Read().Text.Length);
        Assert.Equal(1, server.Engine.Metrics.Server.EvictedClients);
    }

    [Fact]
    public async Task Client_with_no_evict_stays()
    {
        await using RedKiteServer server = await StartAsync("sockets", ("maxmemory", "400mb"), ("maxmemory-policy", "allkeys-lru"), ("maxmemory-clients", "1%"));
        using RespConnection kept = RespConnection.Connect(server.Port);
        using RespConnection closed = RespConnection.Connect(server.Port);
        kept.Run("CLIENT NO-EVICT ON").IsOk();
        kept.Send("*2\r\n$4\r\nECHO\r\n$9000000\r\n" + new string('x', 5_000_000));
        closed.Send("*2\r\n$4\r\nECHO\r\n$9000000\r\n" + new string('x', 1_000_000));
        Assert.True(closed.Read().IsClosed);
        Set(server, "maxmemory-clients", "0");
        kept.Send(new string('x', 4_000_000) + "\r\n");
        Assert.Equal(9_000_000, kept.Read().Text.Length);
        Assert.Equal(1, server.Engine.Metrics.Server.EvictedClients);
    }
}
