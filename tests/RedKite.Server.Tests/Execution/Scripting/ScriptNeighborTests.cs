using System.Diagnostics;
using System.Globalization;
using RedKite.Server.Sessions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>While a script runs on one loop, a client of another loop is served, whatever the script does.</summary>
public sealed class ScriptNeighborTests : NetworkTests
{
    private const double LongSeconds = 0.4;
    private const double ShortSeconds = 0.2;
    private const int KeysAround = 100;
    private const int GetsBeside = 100;

    public static TheoryData<string, string, string> Bombs => new()
    {
        { "epoll", "return string.rep('x', 1e10)", "resulting string too large" },
        { "sockets", "return string.rep('x', 1e10)", "resulting string too large" },
        { "epoll", "return string.rep('x', 1e9)", "not enough memory" },
        { "epoll", "local a = 'x' while true do a = a .. a end", "not enough memory" },
        { "sockets", "local a = 'x' while true do a = a .. a end", "not enough memory" },
        { "epoll", "local t = {} while true do t[#t+1] = string.rep('x', 1000) .. #t end", "not enough memory" },
        { "epoll", "return (string.gsub('x', 'x', function() return string.rep('y', 1e9) end))", "not enough memory" },
        { "epoll", "local function f() return 1 + f() end return f()", "stack overflow" },
        { "sockets", "local function f() return 1 + f() end return f()", "stack overflow" },
        { "epoll", "error({})", "unknown error" },
        { "sockets", "error({})", "unknown error" },
    };

    // Each is thrown over and over until the neighbor was served a number of times, and at last without a pcall around it.
    [Theory]
    [MemberData(nameof(Bombs))]
    public async Task Neighbor_is_served_while_bombs_are_thrown(string transport, string bomb, string error)
    {
        Assert.SkipUnless(transport == "sockets" || OperatingSystem.IsLinux(), "epoll is Linux's");
        await using RedKiteServer server = await StartAsync(transport, ("script-memory-limit", "128mb"), ("busy-reply-threshold", "60000"));
        (RespConnection runner, RespConnection other) = ConnectToBothLoops(server);
        using (runner)
        using (other)
        {
            other.Run("SET k v").IsOk();
            GetBesideEndlessScript(server, runner, other, $"EVAL \"local function bomb() {bomb} end while true do pcall(bomb) end\" 0", ["k"]);
            RespValue reply = runner.Run($"EVAL \"{bomb}\" 0");
            Assert.True(reply.IsError, reply.ToString());
            Assert.Contains(error, reply.Text, StringComparison.Ordinal);
            runner.Run("EVAL \"return 1 + 2\" 0").IsInteger(3);
            other.Run("GET k").IsBulk("v");
        }

        Assert.Null(server.Failure);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Neighbor_is_served_on_other_stripes_than_that_of_the_scripts_key(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("busy-reply-threshold", "60000"));
        (RespConnection runner, RespConnection other) = ConnectToBothLoops(server);
        using (runner)
        using (other)
        {
            string[] elsewhere = KeysElsewhere(server);
            foreach (string key in elsewhere) other.Run($"SET {key} v").IsOk();
            GetBesideEndlessScript(server, runner, other, "EVAL \"redis.call('GET', KEYS[1]) while true do end\" 1 k", elsewhere);
            runner.Run("EVAL \"return redis.call('SET', KEYS[1], 'v')\" 1 k").IsOk();
        }
    }

    // Each is thrown over and over for a while, and at last without a pcall around it.
    [Theory]
    [Alone]
    [MemberData(nameof(Bombs))]
    public async Task Bombs_end_the_script_and_nothing_else_while_others_are_served(string transport, string bomb, string error)
    {
        Assert.SkipUnless(transport == "sockets" || OperatingSystem.IsLinux(), "epoll is Linux's");
        await using RedKiteServer server = await StartAsync(transport, ("script-memory-limit", "128mb"), ("busy-reply-threshold", "60000"));
        (RespConnection runner, RespConnection other) = ConnectToBothLoops(server);
        using (runner)
        using (other)
        {
            other.Run("SET k v").IsOk();
            runner.Run("EVAL \"return 1\" 0").IsInteger(1); // there is an interpreter
            QuietMachine.Try(() =>
            {
                Stopwatch clock = Stopwatch.StartNew();
                runner.SendCommand($"EVAL \"local function bomb() {bomb} end {Until(LongSeconds)} repeat pcall(bomb) until os.clock() > stop return bomb()\" 0");
                (int served, TimeSpan longest) = GetWhileItRuns(server, other, ["k"]);
                RespValue reply = runner.Read();
                TimeSpan length = clock.Elapsed;
                Assert.True(reply.IsError, reply.ToString());
                Assert.Contains(error, reply.Text, StringComparison.Ordinal);
                runner.Run("EVAL \"return 1 + 2\" 0").IsInteger(3);
                Assert.InRange(length.TotalSeconds, LongSeconds, double.MaxValue);
                Assert.InRange(served, 100, int.MaxValue);
                Assert.InRange(longest, TimeSpan.Zero, length / 4);
            });
            other.Run("GET k").IsBulk("v");
        }

        Assert.Null(server.Failure);
    }

    [Theory]
    [Alone]
    [MemberData(nameof(Transports))]
    public async Task Script_with_one_key_stops_only_commands_of_its_stripe(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("busy-reply-threshold", "60000"));
        (RespConnection runner, RespConnection other) = ConnectToBothLoops(server);
        using (runner)
        using (other)
        {
            string[] elsewhere = KeysElsewhere(server);
            foreach (string key in elsewhere) other.Run($"SET {key} v").IsOk();
            string script = $"EVAL \"redis.call('SET', KEYS[1], 'v') {Until(ShortSeconds)} while os.clock() < stop do end return 1\" 1 k";
            runner.Run(script).IsInteger(1);
            QuietMachine.Try(() =>
            {
                runner.SendCommand(script);
                (int served, TimeSpan longest) = GetWhileItRuns(server, other, elsewhere);
                runner.Read().IsInteger(1);
                Assert.InRange(served, 20, int.MaxValue);
                Assert.InRange(longest, TimeSpan.Zero, TimeSpan.FromSeconds(ShortSeconds / 2));
            });

            // A key of the same stripe shows that the comparison can tell: its GET returns behind the script.
            runner.SendCommand(script);
            WaitFor(() => server.Engine.Script.Current is not null, "the script runs");
            RunningScript.Run run = server.Engine.Script.Current!;
            other.Run("GET k").IsBulk("v");
            Assert.NotSame(run, server.Engine.Script.Current);
            runner.Read().IsInteger(1);
        }
    }

    // Without a time: a GET that waits for the script gets no reply at all.
    private static void GetBesideEndlessScript(RedKiteServer server, RespConnection runner, RespConnection other, string script, string[] keys)
    {
        runner.SendCommand(script);
        WaitFor(() => server.Engine.Script.Current is not null, "the script runs");
        RunningScript.Run run = server.Engine.Script.Current!;
        for (int i = 0; i < GetsBeside; i++) other.Run($"GET {keys[i % keys.Length]}").IsBulk("v");
        Assert.Same(run, server.Engine.Script.Current);
        Assert.Null(server.Engine.Script.Kill(isFunction: false));
        Assert.Contains("Script killed by user", runner.Read().Text, StringComparison.Ordinal);
    }

    private static string[] KeysElsewhere(RedKiteServer server)
    {
        string[] elsewhere = [.. Enumerable.Range(0, KeysAround).Select(i => $"key:{i}").Where(key => StripeOf(server, key) != StripeOf(server, "k"))];
        Assert.InRange(elsewhere.Length, KeysAround / 2, KeysAround);
        return elsewhere;
    }

    // How many GETs returned before the script's end, and how long one of them took at most.
    private static (int Served, TimeSpan Longest) GetWhileItRuns(RedKiteServer server, RespConnection client, string[] keys)
    {
        RunningScript.Run? run = null;
        Assert.True(SpinWait.SpinUntil(() => (run = server.Engine.Script.Current) is not null, PatienceMs));
        TimeSpan longest = TimeSpan.Zero;
        for (int served = 0; ; served++)
        {
            long start = Stopwatch.GetTimestamp();
            client.Run($"GET {keys[served % keys.Length]}").IsBulk("v");
            TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
            if (server.Engine.Script.Current != run) return (served, longest);
            if (elapsed > longest) longest = elapsed;
        }
    }

    private static string Until(double seconds) => string.Create(CultureInfo.InvariantCulture, $"local stop = os.clock() + {seconds}");

    private static int StripeOf(RedKiteServer server, string key) => server.Engine.Keyspace.StripeOf(server.Engine.Keyspace.Hash(System.Text.Encoding.ASCII.GetBytes(key)));
}
