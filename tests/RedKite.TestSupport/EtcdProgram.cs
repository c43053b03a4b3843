using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Text;
using System.Text.Json;

namespace RedKite.TestSupport;

/// <summary>An etcd of one or several members, on free ports and in a temporary folder. It does not sync its files, so it starts and answers in milliseconds.</summary>
public sealed class EtcdProgram : IAsyncDisposable
{
    /// <summary>One line that says what is not tested without etcd, and why.</summary>
    public const string Missing = "not tested with etcd: './dev test' has not set it up, which needs Debian's mirror";

    private const int PatienceMs = 60_000;
    private const string Loopback = "127.0.0.1";

    private readonly TemporaryFolder _folder = new();
    private readonly List<Process> _members = [];
    private readonly List<Uri> _health = [];

    private EtcdProgram()
    {
    }

    /// <summary>The program's file; null: it is not set up.</summary>
    public static string? FilePath { get; } = Installed();

    /// <summary>The address of each member.</summary>
    public IReadOnlyList<Uri> Addresses { get; private set; } = [];

    /// <summary>Starts the members. When this returns, they have a leader.</summary>
    /// <param name="members">How many.</param>
    /// <param name="certificates">With a certificate "etcd", whose authority clients' certificates need; null: without TLS.</param>
    /// <param name="cancellation">The test's.</param>
    public static async Task<EtcdProgram> StartAsync(int members, TestCertificates? certificates, CancellationToken cancellation)
    {
        var etcd = new EtcdProgram();
        try
        {
            string scheme = certificates is null ? "http" : "https";
            string[] peers = [.. Enumerable.Range(0, members).Select(_ => $"http://{Loopback}:{Text(LoopbackPort.Next())}")];
            int[] ports = [.. peers.Select(_ => LoopbackPort.Next())];
            etcd.Addresses = [.. ports.Select(port => new Uri($"{scheme}://{(certificates is null ? Loopback : "localhost")}:{Text(port)}"))];
            for (int i = 0; i < members; i++)
            {
                string health = $"http://{Loopback}:{Text(LoopbackPort.Next())}", client = $"{scheme}://{Loopback}:{Text(ports[i])}";
                string[] tls = certificates is null
                    ? []
                    : ["--cert-file", certificates.PathOf("etcd.crt"), "--key-file", certificates.PathOf("etcd.key"), "--client-cert-auth", "--trusted-ca-file", certificates.PathOf("authority.crt")];
                etcd._health.Add(new Uri(health + "/health"));
                etcd._members.Add(Process.Start(new ProcessStartInfo(
                    FilePath!,
                    [
                        "--name", $"m{Text(i)}", "--data-dir", etcd._folder.File($"m{Text(i)}"), "--listen-client-urls", client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i], "--initial-cluster", string.Join(',', peers.Select((peer, index) => $"m{Text(index)}={peer}")),
                        "--initial-cluster-token", etcd._folder.Path, "--listen-metrics-urls", health, "--unsafe-no-fsync", "--log-level", "fatal",

                        // The shortest lease is one and a half times the time of an election.
                        .. members == 1 ? (string[])["--heartbeat-interval", "10", "--election-timeout", "100"] : [], .. tls,
                    ])
                {
                    RedirectStandardError = true,
                    RedirectStandardOutput = true,
                })!);
                etcd._members[i].ErrorDataReceived += static (_, _) => { };
                etcd._members[i].OutputDataReceived += static (_, _) => { };
                etcd._members[i].BeginErrorReadLine();
                etcd._members[i].BeginOutputReadLine();
            }

            await etcd.WaitUntilHealthyAsync(cancellation).ConfigureAwait(false);
            return etcd;
        }
        catch
        {
            await etcd.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Ends a member as a crash does.</summary>
    public async Task KillAsync(int member)
    {
        _members[member].Kill();
        await _members[member].WaitForExitAsync().ConfigureAwait(false);
    }

    /// <summary>Freezes a member: its connections stay, and nothing answers.</summary>
    public void Freeze(int member) => Signal("-STOP", member);

    public void Thaw(int member) => Signal("-CONT", member);

    /// <summary>Asks etcd's gateway of JSON: not by what RedKite uses.</summary>
    /// <exception cref="InvalidOperationException">It has refused that.</exception>
    public async Task<string> PostAsync(string path, object body, CancellationToken cancellation)
    {
        using var http = new HttpClient();
        using var content = new StringContent(JsonSerializer.Serialize(body), Encoding.UTF8, "application/json");
        using HttpResponseMessage reply = await http.PostAsync(new Uri(Addresses[0], "/v3/" + path), content, cancellation).ConfigureAwait(false);
        string text = await reply.Content.ReadAsStringAsync(cancellation).ConfigureAwait(false);
        return reply.StatusCode == HttpStatusCode.OK ? text : throw new InvalidOperationException($"{path}: {text}");
    }

    /// <summary>Writes a key.</summary>
    public async Task PutAsync(string key, string value, CancellationToken cancellation) => await PostAsync("kv/put", new { key = Base64(key), value = Base64(value) }, cancellation).ConfigureAwait(false);

    /// <summary>Reads a key that is there.</summary>
    public async Task<string> GetAsync(string key, CancellationToken cancellation)
    {
        using JsonDocument reply = JsonDocument.Parse(await PostAsync("kv/range", new { key = Base64(key) }, cancellation).ConfigureAwait(false));
        return Encoding.UTF8.GetString(reply.RootElement.GetProperty("kvs")[0].GetProperty("value").GetBytesFromBase64());
    }

    public async ValueTask DisposeAsync()
    {
        for (int i = 0; i < _members.Count; i++)
        {
            if (!_members[i].HasExited) await KillAsync(i).ConfigureAwait(false);
            _members[i].Dispose();
        }

        _folder.Dispose();
    }

    private async Task WaitUntilHealthyAsync(CancellationToken cancellation)
    {
        using var http = new HttpClient();
        long deadline = Environment.TickCount64 + PatienceMs;
        foreach (Uri health in _health)
        {
            while (true)
            {
                try
                {
                    if ((await http.GetStringAsync(health, cancellation).ConfigureAwait(false)).Contains("\"true\"", StringComparison.Ordinal)) break;
                }
                catch (HttpRequestException)
                {
                    // It does not listen yet, or has no leader.
                }

                if (Environment.TickCount64 > deadline || _members.Exists(static member => member.HasExited)) throw new InvalidOperationException("etcd does not start");
                await Task.Delay(10, cancellation).ConfigureAwait(false);
            }
        }
    }

    private void Signal(string signal, int member)
    {
        using Process kill = Process.Start("kill", [signal, Text(_members[member].Id)]);
        kill.WaitForExit();
    }

    private static string? Installed()
    {
        string path = Path.Combine(RepositoryRoot.Path, "artifacts", "oracle", "etcd", "bin", "etcd");
        return File.Exists(path) ? path : null;
    }

    private static string Base64(string text) => Convert.ToBase64String(Encoding.UTF8.GetBytes(text));

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
