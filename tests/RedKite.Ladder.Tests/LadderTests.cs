using System.Net;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.Ladder.Tests;

/// <summary>Short but complete measurements.</summary>
public class LadderTests
{
    private static readonly LadderOptions Short = LadderOptions.Parse(["--seconds", "1", "--pipelines", "16", "--keys", "2000", "--clients", "10", "--stages", "2", "--rounds", "1"]);

    [Fact]
    [Alone]
    public void Rung_is_measured_and_its_server_stopped() => QuietMachine.Try(() =>
    {
        var report = new LadderReport(Short);
        RungMeasurement.Run(Short.Rungs[0], Short, report);

        string[] lines = report.ToMarkdown().Split(Environment.NewLine);
        Assert.Contains("| stage | pipeline | Ops/sec | range Ops/sec | Hits/sec | Misses/sec | Avg. Latency | p50 Latency | p99 Latency | p99.9 Latency | KB/sec | cpu ns/op | range cpu ns/op |", lines);
        string[] row = Assert.Single(lines, line => line.StartsWith("| 2 | 16 |", StringComparison.Ordinal)).Split('|', StringSplitOptions.TrimEntries);
        Assert.Equal("-", row[4]); // One round has no range.
        Assert.All((string[])[row[3], .. row[5..13]], (figure, column) => Assert.True(double.Parse(figure) > 0 || column == 2, string.Join(' ', row)));
        Assert.Equal("0", row[6]); // All keys were loaded first, so no GET misses.
        Assert.Contains("./dev bench ladder --seconds 1", lines[0], StringComparison.Ordinal);
    });

    // Loading splits requests: sixteen SETs of 256 bytes exceed what the pipe reads at once.
    [Fact]
    [Alone]
    public void Spinning_rung_answers_every_request() => QuietMachine.Try(() =>
    {
        LadderOptions options = LadderOptions.Parse(
            ["--seconds", "1", "--keys", "5000", "--clients", "10", "--stages", "5-busy", "--pipelines", "16", "--rounds", "1"]);
        var report = new LadderReport(options);
        RungMeasurement.Run(options.Rungs[0], options, report);
        Assert.Contains("| 5-busy | 16 |", report.ToMarkdown(), StringComparison.Ordinal);
        Assert.DoesNotContain("stopped replying", report.ToMarkdown(), StringComparison.Ordinal);
    });

    [Fact]
    public void Server_that_stops_replying_ends_the_load()
    {
        using var silent = new TcpListener(IPAddress.Loopback, 0);
        silent.Start();
        LoadFigures figures = LoadRun.Execute(new LoadOptions(
            ((IPEndPoint)silent.LocalEndpoint).Port, Threads: 1, Clients: 2, Pipeline: 1, Keys: 10, ValueBytes: 1, "1:0", Seconds: 0, SecondsMax: 60));
        Assert.Equal((LoadOutcome.Hung, 0), (figures.Outcome, figures.Operations));

        var report = new LadderReport(Short);
        report.AddUnfinishedLoading(Short.Rungs[0], figures, TimeSpan.Zero);
        Assert.Contains("2: stopped replying while keys were loaded, after 0 SETs.", report.ToMarkdown(), StringComparison.Ordinal);
    }

    [Fact]
    public void Columns_show_medians_of_the_rounds()
    {
        LadderOptions options = LadderOptions.Parse(["--rounds", "3", "--stages", "1,2", "--pipelines", "16"]);
        var report = new LadderReport(options);
        foreach ((int ops, double p99) in ((int, double)[])[(300, 2), (100, 3), (200, 9)])
        {
            foreach (Rung rung in options.Rungs)
            {
                report.Add(rung, 16, new LoadFigures(ops, ops) { P99Ms = p99 }, TimeSpan.FromMicroseconds(ops));
            }
        }

        string[] lines = report.ToMarkdown().Split(Environment.NewLine);
        foreach (string stage in (string[])["1", "2"])
        {
            string[] row = Assert.Single(lines, line => line.StartsWith($"| {stage} | 16 |", StringComparison.Ordinal)).Split('|', StringSplitOptions.TrimEntries);
            Assert.Equal(("200", "100 to 300", "-", "3.000", "1000"), (row[3], row[4], row[5], row[9], row[12]));
        }

        Assert.Contains(lines, line => line.Contains("medians of 3 interleaved rounds", StringComparison.Ordinal));
    }

    [Fact]
    public void Disposing_the_process_stops_the_server()
    {
        StageProcess stage = RunningStages.Start("1");
        RespConnection.Connect(stage.Port).Dispose();
        stage.Dispose();
        Assert.Throws<SocketException>(() => RespConnection.Connect(stage.Port));
    }

    [Fact]
    public void Manual_matches_the_arguments()
    {
        LadderOptions options = LadderOptions.Parse(
            ["--stages", "1,2", "--pipelines", "1,4,30", "--seconds", "7", "--rounds", "5", "--clients", "3", "--keys", "9", "--value-bytes", "8", "--ratio", "1:4", "--server-cpus", "0-3", "--load-cpus", "4-7", "--load-threads", "4", "--markdown"]);
        Assert.Equal((2, 7, 3, 9, 8, "1:4", "0-3", "4-7", 4, true), (options.Rungs.Count, options.Seconds, options.Clients, options.Keys, options.ValueBytes, options.Ratio, options.ServerCpus, options.LoadCpus, options.LoadThreads, options.Markdown));
        Assert.Equal([1, 4, 30], options.Pipelines);
        Assert.Equal(5, options.Rounds);
    }

    [Theory]
    [InlineData("--seconds", "0")]
    [InlineData("--seconds")]
    [InlineData("--pipelines", "1,x")]
    [InlineData("--fast")]
    public void Invalid_arguments_are_refused(params string[] arguments) => Assert.Throws<FormatException>(() => LadderOptions.Parse(arguments));

    [Fact]
    public void Load_figures_survive_serialization()
    {
        var figures = new LoadFigures(12, 3.5) { HitsPerSecond = 1, P999Ms = 0.25, FirstError = "ERR" };
        Assert.Equal(figures, LoadFigures.FromJson(figures.ToJson()));
        LoadOptions load = new(Port: 1, Threads: 2, Clients: 3, Pipeline: 4, Keys: 5, ValueBytes: 6, "1:10", Seconds: 7, SecondsMax: 8);
        Assert.Equal(load, LoadOptions.FromArguments(load.ToArguments()));
    }
}
