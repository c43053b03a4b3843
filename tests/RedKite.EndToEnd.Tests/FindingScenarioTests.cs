using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Problems as a new user meets them, with what the server must say (the finding, who or what causes it, the remedy) and that it says nothing else;
/// and servers without a problem. An idle and a busy hour are two minutes here: every rule looks at ten minutes at most, and those that
/// do are tested with recorded series.
/// </summary>
[Long]
[Alone]
public sealed class FindingScenarioTests
{
    private const int PatienceMs = 180_000;

    // What other programs on the machine cause is no part of a scenario.
    private static readonly string[] OfTheMachine =
        ["cpu-saturated", "cpu-stolen", "cpu-throttled", "cpu-pressure", "io-pressure", "memory-pressure", "machine-memory", "container-memory", "disk-slow", "disk-nearly-full", "process-stalled", "data-folder-in-memory", "huge-pages-always"];

    [Fact]
    public void Slow_script_is_named_with_its_caller()
    {
        using ServerProcess server = Start();
        using RespConnection client = Named(server, "reporter");
        const string Script = "EVAL \"-- monthly report\\nlocal t = os.clock() while os.clock() - t < 0.15 do end\" 0";
        AssertSaid(
            server, "long-script", () => client.Run(Script), "Split its work",
            @"the script [0-9a-f]{40} \(""-- monthly report""\), \d+ ms, run by client \d+ \(reporter, 127\.0\.0\.1:\d+, user default\)",
            "slow-commands", "command-stall", "commands-wait", "loop-saturated", "loops-uneven");
    }

    [Fact]
    public void Big_key_is_named()
    {
        using ServerProcess server = Start("--key-survey-cpu-percent", "50");
        using RespConnection client = Named(server, "loader");
        client.Run("SETRANGE report:2026 80000000 x");
        AssertSaid(server, "big-key", Rest, "Split it, or read and delete it in parts", @"the key ""report:2026"" \(string of 80,000,001 bytes, [0-9.]+ MiB\)", "stripe-uneven", "command-stall");
    }

    [Fact]
    public void Hot_key_is_named()
    {
        using ServerProcess server = Start();
        using RespConnection client = Named(server, "web");
        client.Run("SET config:flags on").IsOk();
        string batch = string.Concat(Enumerable.Repeat("GET config:flags\r\n", 2000));
        AssertSaid(
            server, "hot-key", () =>
            {
                for (int i = 0; i < 20; i++)
                {
                    client.Send(batch);
                    for (int reply = 0; reply < 2000; reply++) client.Read();
                }
            },
            "Cache it in the client", @"the key ""config:flags"", \d+ uses a second", "loop-saturated", "loops-uneven");
    }

    [Fact]
    public void Slow_subscriber_is_named_after_it_was_closed()
    {
        using ServerProcess server = Start("--client-output-buffer-limit", "pubsub 1mb 0 0");
        using RespConnection publisher = Named(server, "publisher");
        using RespConnection subscriber = Named(server, "feed");
        Assert.False(subscriber.Run("SUBSCRIBE prices").IsError);
        string message = new('m', 100_000);
        for (int i = 0; i < 1000 && publisher.Run($"PUBLISH prices {message}").Number > 0; i++) ;
        AssertSaid(server, "slow-subscriber", Rest, "publish less to these channels", @"client \d+ \(feed, 127\.0\.0\.1:\d+, user default\), which has left");
    }

    [Fact]
    public void Caller_of_keys_is_named()
    {
        using ServerProcess server = Start();
        using RespConnection client = Named(server, "lister");
        for (int i = 0; i < 11_000; i++) client.SendCommand($"SET key:{i} v");
        for (int i = 0; i < 11_000; i++) client.Read().IsOk();
        AssertSaid(
            server, "keys-command", () =>
            {
                client.Run("KEYS none*").IsArray();
                Rest();
            },
            "Use SCAN", @"called by client \d+ \(lister, 127\.0\.0\.1:\d+, user default\) \d+ times", "slow-commands");
    }

    [Fact]
    public void Address_of_a_storm_is_named()
    {
        using ServerProcess server = Start();
        AssertSaid(
            server, "connection-storm", () => Parallel.For(0, 200, new ParallelOptions { MaxDegreeOfParallelism = 8 }, _ =>
            {
                using var socket = new TcpClient();
                socket.Connect("127.0.0.1", server.Port);
                socket.LingerState = new LingerOption(enable: true, 0); // no port waits for a minute
            }),
            "use a pool or one multiplexed connection", @"from 127\.0\.0\.1 \(\d+ connections within a minute\)");
    }

    [Fact]
    public void Refused_writes_are_said_at_once_and_nothing_counts_down()
    {
        using ServerProcess server = Start("--maxmemory", "120mb");
        using RespConnection client = Named(server, "writer");
        string value = new('x', 100_000);
        for (int i = 0; i < 5000 && !client.Run($"SET key:{i} {value}").IsError; i++) ;
        AssertSaid(
            server, "commands-refused-by-memory", () => client.Run($"SET more {value}"), "Raise maxmemory, remove data", @"the last refused command is of client \d+ \(writer, 127\.0\.0\.1:\d+, user default\)",
            "memory-near-limit", "memory-over-limit");
        for (int i = 0; i < 20; i++)
        {
            Assert.DoesNotContain("will reach its limit", client.Run("INFO findings").Text, StringComparison.Ordinal);
            Thread.Sleep(1000);
        }
    }

    [Fact]
    public void Plain_load_and_an_idle_server_have_no_findings()
    {
        using ServerProcess server = Start();
        using RespConnection client = Named(server, "web");
        long end = Environment.TickCount64 + 60_000;
        while (Environment.TickCount64 < end)
        {
            for (int i = 0; i < 50; i++) client.SendCommand(i % 5 == 0 ? $"SET key:{i} value" : $"GET key:{i - (i % 5)}");
            for (int i = 0; i < 50; i++) client.Read();
            Thread.Sleep(5);
        }

        Assert.Empty(Found(client).Except(OfTheMachine));
        Thread.Sleep(60_000);
        Assert.Empty(Found(client).Except(OfTheMachine));
        Assert.DoesNotContain(server.Output, line => Regex.IsMatch(line, "Finding [a-z-]+:") && !OfTheMachine.Any(name => line.Contains($"Finding {name}:", StringComparison.Ordinal)));
    }

    // Other programs that work by turns: it is said once.
    [Fact]
    public void Busy_machine_is_said_once()
    {
        using ServerProcess server = Start();
        using RespConnection client = Named(server, "idle");
        long end = Environment.TickCount64 + 120_000;
        while (Environment.TickCount64 < end)
        {
            Process[] burners = [.. Enumerable.Range(0, 2 * Environment.ProcessorCount).Select(_ => Process.Start("timeout", ["35", "sh", "-c", "while :; do :; done"]))];
            foreach (Process burner in burners)
            {
                burner.WaitForExit();
                burner.Dispose();
            }

            Thread.Sleep(3000);
        }

        string findings = client.Run("INFO findings").Text;
        Assert.Matches("finding_cpu-saturated:severity=notice,.*evidence=other programs use [0-9]+ % of the machine's CPUs, the server [0-9]+ %", findings);
        foreach (string name in (string[])["cpu-saturated", "cpu-pressure"]) Assert.True(server.Output.Count(line => line.Contains($"Finding {name}:", StringComparison.Ordinal)) <= 1, name);
        Assert.Empty(Found(client).Except(OfTheMachine));
    }

    private static ServerProcess Start(params string[] options)
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no findings");
        ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, options);
        using RespConnection client = server.Connect();
        Assert.True(SpinWait.SpinUntil(() => client.Run("INFO metrics").Text.Contains("connected_clients:", StringComparison.Ordinal), PatienceMs), "growth counts from the first observation on");
        return server;
    }

    private static RespConnection Named(ServerProcess server, string name)
    {
        RespConnection client = server.Connect();
        client.Run($"CLIENT SETNAME {name}").IsOk();
        return client;
    }

    private static void Rest() => Thread.Sleep(100);

    private static string[] Found(RespConnection client) => [.. Regex.Matches(client.Run("INFO findings").Text, "^finding_([a-z-]+):", RegexOptions.Multiline).Select(match => match.Groups[1].Value)];

    // In INFO and in the log; beside it only what the same cause brings about.
    private static void AssertSaid(ServerProcess server, string name, Action provoke, string remedy, string culprit, params string[] alsoAllowed)
    {
        using RespConnection observer = server.Connect();
        long end = Environment.TickCount64 + PatienceMs;
        while (!Found(observer).Contains(name))
        {
            Assert.True(Environment.TickCount64 < end, string.Create(CultureInfo.InvariantCulture, $"{name} is found; found: {observer.Run("INFO findings").Text}\n{string.Join('\n', server.Output)}"));
            provoke();
        }

        string said = observer.Run("INFO findings").Text;
        Assert.Matches($"finding_{name}:severity=(notice|warning|critical),.*,culprit={culprit}", said);
        var logged = new Regex($"Finding {name}: .*{Regex.Escape(remedy)}.* Seen: {culprit}");
        Assert.True(SpinWait.SpinUntil(() => server.Output.Any(logged.IsMatch), 10_000), string.Join('\n', server.Output.Where(line => line.Contains("Finding", StringComparison.Ordinal))));
        Assert.Empty(Found(observer).Except([name, .. alsoAllowed, .. OfTheMachine]));
    }
}
