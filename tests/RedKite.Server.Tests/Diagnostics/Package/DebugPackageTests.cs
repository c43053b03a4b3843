using System.Globalization;
using System.IO.Compression;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Server.Tests.Diagnostics.Package;

/// <summary>What is in the debug package of a running server, and what must not be.</summary>
public class DebugPackageTests
{
    private static readonly string[] Planted =
        ["planted-password", "planted-key", "planted-value", "planted-client", "planted-argument", "planted-log", "planted-field", "planted-bad-password", "planted-app"];

    [Fact]
    public async Task Every_part_is_there_and_has_no_error()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 });
        server.Engine.Log.Notice("A line of the log");
        Dictionary<string, byte[]> entries = Entries(Build(server, PackageOptions.Default));
        using JsonDocument manifest = JsonDocument.Parse(entries["manifest.json"]);
        JsonElement[] parts = [.. manifest.RootElement.GetProperty("parts").EnumerateArray()];
        Assert.Equal(PackageTable.Rows.Where(part => part.IsWanted(PackageOptions.Default)).Select(part => part.Name), parts.Select(part => part.GetProperty("name").GetString()));
        if (OperatingSystem.IsLinux()) Assert.All(parts, part => Assert.True(part.GetProperty("error").ValueKind == JsonValueKind.Null, part.ToString()));
        Assert.All(parts, part => Assert.True(part.GetProperty("error").ValueKind != JsonValueKind.Null || part.GetProperty("bytes").GetInt64() > 0, part.ToString()));
        Assert.True(manifest.RootElement.GetProperty("milliseconds").GetInt64() < 30_000);
        Assert.Equal(ServerVersion.Text, manifest.RootElement.GetProperty("version").GetString());

        foreach (Report report in ReportTable.Rows.Where(report => report.IsInPackage)) JsonDocument.Parse(entries[$"reports/{report.Name}.json"]).Dispose();
        Assert.Contains("redis_version:", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.Contains("# Commandstats", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.Contains("# Findings", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.StartsWith("unix_seconds,total_commands_processed,", Encoding.UTF8.GetString(entries["history/seconds.csv"]), StringComparison.Ordinal);
        using JsonDocument runtime = JsonDocument.Parse(entries["runtime.json"]);
        Assert.True(runtime.RootElement.GetProperty("collections").TryGetProperty("Any", out _));
        if (!OperatingSystem.IsLinux()) return;
        Assert.Contains("MemAvailable:", Encoding.UTF8.GetString(entries["system/proc/meminfo.txt"]), StringComparison.Ordinal);
        Assert.Contains("free_bytes", Encoding.UTF8.GetString(entries["system/data-folder.txt"]), StringComparison.Ordinal);
        Assert.Contains(",diagnostics,", Encoding.UTF8.GetString(entries["threads.csv"]), StringComparison.Ordinal);
        Assert.StartsWith("Nettrace", Encoding.Latin1.GetString(entries["stacks.nettrace"]), StringComparison.Ordinal);

        // The trace holds names as UTF-16: those of the methods that the threads execute.
        Assert.True(entries["stacks.nettrace"].AsSpan().IndexOf(Encoding.Unicode.GetBytes("DiagnosticsService")) > 0, "a thread's method is named");
    }

    [Fact]
    public async Task No_entry_has_keys_values_names_addresses_or_secrets()
    {
        RedKiteOptions options = new()
        {
            Port = 0,
            Settings = { ["slowlog-log-slower-than"] = "0", ["requirepass"] = Planted[0], ["enable-debug-command"] = "yes", ["commandlog-request-larger-than"] = "0", ["commandlog-reply-larger-than"] = "0", ["latency-monitor-threshold"] = "1" },
        };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options);
        using var client = new TcpClient(AddressFamily.InterNetwork);
        await client.ConnectAsync("127.0.0.1", server.Port, TestContext.Current.CancellationToken);
        string address = client.Client.LocalEndPoint!.ToString()!;
        await using NetworkStream stream = client.GetStream();
        string[] requests =
        [
            $"AUTH {Planted[7]}", $"AUTH {Planted[0]}", $"CLIENT SETNAME {Planted[3]}", $"CLIENT SETINFO LIB-NAME library({Planted[8]})", $"SET {Planted[1]} {Planted[2]}", $"LPUSH {Planted[1]} {Planted[2]}",
            $"HSET {Planted[1]}:hash {Planted[6]} {Planted[2]}", $"ECHO {Planted[4]}", $"{Planted[4]} x", $"CONFIG SET {Planted[4]} {Planted[2]}", $"DEBUG LOG {Planted[5]}", "DEBUG SLEEP 0.01",
        ];
        await stream.WriteAsync(Encoding.ASCII.GetBytes(string.Concat(requests.Select(request => request + "\r\n"))), TestContext.Current.CancellationToken);
        await ReadReplies(stream, requests.Length);
        for (int i = 0; i < 2000; i++) server.Execute("GET", Planted[1]); // becomes a hot key
        server.Engine.Log.Warning($"Closing client addr={address} laddr=[2001:db8::7]:6379");

        Dictionary<string, byte[]> entries = Entries(Build(server, PackageOptions.Default));
        string[] secrets = [.. Planted, address, "2001:db8::7"];
        foreach ((string name, byte[] bytes) in entries)
        {
            // One byte a character, and two: names in a trace are UTF-16.
            foreach (string secret in secrets)
            {
                Assert.False(bytes.AsSpan().IndexOf(Encoding.ASCII.GetBytes(secret)) >= 0, $"{name} has {secret}");
                Assert.False(bytes.AsSpan().IndexOf(Encoding.Unicode.GetBytes(secret)) >= 0, $"{name} has {secret} as UTF-16");
            }
        }

        // They were there to be found.
        Assert.Contains("planted-client", Encoding.UTF8.GetString(server.Reports!.Read("clients", TestContext.Current.CancellationToken)!), StringComparison.Ordinal);
        Assert.Contains("Closing client addr=#", Encoding.UTF8.GetString(entries["log.txt"]), StringComparison.Ordinal);
        Assert.Contains("DEBUG LOG: (redacted)", Encoding.UTF8.GetString(entries["log.txt"]), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Part_that_fails_leaves_its_error_and_the_others_follow()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 });
        PackagePart[] parts =
        [
            new("broken.txt", "Fails.", _ => throw new InvalidOperationException("this part is broken")),
            new("half.txt", "Fails after it has added an entry.", context =>
            {
                context.Add("half.txt", "half");
                throw new IOException("the rest is missing");
            }),
            new("whole.txt", "Works.", context => context.Add("whole.txt", "whole")),
        ];
        Dictionary<string, byte[]> entries = Entries(DebugPackage.Build(parts, Sources(server), PackageOptions.Default, TestContext.Current.CancellationToken));
        Assert.Equal(["broken.txt.error.txt", "half.txt.error.txt", "manifest.json", "whole.txt"], entries.Keys.Order(StringComparer.Ordinal));
        Assert.Equal("InvalidOperationException: this part is broken\n", Encoding.UTF8.GetString(entries["broken.txt.error.txt"]));
        Assert.Contains("the rest is missing", Encoding.UTF8.GetString(entries["manifest.json"]), StringComparison.Ordinal);
        Assert.Equal("whole", Encoding.UTF8.GetString(entries["whole.txt"]));
    }

    [Fact]
    public async Task Part_that_hangs_is_given_up_and_cancelled()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 });
        using var cancelled = new ManualResetEventSlim();
        PackagePart[] parts =
        [
            new("stuck.txt", "Waits for its cancellation.", context =>
            {
                context.Cancellation.WaitHandle.WaitOne();
                cancelled.Set();
            }),
            new("whole.txt", "Works.", context => context.Add("whole.txt", "whole")),
        ];
        Dictionary<string, byte[]> entries = Entries(DebugPackage.Build(parts, Sources(server), PackageOptions.Default, TestContext.Current.CancellationToken));
        Assert.Contains("The part did not end within 5 seconds.", Encoding.UTF8.GetString(entries["stuck.txt.error.txt"]), StringComparison.Ordinal);
        Assert.Contains("whole.txt", entries.Keys);
        Assert.True(cancelled.Wait(30_000, TestContext.Current.CancellationToken), "its token is cancelled");
    }

    [Fact]
    public async Task Log_is_watched_for_the_requested_time()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 });
        PackagePart log = PackageTable.Rows.Single(part => part.Name == "log.txt");
        using var timer = new Timer(_ => server.Engine.Log.Notice("A line of the time of the package"), null, 300, Timeout.Infinite);
        byte[] package = DebugPackage.Build([log], Sources(server), PackageOptions.Default with { Log = TimeSpan.FromSeconds(3) }, TestContext.Current.CancellationToken);
        Assert.Contains("A line of the time of the package", Encoding.UTF8.GetString(Entries(package)["log.txt"]), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("12:34:56.789 * Ready", "12:34:56.789 * Ready")]
    [InlineData("addr=10.1.2.3:4567 x", "addr=#:4567 x")]
    [InlineData("addr=[fe80::1%eth0]:80", "addr=[#]:80")]
    [InlineData("RedKite 0.1.0 (Redis 8.0.2), .NET 10.0.0", "RedKite 0.1.0 (Redis 8.0.2), .NET 10.0.0")]
    [InlineData("listener0:name=tcp,bind=host.example,port=1", "listener0:name=tcp,bind=#,port=1")]
    [InlineData("redis_git_sha1:00000000", "redis_git_sha1:00000000")]
    public async Task Addresses_in_text_are_hashed(string text, string expected)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 });
        var context = new PackageContext(Sources(server), PackageOptions.Default, new byte[32], TestContext.Current.CancellationToken);
        string shown = System.Text.RegularExpressions.Regex.Replace(ServerPackageParts.WithoutAddresses(context, text), "#[0-9a-f]{12}", "#");
        Assert.Equal(expected, shown);
    }

    internal static byte[] Build(RedKiteServer server, PackageOptions options) => DebugPackage.Build(Sources(server), options, TestContext.Current.CancellationToken);

    internal static PackageSources Sources(RedKiteServer server) => server.PackageSources!;

    internal static Dictionary<string, byte[]> Entries(byte[] package)
    {
        var entries = new Dictionary<string, byte[]>(StringComparer.Ordinal);
        using var zip = new ZipArchive(new MemoryStream(package));
        foreach (ZipArchiveEntry entry in zip.Entries)
        {
            var bytes = new MemoryStream();
            using Stream content = entry.Open();
            content.CopyTo(bytes);
            entries.Add(entry.FullName, bytes.ToArray());
        }

        return entries;
    }

    private static async Task ReadReplies(NetworkStream stream, int count)
    {
        using var reader = new StreamReader(stream, Encoding.Latin1, leaveOpen: true);
        for (int replies = 0; replies < count; replies++)
        {
            string line = (await reader.ReadLineAsync(TestContext.Current.CancellationToken))!;
            if (line[0] == '$' && int.Parse(line[1..], CultureInfo.InvariantCulture) >= 0) await reader.ReadLineAsync(TestContext.Current.CancellationToken);
        }
    }
}
