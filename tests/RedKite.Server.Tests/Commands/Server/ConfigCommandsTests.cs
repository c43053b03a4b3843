using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public class ConfigCommandsTests
{
    [Fact]
    public async Task Config_get_matches_names_and_patterns_and_set_takes_several()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("CONFIG SET maxmemory 100mb hz 20").IsOk();
        server.Run("CONFIG GET maxmemory HZ nosuch").IsArray("maxmemory", "104857600", "HZ", "20");
        server.Run("CONFIG GET nosuch").IsArray();
        server.Run("CONFIG SET a b c").IsError("ERR syntax error");
        server.Run("CONFIG SET a").IsError("ERR wrong number of arguments for 'config|set' command");
        server.Run("CONFIG SET nosuch 1").IsError("ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'");
        server.Run("CONFIG REWRITE").IsError("ERR The server is running without a config file");
    }

    [Fact]
    public async Task Resp3_config_get_is_a_map()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.UseResp3();
        RespValue settings = server.Run("CONFIG GET maxmemory");
        Assert.Equal('%', settings.Marker);
        Assert.Equal("0", settings["maxmemory"]!.Text);
    }

    [Fact]
    public async Task Port_changes_while_clients_stay_connected()
    {
        // Both below the range from which the system assigns ports.
        int oldPort = LoopbackPort.Next(), newPort = LoopbackPort.Next();
        await using LiveServer server = await LiveServer.StartAsync("port", $"{oldPort}");
        server.Run($"CONFIG SET port {newPort}").IsOk();
        server.Run("DBSIZE").IsInteger(0);
        Assert.Equal(newPort, server.Server.Port);
        using (RespConnection late = RespConnection.Connect(newPort)) late.Run("DBSIZE").IsInteger(0);
        Assert.ThrowsAny<System.Net.Sockets.SocketException>(() => RespConnection.Connect(oldPort));

        server.Run("CONFIG SET port 0").IsOk();
        Assert.ThrowsAny<System.Net.Sockets.SocketException>(() => RespConnection.Connect(newPort));
        server.Run($"CONFIG SET port {oldPort}").IsOk();
        using RespConnection again = RespConnection.Connect(oldPort);
        again.Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public async Task Port_in_use_keeps_the_old_port()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        await using LiveServer other = await LiveServer.StartAsync();
        int port = server.Server.Port;
        Net.ListeningSocket socket = Assert.Single(server.Server.Sockets);
        server.Run($"CONFIG SET port {other.Server.Port}").IsError("ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs.");
        Assert.Equal(port, server.Server.Port);
        Assert.Same(socket, Assert.Single(server.Server.Sockets)); // never closed, so no other process could take it
        using RespConnection late = RespConnection.Connect(port);
        late.Run("DBSIZE").IsInteger(0);
        Assert.Contains(server.LogLines, line => line.Contains("the port is in use", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Bind_addresses_change_on_the_same_port_and_back()
    {
        int port = LoopbackPort.Next();
        await using LiveServer server = await LiveServer.StartAsync("port", $"{port}");
        server.Run("CONFIG SET bind 192.0.2.1").IsError("ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.");
        server.Run("CONFIG GET bind").IsArray("bind", "127.0.0.1");
        foreach (string bind in new[] { "\"127.0.0.1 -::1\"", "127.0.0.2", "127.0.0.1" }) server.Run($"CONFIG SET bind {bind}").IsOk();
        using RespConnection late = RespConnection.Connect(port);
        late.Run("DBSIZE").IsInteger(0);
    }

    [Fact]
    public async Task Removing_the_password_admits_unauthenticated_clients()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("CONFIG SET requirepass secret").IsOk();
        server.Run("DBSIZE").IsInteger(0);
        using RespConnection late = RespConnection.Connect(server.Server.Port);
        late.Run("DBSIZE").IsError("NOAUTH Authentication required.");
        server.Run("CONFIG SET requirepass \"\"").IsOk();
        RespValue reply = late.Run("DBSIZE");
        for (int i = 0; reply.IsError && i < 3_000; i++)
        {
            await Task.Delay(10, TestContext.Current.CancellationToken); // the other loop applies it soon
            reply = late.Run("DBSIZE");
        }

        reply.IsInteger(0);
    }

    [Fact]
    public async Task Resetstat_resets_every_counter()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET a 1 PX 1").IsOk();
        await Task.Delay(5, TestContext.Current.CancellationToken);
        server.Run("GET a").IsNull();
        server.Run("GET").IsError("ERR wrong number of arguments for 'get' command");
        Assert.Equal(1, server.Number("stats", "expired_keys"));
        server.Run("CONFIG RESETSTAT").IsOk();
        foreach (string field in new[] { "expired_keys", "keyspace_misses", "total_error_replies", "total_connections_received" }) Assert.Equal(0, server.Number("stats", field));
        server.Run("INFO errorstats").IsBulk("# Errorstats\r\n");
        Assert.DoesNotContain("cmdstat_get", server.Run("INFO commandstats").Text, StringComparison.Ordinal);
        Assert.InRange(server.Number("stats", "total_commands_processed"), 1, 10);
    }

    // They become text in the managed heap, whose exhaustion ends the process.
    [Fact]
    public async Task Request_of_more_than_a_megabyte_is_refused()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        string large = new('x', 1 << 20);
        server.Run($"CONFIG SET requirepass {large}").IsError("ERR CONFIG SET failed - names and values have more than 1048576 bytes");
        server.Run($"CONFIG SET {large} 1").IsError("ERR CONFIG SET failed - names and values have more than 1048576 bytes");
        server.Run($"CONFIG GET {large}").IsError("ERR CONFIG GET failed - patterns have more than 1048576 bytes");
        Assert.Equal("", server.Run("CONFIG GET requirepass").Items[1].Text);
    }
}
