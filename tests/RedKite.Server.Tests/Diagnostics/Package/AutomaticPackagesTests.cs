using System.Text.Json;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Diagnostics.Package;

/// <summary>Packages that are written without a request.</summary>
public sealed class AutomaticPackagesTests : IDisposable
{
    private const int PatienceMs = 60_000;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("redkite-packages-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task Critical_finding_leaves_a_package()
    {
        RedKiteOptions options = Options();
        options.Settings["bind"] = "* -::*";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal(PackageOptions.Default, server.AutomaticPackages!.Options); // with the log of its own 15 seconds
        server.AutomaticPackages.Options = PackageOptions.WithoutWatching;
        server.Execute("CONFIG", "SET", "protected-mode", "no"); // open to the network
        ObservedSeconds.Until(server, () => Packages().Length > 0, "the package is written");
        FileInfo package = Packages().Single(file => file.Name.Contains("open-to-network", StringComparison.Ordinal));
        using FileStream file = package.OpenRead();
        Assert.Equal(FindingSeverity.Critical, PackageVerdict.Of(PackageReader.Open(file)).Worst);
    }

    [Fact]
    public async Task Packages_within_a_day_are_limited()
    {
        RedKiteOptions options = Options();
        options.Settings["debug-packages-per-day"] = "2";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        for (int expected = 1; expected <= 2; expected++)
        {
            Trigger(server);
            Assert.True(SpinWait.SpinUntil(() => Packages().Length == expected, PatienceMs), $"package {expected} is written");
        }

        AssertCounted(server, 2);
        Trigger(server);
        Assert.True(server.Packages!.TryReserve(), "no third package was begun");
        Assert.Equal(2, Packages().Length);
        server.Packages.Release();
        foreach (FileInfo file in Packages()) file.LastWriteTimeUtc = DateTime.UtcNow.AddDays(-2);
        Trigger(server);
        Assert.True(SpinWait.SpinUntil(() => Packages().Length == 3, PatienceMs), "the next day there is another one");
        AssertCounted(server, 3);
    }

    [Fact]
    public async Task Oldest_are_deleted_at_the_limit_and_one_beyond_it_is_not_written()
    {
        string old = Path.Combine(_folder.FullName, "redkite-package-old.zip");
        await File.WriteAllBytesAsync(old, new byte[20_000_000], TestContext.Current.CancellationToken);
        File.SetLastWriteTimeUtc(old, DateTime.UtcNow.AddDays(-3));
        string other = Path.Combine(_folder.FullName, "of-somebody-else.zip");
        await File.WriteAllBytesAsync(other, new byte[20_000_000], TestContext.Current.CancellationToken);
        RedKiteOptions options = Options();
        options.Settings["debug-packages-max-bytes"] = "20000000";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Trigger(server);
        Assert.True(SpinWait.SpinUntil(() => !File.Exists(old) && Packages().Length == 1, PatienceMs), "the old one made room");
        Assert.True(File.Exists(other));

        Assert.True(SpinWait.SpinUntil(server.Packages!.TryReserve, PatienceMs), "the first one has ended");
        server.Packages.Release();
        server.Execute("CONFIG", "SET", "debug-packages-max-bytes", "1000");
        Trigger(server);
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Log.Tail.Lines.Any(line => line.Contains("are more than debug-packages-max-bytes", StringComparison.Ordinal)), PatienceMs), "the log says so");
        Assert.Single(Packages());
    }

    [Fact]
    public async Task Folder_that_cannot_be_written_is_one_line()
    {
        RedKiteOptions options = Options();
        options.Settings["debug-package-dir"] = "/proc/nosuch";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Trigger(server);
        Assert.Contains(server.Engine.Log.Tail.Lines, line => line.Contains("No debug package is written to /proc/nosuch", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Crash_writes_a_package_next_to_its_report()
    {
        var called = new TaskCompletionSource<RedKiteCrash>(TaskCreationOptions.RunContinuationsAsynchronously);
        RedKiteOptions options = Options();
        options.Settings["logfile"] = Path.Combine(_folder.FullName, "redkite.log");
        options.BeforeFailStop = called.SetResult;
        RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        server.Engine.Keyspace.FailStop.StandIn(TextWriter.Null, static (_, _) => { }); // the loop ends instead of the process
        Stripe stripe = server.Engine.Keyspace.Stripes[5];
        stripe.Enter();
        stripe.Drop(null!, keys: 0); // the sweep fails when it frees this table
        stripe.Exit();
        RedKiteCrash crash = await called.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.True(SpinWait.SpinUntil(() => File.Exists(crash.ReportPath + ".zip"), PatienceMs), "the package is written");
        await server.StopAsync();
        using FileStream file = File.OpenRead(crash.ReportPath + ".zip");
        PackageReader package = PackageReader.Open(file);
        Assert.NotNull(package.Read("metrics", TestContext.Current.CancellationToken));
        Assert.NotNull(package.Entry("history/seconds.csv"));
        Assert.Null(package.Entry("info.txt"));
        Assert.Empty(package.Errors);
    }

    // By the metric, on the timeline and in the report of actions.
    private static void AssertCounted(RedKiteServer server, int packages)
    {
        Assert.True(SpinWait.SpinUntil(() => server.Engine.Actions.CountOf(ActionTable.WritePackage) == packages, PatienceMs), $"{packages} packages are counted");
        Metric metric = MetricTable.All.Single(metric => metric.Name == "action_write_package");
        ObservedSeconds.Until(server, () => server.Diagnostics!.Latest is { } latest && metric.Read(latest) == packages, "the metric");
        Assert.Contains(server.Engine.Timeline.Events, item => item.Kind == TimelineKind.Action && item.Detail == "write-package");
        using JsonDocument report = JsonDocument.Parse(server.Reports!.Read("actions", TestContext.Current.CancellationToken)!);
        JsonElement row = report.RootElement.GetProperty("actions").EnumerateArray().Single(item => item.GetProperty("name").GetString() == "write-package");
        Assert.Equal(packages, row.GetProperty("count").GetInt64());
        Assert.Contains(report.RootElement.GetProperty("taken").EnumerateArray(), item => item.GetProperty("name").GetString() == "write-package");
    }

    private FileInfo[] Packages() => _folder.GetFiles("redkite-package-*.zip");

    private RedKiteOptions Options() => new() { Port = 0, Settings = { ["debug-package-dir"] = _folder.FullName } };

    private static void Trigger(RedKiteServer server)
    {
        Assert.True(SpinWait.SpinUntil(server.Packages!.TryReserve, PatienceMs), "no package is being built");
        server.Packages.Release();
        new AutomaticPackages(server.PackageSources!.Parts, server.Packages) { Options = PackageOptions.WithoutWatching }.OnCritical(new Finding(FindingTable.Rules[0], new("Title", "Evidence", FindingSeverity.Critical), 1));
    }
}
