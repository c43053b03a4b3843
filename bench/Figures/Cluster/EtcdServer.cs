using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Figures.Cluster;

/// <summary>An etcd of one member with its defaults, which syncs its files, on the cores of servers and load.</summary>
internal sealed class EtcdServer : IDisposable
{
    private const int PatienceMs = 60_000;
    private const int PollMs = 20;

    private readonly MeasuredProcess _process;

    private EtcdServer(string address, MeasuredProcess process) => (Address, _process) = (address, process);

    /// <summary>What nodes have as cluster-etcd.</summary>
    internal string Address { get; }

    /// <summary>Whether it is installed; otherwise the report gets a note.</summary>
    internal static bool IsInstalled(Report report)
    {
        if (EtcdProgram.FilePath is not null) return true;
        report.AddNote("there is no etcd in artifacts/oracle: what needs it is left out");
        return false;
    }

    internal static EtcdServer Start()
    {
        string folder = Directory.CreateTempSubdirectory("redkite-figures-etcd-").FullName;
        string client = Address(), peer = Address();
        string command = string.Create(
            CultureInfo.InvariantCulture,
            $"exec '{EtcdProgram.FilePath}' --data-dir '{folder}/data' --listen-client-urls {client} --advertise-client-urls {client} --listen-peer-urls {peer} --initial-advertise-peer-urls {peer} --initial-cluster default={peer} --log-level fatal >'{folder}/output' 2>&1 </dev/null");
        var process = new MeasuredProcess(Process.Start("/bin/sh", ["-c", command]), folder);
        try
        {
            using var http = new HttpClient();
            WaitFor.Until(() => IsHealthy(http, client), "etcd", PatienceMs, PollMs);
            return new EtcdServer(client, process);
        }
        catch
        {
            process.Dispose();
            throw;
        }

        static string Address() => string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{MeasuredProcess.FindFreePort()}");
    }

    public void Dispose() => _process.Dispose();

    private static bool IsHealthy(HttpClient http, string address)
    {
        try
        {
            return http.GetStringAsync(new Uri(address + "/health")).GetAwaiter().GetResult().Contains("\"true\"", StringComparison.Ordinal);
        }
        catch (HttpRequestException)
        {
            return false; // it does not listen yet, or has no leader
        }
    }
}
