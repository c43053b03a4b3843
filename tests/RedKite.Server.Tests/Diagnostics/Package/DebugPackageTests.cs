using System.Diagnostics;
using System.IO.Compression;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Diagnostics.Reports;
using RedKite.Server.Logging;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics.Package;

/// <summary>The contents of the debug package of a running server, and what must not be in it.</summary>
public class DebugPackageTests
{
    private const string Planted = "planted"; // in everything that must not be in a package

    [Fact]
    public async Task Every_part_exists_without_an_error()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["replica-acks"] = "1" } }, TestContext.Current.CancellationToken);
        server.Engine.Log.Notice(LogEvents.ClientMessage, "A line of the log");
        Dictionary<string, byte[]> entries = Entries(Build(server, PackageOptions.WithoutWatching));
        using JsonDocument manifest = JsonDocument.Parse(entries["manifest.json"]);
        JsonElement[] parts = [.. manifest.RootElement.GetProperty("parts").EnumerateArray()];
        Assert.Equal(PackageTable.Rows.Where(part => part.IsWanted(PackageOptions.WithoutWatching)).Select(part => part.Name), parts.Select(part => part.GetProperty("name").GetString()));
        if (OperatingSystem.IsLinux()) Assert.All(parts, part => Assert.True(part.GetProperty("error").ValueKind == JsonValueKind.Null, part.ToString()));
        Assert.All(parts, part => Assert.True(part.GetProperty("error").ValueKind != JsonValueKind.Null || part.GetProperty("bytes").GetInt64() > 0, part.ToString()));
        Assert.True(manifest.RootElement.GetProperty("milliseconds").GetInt64() > 0);
        Assert.Equal(ServerVersion.Text, manifest.RootElement.GetProperty("version").GetString());

        foreach (Report report in ReportTable.Rows.Where(report => report.IsInPackage)) JsonDocument.Parse(entries[$"reports/{report.Name}.json"]).Dispose();
        Assert.Contains("redis_version:", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.Contains("# Commandstats", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.Contains("# Findings", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.StartsWith("unix_seconds,total_commands_processed,", Encoding.UTF8.GetString(entries["history/seconds.csv"]), StringComparison.Ordinal);
        foreach (string field in (string[])["", "_offset", "_waiting_replies", "_waiting_ms", "_waits", "_wait_usec", "_errors"]) Assert.Contains($"\nreplica_acks{field}:", Encoding.UTF8.GetString(entries["info.txt"]), StringComparison.Ordinal);
        Assert.Empty(((string[])["unacknowledged_replies", "unacknowledged_seconds", "replica_ack_waits", "replica_ack_wait_microseconds", "unacknowledged_errors"]).Except(Encoding.UTF8.GetString(entries["history/seconds.csv"]).Split('\n')[0].Trim().Split(',')));
        Assert.Contains("\"acks\":{\"replicas\":1,", Encoding.UTF8.GetString(entries["reports/replication.json"]), StringComparison.Ordinal);
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
        DirectoryInfo folder = Directory.CreateTempSubdirectory("planted-folder-");
        RedKiteOptions options = new()
        {
            Port = 0,
            ConfigFile = Path.Combine(folder.FullName, "planted.conf"),
            Settings =
            {
                ["requirepass"] = "planted-password",
                ["masterauth"] = "planted-password-of-a-master",
                ["masteruser"] = "planted-user-of-a-master",
                ["tls-key-file-pass"] = "planted-password-of-a-file",
                ["slowlog-log-slower-than"] = "0",
                ["enable-debug-command"] = "yes",
                ["commandlog-request-larger-than"] = "0",
                ["commandlog-reply-larger-than"] = "0",
                ["latency-monitor-threshold"] = "1",
                ["dir"] = folder.FullName,
                ["dbfilename"] = "planted-dump.rdb",
                ["appendfilename"] = "planted-log.aof",
                ["appenddirname"] = "planted-logs",
                ["appendonly"] = "yes",
                ["pidfile"] = Path.Combine(folder.FullName, "planted.pid"),
                ["metrics-history-file"] = "planted-history",
                ["debug-package-dir"] = "planted-packages",
                ["tls-key-file"] = "/planted/key.pem",
                ["tls-cert-file"] = "/planted/certificate.pem",
                ["tls-ca-cert-file"] = "/planted/authority.pem",
                ["syslog-ident"] = "planted-ident",
                ["otlp-endpoint"] = "http://planted-user:planted-token@planted-host:4318/a+b",
                ["rename-command"] = "LOLWUT planted-alias",
            },
        };
        await File.WriteAllTextAsync(options.ConfigFile, "# planted-comment\nproc-title-template \"planted-title {title}\"\n", TestContext.Current.CancellationToken);
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(server.Port);
        using RespConnection user = RespConnection.Connect(server.Port);
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        using RespConnection blocked = RespConnection.Connect(server.Port);
        UseData(client, server);
        UseUsers(client, user);
        UseScripts(client);
        HoldNames(client, subscriber, blocked);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Blocked.Count == 1, 60_000), "a client is blocked");
        GuessPasswords(server);
        string address = client.LocalEndPoint.ToString()!;
        server.Engine.Log.Warning(LogEvents.ClientMessage, $"Closing client addr={address} laddr=[2001:db8::7]:6379");

        Dictionary<string, byte[]> entries = Entries(Build(server, PackageOptions.WithoutWatching with { Trace = TimeSpan.FromSeconds(1) }));
        string hash = Convert.ToHexStringLower(SHA256.HashData("planted-password-of-a-user"u8));
        foreach ((string name, byte[] bytes) in entries)
        {
            // One byte a character, and two: names in a trace are UTF-16.
            foreach (string secret in (string[])[Planted, address, "2001:db8::7", hash, "?:0"])
            {
                foreach (Encoding encoding in (Encoding[])[Encoding.ASCII, Encoding.Unicode])
                {
                    int at = bytes.AsSpan().IndexOf(encoding.GetBytes(secret));
                    Assert.True(at < 0, $"{name} has {secret}: {(at < 0 ? "" : encoding.GetString(bytes[at..Math.Min(bytes.Length, at + 100)]))}");
                }
            }
        }

        // They were there to be found.
        (string Report, string Text)[] shown =
        [
            ("clients", "planted-client"), ("clients", "planted-library"), ("clients", "planted-version"), ("clients", "planted-app"), ("settings", "planted-ident"), ("settings", "/planted/key.pem"), ("settings", "planted-title"), ("hot-keys", "planted-key"), ("slow-log", "planted-value"), ("command-log", "planted-value"), ("users", "planted-pattern"),
            ("access-log", "planted-forbidden-key"), ("scripts", "planted-script"), ("scripts", "planted_library"), ("errors", "planted-error"), ("log", "planted-script-log"),
        ];
        foreach ((string report, string text) in shown)
        {
            Assert.True(Encoding.UTF8.GetString(server.Reports!.Read(report, TestContext.Current.CancellationToken)!).Contains(text, StringComparison.Ordinal), $"{report} would show {text}");
        }

        Assert.Contains("culprit=the user planted-nobody", server.Execute("INFO", "findings").Text, StringComparison.Ordinal);
        Assert.Matches("finding_logins-refused:.*,culprit=\\(redacted\\)", Encoding.UTF8.GetString(entries["info.txt"]));
        Assert.Contains(server.Engine.Log.Tail.Lines, line => line.Contains("Seen: the user planted-nobody", StringComparison.Ordinal));
        Assert.Contains("errorstat_planted-error:", server.Execute("INFO", "errorstats").Text, StringComparison.Ordinal);
        Assert.Matches("errorstat_#[0-9a-f]{12}:count=1", Encoding.UTF8.GetString(entries["info.txt"]));
        string log = Encoding.UTF8.GetString(entries["log.txt"]);
        Assert.Contains("Closing client addr=#", log, StringComparison.Ordinal);
        Assert.Contains("DEBUG LOG: (redacted)", log, StringComparison.Ordinal);
        Assert.Contains(" # (redacted)", log, StringComparison.Ordinal);
    }

    private static void UseData(RespConnection client, RedKiteServer server)
    {
        string[] requests =
        [
            "AUTH planted-bad-password", "AUTH planted-password", "CLIENT SETNAME planted-client", "CLIENT SETINFO LIB-NAME SE.Redis(planted-app)", "SET planted-key planted-value",
            "LPUSH planted-key planted-value", "HSET planted-hash planted-field planted-value", "ECHO planted-argument", "planted-command x", "CONFIG SET planted-setting planted-value",
            "DEBUG LOG planted-log", "DEBUG SLEEP 0.01",
        ];
        foreach (string request in requests) Assert.False(client.Run(request).IsClosed, request);
        for (int i = 0; i < 2000; i++) server.Execute("GET", "planted-key"); // becomes a hot key
    }

    private static void UseUsers(RespConnection client, RespConnection user)
    {
        client.Run("ACL SETUSER planted-user on >planted-password-of-a-user ~planted-pattern:* &planted-channel:* +@all -select +select|planted-database (+get ~planted-selector:*)").IsOk();
        foreach (string request in (string[])["AUTH planted-user planted-bad-password", "AUTH planted-nobody planted-bad-password"]) Assert.True(user.Run(request).IsError, request);
        user.Run("AUTH planted-user planted-password-of-a-user").IsOk();
        user.Run("SET planted-pattern:key planted-value").IsOk();
        foreach (string request in (string[])["SET planted-forbidden-key planted-value", "PUBLISH planted-forbidden-channel planted-message", "SELECT planted-number"]) Assert.True(user.Run(request).IsError, request);
        Assert.True(client.Run("ACL SETUSER planted-user planted-rule").IsError);
    }

    private static void UseScripts(RespConnection client)
    {
        client.Run("EVAL \"redis.log(redis.LOG_WARNING, 'planted-script-log') return redis.call('GET', KEYS[1])\" 1 planted-key").IsBulk("planted-value");
        client.Run("EVAL \"return redis.error_reply('planted-error is what a script calls it')\" 0").IsError("planted-error is what a script calls it");
        Assert.True(client.Run("EVAL \"error('planted-failure')\" 0").IsError);
        Assert.True(client.Run("EVAL \"planted-syntax\" 0").IsError);
        client.Run("SCRIPT LOAD \"return 'planted-loaded'\"");
        client.Run("FUNCTION LOAD \"#!lua name=planted_library\\nredis.register_function('planted_function', function() return redis.error_reply('planted-error') end)\"").IsBulk("planted_library");
        Assert.True(client.Run("FCALL planted_function 1 planted-key").IsError);
        Assert.True(client.Run("FCALL planted_missing 0").IsError);
    }

    // What clients make the server remember: subscriptions, tracked keys and prefixes, watched keys, queued commands, keys that they wait for.
    private static void HoldNames(RespConnection client, RespConnection subscriber, RespConnection blocked)
    {
        foreach (RespConnection other in (RespConnection[])[subscriber, blocked]) other.Run("AUTH planted-password").IsOk();
        foreach (string request in (string[])["HELLO 3", "CLIENT TRACKING ON BCAST PREFIX planted-prefix", "CLIENT SETINFO LIB-NAME planted-library", "CLIENT SETINFO LIB-VER planted-version"]) Assert.False(blocked.Run(request).IsError, request);
        foreach (string request in (string[])["SUBSCRIBE planted-channel", "PSUBSCRIBE planted-glob*", "SSUBSCRIBE planted-shard"]) Assert.False(subscriber.Run(request).IsError, request);
        client.Run("PUBLISH planted-channel planted-message").IsInteger(1);
        foreach (string request in (string[])["HELLO 3", "CLIENT TRACKING ON", "GET planted-key", "WATCH planted-watched", "MULTI", "SET planted-queued planted-value"]) Assert.False(client.Run(request).IsError, request);
        blocked.Send("BLPOP planted-awaited 0\r\n");
    }

    // A finding that names its cause.
    private static void GuessPasswords(RedKiteServer server)
    {
        ObservedSeconds.Pass(server, 1); // what happens before the first observation is in no count
        server.Execute("CONFIG", "SET", "failed-logins-per-minute", "1");
        using RespConnection guesser = RespConnection.Connect(server.Port);
        for (int i = 0; i < 3; i++) Assert.True(guesser.Run("AUTH planted-nobody planted-bad-password").IsError);
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Any(finding => finding.Diagnosis.Culprit.Contains(Planted, StringComparison.Ordinal)), "a finding names its cause");
    }

    [Fact]
    public async Task Part_that_fails_leaves_its_error_and_the_others_follow()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
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
        Dictionary<string, byte[]> entries = Entries(DebugPackage.Build(parts, Sources(server), PackageOptions.WithoutWatching, TestContext.Current.CancellationToken));
        Assert.Equal(["broken.txt.error.txt", "half.txt.error.txt", "manifest.json", "whole.txt"], entries.Keys.Order(StringComparer.Ordinal));
        Assert.Equal("InvalidOperationException: this part is broken\n", Encoding.UTF8.GetString(entries["broken.txt.error.txt"]));
        Assert.Contains("the rest is missing", Encoding.UTF8.GetString(entries["manifest.json"]), StringComparison.Ordinal);
        Assert.Equal("whole", Encoding.UTF8.GetString(entries["whole.txt"]));
    }

    [Fact]
    public async Task Part_that_hangs_is_given_up_and_cancelled()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
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
        Dictionary<string, byte[]> entries = Entries(DebugPackage.Build(parts, Sources(server), PackageOptions.WithoutWatching, TimeSpan.FromSeconds(25), TimeSpan.FromSeconds(0.4), TestContext.Current.CancellationToken));
        Assert.Contains("The part did not end within 0.4 seconds.", Encoding.UTF8.GetString(entries["stuck.txt.error.txt"]), StringComparison.Ordinal);
        Assert.Contains("whole.txt", entries.Keys);
        Assert.True(cancelled.Wait(30_000, TestContext.Current.CancellationToken), "its token is cancelled");
    }

    // With shorter times than the server's: 5 seconds for a part, 25 for the package.
    [Fact]
    public async Task Parts_that_hang_end_with_the_packages_time()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        PackagePart[] parts = [.. Enumerable.Range(0, 6).Select(i => new PackagePart($"stuck-{i}.txt", "Waits for its cancellation.", context => context.Cancellation.WaitHandle.WaitOne()))];
        long start = Stopwatch.GetTimestamp();
        byte[] package = DebugPackage.Build(parts, Sources(server), PackageOptions.WithoutWatching, TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(0.4), TestContext.Current.CancellationToken);
        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 0.99, 30);
        Dictionary<string, byte[]> entries = Entries(package);
        string[] errors = [.. parts.Select(part => Encoding.UTF8.GetString(entries[part.Name + ".error.txt"]).TrimEnd())];
        Assert.Equal("The part did not end within 0.4 seconds.", errors[0]);
        int ended = Array.FindIndex(errors, error => error == "The package's time was over before this part.");
        Assert.InRange(ended, 1, 3);
        Assert.All(errors[..ended], error => Assert.StartsWith("The part did not end within ", error, StringComparison.Ordinal));
        Assert.All(errors[ended..], error => Assert.Equal(errors[ended], error));
        using JsonDocument manifest = JsonDocument.Parse(entries["manifest.json"]);
        Assert.Equal(errors, manifest.RootElement.GetProperty("parts").EnumerateArray().Select(part => part.GetProperty("error").GetString()));
    }

    [Fact]
    public async Task Log_is_collected_for_the_requested_time()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        PackagePart log = PackageTable.Rows.Single(part => part.Name == "log.txt");
        using var timer = new Timer(_ => server.Engine.Log.Notice(LogEvents.ClientMessage, "A line of the time of the package"), null, 300, Timeout.Infinite);
        byte[] package = DebugPackage.Build([log], Sources(server), PackageOptions.WithoutWatching with { Log = TimeSpan.FromSeconds(3) }, TestContext.Current.CancellationToken);
        Assert.Contains("A line of the time of the package", Encoding.UTF8.GetString(Entries(package)["log.txt"]), StringComparison.Ordinal);
    }

    // The time of the other parts is part of it: with all of them, and the longest time for the log, a package is ready within 30 seconds.
    [Fact]
    public async Task Log_is_collected_from_the_beginning_of_the_package()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        PackagePart[] parts = [new("slow.txt", "Takes half a second.", context => Thread.Sleep(500)), PackageTable.Rows.Single(part => part.Name == "log.txt")];
        byte[] package = DebugPackage.Build(parts, Sources(server), PackageOptions.WithoutWatching with { Log = TimeSpan.FromSeconds(1) }, TestContext.Current.CancellationToken);
        using JsonDocument manifest = JsonDocument.Parse(Entries(package)["manifest.json"]);
        long[] took = [.. manifest.RootElement.GetProperty("parts").EnumerateArray().Select(part => part.GetProperty("milliseconds").GetInt64())];
        Assert.InRange(took[0] + took[1], 980, long.MaxValue); // each is rounded down
        Assert.InRange(took[1], 0, 900);
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
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        var context = new PackageContext(Sources(server), PackageOptions.WithoutWatching, Stopwatch.GetTimestamp(), new byte[32], TestContext.Current.CancellationToken);
        string shown = System.Text.RegularExpressions.Regex.Replace(ServerPackageParts.WithoutAddresses(context, text), "#[0-9a-f]{12}", "#");
        Assert.Equal(expected, shown);
    }

    [Fact]
    public void Arguments_of_the_command_line_are_hidden_in_a_trace()
    {
        byte[] trace = Encoding.Unicode.GetBytes("a --x\0/redkite.dll --requirepass pw\0b /redkite.dll --requirepass pw\0 --requirepass pw");
        RuntimeTrace.HideArguments(trace, ["--requirepass", "pw"]);
        Assert.Equal("a --x\0/redkite.dll ****************\0b /redkite.dll ****************\0 --requirepass pw", Encoding.Unicode.GetString(trace));
        RuntimeTrace.HideArguments(trace, []);
    }

    // A busy machine abandons no part: the limits have tests of their own.
    internal static byte[] Build(RedKiteServer server, PackageOptions options)
    {
        TimeSpan patience = TimeSpan.FromMinutes(2);
        PackagePart[] parts = [.. PackageTable.Rows.Select(part => part with { Watches = wanted => part.Watches(wanted) + patience })];
        return DebugPackage.Build(parts, Sources(server), options, patience, TimeSpan.MaxValue, TestContext.Current.CancellationToken);
    }

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
}
