using System.Diagnostics;
using System.Globalization;
using System.Text.Json;

namespace RedKite.TestSupport;

/// <summary>The installed Prometheus, started on a free port with a configuration of its own.</summary>
public sealed class PrometheusProgram : IAsyncDisposable
{
    public const string NotInstalled = "not checked by Prometheus: './dev test' has not installed it";

    private const int PatienceMs = 60_000;

    private readonly Process _process;
    private readonly DirectoryInfo _folder;
    private readonly HttpClient _http;

    private PrometheusProgram(Process process, DirectoryInfo folder, int port)
    {
        _process = process;
        _folder = folder;
        _http = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{port}/") };
    }

    /// <summary>The path of an installed program; null: there is none.</summary>
    public static string? Find(string program) =>
        (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator).Select(folder => Path.Combine(folder, program)).FirstOrDefault(File.Exists);

    /// <summary>Starts it with the project's alerting rules. It scrapes every second.</summary>
    /// <param name="scrapes">The list of scrape_configs.</param>
    public static async Task<PrometheusProgram> StartAsync(string scrapes, CancellationToken cancellation)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("redkite-prometheus-");
        int port = LoopbackPort.Next();
        string rules = Path.Combine(RepositoryRoot.Path, "docs", "prometheus", "alerts.yml");
        await File.WriteAllTextAsync(Path.Combine(folder.FullName, "prometheus.yml"), $"global: {{scrape_interval: 1s}}\nrule_files: ['{rules}']\nscrape_configs: {scrapes}\n", cancellation).ConfigureAwait(false);
        Process process = Process.Start(new ProcessStartInfo(Find("prometheus")!, ["--config.file=prometheus.yml", "--storage.tsdb.path=data", $"--web.listen-address=127.0.0.1:{port}"])
        {
            WorkingDirectory = folder.FullName,
            RedirectStandardError = true,
            RedirectStandardOutput = true,
        })!;
        process.ErrorDataReceived += (_, _) => { };
        process.BeginErrorReadLine();
        return new PrometheusProgram(process, folder, port);
    }

    public Task<string> GetAsync(string path, CancellationToken cancellation) => _http.GetStringAsync(new Uri(path, UriKind.Relative), cancellation);

    /// <summary>A query's first value; it waits until Prometheus has one.</summary>
    public async Task<string> QueryAsync(string query, CancellationToken cancellation)
    {
        long deadline = Environment.TickCount64 + PatienceMs;
        while (Environment.TickCount64 < deadline)
        {
            try
            {
                using JsonDocument json = JsonDocument.Parse(await GetAsync($"api/v1/query?query={Uri.EscapeDataString(query)}", cancellation).ConfigureAwait(false));
                JsonElement result = json.RootElement.GetProperty("data").GetProperty("result");
                if (result.GetArrayLength() > 0) return result[0].GetProperty("value")[1].GetString()!;
            }
            catch (HttpRequestException)
            {
                // It does not listen yet.
            }

            await Task.Delay(200, cancellation).ConfigureAwait(false);
        }

        return $"no value within {PatienceMs.ToString(CultureInfo.InvariantCulture)} ms";
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill();
        await _process.WaitForExitAsync().ConfigureAwait(false);
        _process.Dispose();
        _http.Dispose();
        _folder.Delete(recursive: true);
    }
}
