using RedKite.Persistence.Files;
using RedKite.Server.Model;
using RedKite.TestSupport;

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
        Task<RedKiteServer> starting = RedKiteServer.StartAsync(Options(reports), TestContext.Current.CancellationToken);
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
        Task<RedKiteServer> starting = RedKiteServer.StartAsync(Options(port: port), TestContext.Current.CancellationToken);
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
        await using RedKiteServer server = await RedKiteServer.StartAsync(Options(port: port), TestContext.Current.CancellationToken);
        Assert.Equal("1000", server.Execute("DBSIZE").ToString());
    }

    [Fact]
    public async Task Replica_is_one_while_it_loads_and_with_its_first_reply()
    {
        await SaveAsync();
        using var reads = new ManualResetEventSlim();
        _files.Plan = call =>
        {
            if (call.Operation == "read") reads.Wait(CancellationToken.None);
            return null;
        };
        int port = LoopbackPort.Next();
        RedKiteOptions options = Options(port: port);
        options.ReplicaOf = $"127.0.0.1:{LoopbackPort.Next()}";
        Task<RedKiteServer> starting = RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(port);
        Assert.Contains("role:slave", client.Run("INFO replication").Text, StringComparison.Ordinal);
        reads.Set();
        RespValue reply;
        do reply = client.Run("SET key:1 v");
        while (reply.Text.StartsWith("LOADING", StringComparison.Ordinal));
        reply.IsError("READONLY You can't write against a read only replica.");
        await using RedKiteServer server = await starting;
        Assert.Equal("1000", server.Execute("DBSIZE").ToString());
    }

    [Fact]
    public async Task A_canceled_start_leaves_nothing_behind()
    {
        await SaveAsync();
        using var cancellation = new CancellationTokenSource();
        int port = LoopbackPort.Next();
        _files.Plan = call =>
        {
            if (call.Operation == "read") cancellation.Cancel();
            return null;
        };
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => RedKiteServer.StartAsync(Options(port: port), cancellation.Token));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => RedKiteServer.StartAsync(Options(port: port), cancellation.Token)); // before it begins
        _files.Plan = null;
        await using RedKiteServer server = await RedKiteServer.StartAsync(Options(port: port), TestContext.Current.CancellationToken);
        Assert.Equal("1000", server.Execute("DBSIZE").ToString());
    }

    [Theory]
    [InlineData(RedKitePersistence.None, RedKiteLogSync.EverySecond, "no", "", "everysec")]
    [InlineData(RedKitePersistence.Snapshots, RedKiteLogSync.EverySecond, "no", "3600 1 300 100 60 10000", "everysec")]
    [InlineData(RedKitePersistence.Log, RedKiteLogSync.Always, "yes", "", "always")]
    [InlineData(RedKitePersistence.Log, RedKiteLogSync.WhenSystemDecides, "yes", "", "no")]
    public async Task Typed_options_are_directives(RedKitePersistence persistence, RedKiteLogSync sync, string appendOnly, string save, string appendFsync)
    {
        var options = new RedKiteOptions { Port = 0, Files = _files, Persistence = persistence, LogSync = sync, DataDirectory = _folder.Path };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal((_folder.Path, appendOnly, save, appendFsync), (Setting("dir"), Setting("appendonly"), Setting("save"), Setting("appendfsync")));

        string Setting(string name) => server.Execute("CONFIG", "GET", name).Items[1].Text!;
    }

    [Fact]
    public async Task Persistence_needs_a_folder_and_settings_take_precedence()
    {
        var options = new RedKiteOptions { Port = 0, Files = _files, Persistence = RedKitePersistence.Log };
        Assert.Equal("Persistence Log needs a DataDirectory", (await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken))).Faults[0]);
        options.Settings["dir"] = _folder.Path;
        options.Settings["appendfsync"] = "always";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal("always", server.Execute("CONFIG", "GET", "appendfsync").Items[1].Text);
    }

    [Fact]
    public async Task Failed_start_throws_one_line()
    {
        await SaveAsync();
        using (IOpenFile file = _files.OpenWrite(Path.Combine(_folder.Path, "dump.rdb"))) file.SetLength(file.Length / 2);
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(Options(), TestContext.Current.CancellationToken));
        Assert.Contains("dump.rdb: at byte ", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    // The ports are open, and there was nothing to load: what a client writes and sets from here on is no data of the start.
    [Fact]
    public async Task Log_that_is_switched_on_before_the_start_has_ended_begins_with_the_clients_data()
    {
        await using (RedKiteServer before = await RedKiteServer.StartAsync(Logging("yes"), TestContext.Current.CancellationToken)) before.Execute("SET", "old", "1");
        var clock = new WatchedClock();
        RedKiteOptions options = Logging("no");
        options.TimeProvider = clock;
        await using (RedKiteServer server = RedKiteServer.Create(options))
        {
            clock.OnRead(
                () => (server.Engine.Attention.Flags & ServerAttention.Loading) == 0,
                () =>
                {
                    Assert.True(server.IsLoading);
                    server.Execute("SET", "new", "1");
                    Assert.Equal("OK", server.Execute("CONFIG", "SET", "appendonly", "yes").Text);
                });
            await server.StartAsync();
            Assert.True(clock.WasRead);
            Assert.Equal("0 1 1", $"{server.Execute("EXISTS", "old")} {server.Execute("EXISTS", "new")} {server.Parts.Durability.ChangesSinceSave}");
            Assert.True(SpinWait.SpinUntil(() => server.Parts.Durability is { Log.Log: not null, IsSaving: false }, 60_000));
        }

        await using RedKiteServer after = await RedKiteServer.StartAsync(Logging("yes"), TestContext.Current.CancellationToken);
        Assert.Equal("0 1", $"{after.Execute("EXISTS", "old")} {after.Execute("EXISTS", "new")}");
    }

    private RedKiteOptions Logging(string appendOnly)
    {
        RedKiteOptions options = Options();
        options.Settings["appendonly"] = appendOnly;
        options.Settings["save"] = "";
        return options;
    }

    // Acts once, on the thread that reads the time first behind a moment: the one that loads, before it has read anything.
    private sealed class WatchedClock : TimeProvider
    {
        private Action? _act;
        private Func<bool>? _isReached;

        internal bool WasRead => _act is null;

        internal void OnRead(Func<bool> isReached, Action act) => (_isReached, _act) = (isReached, act);

        public override long GetTimestamp()
        {
            if (_isReached?.Invoke() == true && Interlocked.Exchange(ref _act, null) is { } act) act();
            return base.GetTimestamp();
        }
    }

    private RedKiteOptions Options(IProgress<RedKiteLoadProgress>? progress = null, int port = 0)
    {
        var options = new RedKiteOptions { Port = port, Files = _files, LoadProgress = progress, AllowShutdown = true };
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
