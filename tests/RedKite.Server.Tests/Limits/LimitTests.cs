using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>
/// Every limit of what clients can make the server keep is provoked: it holds, its error is helpful, its metric counts it, and the
/// server continues. A row of the table without a provocation fails.
/// </summary>
public sealed class LimitTests : NetworkTests
{
    public static TheoryData<string> Rows => [.. LimitTable.Rows.Select(row => row.Kept)];

    [Theory]
    [MemberData(nameof(Rows))]
    public async Task Limit_holds_and_is_counted(string kept)
    {
        LimitRow row = LimitTable.Rows.Single(row => row.Kept == kept);
        Provocation provocation = Provocations.Of[kept];
        using var certificates = new TestCertificates();
        await using RedKiteServer server = await StartAsync("auto", [.. provocation.NeedsTls ? Provocations.Tls(certificates) : [], .. provocation.Settings]);
        server.Execute("SET", "kept", "value");
        using var reader = new ObservationReader(server.PackageSources!.Parts);
        Metric metric = MetricTable.Find(row.MetricName)!;
        double before = metric.Read(reader.Read());
        provocation.Run(server);
        WaitFor(() => metric.Read(reader.Read()) > before, row.MetricName + " to grow");
        if (row.Counter is not null) Assert.Contains($"{row.MetricName}:{metric.Read(reader.Read())}", server.Execute("INFO", "limits").Text, StringComparison.Ordinal);
        Assert.Equal("value", server.Execute("GET", "kept").Text);
        Assert.Null(server.Failure);
    }

    [Fact]
    public void Every_row_has_a_provocation() => Assert.Equal(LimitTable.Rows.Select(row => row.Kept).Order(), Provocations.Of.Keys.Order());

    [Fact]
    public void Rows_name_settings_and_metrics_that_exist()
    {
        foreach (LimitRow row in LimitTable.Rows)
        {
            Assert.True(row.Setting is null || SettingTable.Find(row.Setting) is { NoEffect: null }, row.Kept);
            Assert.True(row.Setting is not null || row.Fixed.Length > 0, row.Kept);
            Assert.True(MetricTable.Find(row.MetricName) is { Kind: MetricKind.Counter }, row.Kept);
        }

        Assert.Equal(Enum.GetValues<Limit>(), LimitTable.Rows.Where(row => row.Counter is not null).Select(row => row.Counter!.Value).Order());
    }

    [Fact]
    public async Task Resetstat_resets_the_counts()
    {
        await using RedKiteServer server = await StartAsync("auto", ("max-watched-keys", "1"));
        using RedKiteSession client = server.CreateSession();
        client.Execute("WATCH", "a", "b");
        Assert.Equal(1, server.Engine.Limits[Limit.KeysWatched]);
        client.Execute("CONFIG", "RESETSTAT");
        Assert.Equal(0, server.Engine.Limits[Limit.KeysWatched]);
    }
}
