using System.Diagnostics;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>The CLIENT container over sockets and two loops, so that clients inspect and kill those of another loop.</summary>
public class ClientCommandsTests : NetworkTests
{
    private static readonly int ComingAndGoingMs = TestScale.Of(gate: 500, full: 2_000);

    [Fact]
    public async Task Client_name_and_library()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT GETNAME").IsNull();
        client.Run("CLIENT SETNAME me").IsOk();
        client.Run("CLIENT GETNAME").IsBulk("me");
        const string BadName = "ERR Client names cannot contain spaces, newlines or special characters.";
        client.Run("CLIENT SETNAME \"a b\"").IsError(BadName);
        client.Run("CLIENT SETNAME \"a\\n\"").IsError(BadName);
        client.Run("CLIENT SETNAME \"\\x7f\"").IsError(BadName);
        client.Run("CLIENT SETNAME \"\\xff\"").IsError(BadName);
        client.Run("CLIENT SETNAME \"\"").IsOk();
        client.Run("CLIENT GETNAME").IsNull();
        client.Run("CLIENT SETINFO lib-name redis-py(x)").IsOk();
        client.Run("CLIENT SETINFO LIB-VER 1.2").IsOk();
        client.Run("CLIENT SETINFO lib-ver \"1 2\"").IsError("ERR lib-ver cannot contain spaces, newlines or special characters.");
        client.Run("CLIENT SETINFO foo 1").IsError("ERR Unrecognized option 'foo'");
        Assert.Contains(" lib-name=redis-py(x) lib-ver=1.2 ", client.Run("CLIENT INFO").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Client_info_has_the_fields_of_redis_in_order()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("SELECT 2").IsOk();
        RespValue info = client.Run("CLIENT INFO");
        Assert.Equal('$', info.Marker);
        Assert.Matches(
            $@"^id=\d+ addr={Regex.Escape($"{client.LocalEndPoint}")} laddr=127\.0\.0\.1:{server.Port} fd=\d+ name= age=0 idle=0 flags=N db=2 "
            + @"sub=0 psub=0 ssub=0 multi=-1 watch=0 qbuf=\d+ qbuf-free=\d+ argv-mem=10 multi-mem=0 rbs=\d+ rbp=\d+ obl=0 oll=0 omem=0 tot-mem=\d+ "
            + @"events=r cmd=client\|info user=default redir=-1 resp=2 lib-name= lib-ver= io-thread=\d+ tot-net-in=\d+ tot-net-out=\d+ tot-cmds=1\n$",
            info.Text);
        client.Run("HELLO 3");
        Assert.Equal('=', client.Run("CLIENT INFO").Marker);
    }

    [Fact]
    public async Task List_filters_by_type_and_id()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection one = RespConnection.Connect(server.Port);
        long first = IdOf(one); // accepted before the other one
        using RespConnection two = RespConnection.Connect(server.Port);
        long second = IdOf(two);
        Assert.Equal([first, second], Ids(one.Run("CLIENT LIST")));
        Assert.Equal([first, second], Ids(one.Run("CLIENT LIST TYPE normal")));
        one.Run("CLIENT LIST TYPE pubsub").IsBulk("");
        one.Run("CLIENT LIST TYPE slave").IsBulk("");
        one.Run("CLIENT LIST TYPE master").IsBulk("");
        Assert.Equal([second, first], Ids(one.Run($"CLIENT LIST ID {second} 999 -1 {first}")));
        one.Run("CLIENT LIST TYPE foo").IsError("ERR Unknown client type 'foo'");
        one.Run("CLIENT LIST ID x").IsError("ERR Invalid client ID");
        one.Run("CLIENT LIST ID").IsError("ERR syntax error");
        one.Run("CLIENT LIST TYPE normal x").IsError("ERR syntax error");
        Assert.Contains("cmd=client|list", one.Run($"CLIENT LIST ID {first}").Text, StringComparison.Ordinal);
        Assert.Contains("cmd=client|id", one.Run($"CLIENT LIST ID {second}").Text, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Kill_ends_clients_of_every_loop_and_removes_them_from_the_list(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection killer = RespConnection.Connect(server.Port);
        long own = IdOf(killer);
        for (int i = 0; i < 4; i++)
        {
            List<RespConnection> victims = [.. Enumerable.Range(0, 4).Select(_ => RespConnection.Connect(server.Port))];
            long[] ids = [.. victims.Select(IdOf)];
            killer.Run($"CLIENT KILL ID {ids[0]}").IsInteger(1);
            killer.Run($"CLIENT KILL ADDR {victims[1].LocalEndPoint} LADDR 127.0.0.1:{server.Port} USER default TYPE normal").IsInteger(1);
            killer.Run($"CLIENT KILL {victims[2].LocalEndPoint}").IsOk();
            Assert.Equal([own, ids[3]], Ids(killer.Run("CLIENT LIST")));
            killer.Run($"CLIENT KILL TYPE normal MAXAGE 1000").IsInteger(0);
            killer.Run("CLIENT KILL TYPE normal").IsInteger(1);
            victims.ForEach(victim => victim.Read().IsClosed());
            victims.ForEach(victim => victim.Dispose());
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Kill_of_the_caller_replies_first(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send($"CLIENT KILL {client.LocalEndPoint}\r\nSET k v\r\n");
        client.Read().IsOk();
        client.Read().IsClosed();
        using RespConnection other = RespConnection.Connect(server.Port);
        other.Run("GET k").IsNull();
        other.Run("CLIENT KILL SKIPME yes").IsInteger(0);
        other.Run("CLIENT KILL SKIPME no").IsInteger(1);
        other.Read().IsClosed();
    }

    [Fact]
    public async Task Kill_refuses_unknown_filters()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT KILL").IsError("ERR wrong number of arguments for 'client|kill' command");
        client.Run("CLIENT KILL ID").IsError("ERR No such client");
        client.Run("CLIENT KILL 1.2.3.4:5").IsError("ERR No such client");
        client.Run("CLIENT KILL ID x").IsError("ERR client-id should be greater than 0");
        client.Run("CLIENT KILL ID 0").IsError("ERR client-id should be greater than 0");
        client.Run("CLIENT KILL ID 1 ADDR").IsError("ERR syntax error");
        client.Run("CLIENT KILL FOO 1").IsError("ERR syntax error");
        client.Run("CLIENT KILL SKIPME foo").IsError("ERR syntax error");
        client.Run("CLIENT KILL TYPE foo").IsError("ERR Unknown client type 'foo'");
        client.Run("CLIENT KILL USER foo").IsError("ERR No such user 'foo'");
        client.Run("CLIENT KILL MAXAGE x").IsError("ERR maxage is not an integer or out of range");
        client.Run("CLIENT KILL MAXAGE 0").IsError("ERR maxage should be greater than 0");
        client.Run("CLIENT KILL ID 9999").IsInteger(0);
    }

    [Fact]
    public async Task Reply_off_and_skip_with_pipelines()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        Pipelined("CLIENT REPLY ON|PING", "+OK\r\n+PONG\r\n");
        Pipelined("CLIENT REPLY SKIP|PING x|PING", "+PONG\r\n");
        Pipelined("CLIENT REPLY SKIP|CLIENT REPLY SKIP|PING x|PING", "+PONG\r\n");
        Pipelined("CLIENT REPLY SKIP|FOO|PING", "+PONG\r\n");
        Pipelined("CLIENT REPLY SKIP|CLIENT REPLY ON|PING", "+OK\r\n+PONG\r\n");
        Pipelined("CLIENT REPLY SKIP|RESET|PING", "+PONG\r\n");
        Pipelined("CLIENT REPLY OFF|PING|CLIENT REPLY SKIP|PING|CLIENT REPLY foo|PING|CLIENT REPLY ON|PING", "+OK\r\n+PONG\r\n");
        Pipelined("CLIENT REPLY SKIP|CLIENT REPLY OFF|PING|CLIENT REPLY ON", "+OK\r\n");
        Pipelined("CLIENT REPLY OFF|RESET|PING", "+RESET\r\n+PONG\r\n");
        Pipelined("CLIENT REPLY foo|PING", "-ERR syntax error\r\n+PONG\r\n");
        client.Send("CLIENT REPLY SKIP\r\n\r\nPING x\r\n");   // an empty request counts
        client.Read().IsBulk("x");

        // As in Redis, a closing connection ends after its last reply: without replies it stays open, and its input is ignored.
        client.Send("CLIENT REPLY OFF\r\n*x\r\nCLIENT REPLY ON\r\n");
        (byte[] bytes, bool closed) = client.ReadUntilQuiet(100);
        Assert.Equal((0, false), (bytes.Length, closed));
        client.Send("PING\r\n");
        (bytes, closed) = client.ReadUntilQuiet(100);
        Assert.Equal((0, false), (bytes.Length, closed));

        // Once as inline requests, which execute one by one, once as arrays, which are read as one batch.
        void Pipelined(string commands, string replies)
        {
            string[] lines = commands.Split('|');
            client.Send(string.Concat(lines.Select(line => line + "\r\n")));
            Expect(replies);
            client.Send(string.Concat(lines.Select(line => System.Text.Encoding.Latin1.GetString(CommandLine.Encode(CommandLine.Split(line))))));
            Expect(replies);
        }

        void Expect(string replies)
        {
            (byte[] bytes, bool closed) = client.ReadUntilQuiet(quietMs: 30, expectedBytes: replies.Length);
            Assert.Equal((replies, false), (System.Text.Encoding.Latin1.GetString(bytes), closed));
        }
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pause_write_holds_writes_in_order(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection one = RespConnection.Connect(server.Port);
        using RespConnection two = RespConnection.Connect(server.Port);
        one.Run("CLIENT PAUSE 60000 WRITE").IsOk();
        one.Run("GET k").IsNull();
        server.Execute("SET", "k", "in-process");   // not paused

        // Quotes are removed in place, and the line must be parsed again later.
        two.Send("GET k\r\nSET k 'b c'\r\nGET k\r\n");
        two.Read().IsBulk("in-process");
        AssertSilent(two);
        Assert.Contains(" flags=b ", one.Run("CLIENT LIST").Text, StringComparison.Ordinal);
        one.Run("CLIENT UNPAUSE").IsOk();
        two.Read().IsOk();
        two.Read().IsBulk("b c");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pause_write_holds_scripts_that_may_write_and_they_count_as_blocked(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection one = RespConnection.Connect(server.Port);
        using RespConnection two = RespConnection.Connect(server.Port);
        using RespConnection three = RespConnection.Connect(server.Port);
        one.Run("CLIENT PAUSE 60000 WRITE").IsOk();
        Assert.Equal(1, one.Run("EVAL_RO 'return 1' 0").Number);
        Assert.Equal(2, one.Run("EVAL \"#!lua flags=no-writes\\nreturn 2\" 0").Number);
        two.Send("EVAL 'return 3' 0\r\n");
        three.Send("*3\r\n$4\r\nEVAL\r\n$14\r\n#!lua\nreturn 4\r\n$1\r\n0\r\n");
        WaitFor(() => one.Run("INFO clients").Text.Contains("\r\nblocked_clients:2\r\n", StringComparison.Ordinal), "both wait");
        one.Run("CLIENT UNPAUSE").IsOk();
        Assert.Equal((3, 4), (two.Read().Number, three.Read().Number));
        Assert.Contains("\r\nblocked_clients:0\r\n", one.Run("INFO clients").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Unblock_with_an_error_counts_as_the_blocked_commands_failure()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection one = RespConnection.Connect(server.Port);
        using RespConnection two = RespConnection.Connect(server.Port);
        long id = two.Run("CLIENT ID").Number;
        two.Send("BLPOP l 0\r\n");
        WaitFor(() => one.Run($"CLIENT UNBLOCK {id} ERROR").Number == 1, "it waits");
        Assert.StartsWith("UNBLOCKED", two.Read().Text, StringComparison.Ordinal);
        Assert.Contains("errorstat_UNBLOCKED:count=1", one.Run("INFO errorstats").Text, StringComparison.Ordinal);
        Assert.Matches("cmdstat_blpop:calls=1,.*,failed_calls=1", one.Run("INFO commandstats").Text);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pause_all_holds_everything_except_errors(string transport)
    {
        // The pause lasts until the test advances the clock, so an error that waited for its end would never arrive.
        ManualClock clock = new();
        await using RedKiteServer server = await StartAsync(transport, clock);
        using RespConnection one = RespConnection.Connect(server.Port);
        using RespConnection two = RespConnection.Connect(server.Port);
        one.Run("CLIENT PAUSE 400").IsOk();
        two.Run("FOO").IsError("ERR unknown command 'FOO', with args beginning with: ");
        two.Run("GET").IsError("ERR wrong number of arguments for 'get' command");
        two.Send("echo \"a\\x41b\"\r\n\r\nPING\r\n");
        one.Send("PING\r\n");
        clock.Advance(399);
        AssertSilent(one);
        AssertSilent(two);
        clock.Advance(1);
        one.Read().IsSimple("PONG");
        two.Read().IsBulk("aAb");
        two.Read().IsSimple("PONG");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pause_ends_with_an_incomplete_command_in_the_buffer(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("*4\r\n$6\r\nCLIENT\r\n$5\r\nPAUSE\r\n$5\r\n60000\r\n$5\r\nWRITE\r\n");
        client.Read().IsOk();

        // The second request arrives partly, after the paused one.
        client.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n*3\r\n$3\r\nSET\r\n$5\r\nother\r\n$6\r\nval");
        AssertSilent(client);
        server.Execute("CLIENT", "UNPAUSE");
        client.Read().IsOk();
        client.Send("ue1\r\n*2\r\n$3\r\nGET\r\n$5\r\nother\r\n");
        client.Read().IsOk();
        client.Read().IsBulk("value1");
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Paused_client_can_be_killed_and_can_disconnect(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection killer = RespConnection.Connect(server.Port);
        using RespConnection killed = RespConnection.Connect(server.Port);
        using RespConnection leaver = RespConnection.Connect(server.Port);
        long id = IdOf(killed);
        leaver.Run("PING").IsSimple("PONG");
        killer.Run("CLIENT PAUSE 60000 WRITE").IsOk();
        killed.Send("SET a 1\r\n");
        leaver.Send("SET b 1\r\n");
        AssertSilent(killed);
        leaver.Dispose();
        killer.Run($"CLIENT KILL ID {id}").IsInteger(1);
        killed.Read().IsClosed();
        killer.Run("CLIENT UNPAUSE").IsOk();
        WaitFor(() => server.Engine.Clients.Count == 1, "both are gone");
        killer.Run("GET a").IsNull();
    }

    [Fact]
    public async Task Pause_refuses_invalid_arguments()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT PAUSE x").IsError("ERR timeout is not an integer or out of range");
        client.Run("CLIENT PAUSE -1").IsError("ERR timeout is negative");
        client.Run("CLIENT PAUSE 9223372036854775807").IsError("ERR timeout is out of range");
        client.Run("CLIENT PAUSE x foo").IsError("ERR CLIENT PAUSE mode must be WRITE or ALL");
        client.Run("CLIENT PAUSE 1 WRITE x").IsError("ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.");
        client.Run("CLIENT PAUSE 0").IsOk();
        client.Run("CLIENT UNPAUSE").IsOk();
    }

    [Fact]
    public async Task Switches_and_unsupported_subcommands()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("CLIENT NO-EVICT foo").IsError("ERR syntax error");
        client.Run("CLIENT NO-EVICT on").IsOk();
        client.Run("CLIENT NO-EVICT off").IsOk();
        client.Run("CLIENT NO-TOUCH foo").IsError("ERR syntax error");
        client.Run("CLIENT GETREDIR").IsInteger(-1);
        client.Run("CLIENT TRACKINGINFO");
        Assert.Equal("*6\r\n$5\r\nflags\r\n*1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n", System.Text.Encoding.Latin1.GetString(client.LastBytes));
        client.Run("HELLO 3");
        client.Run("CLIENT TRACKINGINFO");
        Assert.Equal("%3\r\n$5\r\nflags\r\n~1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n", System.Text.Encoding.Latin1.GetString(client.LastBytes));
        client.Run("CLIENT UNBLOCK x").IsError("ERR value is not an integer or out of range");
        client.Run("CLIENT UNBLOCK 9999 ERROR").IsInteger(0);
        client.Run("CLIENT UNBLOCK 1 foo").IsError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        client.Run("CLIENT UNBLOCK 1 ERROR x").IsError("ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.");
        Assert.All(client.Run("CLIENT HELP").Items, line => Assert.Equal('+', line.Marker));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task List_works_while_connections_come_and_go_on_another_loop(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection watcher = RespConnection.Connect(server.Port);
        watcher.Run("SET k " + new string('v', 200_000)).IsOk();
        using CancellationTokenSource enough = new();
        var thread = new Thread(() =>
        {
            // Each has temporary input and output buffers, and is severed while it uses them.
            while (!enough.IsCancellationRequested)
            {
                using RespConnection client = RespConnection.Connect(server.Port);
                client.Send(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 50)) + "*2\r\n$3\r\nGET\r\n$10\r\n");
                client.Read();
                client.Reset();
            }
        });
        thread.Start();
        Stopwatch clock = Stopwatch.StartNew();
        int seen = 0;
        while (clock.ElapsedMilliseconds < ComingAndGoingMs || (seen <= 1 && clock.ElapsedMilliseconds < PatienceMs)) seen = Math.Max(seen, Ids(watcher.Run("CLIENT LIST")).Length);
        enough.Cancel();
        thread.Join();
        Assert.True(seen > 1, "no other connection was ever listed");
        Assert.Null(server.Failure);
        WaitFor(() => server.Engine.Clients.Count == 1, "all are gone");
    }

    private static long[] Ids(RespValue list) =>
        [.. Regex.Matches(list.Text, @"^id=(\d+) .* lib-ver=\S* io-thread=\d+ tot-net-in=\d+ tot-net-out=\d+ tot-cmds=\d+$", RegexOptions.Multiline).Select(match => long.Parse(match.Groups[1].Value, null))];

    private static void AssertSilent(RespConnection client)
    {
        Thread.Sleep(150);
        Assert.Equal(0, client.AvailableBytes);
    }
}
