using System.Text.Json;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Server.Tests;

/// <summary>Everything that names a version of Redis names the same ones: what the server speaks, and what it was compared with.</summary>
public class VersionTests
{
    [Theory]
    [InlineData(null, ServerVersion.Redis)]
    [InlineData("7.2.4", "7.2.4")]
    public async Task Info_hello_log_page_and_metrics_name_one_version(string? reported, string expected)
    {
        var options = new RedKiteOptions { Port = 0 };
        if (reported is not null) options.Settings["reported-redis-version"] = reported;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        string info = server.Execute("INFO", "server").Text!;
        Assert.Contains($"\r\nredis_version:{expected}\r\n", info, StringComparison.Ordinal);
        Assert.Contains($"\r\nredis_versions_compared:{ServerVersion.ComparedRedis}\r\n", info, StringComparison.Ordinal);
        Assert.Contains(expected, server.Execute("HELLO").Items.Select(item => item.Text));
        Assert.StartsWith($"RedKite {ServerVersion.Text} (Redis {expected}, compared with 8.0.2 and 8.6.3), pid ", server.Banner().First(), StringComparison.Ordinal);
        Assert.Contains($"redis_version=\"{expected}\"", server.GetMetricsText(), StringComparison.Ordinal);
        JsonElement report = JsonDocument.Parse(server.Reports!.Write(ReportTable.Find("server")!, redactionKey: null, TestContext.Current.CancellationToken)).RootElement;
        Assert.Equal(expected, report.GetProperty("redis_version").GetString());
        Assert.Equal(ServerVersion.ComparedRedis, report.GetProperty("compared_redis_versions").GetString());
    }
}
