using System.Diagnostics;
using System.Buffers;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Server.Tests;

public sealed class BehaviorPipelineTests : IAsyncDisposable
{
    private readonly List<string> _log = [];
    private RedKiteServer _server = null!;

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    [Fact]
    public async Task Behaviors_wrap_a_command_in_order()
    {
        var seen = new List<string>();
        await Start(new Recording(seen, "a"), new Recording(seen, "b"));
        Assert.Equal("OK", Run("SET", "k", "v").ToString());
        Assert.Equal(["a> set k v", "b> set k v", "b< executed +OK", "a< executed +OK"], seen);
        seen.Clear();
        Assert.Equal("v", Run("get", "k").ToString());
        Assert.Equal(["a> get k", "b> get k", "b< executed $1|v", "a< executed $1|v"], seen);
    }

    [Fact]
    public async Task Behavior_sees_errors_subcommands_and_the_client()
    {
        var seen = new List<string>();
        await Start(new Recording(seen, "a"));
        RedKiteSession client = _server.CreateSession();
        client.Execute("LPOP1");
        client.Execute("GET");
        Assert.Empty(seen); // unknown and malformed commands do not execute
        client.Execute("CLIENT", "SETNAME", "kite");
        client.Execute("SET", "k", "v");
        client.Execute("INCR", "k");
        client.Execute("SELECT", "3");
        client.Execute("GET", "k");
        Assert.Contains("a> client|setname SETNAME kite", seen);
        Assert.Contains("a< failed -ERR value is not an integer or out of range", seen);
        Assert.Equal("a< executed $-1", seen[^1]);
    }

    [Fact]
    public async Task Select_takes_effect_behind_behaviors()
    {
        await Start(new Passing());
        RedKiteSession client = _server.CreateSession();
        var replies = new ArrayBufferWriter<byte>();
        byte[] request = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n0\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n3\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"u8.ToArray();
        Assert.Equal(request.Length, client.Execute(request, replies));
        Assert.Equal("+OK\r\n+OK\r\n+OK\r\n$1\r\n3\r\n+OK\r\n$1\r\n0\r\n", Encoding.ASCII.GetString(replies.WrittenSpan));
    }

    [Fact]
    public async Task Behavior_may_reply_itself()
    {
        await Start(new Answering());
        Assert.Equal("ERR not for you", Run("GET", "error").ToString());
        Assert.Equal(7, Run("GET", "integer").Integer);
        Assert.Equal("raw", Run("GET", "raw").ToString());
        Assert.Equal("instead", Run("SET", "replaced", "v").ToString());
        Assert.Equal("v", Run("GET", "replaced").ToString());
        Assert.Equal("ERR a behavior ended the command without a reply", Run("GET", "nothing").ToString());
        Assert.Contains("rejected_calls=2,failed_calls=0", Run("INFO", "commandstats").ToString(), StringComparison.Ordinal);
        Assert.Contains("errorstat_ERR:count=2", Run("INFO", "errorstats").ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("before")]
    [InlineData("after")]
    [InlineData("twice")]
    public async Task Exception_of_a_behavior_is_an_error_reply_and_a_log_line(string moment)
    {
        await Start(new Passing(), new Throwing(), new Passing());
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal("ERR a behavior failed, see the server's log", Run("SET", moment, $"{i}").ToString());

            // No lock is left held: other clients, and commands over all keys, still work.
            Assert.Equal("OK", Run("SET", "other", "v").ToString());
            Assert.False(Run("DBSIZE").IsError);
        }

        Assert.Equal(100, _log.Count(line => line.StartsWith("A behavior failed at 'set': System.InvalidOperationException", StringComparison.Ordinal)));
        Assert.Equal(moment == "before" ? ReplyKind.Null : ReplyKind.Text, Run("GET", moment).Kind);
        Assert.Null(_server.Failure);
    }

    [Fact]
    public async Task Pipelined_commands_of_connections_pass_through_behaviors()
    {
        await Start(new Throwing(), new Answering());
        using var client = new TcpClient("127.0.0.1", _server.Port);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync("SET k v\r\nGET k\r\nGET before\r\nGET integer\r\nGET k\r\nCLIENT REPLY SKIP\r\nGET before\r\nPING\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
        const string expected = "+OK\r\n$1\r\nv\r\n-ERR a behavior failed, see the server's log\r\n:7\r\n$1\r\nv\r\n+PONG\r\n";
        byte[] received = new byte[expected.Length];
        await stream.ReadExactlyAsync(received, TestContext.Current.CancellationToken);
        Assert.Equal(expected, Encoding.ASCII.GetString(received));
    }

    [Fact]
    public async Task Pipelined_commands_are_counted_as_without_behaviors()
    {
        await Start(new Answering());
        RedKiteSession client = _server.CreateSession();
        Assert.Equal(
            "+OK\r\n-ERR not for you\r\n-ERR value is not an integer or out of range\r\n:7\r\n$1\r\nv\r\n$1\r\nv\r\n",
            Pipeline(client, "SET k v", "GET error", "INCR k", "GET integer", "GET k", "GET k"));
        string statistics = client.Execute("INFO", "commandstats").ToString();
        Assert.Matches("cmdstat_set:calls=1,.*rejected_calls=0,failed_calls=0", statistics);
        Assert.Matches("cmdstat_get:calls=2,.*rejected_calls=1,failed_calls=0", statistics);
        Assert.Matches("cmdstat_incr:calls=1,.*rejected_calls=0,failed_calls=1", statistics);
        string errors = client.Execute("INFO", "errorstats").ToString();
        Assert.Contains("errorstat_ERR:count=2", errors, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Keys_expire_between_pipelined_commands_of_a_slow_behavior()
    {
        await Start(new Sleeping(milliseconds: 30));
        Assert.Equal("+OK\r\n$-1\r\n", Pipeline(_server.CreateSession(), "SET k v PX 10", "GET k"));
    }

    [Fact]
    public async Task Behavior_measures_its_own_command_and_not_those_before_it()
    {
        var sleeping = new Sleeping(milliseconds: 20);
        await Start(sleeping);
        long start = Stopwatch.GetTimestamp();
        Pipeline(_server.CreateSession(), "GET a", "GET b", "GET c", "GET d", "GET e", "GET f", "GET g", "GET h");
        TimeSpan all = Stopwatch.GetElapsedTime(start);
        Assert.Equal(8, sleeping.Elapsed.Count);
        Assert.All(sleeping.Elapsed, elapsed => Assert.True(elapsed >= TimeSpan.FromMilliseconds(20)));
        Assert.InRange(sleeping.Elapsed.Aggregate((sum, elapsed) => sum + elapsed), TimeSpan.Zero, all); // with those before them they would have more
    }

    [Fact]
    public async Task Command_behind_behaviors_serves_a_blocked_client()
    {
        await Start(new Passing());
        using var blocked = new TcpClient("127.0.0.1", _server.Port);
        blocked.GetStream().Write("*3\r\n$5\r\nBLPOP\r\n$1\r\nl\r\n$1\r\n0\r\n"u8);
        RedKiteSession client = _server.CreateSession();
        Assert.True(SpinWait.SpinUntil(() => client.Execute("INFO", "clients").ToString().Contains("blocked_clients:1", StringComparison.Ordinal), 60_000));
        Assert.Equal(":1\r\n+OK\r\n:0\r\n", Pipeline(client, "RPUSH l x", "SET k v", "LLEN l"));
        const string expected = "*2\r\n$1\r\nl\r\n$1\r\nx\r\n";
        byte[] reply = new byte[expected.Length];
        blocked.GetStream().ReadExactly(reply);
        Assert.Equal(expected, Encoding.ASCII.GetString(reply));
    }

    // The replies to commands that arrive at once.
    private static string Pipeline(RedKiteSession client, params string[] commands)
    {
        var replies = new ArrayBufferWriter<byte>();
        byte[] requests = Encoding.ASCII.GetBytes(string.Concat(commands.Select(command =>
        {
            string[] words = command.Split(' ');
            return $"*{words.Length}\r\n{string.Concat(words.Select(word => $"${word.Length}\r\n{word}\r\n"))}";
        })));
        Assert.Equal(requests.Length, client.Execute(requests, replies));
        return Encoding.ASCII.GetString(replies.WrittenSpan);
    }

    [Fact]
    public async Task Behavior_may_attach_a_tag_to_the_client()
    {
        await Start(new Throttling(3));
        RedKiteSession client = _server.CreateSession();
        for (int i = 0; i < 3; i++) Assert.Equal("OK", client.Execute("SET", "k", "v").ToString());
        Assert.Equal("ERR too many commands", client.Execute("SET", "k", "v").ToString());
        Assert.Equal("v", _server.CreateSession().Execute("GET", "k").ToString());
    }

    [Theory]
    [InlineData(1)]
    [InlineData(40)]
    public async Task Command_allocates_nothing_at_any_depth(int depth)
    {
        Passing[] behaviors = [.. Enumerable.Range(0, depth).Select(_ => new Passing())];
        await Start([.. behaviors]);
        RedKiteSession client = _server.CreateSession();
        byte[] request = [.. Enumerable.Repeat("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"u8.ToArray(), 1000).SelectMany(bytes => bytes)];
        var replies = new ArrayBufferWriter<byte>(1024 * 1024);

        // A command allocates in every round what it allocates; a thread's first wait allocates once.
        long allocated = long.MaxValue;
        for (int round = 0; round < 6; round++)
        {
            replies.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            client.Execute(request, replies);
            allocated = Math.Min(allocated, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        Assert.Equal(0, allocated);
        Assert.Equal(string.Concat(Enumerable.Repeat("+OK\r\n$5\r\nvalue\r\n", 1000)), Encoding.ASCII.GetString(replies.WrittenSpan));
        Assert.All(behaviors, behavior => Assert.Equal(6 * 2 * 1000, behavior.Calls));
    }

    [Fact]
    public async Task Servers_with_the_same_options_share_their_behaviors()
    {
        var seen = new List<string>();
        var options = new RedKiteOptions { Port = 0, Behaviors = { new Passing(), new Recording(seen, "a") } };
        _server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        await using (RedKiteServer second = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken))
        {
            Assert.Equal("OK", Run("SET", "k", "1").ToString());
            Assert.Equal("OK", second.Execute("SET", "k", "2").ToString());
            Assert.Equal("1", Run("GET", "k").ToString());
        }

        Assert.Equal(["a> set k 1", "a< executed +OK", "a> set k 2", "a< executed +OK", "a> get k", "a< executed $1|1"], seen);
    }

    [Fact]
    public async Task Behavior_in_two_chains_is_refused_without_moving_any()
    {
        var seen = new List<string>();
        Behavior outer = new Recording(seen, "outer"), inner = new Recording(seen, "inner"), other = new Passing();
        await Start(outer, inner);
        await Refuse(inner, outer);
        await Refuse(other, outer, other);
        await Refuse(outer);
        Assert.Equal("OK", Run("SET", "k", "v").ToString());
        Assert.Equal(["outer> set k v", "inner> set k v", "inner< executed +OK", "outer< executed +OK"], seen);

        static async Task Refuse(params Behavior[] behaviors)
        {
            var options = new RedKiteOptions { Port = 0 };
            foreach (Behavior behavior in behaviors) options.Behaviors.Add(behavior);
            ArgumentException refused = await Assert.ThrowsAsync<ArgumentException>(() => RedKiteServer.StartAsync(options));
            Assert.Contains("has one place", refused.Message, StringComparison.Ordinal);
        }
    }

    private RedKiteReply Run(params string[] arguments) => _server.Execute(arguments);

    private async Task Start(params Behavior[] behaviors)
    {
        var options = new RedKiteOptions { Port = 0, Settings = { ["loops"] = "2" }, Log = Log };
        foreach (Behavior behavior in behaviors) options.Behaviors.Add(behavior);
        _server = await RedKiteServer.StartAsync(options);

        void Log(RedKiteLogEntry entry)
        {
            lock (_log) _log.Add(entry.Message);
        }
    }

    private sealed class Passing : Behavior
    {
        internal int Calls { get; private set; }

        public override void Invoke(ref CommandCall call)
        {
            Calls++;
            Next.Invoke(ref call);
        }
    }

    private sealed class Recording(List<string> seen, string name) : Behavior
    {
        public override void Invoke(ref CommandCall call)
        {
            var line = new StringBuilder($"{name}> {call.Name}");
            for (int i = 1; i < call.ArgumentCount; i++) line.Append(' ').Append(Encoding.UTF8.GetString(call[i]));
            seen.Add(line.ToString());
            Assert.False(call.WasExecuted);
            Next.Invoke(ref call);
            Assert.True(call.WasExecuted && call.IsInProcess && call.User == "default" && call.ClientId > 0 && call.Elapsed > TimeSpan.Zero);
            string reply = Encoding.UTF8.GetString(call.Reply).Trim().Replace("\r\n", "|", StringComparison.Ordinal);
            seen.Add($"{name}< {(call.RepliedError ? "failed" : "executed")} {reply}");
        }
    }

    private sealed class Answering : Behavior
    {
        public override void Invoke(ref CommandCall call)
        {
            switch (call.ArgumentCount < 2 ? "" : Encoding.UTF8.GetString(call[1]))
            {
                case "error": call.ReplyError("ERR not for you"); break;
                case "integer":
                    call.ReplyError("ERR forgotten"u8);
                    call.ReplyInteger(7);
                    break;
                case "raw": call.ReplyRaw("$3\r\nraw\r\n"u8); break;
                case "nothing": break;
                case "replaced" when call.Name == "set":
                    Next.Invoke(ref call);
                    call.ReplyBulk("instead"u8);
                    break;
                default: Next.Invoke(ref call); break;
            }
        }
    }

    private sealed class Throwing : Behavior
    {
        public override void Invoke(ref CommandCall call)
        {
            string key = call.Name == "set" || !call.IsInProcess ? Encoding.UTF8.GetString(call[call.ArgumentCount - 1 - (call.Name == "set" ? 1 : 0)]) : "";
            if (key == "before") throw new InvalidOperationException("before");
            Next.Invoke(ref call);
            if (key == "twice") Next.Invoke(ref call);
            if (key == "after") throw new InvalidOperationException("after");
        }
    }

    private sealed class Throttling(int commandsMax) : Behavior
    {
        public override void Invoke(ref CommandCall call)
        {
            int commands = (int?)call.ClientTag ?? 0;
            if (commands == commandsMax)
            {
                call.ReplyError("ERR too many commands"u8);
                return;
            }

            call.ClientTag = commands + 1;
            Next.Invoke(ref call);
        }
    }

    private sealed class Sleeping(int milliseconds) : Behavior
    {
        internal List<TimeSpan> Elapsed { get; } = [];

        public override void Invoke(ref CommandCall call)
        {
            Next.Invoke(ref call);
            Thread.Sleep(milliseconds);
            Elapsed.Add(call.Elapsed);
        }
    }
}
