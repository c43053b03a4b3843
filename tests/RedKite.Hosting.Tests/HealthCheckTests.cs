using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using RedKite.Server.Diagnostics;

namespace RedKite.Hosting.Tests;

/// <summary>What the health checks say in each state of a server.</summary>
public class HealthCheckTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Checks_follow_the_server_s_life()
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        builder.Services.AddRedKite(options => options.Port = null);
        builder.Services.AddHealthChecks().AddRedKite();
        using IHost host = builder.Build();
        var health = host.Services.GetRequiredService<HealthCheckService>();
        Assert.Equal((HealthStatus.Healthy, HealthStatus.Unhealthy), await StatesAsync()); // its data is not loaded
        await host.StartAsync(Token);
        Assert.Equal((HealthStatus.Healthy, HealthStatus.Healthy), await StatesAsync());
        await host.StopAsync(Token);
        Assert.Equal((HealthStatus.Unhealthy, HealthStatus.Unhealthy), await StatesAsync());

        async Task<(HealthStatus Live, HealthStatus Ready)> StatesAsync()
        {
            HealthReport live = await health.CheckHealthAsync(check => check.Tags.Contains("live"), Token);
            HealthReport ready = await health.CheckHealthAsync(check => check.Tags.Contains("ready"), Token);
            return (live.Entries["redkite-live"].Status, ready.Entries["redkite-ready"].Status);
        }
    }

    [Fact]
    public async Task Findings_make_a_server_degraded_or_not_ready()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, Token);
        FindingTracker findings = server.Diagnostics!.Findings;
        var check = new RedKiteHealthCheck(server, isReadiness: true);
        Assert.Equal(HealthStatus.Healthy, check.Check(findings.Current).Status);
        Finding notice = Of(FindingSeverity.Notice), warning = Of(FindingSeverity.Warning), critical = Of(FindingSeverity.Critical);
        Assert.Equal(HealthStatus.Healthy, check.Check([notice]).Status);
        HealthCheckResult degraded = check.Check([notice, warning]);
        Assert.Equal((HealthStatus.Degraded, "It is slow."), (degraded.Status, degraded.Description));
        Assert.Equal("It is slow: 5 s", Assert.Single(degraded.Data).Value);
        Assert.Equal(HealthStatus.Unhealthy, check.Check([warning, critical]).Status);
        Assert.Equal(HealthStatus.Healthy, new RedKiteHealthCheck(server, isReadiness: false).Check([critical]).Status);

        static Finding Of(FindingSeverity severity) => new(FindingTable.Rules[(int)severity], new Diagnosis("It is slow", "5 s", severity), 0);
    }
}
