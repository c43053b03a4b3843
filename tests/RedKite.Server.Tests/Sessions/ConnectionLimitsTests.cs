using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>Limits of connections: maxclients, timeout, protected mode, over both transports.</summary>
public class ConnectionLimitsTests : NetworkTests
{
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Connection_above_maxclients_gets_an_error_and_is_closed(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("maxclients", "3"));
        List<RespConnection> clients = [.. Enumerable.Range(0, 3).Select(_ => RespConnection.Connect(server.Port))];
        clients.ForEach(client => client.Run("PING").IsSimple("PONG"));
        for (int i = 0; i < 5; i++)
        {
            using RespConnection refused = RespConnection.Connect(server.Port);
            refused.Read().IsError("ERR max number of clients reached");
            refused.Read().IsClosed();
        }

        Assert.Equal(5, server.Engine.Metrics.Server.ConnectionsRejected);
        Assert.Equal(3, server.Engine.Metrics.Server.ConnectionsReceived);
        Assert.Equal(3, clients[0].Run("CLIENT LIST").Text.Count(c => c == '\n'));

        clients[2].Dispose();
        WaitFor(() => server.Engine.Clients.Count == 2, "one has left");
        using RespConnection next = RespConnection.Connect(server.Port);
        next.Run("PING").IsSimple("PONG");
        clients.ForEach(client => client.Dispose());
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Request_above_the_query_buffer_limit_is_not_executed_although_its_end_arrives_at_once(string transport)
    {
        const int Limit = 1 << 20;
        await using RedKiteServer server = await StartAsync(transport, ("client-query-buffer-limit", "1mb"));
        using RespConnection control = RespConnection.Connect(server.Port);
        (int Bytes, bool Closes)[] cases = [(Limit - 100, false), (Limit, true), (Limit + 50_000, true)];
        foreach ((int bytes, bool closes) in cases)
        {
            using RespConnection client = RespConnection.Connect(server.Port);
            client.Send($"*2\r\n$4\r\nINCR\r\n$5\r\ncount\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${bytes}\r\n{new string('x', bytes)}\r\n*2\r\n$4\r\nINCR\r\n$5\r\ncount\r\n");
            Assert.Equal(':', client.Read().Marker); // what precedes it is executed
            if (closes) client.Read().IsClosed();
            else client.Read().IsOk();
            control.Run("STRLEN k").IsInteger(Limit - 100);
        }

        control.Run("GET count").IsBulk("4");
        Assert.Equal(2, server.Engine.Metrics.Server.QueryBufferDisconnections);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Idle_connection_is_closed_but_not_a_busy_or_paused_one(string transport)
    {
        ManualClock clock = new();
        await using RedKiteServer server = await StartAsync(transport, clock, ("timeout", "1"));
        using RespConnection idle = RespConnection.Connect(server.Port);
        using RespConnection busy = RespConnection.Connect(server.Port);
        idle.Run("PING").IsSimple("PONG");
        busy.Run("PING").IsSimple("PONG");
        for (int i = 0; i < 1_000 && server.Engine.Clients.Count == 2; i++)
        {
            clock.Advance(400);
            busy.Run("PING").IsSimple("PONG");
            Thread.Sleep(20);
        }

        idle.Read().IsClosed();
        busy.Run("CLIENT PAUSE 3000").IsOk();
        busy.Send("PING\r\n");
        WaitFor(() => server.Engine.Clients.All.Single().IsPaused, "its request was taken");
        clock.Advance(2_999);
        Thread.Sleep(300);   // until the server has checked its clients
        Assert.Equal((1, 0), (server.Engine.Clients.Count, busy.AvailableBytes));
        clock.Advance(1);
        busy.Read().IsSimple("PONG");
    }

    // The commands that enable-debug-command and enable-module-command open to this machine alone.
    [Fact]
    public async Task Local_commands_are_refused_to_other_hosts()
    {
        IPAddress? own = OwnAddress();
        if (own is null) Assert.Skip("this machine has no address but loopback's");
        await using RedKiteServer server = await StartAsync("sockets", ("bind", $"127.0.0.1 {own}"), ("protected-mode", "no"), ("enable-debug-command", "local"), ("enable-module-command", "local"));
        using RespConnection near = RespConnection.Connect(server.Port);
        using RespConnection far = RespConnection.Connect(new IPEndPoint(own, server.Port));
        near.Run("DEBUG SLEEP 0").IsOk();
        Assert.StartsWith("ERR DEBUG command not allowed.", far.Run("DEBUG SLEEP 0").Text, StringComparison.Ordinal);
        Assert.DoesNotContain("not allowed", near.Run("MODULE LOAD nothing").Text, StringComparison.Ordinal);
        Assert.StartsWith("ERR MODULE command not allowed.", far.Run("MODULE LOAD nothing").Text, StringComparison.Ordinal);
    }

    // It shows no data, so that it is open to this machine whatever enable-debug-command says, and to others with the password.
    [Fact]
    public async Task A_debug_package_is_refused_to_other_hosts_until_a_password_is_required()
    {
        IPAddress? own = OwnAddress();
        if (own is null) Assert.Skip("this machine has no address but loopback's");
        await using RedKiteServer server = await StartAsync("sockets", ("bind", $"127.0.0.1 {own}"), ("protected-mode", "no"));
        using RespConnection near = RespConnection.Connect(server.Port);
        using RespConnection far = RespConnection.Connect(new IPEndPoint(own, server.Port));
        Assert.StartsWith("PK", near.Run("DEBUG PACKAGE LOG 0").Text, StringComparison.Ordinal);
        Assert.StartsWith("ERR DEBUG command not allowed.", far.Run("DEBUG PACKAGE LOG 0").Text, StringComparison.Ordinal);
        Set(server, "requirepass", "secret");
        using RespConnection stranger = RespConnection.Connect(new IPEndPoint(own, server.Port));
        stranger.Run("DEBUG PACKAGE LOG 0").IsError("NOAUTH Authentication required.");
        stranger.Run("AUTH secret").IsOk();
        Assert.StartsWith("PK", stranger.Run("DEBUG PACKAGE LOG 0").Text, StringComparison.Ordinal);
        Assert.StartsWith("ERR DEBUG command not allowed.", stranger.Run("DEBUG SLEEP 0").Text, StringComparison.Ordinal);
    }

    // Even where no protected mode would refuse them.
    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Other_hosts_reach_the_server_only_on_bound_addresses(string transport)
    {
        IPAddress? own = OwnAddress();
        if (own is null) Assert.Skip("this machine has no address but loopback's");
        await using RedKiteServer server = await StartAsync(transport, ("protected-mode", "no"));
        using RespConnection near = RespConnection.Connect(server.Port);
        near.Run("CONFIG GET bind").IsArray("bind", "127.0.0.1 -::1");
        Assert.ThrowsAny<SocketException>(() => RespConnection.Connect(new IPEndPoint(own, server.Port)));
        near.Run("CONFIG SET bind \"* -::*\"").IsOk();
        using RespConnection far = RespConnection.Connect(new IPEndPoint(own, server.Port));
        far.Run("PING").IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Protected_mode_refuses_other_hosts_without_a_password(string transport)
    {
        IPAddress? own = OwnAddress();
        if (own is null) Assert.Skip("this machine has no address but loopback's");
        await using RedKiteServer server = await StartAsync(transport, ("bind", own.ToString()));
        var address = new IPEndPoint(own, server.Port);
        using (RespConnection refused = RespConnection.Connect(address))
        {
            RespValue farewell = refused.Read();
            Assert.True(farewell.IsError, farewell.ToString());
            Assert.StartsWith("DENIED RedKite is running in protected mode", farewell.Text, StringComparison.Ordinal);
            refused.Read().IsClosed();
        }

        Assert.Equal(1, server.Engine.Metrics.Server.ConnectionsRejected);
        Set(server, "requirepass", "secret");
        using RespConnection accepted = RespConnection.Connect(address);
        accepted.Run("PING").IsError("NOAUTH Authentication required.");
        Set(server, "requirepass", "");
        Set(server, "protected-mode", "no");
        using RespConnection open = RespConnection.Connect(address);
        open.Run("PING").IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Slow_reader_is_closed(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("client-output-buffer-limit", "normal 1000000 0 0"));
        using RespConnection slow = RespConnection.Connect(server.Port);
        slow.Run("SET k " + new string('v', 100_000)).IsOk();
        slow.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 400)));
        WaitFor(() => server.Engine.Clients.Count == 0, "it is closed");
        Assert.Equal(1, server.Engine.Metrics.Server.OutputBufferDisconnections);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Request_above_the_query_buffer_limit_closes_the_connection(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("client-query-buffer-limit", "1mb"));
        using RespConnection large = RespConnection.Connect(server.Port);
        large.Send("*2\r\n$4\r\nECHO\r\n$4000000\r\n" + new string('x', 3_000_000));
        Assert.True(large.Read().IsClosed);
        Assert.Equal(1, server.Engine.Metrics.Server.QueryBufferDisconnections);
    }

    [Fact]
    public async Task Maxclients_is_limited_by_the_open_file_limit()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "the limit is known on Linux alone");
        await using RedKiteServer server = await StartAsync("epoll", ("maxclients", "20"));
        const string Error = "CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the specified number of clients, try with ";
        string? refused = server.Engine.Configuration.Set([new("maxclients", "4294967295")]);
        Assert.StartsWith(Error, refused, StringComparison.Ordinal);
        Assert.Equal(20, server.Engine.Settings.MaxClients);
        string fitting = refused![Error.Length..];
        Assert.Null(server.Engine.Configuration.Set([new("maxclients", fitting)]));
        Assert.Equal(fitting, server.Engine.Configuration.Get("maxclients"));
    }

    // Traffic to this address stays inside the machine.
    private static IPAddress? OwnAddress() => NetworkInterface.GetAllNetworkInterfaces()
        .Where(network => network.OperationalStatus == OperationalStatus.Up)
        .SelectMany(network => network.GetIPProperties().UnicastAddresses)
        .Select(unicast => unicast.Address)
        .FirstOrDefault(address => address.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(address));
}
