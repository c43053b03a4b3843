using System.Net;
using System.Text.Json;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Dashboard.Tests;

/// <summary>The history of single commands and loops over HTTP: seconds, minutes, steps, and what is unknown.</summary>
public sealed class HistoryAnswerTests : IAsyncLifetime
{
    private const long Now = 1_800_000_029; // the end of 15 seconds that are a step
    private const long DayBefore = (Now / 60) - 1440; // a minute

    private readonly Source _source = new();
    private readonly HttpClient _http = new();
    private RedKiteDashboard? _dashboard;

    public async ValueTask InitializeAsync()
    {
        RankedHistory commands = _source.RankedHistories[0], loops = _source.RankedHistories[1];
        for (int i = 0; i < 30; i++) commands.RestoreMinute(DayBefore + i, i % 2 == 0 ? [0] : [], i % 2 == 0 ? [100, 10, 2, 30, 40] : []);
        for (long second = Now - 14; second <= Now; second++)
        {
            commands.Add(second, second <= Now - 5 ? [new RankedRecord(0, [200, 20, 0, 50, second == Now - 9 ? 192 : 60])] : []);
            loops.Add(second, [new RankedRecord(0, [25, 1, 2])]);
            _source.History.Add(second, new double[_source.History.MetricCount]);
        }

        _dashboard = await RedKiteDashboard.StartAsync(_source, server: null, [IPAddress.Loopback], port: 0);
    }

    public async ValueTask DisposeAsync()
    {
        _http.Dispose();
        if (_dashboard is not null) await _dashboard.DisposeAsync();
    }

    [Fact]
    public async Task Seconds_are_those_of_the_command_and_idle_ones_are_zero()
    {
        JsonElement series = await Get($"command_calls:get,command_failures:get,command_p99:get,command_max:get,command_calls:set,loop_busy_percent:0&from={Now - 14}&to={Now}&points=100");
        Assert.Equal([.. Enumerable.Repeat<double?>(20, 10), .. Enumerable.Repeat<double?>(0, 5)], Values(series, "command_calls:get", "mean"));
        Assert.Equal(Enumerable.Repeat<double?>(0, 15), Values(series, "command_failures:get", "mean"));
        Assert.Equal([.. Enumerable.Repeat<double?>(50, 10), .. Enumerable.Repeat<double?>(null, 5)], Values(series, "command_p99:get", "max"));
        Assert.Equal(Enumerable.Repeat<double?>(0, 15), Values(series, "command_calls:set", "mean"));
        Assert.Equal(Enumerable.Repeat<double?>(25, 15), Values(series, "loop_busy_percent:0", "mean"));
    }

    // Ten seconds of 20 calls; and 15 of 30 minutes with 10 calls a second, before.
    [Theory]
    [InlineData(Now - 14, Now, 200.0, 0.0, 2000.0, 50.0, 192.0)]
    [InlineData(Now - 2, Now, -1.0, 0.0, 0.0, 0.0, 0.0)] // it was idle
    [InlineData(DayBefore * 60, (DayBefore + 29) * 60, 9000.0, 1800.0, 90_000.0, 30.0, 40.0)]
    [InlineData(DayBefore * 60, Now, 9200.0, 1800.0, 92_000.0, 50.0, 192.0)]
    public async Task Commands_of_a_time_range_are_added_up(long from, long to, double calls, double failures, double microseconds, double p99, double max)
    {
        string json = await _http.GetStringAsync(new Uri($"http://127.0.0.1:{_dashboard!.Port}/api/commands?from={from}&to={to}"), TestContext.Current.CancellationToken);
        JsonElement commands = JsonDocument.Parse(json).RootElement.GetProperty("commands");
        if (calls < 0)
        {
            Assert.Equal(0, commands.GetArrayLength());
            return;
        }

        JsonElement get = Assert.Single(commands.EnumerateArray());
        Assert.Equal("get", get.GetProperty("name").GetString());
        Assert.Equal((calls, failures, microseconds), (get.GetProperty("calls").GetDouble(), get.GetProperty("failures").GetDouble(), get.GetProperty("microseconds").GetDouble()));
        Assert.Equal((p99, max), (get.GetProperty("p99_us").GetDouble(), get.GetProperty("max_us").GetDouble()));
    }

    [Fact]
    public async Task Steps_have_the_mean_and_the_largest_value()
    {
        JsonElement series = await Get($"command_calls:get,command_max:get&from={Now - 14}&to={Now}&points=1");
        Assert.Equal(200.0 / 15, Values(series, "command_calls:get", "mean").Single());
        Assert.Equal(192, Values(series, "command_max:get", "max").Single());

        // Steps of two minutes, in one of which the command was idle.
        series = await Get($"command_calls:get,command_max:get&from={DayBefore * 60}&to={(DayBefore + 29) * 60}&points=15");
        Assert.All(Values(series, "command_calls:get", "mean"), value => Assert.Equal(5, value));
        Assert.All(Values(series, "command_max:get", "max"), value => Assert.Equal(40, value));
    }

    [Fact]
    public async Task What_has_no_history_is_empty_and_what_is_no_series_is_refused()
    {
        Assert.All(Values(await Get("command_calls:nothing,loop_busy_percent:7"), "command_calls:nothing", "mean"), value => Assert.Null(value)); // as in a package of an earlier version
        foreach (string name in (string[])["command_calls", "command_nothing:get", "get", ":", "command_calls:get,nothing"])
        {
            using HttpResponseMessage response = await _http.GetAsync(Address(name), TestContext.Current.CancellationToken);
            Assert.Equal((name, HttpStatusCode.BadRequest), (name, response.StatusCode));
        }
    }

    private Uri Address(string metrics) => new($"http://127.0.0.1:{_dashboard!.Port}/api/history?metrics={metrics}");

    private async Task<JsonElement> Get(string metrics) => JsonDocument.Parse(await _http.GetStringAsync(Address(metrics), TestContext.Current.CancellationToken)).RootElement.GetProperty("series");

    private static double?[] Values(JsonElement series, string name, string part) => [.. series.GetProperty(name).GetProperty(part).EnumerateArray().Select(value => value.ValueKind == JsonValueKind.Null ? (double?)null : value.GetDouble())];

    // Of a server at one moment.
    private sealed class Source : IReportSource
    {
        public bool IsLive => false;

        public MetricHistory History { get; } = new(MetricTable.All.Count);

        public IReadOnlyList<RankedHistory> RankedHistories { get; } = [new(RankedTable.Commands, ["get", "set"]), new(RankedTable.Loops, ["0"])];

        public long NowUnixSeconds => Now;

        public byte[]? Read(string name, CancellationToken cancellation) => null;
    }
}
