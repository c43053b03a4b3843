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

    private static async Task<string> VisitAsync(string data)
    {
        IDistributedApplicationTestingBuilder builder = await DistributedApplicationTestingBuilder.CreateAsync<Projects.AppHost>([$"--redkite={Program}", $"--data={data}"], Cancellation);
        await using DistributedApplication application = await builder.BuildAsync(Cancellation);
        await application.StartAsync(Cancellation);
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
