using System.Diagnostics;
using System.Net;
using RedKite.TestSupport;

namespace RedKite.Samples.Tests;

/// <summary>The sample of caches in an ASP.NET Core application.</summary>
public sealed class WebCacheTests
{
    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Sessions_pages_and_values_are_cached_and_requests_limited()
    {
        string address = $"http://127.0.0.1:{LoopbackPort.Next()}";
        string program = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "WebCache", "release", "WebCache.dll");
        using Process process = Process.Start(new ProcessStartInfo("dotnet", [program, "--urls", address]) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        try
        {
            process.OutputDataReceived += static (_, _) => { };
            process.BeginOutputReadLine();
            process.BeginErrorReadLine();
            using var handler = new HttpClientHandler { CookieContainer = new CookieContainer() };
            using var client = new HttpClient(handler) { BaseAddress = new Uri(address) };
            await StartedAsync(client, process);

            client.DefaultRequestHeaders.Add("X-Visitor", "ann");
            Assert.Equal("visit 1", await client.GetStringAsync("/visits", Cancellation));
            Assert.Equal("visit 2", await client.GetStringAsync("/visits", Cancellation));
            Assert.Equal("rendered 1", await client.GetStringAsync("/page", Cancellation));
            Assert.Equal("rendered 1", await client.GetStringAsync("/page", Cancellation));
            using (HttpResponseMessage changed = await client.PostAsync("/page/changed", null, Cancellation)) Assert.Equal(HttpStatusCode.OK, changed.StatusCode);
            Assert.Equal("rendered 2", await client.GetStringAsync("/page", Cancellation));
            Assert.Equal("computed 1", await client.GetStringAsync("/report", Cancellation));
            Assert.Equal("computed 1", await client.GetStringAsync("/report", Cancellation));
            Assert.Contains("<title>", await client.GetStringAsync("/redkite/", Cancellation), StringComparison.Ordinal);
            Assert.Equal("visit 3", await client.GetStringAsync("/visits", Cancellation)); // the tenth request
            using HttpResponseMessage refused = await client.GetAsync("/visits", Cancellation);
            Assert.Equal(HttpStatusCode.TooManyRequests, refused.StatusCode);
        }
        finally
        {
            process.Kill();
            await process.WaitForExitAsync(CancellationToken.None);
        }
    }

    private static async Task StartedAsync(HttpClient client, Process process)
    {
        int requests = 0;
        while (true)
        {
            Assert.False(process.HasExited, "the sample has ended");
            try
            {
                // Each as another visitor.
                using var request = new HttpRequestMessage(HttpMethod.Get, "/health") { Headers = { { "X-Visitor", $"{requests++}" } } };
                using HttpResponseMessage response = await client.SendAsync(request, Cancellation);
                return;
            }
            catch (HttpRequestException)
            {
                await Task.Delay(50, Cancellation);
            }
        }
    }
}
