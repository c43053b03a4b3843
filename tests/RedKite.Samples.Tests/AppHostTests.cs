using Aspire.Hosting;
using Aspire.Hosting.Testing;
using RedKite.TestSupport;

namespace RedKite.Samples.Tests;

/// <summary>The Aspire application, run by Aspire's orchestrator.</summary>
public sealed class AppHostTests
{
    private static readonly string Program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", "release", "redkite.dll");

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Fact]
    [Long]
    public async Task Web_application_gets_the_server_by_reference_and_the_data_stays()
    {
        using var folder = new TemporaryFolder();
        Assert.Equal("visit 1", await VisitAsync(folder.Path));
        Assert.Equal("visit 2", await VisitAsync(folder.Path));
        Assert.NotEmpty(Directory.GetFiles(folder.Path, "*.aof", SearchOption.AllDirectories));
    }

    // Everything of it: etcd, four nodes that make a cluster, and the same cluster when it is started again.
    [Fact]
    [Long]
    public async Task Web_application_gets_a_cluster_by_reference_and_the_cluster_stays()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        Environment.SetEnvironmentVariable("PATH", Path.GetDirectoryName(EtcdProgram.FilePath) + Path.PathSeparator + Environment.GetEnvironmentVariable("PATH"));
        using var folder = new TemporaryFolder();
        for (int visit = 1; visit <= 2; visit++)
        {
            await using DistributedApplication application = await StartAsync(folder.Path, "--cluster=yes");
            await application.ResourceNotifications.WaitForResourceHealthyAsync("visits", Cancellation); // after the cluster
            string addresses = await application.GetConnectionStringAsync("cache", Cancellation) ?? "";
            Assert.Equal(4, addresses.Split(',').Count(static word => word.StartsWith("localhost:", StringComparison.Ordinal)));
            using HttpClient visits = application.CreateHttpClient("visits");
            Assert.Equal($"visit {visit}", await visits.GetStringAsync("/", Cancellation));
            await application.StopAsync(Cancellation);
        }
    }

    private static async Task<DistributedApplication> StartAsync(string data, params string[] arguments)
    {
        IDistributedApplicationTestingBuilder builder = await DistributedApplicationTestingBuilder.CreateAsync<Projects.AppHost>([$"--redkite={Program}", $"--data={data}", .. arguments], Cancellation);
        DistributedApplication application = await builder.BuildAsync(Cancellation);
        await application.StartAsync(Cancellation);
        return application;
    }

    private static async Task<string> VisitAsync(string data)
    {
        await using DistributedApplication application = await StartAsync(data);
        await application.ResourceNotifications.WaitForResourceHealthyAsync("visits", Cancellation); // after the cache
        Assert.EndsWith(",password=change-me", await application.GetConnectionStringAsync("cache", Cancellation), StringComparison.Ordinal);
        using HttpClient dashboard = application.CreateHttpClient("cache", "dashboard");
        using HttpResponseMessage page = await dashboard.GetAsync("/healthz", Cancellation);
        Assert.Equal("ok", (await page.Content.ReadAsStringAsync(Cancellation)).Trim());
        using HttpClient visits = application.CreateHttpClient("visits");
        string text = await visits.GetStringAsync("/", Cancellation);
        await application.StopAsync(Cancellation);
        return text;
    }
}
