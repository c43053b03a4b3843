using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Package;

namespace RedKite.Server.Tests.Diagnostics.Package;

/// <summary>Packages that are opened again, and the verdicts of the rules.</summary>
public class PackageReaderTests
{
    [Fact]
    public async Task Rules_find_the_same_in_the_package_as_in_the_server()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["slowlog-log-slower-than"] = "-1" } }, TestContext.Current.CancellationToken);
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Any(finding => finding.Rule.Name == "slow-log-off"), "the server finds it");
        PackageReader package = PackageReader.Open(new MemoryStream(DebugPackageTests.Build(server, PackageOptions.WithoutWatching)));
        PackageVerdict verdict = PackageVerdict.Of(package);
        Assert.Contains(verdict.Found, found => found.Rule.Name == "slow-log-off");
        var text = new StringWriter();
        verdict.Write(text, package);
        Assert.Contains("[notice] The slow log is off (slow-log-off)", text.ToString(), StringComparison.Ordinal);
        Assert.Contains("Verdict: ", text.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task History_and_values_are_those_of_the_server()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        for (int i = 0; i < 100; i++) server.Execute("SET", $"key:{i}", "value");
        MetricHistory history = server.Diagnostics!.History;
        ObservedSeconds.Until(server, () => history.Seconds(MetricTable.Keys.Index, 0, long.MaxValue).Any(point => point.Value == 100), "the keys are observed");
        PackageReader package = PackageReader.Open(new MemoryStream(DebugPackageTests.Build(server, PackageOptions.WithoutWatching)));
        Assert.Equal(100, package.View[MetricTable.Keys]);
        List<HistoryPoint> read = package.History.Seconds(MetricTable.UsedMemory.Index, 0, long.MaxValue);
        Assert.Equal(history.Seconds(MetricTable.UsedMemory.Index, 0, read[^1].UnixSeconds), read);
        Assert.False(package.IsLive);
        Assert.Null(package.Read("no-such-report", TestContext.Current.CancellationToken));
    }

    [Fact]
    public void Minutes_are_read_too()
    {
        var history = new MetricHistory(MetricTable.All.Count);
        var values = new double[MetricTable.All.Count];
        Array.Fill(values, 3);
        history.Add(6000, values);
        history.Add(6060, values);
        var read = new MetricHistory(MetricTable.All.Count);
        HistoryPackageParts.ReadSeconds(HistoryPackageParts.Seconds(history, TestContext.Current.CancellationToken), read);
        HistoryFile.Read(HistoryFile.Write(history, MetricTable.All), read, MetricTable.All);
        Assert.Equal(3, read.Minutes(0, 6000, 6000)[0].Value);
        Assert.Equal(2, read.Seconds(0, 0, long.MaxValue).Count);
        Assert.Throws<InvalidDataException>(() => HistoryFile.Read([1, 2, 3], read, MetricTable.All));
        Assert.Throws<InvalidDataException>(() => HistoryPackageParts.ReadSeconds("nonsense", read));
        Assert.Throws<InvalidDataException>(() => HistoryPackageParts.ReadSeconds("unix_seconds,keys\n1\n", read));
        Assert.Throws<InvalidDataException>(() => HistoryPackageParts.ReadSeconds("unix_seconds,keys\n-9000,1\n", read));
        Assert.Throws<InvalidDataException>(() => HistoryPackageParts.ReadSeconds($"unix_seconds,keys\n{long.MaxValue},1\n", read));
    }

    [Fact]
    public void Table_of_commands_is_read_as_it_was_written()
    {
        var history = new RankedHistory(RankedTable.Commands, ["get", "client|list", "idle"]);
        history.Add(6000, [new RankedRecord(0, [512, 6, 1, 8, 9]), new RankedRecord(1, [1, 1, 0, float.NaN, float.NaN])]);
        history.Add(6001, []);
        history.Add(6003, [new RankedRecord(1, [2, 2, 0, 1, 1])]);
        string text = RankedHistoryTable.Write(history, TestContext.Current.CancellationToken);
        Assert.Equal("""
            unix_seconds,name,command_microseconds,command_calls,command_failures,command_p99,command_max
            6000,get,512,6,1,8,9
            6000,client|list,1,1,0,,
            6001,,,,,,
            6003,client|list,2,2,0,1,1

            """, text);
        var read = new RankedHistory(RankedTable.Commands, names: null);
        RankedHistoryTable.Read(text, read);
        Assert.Equal(["get", "client|list"], read.Names);
        for (int id = 0; id < 2; id++)
        {
            for (int series = 0; series < RankedTable.Commands.Series.Length; series++) Assert.Equal(history.Seconds(id, series, 0, long.MaxValue), read.Seconds(id, series, 0, long.MaxValue));
        }

        RankedHistoryTable.Read("unix_seconds,name,command_calls,command_of_tomorrow\n6060,get,7,8\n", read); // of another version
        Assert.Equal(7, read.Seconds(0, RankedTable.Commands.Find("command_calls"), 6060, 6060)[0].Value);
        Assert.Throws<InvalidDataException>(() => RankedHistoryTable.Read("", read));
        Assert.Throws<InvalidDataException>(() => RankedHistoryTable.Read("unix_seconds,get\n", read));
        Assert.Throws<InvalidDataException>(() => RankedHistoryTable.Read("unix_seconds,name,command_calls\n6120,get\n", read));
        Assert.Throws<InvalidDataException>(() => RankedHistoryTable.Read("unix_seconds,name,command_calls\n-9000,get,1\n", read));
        Assert.Throws<InvalidDataException>(() => RankedHistoryTable.Read($"unix_seconds,name,command_calls\n{long.MaxValue},get,1\n", read));
    }

    [Fact]
    public async Task Package_has_the_history_of_each_command_and_each_loop()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        RankedHistory commands = server.Diagnostics!.CommandHistory;
        int set = commands.Find("set"), calls = commands.Kind.Find("command_calls");
        long minute = (DateTimeOffset.UtcNow.ToUnixTimeSeconds() / 60) - 10;
        commands.RestoreMinute(minute, [(ushort)set], [1, 2, 3, 4, 5]);
        for (int i = 0; i < 100; i++) server.Execute("SET", $"key:{i}", "value");
        ObservedSeconds.Until(server, () => commands.Seconds(set, calls, 0, long.MaxValue).Any(point => point.Value > 0), "the calls are observed");
        PackageReader package = PackageReader.Open(new MemoryStream(DebugPackageTests.Build(server, PackageOptions.WithoutWatching)));
        RankedHistory read = package.RankedHistories.Single(history => history.Kind == RankedTable.Commands);
        List<HistoryPoint> seconds = read.Seconds(read.Find("set"), calls, 0, long.MaxValue);
        Assert.Contains(seconds, point => point.Value > 0);
        Assert.Equal(2, Assert.Single(read.Minutes(read.Find("set"), calls, minute * 60, minute * 60)).Value);
        Assert.Equal(commands.Seconds(set, calls, 0, seconds[^1].UnixSeconds), seconds);
        RankedHistory loops = package.RankedHistories.Single(history => history.Kind == RankedTable.Loops);
        Assert.Contains(loops.Seconds(loops.Find("0"), 0, 0, long.MaxValue), point => !float.IsNaN(point.Value));
    }

    // Of the version before.
    [Fact]
    public async Task Package_without_the_histories_of_commands_is_read()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        PackagePart[] parts = [.. PackageTable.Rows.Where(part => part.Name == "reports/commands.json")];
        PackageReader package = PackageReader.Open(new MemoryStream(DebugPackage.Build(parts, DebugPackageTests.Sources(server), PackageOptions.WithoutWatching, TestContext.Current.CancellationToken)));
        Assert.All(package.RankedHistories, history => Assert.Empty(history.Names));
    }

    [Fact]
    public async Task Damaged_package_is_refused_wherever_it_is_damaged()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        PackagePart[] parts = [.. PackageTable.Rows.Where(part => part.Name is "reports/metrics.json" or "history")];
        byte[] whole = DebugPackage.Build(parts, DebugPackageTests.Sources(server), PackageOptions.WithoutWatching, TestContext.Current.CancellationToken);
        PackageReader.Open(new MemoryStream(whole));
        for (int length = 0; length < whole.Length; length += 97) Assert.Throws<InvalidDataException>(() => PackageReader.Open(new MemoryStream(whole[..length])));
        var random = new Random(20261122);
        for (int i = 0; i < 300; i++)
        {
            byte[] damaged = [.. whole];
            damaged[random.Next(damaged.Length)] ^= (byte)(1 + random.Next(255));
            try
            {
                // What the checksums do not cover may be changed: an entry's time, a bit of the header.
                PackageReader read = PackageReader.Open(new MemoryStream(damaged));
                PackageVerdict.Of(read).Write(TextWriter.Null, read);
            }
            catch (InvalidDataException)
            {
            }
        }
    }
}
