using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>AUTH, HELLO and the other connection commands, over sockets because they close and change connections.</summary>
public class ConnectionCommandsTests : NetworkTests
{
    private const string WrongPass = "WRONGPASS invalid username-password pair or user is disabled.";
    private const string NoAuth = "NOAUTH Authentication required.";
    private const string HelloNoAuth = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Client_that_has_the_reply_of_quit_is_not_listed(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        for (int i = 0; i < 200; i++)
        {
            using RespConnection client = RespConnection.Connect(server.Port);
            client.Run("QUIT").IsOk();
            Assert.Equal(0, server.Engine.Clients.Count);
        }
    }

    [Fact]
    public async Task Ping_echo_and_select()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
        client.Run("PING hi").IsBulk("hi");
        client.Run("PING a b").IsError("ERR wrong number of arguments for 'ping' command");
        client.Run("ECHO hi").IsBulk("hi");
        client.Run("ECHO").IsError("ERR wrong number of arguments for 'echo' command");
        client.Run("SELECT 1").IsOk();
        client.Run("SET k v").IsOk();
        client.Run("SELECT 0").IsOk();
        client.Run("GET k").IsNull();
        client.Run("SELECT 16").IsError("ERR DB index is out of range");
        client.Run("SELECT -1").IsError("ERR DB index is out of range");
        client.Run("SELECT x").IsError("ERR value is not an integer or out of range");
        client.Run("SELECT 99999999999").IsError("ERR value is out of range, value must between -2147483648 and 2147483647");
    }

    [Fact]
    public async Task Auth_without_a_configured_password()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("AUTH x").IsError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?");
        client.Run("AUTH default x").IsOk();
        client.Run("AUTH DEFAULT x").IsError(WrongPass);
        client.Run("AUTH a b c").IsError("ERR syntax error");
        Assert.Equal(1, ServerTotals.Of(server.Engine.Metrics).AuthenticationsDenied);
    }

    [Fact]
    public async Task Authentication_is_checked_after_the_earlier_checks()
    {
        await using RedKiteServer server = await StartAsync("auto", ("requirepass", "secret"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsError(NoAuth);
        client.Run("GET k").IsError(NoAuth);
        client.Run("GET").IsError("ERR wrong number of arguments for 'get' command");
        client.Run("FOO bar").IsError("ERR unknown command 'FOO', with args beginning with: 'bar' ");
        client.Run("CLIENT").IsError("ERR wrong number of arguments for 'client' command");
        client.Run("CLIENT FOO").IsError("ERR unknown subcommand 'FOO'. Try CLIENT HELP.");
        client.Run("CLIENT ID").IsError(NoAuth);
        client.Run("AUTH secre").IsError(WrongPass);
        client.Run("AUTH secret1").IsError(WrongPass);
        client.Run("AUTH default bad").IsError(WrongPass);
        client.Run("AUTH nobody secret").IsError(WrongPass);
        Assert.Equal(4, ServerTotals.Of(server.Engine.Metrics).AuthenticationsDenied);
        client.Run("AUTH secret").IsOk();
        client.Run("GET k").IsNull();
        client.Run("AUTH default bad").IsError(WrongPass);
        client.Run("GET k").IsNull();   // still authenticated
        client.Run("RESET").IsSimple("RESET");
        client.Run("GET k").IsError(NoAuth);
        client.Run("AUTH default secret").IsOk();
        client.Run("GET k").IsNull();
    }

    [Fact]
    public async Task Unauthenticated_client_has_small_limits()
    {
        await using RedKiteServer server = await StartAsync("auto", ("requirepass", "secret"));
        using RespConnection many = RespConnection.Connect(server.Port);
        many.Send("*11\r\n");
        many.Read().IsError("ERR Protocol error: unauthenticated multibulk length");
        many.Read().IsClosed();
        using RespConnection large = RespConnection.Connect(server.Port);
        large.Send("*1\r\n$20000\r\n");
        large.Read().IsError("ERR Protocol error: unauthenticated bulk length");
        large.Read().IsClosed();

        // A preceding AUTH lifts both limits, in the same packet too.
        using RespConnection pipelined = RespConnection.Connect(server.Port);
        pipelined.Send("*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*2\r\n$4\r\nECHO\r\n$20000\r\n" + new string('x', 20000) + "\r\n");
        pipelined.Read().IsOk();
        pipelined.Read().IsBulk(new string('x', 20000));
    }

    [Fact]
    public async Task Password_set_later_applies_to_new_connections_only()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection early = RespConnection.Connect(server.Port);
        early.Run("PING").IsSimple("PONG");
        Set(server, "requirepass", "secret");
        early.Run("PING").IsSimple("PONG");
        using RespConnection late = RespConnection.Connect(server.Port);
        late.Run("PING").IsError(NoAuth);

        // Removing the password permits all commands, but HELLO still checks the credentials.
        Set(server, "requirepass", "");
        late.Run("PING").IsSimple("PONG");
        late.Run("HELLO 3").IsError(HelloNoAuth);
        late.Run("HELLO 3 AUTH default any")["proto"]!.IsInteger(3);
    }

    [Fact]
    public async Task Hello_describes_the_server_in_both_protocols()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        long id = IdOf(client);
        const string Facts = "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n8.12.0\r\n$5\r\nproto\r\n:{0}\r\n$2\r\nid\r\n:{1}\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*{2}\r\n{3}";
        client.Run("HELLO");
        Assert.Equal("*14\r\n" + string.Format(null, Facts, 2, id, ServerModule.All.Length, Modules("*8\r\n")), Bytes(client));
        client.Run("HELLO 3");
        Assert.Equal("%7\r\n" + string.Format(null, Facts, 3, id, ServerModule.All.Length, Modules("%4\r\n")), Bytes(client));
        client.Run("HELLO");
        Assert.Equal("%7\r\n" + string.Format(null, Facts, 3, id, ServerModule.All.Length, Modules("%4\r\n")), Bytes(client));
        client.Run("GET missing");
        Assert.Equal("_\r\n", Bytes(client));
        client.Run("HELLO 2");
        Assert.Equal("*14\r\n" + string.Format(null, Facts, 2, id, ServerModule.All.Length, Modules("*8\r\n")), Bytes(client));

        static string Modules(string head) => string.Concat(ServerModule.All.Select(module => $"{head}$4\r\nname\r\n${module.Name.Length}\r\n{module.Name}\r\n$3\r\nver\r\n:{module.Version}\r\n$4\r\npath\r\n$0\r\n\r\n$4\r\nargs\r\n*0\r\n"));
    }

    [Fact]
    public async Task Hello_refuses_invalid_arguments()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 1").IsError("NOPROTO unsupported protocol version");
        client.Run("HELLO 4").IsError("NOPROTO unsupported protocol version");
        client.Run("HELLO x").IsError("ERR Protocol version is not an integer or out of range");
        client.Run("HELLO 3 FOO").IsError("ERR Syntax error in HELLO option 'FOO'");
        client.Run("HELLO 3 AUTH x").IsError("ERR Syntax error in HELLO option 'AUTH'");
        client.Run("HELLO 3 setname").IsError("ERR Syntax error in HELLO option 'setname'");
        client.Run("HELLO 3 SETNAME \"a b\"").IsError("ERR Client names cannot contain spaces, newlines or special characters.");
        client.Run("HELLO 3 AUTH nobody x").IsError(WrongPass);
        client.Run("HELLO 3 SETNAME a FOO").IsError("ERR Syntax error in HELLO option 'FOO'");
        client.Run("CLIENT GETNAME");
        Assert.Equal("$-1\r\n", Bytes(client));   // neither the name nor the protocol changed
        client.Run("HELLO 3 SETNAME a SETNAME b");
        client.Run("CLIENT GETNAME").IsBulk("b");
    }

    [Fact]
    public async Task Hello_authenticates()
    {
        await using RedKiteServer server = await StartAsync("auto", ("requirepass", "secret"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("HELLO 3").IsError(HelloNoAuth);
        client.Run("HELLO 3 SETNAME x").IsError(HelloNoAuth);
        client.Run("HELLO 3 AUTH default bad").IsError(WrongPass);
        client.Run("HELLO 9").IsError("NOPROTO unsupported protocol version");
        client.Run("HELLO 3 AUTH default secret SETNAME me")["proto"]!.IsInteger(3);
        client.Run("CLIENT GETNAME").IsBulk("me");
        Assert.Equal(1, ServerTotals.Of(server.Engine.Metrics).AuthenticationsDenied);
    }

    [Fact]
    public async Task Passwords_are_hidden_from_the_slow_log()
    {
        await using RedKiteServer server = await StartAsync("auto", ("requirepass", "secret"), ("slowlog-log-slower-than", "0"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("AUTH default secret").IsOk();
        client.Run("HELLO 2 SETNAME n AUTH default secret");
        string[] lines = [.. server.Engine.SlowLog.Newest(-1).Select(entry => string.Join(' ', entry.Arguments.Select(System.Text.Encoding.Latin1.GetString)))];
        Assert.Equal(["HELLO 2 SETNAME n AUTH (redacted) (redacted)", "AUTH (redacted) (redacted)"], lines);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Quit_replies_and_discards_later_commands(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("PING\r\nQUIT\r\nSET k v\r\n");
        client.Read().IsSimple("PONG");
        client.Read().IsOk();
        client.Read().IsClosed();
        using RespConnection other = RespConnection.Connect(server.Port);
        other.Run("GET k").IsNull();
        other.Run("QUIT now").IsOk();
        other.Read().IsClosed();
        WaitFor(() => server.Engine.Clients.Count == 0, "both are gone");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Quit_delivers_megabytes_of_preceding_replies(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("SET k " + new string('v', 100_000)).IsOk();
        client.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 200)) + "QUIT\r\n" + string.Concat(Enumerable.Repeat("PING\r\n", 1000)));
        for (int i = 0; i < 200; i++) Assert.Equal(100_000, client.Read().Payload!.Length);
        client.Read().IsOk();
        client.Read().IsClosed();
    }

    [Fact]
    public async Task Reset_restores_a_new_connection_state()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("SELECT 3").IsOk();
        client.Run("HELLO 3 SETNAME me");
        client.Run("CLIENT NO-EVICT on").IsOk();
        client.Run("CLIENT NO-TOUCH on").IsOk();
        client.Run("CLIENT SETINFO lib-name lib").IsOk();
        Assert.Contains(" name=me ", client.Run("CLIENT INFO").Text, StringComparison.Ordinal);
        Assert.Contains(" flags=eT db=3 ", client.Run("CLIENT INFO").Text, StringComparison.Ordinal);
        client.Run("RESET").IsSimple("RESET");
        string info = client.Run("CLIENT INFO").Text;
        Assert.Contains(" name= ", info, StringComparison.Ordinal);
        Assert.Contains(" flags=N db=0 ", info, StringComparison.Ordinal);
        Assert.Contains(" resp=2 lib-name=lib ", info, StringComparison.Ordinal);
        client.Run("RESET x").IsError("ERR wrong number of arguments for 'reset' command");
    }

    [Fact]
    public async Task Http_request_closes_the_connection_without_a_reply()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("POST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v\r\n");
        client.Read().IsClosed();
        server.Execute("GET", "k");
        Assert.True(server.Execute("GET", "k").IsNull);
    }

    [Fact]
    public async Task In_process_callers_need_no_password_and_cannot_be_closed()
    {
        await using RedKiteServer server = await StartAsync("auto", ("requirepass", "secret"));
        RedKiteSession client = server.CreateSession();
        Assert.Equal("RESET", client.Execute("RESET").Text);
        Assert.Equal("OK", client.Execute("QUIT").Text);
        Assert.Equal("PONG", client.Execute("PING").Text);
        Assert.Equal("addr=?:0", client.Execute("CLIENT", "INFO").Text!.Split(' ')[1]);
        Assert.Equal("", client.Execute("CLIENT", "LIST").Text);
    }

    private static string Bytes(RespConnection client) => System.Text.Encoding.Latin1.GetString(client.LastBytes);
}
