using System.Text.Json;
using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>A running server observes itself.</summary>
public class DiagnosticsServiceTests
{
    [Fact]
    public async Task Every_second_has_values_of_every_metric_that_is_known_here()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        DiagnosticsService diagnostics = server.Diagnostics!;
        ObservedSeconds.Pass(server, 1);
        for (int i = 0; i < 1000; i++) server.Execute("SET", $"key:{i}", "value");
        ObservedSeconds.Pass(server, 2);

        DiagnosticsView view = diagnostics.View(diagnostics.History.LatestSecond);
        Assert.Equal(1000, view[MetricTable.Keys]);
        Assert.True(view[MetricTable.UsedMemory] > 0);
        Assert.True(view.Max(MetricTable.CommandsProcessed, 60) > 0);
        string[] unknown = [.. MetricTable.All.Where(metric => double.IsNaN(view[metric])).Select(metric => metric.Name)];
        string[] mayBeUnknown = ["command_latency_p50", "command_latency_p99", "command_latency_p999", "command_latency_max", "command_waiting_p50", "command_waiting_p99", "command_waiting_p999", "command_waiting_max", "command_sending_p50", "command_sending_p99", "command_sending_p999", "command_sending_max", "largest_key_bytes", "tls_certificate_seconds", "aof_sync_p99", "aof_sync_max", "snapshot_cut_microseconds"];
        if (OperatingSystem.IsLinux()) Assert.All(unknown.Except(mayBeUnknown), name => Assert.Matches("^((cgroup|cluster|pressure|disk|process_swap|system_swap|primary_link|replication_backlog_window)_|family_[a-z_]+_p99$)", name));
    }

    [Fact]
    public async Task Each_command_in_use_and_each_loop_has_its_history()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "2" } }, TestContext.Current.CancellationToken);
        DiagnosticsService diagnostics = server.Diagnostics!;
        ObservedSeconds.Pass(server, 1); // the first may be a part of one
        for (int i = 0; i < 1000; i++) server.Execute("SET", "key", "value");
        for (int i = 0; i < 20; i++) server.Execute("LPUSH", "key", "value"); // an error
        server.Execute("CLIENT", "ID");
        ObservedSeconds.Until(server, () => Sum("set", "command_calls") > 0 && Sum("lpush", "command_failures") > 0 && Sum("client|id", "command_calls") > 0, "the calls are observed");
        ObservedSeconds.Pass(server, 3);
        Assert.True(Sum("set", "command_microseconds") > 0);
        Assert.Equal(0, Sum("get", "command_calls"));
        Assert.Equal(0, Sum("set", "command_failures"));
        HistoryPoint[] p99 = Known("set", "command_p99"), max = Known("set", "command_max");
        Assert.NotEmpty(p99);
        Assert.All(p99.Zip(max), pair => Assert.True(pair.First.Value > 0 && pair.First.Value <= pair.Second.Value));

        RankedHistory loops = diagnostics.LoopHistory;
        Assert.Equal(["0", "1"], loops.Names);
        for (int loop = 0; loop < 2; loop++)
        {
            Assert.Equal(diagnostics.History.Seconds(0, 0, diagnostics.History.LatestSecond).Count, loops.Seconds(loop, 0, 0, diagnostics.History.LatestSecond).Count);
            Assert.All(loops.Seconds(loop, loops.Kind.Find("loop_busy_percent"), 0, long.MaxValue), point => Assert.InRange(point.Value, 0, 100));
            Assert.All(loops.Seconds(loop, loops.Kind.Find("loop_messages_waiting"), 0, long.MaxValue), point => Assert.True(point.Value >= 0));
        }

        HistoryPoint[] Known(string command, string series)
        {
            RankedHistory commands = diagnostics.CommandHistory;
            return [.. commands.Seconds(commands.Find(command), commands.Kind.Find(series), 0, long.MaxValue).Where(point => !float.IsNaN(point.Value))];
        }

        float Sum(string command, string series) => Known(command, series).Sum(point => point.Value);
    }

    [Fact]
    public async Task Findings_are_in_the_log_and_in_info()
    {
        var log = new System.Collections.Concurrent.ConcurrentQueue<string>();
        RedKiteOptions options = new() { Port = 0, Log = entry => log.Enqueue(entry.Message), Settings = { ["slowlog-log-slower-than"] = "-1" } };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Any(finding => finding.Rule.Name == "slow-log-off"), "it is found");
        Assert.Contains(log, line => line.StartsWith("Finding slow-log-off: The slow log is off (slowlog-log-slower-than -1, slowlog-max-len 128)", StringComparison.Ordinal));
        Assert.Matches("finding_slow-log-off:severity=notice,since=[0-9]+,title=The slow log is off,evidence=slowlog-log-slower-than -1.*,remedy=[A-Z]", server.Execute("INFO", "findings").Text);

        server.Execute("CONFIG", "SET", "slowlog-log-slower-than", "10000");
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Ended.Any(finding => finding.Rule.Name == "slow-log-off"), "it has ended");
        Assert.DoesNotContain("slow-log-off", server.Execute("INFO", "findings").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Findings_are_in_the_doctors_reports()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["maxmemory"] = "1mb", ["maxmemory-policy"] = "noeviction", ["enable-debug-command"] = "yes" } }, TestContext.Current.CancellationToken);
        server.Execute("DEBUG", "SLEEP", "1.1");
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Count(finding => finding.Rule.Name is "memory-near-limit" or "command-stall") == 2, "both are found");
        string report = server.Execute("MEMORY", "DOCTOR").Text!;
        Assert.StartsWith("Hi Sam, ", report, StringComparison.Ordinal);
        Assert.Contains("Findings:\n\n- Memory is nearly exhausted (memory-near-limit): ", report, StringComparison.Ordinal);
        string latency = server.Execute("LATENCY", "DOCTOR").Text!;
        Assert.Contains("- A command stopped a loop for seconds (command-stall): one command took 1.1 s", latency, StringComparison.Ordinal);
        Assert.DoesNotContain("nothing to diagnose", report + latency, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain("no issue", report + latency, StringComparison.OrdinalIgnoreCase);
    }

    [Fact]
    public async Task Setting_switches_diagnostics_off()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["diagnostics"] = "no" } }, TestContext.Current.CancellationToken);
        Assert.Null(server.Diagnostics);
    }

    // The exports' and the documentation's names are those of the table too: PrometheusTextTests, ServerEventsTests, DiagnosticsPagesTests.
    [Fact]
    public async Task Every_metric_has_its_name_in_INFO_and_in_the_report_of_the_page()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        ObservedSeconds.Pass(server, 1);
        string[] names = [.. MetricTable.All.Select(metric => metric.Name)];
        string[] lines = server.Execute("INFO", "metrics").Text!.TrimEnd().Split("\r\n");
        Assert.Equal("# Metrics", lines[0]);
        Assert.Equal(names, lines.Skip(1).Select(line => line.Split(':')[0]));
        Assert.All(lines.Skip(1), line => Assert.Matches(@"^[a-z0-9_]+:(nan|-?[0-9]+(\.[0-9]+)?)$", line));
        Assert.Contains(string.Create(System.Globalization.CultureInfo.InvariantCulture, $"maxclients:{server.Engine.Settings.MaxClients}"), lines);
        Assert.DoesNotContain("# Metrics", server.Execute("INFO", "everything").Text, StringComparison.Ordinal);

        using JsonDocument report = JsonDocument.Parse(server.Reports!.Read("metrics", TestContext.Current.CancellationToken)!);
        Assert.Equal(names, report.RootElement.EnumerateArray().Select(metric => metric.GetProperty("name").GetString()));
    }

    [Fact]
    public async Task History_survives_a_restart()
    {
        string folder = Directory.CreateTempSubdirectory("redkite-history-").FullName;
        try
        {
            RedKiteOptions options = new() { Port = 0, Settings = { ["dir"] = folder, ["metrics-history-file"] = "metrics.history" } };
            long minute = DateTimeOffset.UtcNow.ToUnixTimeSeconds() / 60 * 60;
            await using (RedKiteServer first = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken))
            {
                var values = new double[MetricTable.All.Count];
                Array.Fill(values, 7);
                first.Diagnostics!.History.Add(minute - 120, values);
                first.Diagnostics.History.Add(minute - 60, values); // ends the minute before
                int get = first.Diagnostics.CommandHistory.Find("get");
                for (long time = minute - 120; time <= minute - 60; time++)
                {
                    first.Diagnostics.CommandHistory.Add(time, [new RankedRecord(get, [5, 6, 7, 8, 9])]);
                    first.Diagnostics.LoopHistory.Add(time, [new RankedRecord(0, [5, 6, 7])]);
                }
            }

            await using RedKiteServer second = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
            Assert.Equal(7, second.Diagnostics!.History.Minutes(MetricTable.Keys.Index, minute - 120, minute - 120)[0].Value);
            AssertMinute(6, second.Diagnostics.CommandHistory, "get", "command_calls", minute - 120);
            AssertMinute(9, second.Diagnostics.CommandHistory, "get", "command_max", minute - 120);
            AssertMinute(5, second.Diagnostics.LoopHistory, "0", "loop_busy_percent", minute - 120);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }

        static void AssertMinute(float expected, RankedHistory history, string name, string series, long minute) =>
            Assert.Equal(expected, Assert.Single(history.Minutes(history.Find(name), history.Kind.Find(series), minute, minute)).Value);
    }

    [Fact]
    public async Task Damaged_history_is_reported_and_set_aside_and_the_server_runs()
    {
        string folder = Directory.CreateTempSubdirectory("redkite-history-").FullName;
        try
        {
            string path = Path.Combine(folder, "metrics.history");
            var log = new System.Collections.Concurrent.ConcurrentQueue<string>();
            RedKiteOptions options = new() { Port = 0, Log = entry => log.Enqueue(entry.Message), Settings = { ["dir"] = folder, ["metrics-history-file"] = "metrics.history" } };
            await using (RedKiteServer first = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken)) Assert.Equal("PONG", first.Execute("PING").Text);
            byte[] damaged = File.ReadAllBytes(path);
            damaged[^1] ^= 1;
            File.WriteAllBytes(path, damaged);

            log.Clear();
            await using (RedKiteServer second = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken))
            {
                Assert.Single(log, line => line.Contains(path, StringComparison.Ordinal) && line.Contains("is damaged", StringComparison.Ordinal));
                Assert.Equal(damaged, File.ReadAllBytes(path + ".damaged"));
                ObservedSeconds.Pass(second, 1);
                Assert.Equal("PONG", second.Execute("PING").Text);
            }

            log.Clear();
            await using RedKiteServer third = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken); // the second one has written a new file
            Assert.DoesNotContain(log, line => line.Contains("is damaged", StringComparison.Ordinal));
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }
}
