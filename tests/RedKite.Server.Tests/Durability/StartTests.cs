using RedKite.Persistence.Files;
using RedKite.Server.Config;
using RedKite.Testing;

namespace RedKite.Server.Tests.Durability;

/// <summary>How a server with data starts, fails to start, and is stopped meanwhile.</summary>
public sealed class StartTests : IDisposable
{
    private readonly FaultyFiles _files = new();
    private readonly TemporaryFolder _folder = new();

    public StartTests() => _files.CreateFolder(_folder.Path);

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Start_reports_its_progress_and_does_not_hold_up_its_caller()
    {
        await SaveAsync();
        var reports = new Reports();
        using var reads = new ManualResetEventSlim();
        _files.Plan = call =>
        {
            if (call.Operation == "read") reads.Wait(CancellationToken.None);
            return null;
        };
        Task<RedKiteServer> starting = RedKiteServer.StartAsync(Options(reports));
        Assert.False(starting.IsCompleted);
        reads.Set();
        await using RedKiteServer server = await starting;
        Assert.Equal(1000, reports.Last.Keys);
        Assert.Equal(reports.Last.TotalBytes, reports.Last.LoadedBytes);
        Assert.True(reports.Last.TotalBytes > 0);
    }

    [Fact]
    public async Task Server_that_is_stopped_while_it_loads_leaves_nothing_behind()
    {
        await SaveAsync();
        using var reached = new ManualResetEventSlim();
        using var reads = new ManualResetEventSlim();
        _files.Plan = call =>
        {
            if (call.Operation != "read") return null;
            reached.Set();
            reads.Wait(CancellationToken.None);
            return null;
        };
        int port = LoopbackPort.Next();
        Task<RedKiteServer> starting = RedKiteServer.StartAsync(Options(port: port));
        reached.Wait(TestContext.Current.CancellationToken);
        using (RespConnection client = RespConnection.Connect(port))
        {
            client.Run("GET key:1").IsError("LOADING Redis is loading the dataset in memory");
            client.SendCommand("SHUTDOWN NOSAVE");
            Assert.Equal(RespValue.Closed, client.Read());
        }

        reads.Set();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => starting);
        _files.Plan = null;
        await using RedKiteServer server = await RedKiteServer.StartAsync(Options(port: port));
        Assert.Equal("1000", server.Execute("DBSIZE").ToString());
    }

    [Fact]
    public async Task Failed_start_throws_one_line()
    {
        await SaveAsync();
        using (IOpenFile file = _files.OpenWrite(Path.Combine(_folder.Path, "dump.rdb"))) file.SetLength(file.Length / 2);
        ConfigException failure = await Assert.ThrowsAsync<ConfigException>(() => RedKiteServer.StartAsync(Options()));
        Assert.Contains("dump.rdb: at byte ", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    private RedKiteOptions Options(IProgress<RedKiteLoadProgress>? progress = null, int port = 0)
    {
        var options = new RedKiteOptions { Port = port, Files = _files, LoadProgress = progress };
        options.Settings["dir"] = _folder.Path;
        options.Settings["loops"] = "1";
        options.Settings["diagnostics"] = "no";
        options.Settings["enable-debug-command"] = "yes";
        return options;
    }

    private async Task SaveAsync()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(Options());
        server.Execute("DEBUG", "POPULATE", "1000");
        server.Execute("SAVE");
    }

    private sealed class Reports : IProgress<RedKiteLoadProgress>
    {
        internal RedKiteLoadProgress Last { get; private set; }

        public void Report(RedKiteLoadProgress value) => Last = value;
    }
}
