using System.Diagnostics;
using System.Globalization;
using RedKite.Server.Sessions;
using RedKite.Testing;

namespace RedKite.Server.Tests;

/// <summary>While a script runs on one loop, a client of another loop is served, whatever the script does.</summary>
[Alone]
public sealed class ScriptNeighborTests : NetworkTests
{
    private const double LongSeconds = 0.4;
    private const double ShortSeconds = 0.2;
    private const int KeysAround = 100;

    // Each is thrown over and over for a while, and at last without a pcall around it.
    [Theory]
    [InlineData("epoll", "return string.rep('x', 1e10)", "resulting string too large")]
    [InlineData("sockets", "return string.rep('x', 1e10)", "resulting string too large")]
    [InlineData("epoll", "return string.rep('x', 1e9)", "not enough memory")]
    [InlineData("epoll", "local a = 'x' while true do a = a .. a end", "not enough memory")]
    [InlineData("sockets", "local a = 'x' while true do a = a .. a end", "not enough memory")]
    [InlineData("epoll", "local t = {} while true do t[#t+1] = string.rep('x', 1000) .. #t end", "not enough memory")]
    [InlineData("epoll", "return (string.gsub('x', 'x', function() return string.rep('y', 1e9) end))", "not enough memory")]
    [InlineData("epoll", "local function f() return 1 + f() end return f()", "stack overflow")]
    [InlineData("sockets", "local function f() return 1 + f() end return f()", "stack overflow")]
    [InlineData("epoll", "error({})", "unknown error")]
    [InlineData("sockets", "error({})", "unknown error")]
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
    [MemberData(nameof(Transports))]
    public async Task Script_with_one_key_stops_only_commands_of_its_stripe(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport, ("busy-reply-threshold", "60000"));
        (RespConnection runner, RespConnection other) = ConnectToBothLoops(server);
        using (runner)
        using (other)
        {
            string[] elsewhere = [.. Enumerable.Range(0, KeysAround).Select(i => $"key:{i}").Where(key => StripeOf(server, key) != StripeOf(server, "k"))];
            Assert.InRange(elsewhere.Length, KeysAround / 2, KeysAround);
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
