using RedKite.Net;
using RedKite.Net.Tls;
using RedKite.Server;
using RedKite.Server.Acl;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Diagnostics.Reports;
using RedKite.Server.Durability;
using RedKite.Server.Execution;
using RedKite.Server.Following;
using RedKite.Server.Logging;
using RedKite.Server.Loops;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries;

namespace RedKite;

/// <summary>
/// A RedKite server in this process: event loops on the network, and commands executed without a socket. Several servers can run in
/// one process; they share nothing.
/// </summary>
public sealed partial class RedKiteServer : IAsyncDisposable, IDisposable
{
    private const int DueCheckMs = 50;

    private readonly ReserveLoops _reserve;
    private readonly Endpoints _endpoints;
    private readonly TlsSetup _tls;
    private readonly ClientLimit _clientLimit;
    private readonly PidFile _pidFile;
    private readonly OpenSockets _sockets;
    private readonly ArrivalWatch _arrivals;
    private readonly List<RedKiteSession> _clients = [];
    private readonly RedKiteClient _client;
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly QuietHugePages _quietHugePages;
    private readonly int _loopCount;
    private readonly long _allocatedBytes; // managed, by the constructor
    private readonly UserChanges _userChanges;
    private readonly Func<EventLoop, Transport> _newTransport;
    private readonly Lazy<ServerWatch>? _watch; // null: the setting `diagnostics` is off
    private readonly Follower _follower;
    private readonly TimeSeriesService _timeSeries;
    private readonly SlotMoveService? _slotMoves; // of a node of a cluster
    private readonly Lock _savingToStop = new();
    private readonly bool _loads;
    private volatile SessionLoop[] _loops = []; // a new array with each change: any thread may read
    private readonly List<string> _faults; // of the configuration; thrown by Start, which releases what the constructor took
    private int _stopping;
    private int _isBegun; // 1: Start has been called; 2: it may not be, because the server was stopped before
    private readonly CancellationTokenSource _loadCancellation = new();
    private readonly ManualResetEventSlim _opened = new(); // the ports are open and the loops run, or that has failed
    private readonly ManualResetEventSlim _loaded = new(); // or loading has failed
    private volatile bool _isLoaded;
    private readonly TaskCompletionSource _listening = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile StopSaving _savingAtStop = StopSaving.BySavePoints;
    private volatile bool _haveLoopsEnded; // and the callers in the process

    /// <summary>The TCP port; 0 when the server listens on none.</summary>
    public int Port => _endpoints.Port;

    /// <summary>The TCP port for TLS; 0 when the server listens on none.</summary>
    public int TlsPort => _endpoints.TlsPort;

    internal TlsServer Tls => _tls.Server;

    /// <summary>Ends when the server has stopped, by <see cref="StopAsync"/> or by the SHUTDOWN command.</summary>
    public Task Stopped => _stopped.Task;

    /// <summary>The exception that broke the server, if one did: a bug, never a client's fault.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether the data is not loaded yet: commands on it are answered LOADING. From any thread.</summary>
    public bool IsLoading => !_isLoaded;

    internal Engine Engine { get; }

    /// <summary>What diagnostics and administrative commands report on and change.</summary>
    internal ServerParts Parts { get; }

    /// <summary>This node of a cluster; null: the server is none.</summary>
    internal ClusterService? Cluster { get; }

    /// <summary>Follows a primary.</summary>
    internal Follower Follower => _follower;

    /// <summary>Watches the server; null: the setting `diagnostics` is off.</summary>
    internal DiagnosticsService? Diagnostics => _watch?.Value.Diagnostics;

    // Null also at the very start.
    private ServerWatch? Watching => _watch is { IsValueCreated: true } ? _watch.Value : null;

    /// <summary>The reports for the dashboard and the debug package; null: the setting `diagnostics` is off.</summary>
    internal LiveReports? Reports => _watch?.Value.Reports;

    /// <summary>The sources of debug packages; null: the setting `diagnostics` is off.</summary>
    internal PackageSources? PackageSources => _watch?.Value.PackageSources;

    /// <summary>Builds debug packages; null: the setting `diagnostics` is off.</summary>
    internal PackageService? Packages => _watch?.Value.Packages;

    /// <summary>Writes packages without a request; null: as above.</summary>
    internal AutomaticPackages? AutomaticPackages => _watch?.Value.AutomaticPackages;

    /// <summary>The server's listeners.</summary>
    internal IEnumerable<ListeningSocket> Sockets => _endpoints.Sockets;

    // The transport in use.
    private static bool UsesSockets(Settings settings) => settings.Transport == TransportChoice.Sockets || !EventLoop.EpollIsSupported;

    /// <summary>
    /// Starts a server, and completes when its data is loaded. Clients can connect before that, and are answered LOADING. If it fails,
    /// nothing is left of the server. The caller's thread only opens the ports: files are read on a thread of their own.
    /// </summary>
    /// <param name="options">How it is started; null: the defaults.</param>
    /// <exception cref="RedKiteConfigException">A directive is unknown or has a bad value, an address cannot be listened on, or a file of the data is
    /// damaged; the one-line message says which.</exception>
    /// <param name="cancellationToken">Ends the loading, and with it the server.</param>
    /// <exception cref="OperationCanceledException">The server was stopped before its data was loaded: by the token, or by a client's SHUTDOWN.</exception>
    /// <exception cref="ArgumentException">A behavior is registered twice, or has another place in another server.</exception>
    public static async Task<RedKiteServer> StartAsync(RedKiteOptions? options = null, CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        RedKiteServer server = Create(options ?? new RedKiteOptions());
        using CancellationTokenRegistration canceling = cancellationToken.Register(() => _ = server.StopAsync());
        await server.StartAsync().ConfigureAwait(false);
        return server;
    }

    /// <summary>A server that has not begun: until <see cref="StartAsync()"/> has, its data is loading.</summary>
    /// <exception cref="ArgumentException">A behavior is refused.</exception>
    internal static RedKiteServer Create(RedKiteOptions options)
    {
        var configuration = new Configuration(new Settings());
        List<string> faults = options.Apply(configuration);
        return new RedKiteServer(configuration, faults, options);
    }

    /// <summary>The typed client, of database 0. It is thread-safe; one is enough.</summary>
    public RedKiteClient CreateClient() => _client;

    /// <summary>A session, for raw commands that need what a connection has: a selected database, MULTI, WATCH, a user.</summary>
    /// <exception cref="ObjectDisposedException">The server has been stopped.</exception>
    public RedKiteSession CreateSession() => Register(new RedKiteSession(Engine, Remove));

    /// <summary>A session that leaves no trace in access times, counts and hot keys. It is meant for reading.</summary>
    internal RedKiteSession CreateObserver() => Register(new RedKiteSession(Engine, Remove, onlyLooks: true));

    /// <summary>
    /// Does at once what is due by the clock, and returns when it is done: timeouts, keys that have expired, held commands. A test's clock calls it.
    /// </summary>
    internal void RunDue()
    {
        using var done = new CountdownEvent(_loops.Length);
        foreach (SessionLoop loop in _loops)
        {
            loop.Loop.Post(() =>
            {
                loop.RunDue();
                done.Signal();
            });
        }

        // A loop that ends does not handle what is posted.
        while (!done.Wait(DueCheckMs) && _stopping == 0)
        {
        }

        SpinWait.SpinUntil(() => _stopping != 0 || !Clients.Waits.HasOverdue);
    }

    /// <summary>What the clients in the process share.</summary>
    internal ClientParts Clients { get; }

    /// <inheritdoc cref="RedKiteClient.Execute(ReadOnlySpan{string})"/>
    public RedKiteReply Execute(params ReadOnlySpan<string> arguments) => _client.Execute(arguments);

    private RedKiteSession Register(RedKiteSession client)
    {
        lock (_clients)
        {
            ObjectDisposedException.ThrowIf(_stopping != 0, this);
            _clients.Add(client);
        }

        return client;
    }

    /// <summary>
    /// The server's metrics in Prometheus's text format 0.0.4, for an endpoint of the host: commands and findings as of now, the rest as
    /// of the last second. From any thread.
    /// </summary>
    /// <exception cref="InvalidOperationException">The setting `diagnostics` is off.</exception>
    /// <exception cref="ObjectDisposedException">The server has been stopped.</exception>
    public string GetMetricsText()
    {
        ObjectDisposedException.ThrowIf(_stopping != 0, this);
        return PrometheusText.Write(PackageSources?.Parts ?? throw new InvalidOperationException("The setting 'diagnostics' is off."), Diagnostics!);
    }

    /// <summary>Completes when the loops run: the data may still be loading.</summary>
    internal Task Listening => _listening.Task;

    /// <summary>Opens the ports, and completes when the data is loaded.</summary>
    /// <exception cref="RedKiteConfigException">All that is wrong with the configuration, or a damaged file.</exception>
    internal async Task StartAsync()
    {
        ObjectDisposedException.ThrowIf(Interlocked.CompareExchange(ref _isBegun, 1, 0) != 0, this);
        bool hasWork;
        try
        {
            hasWork = Open();
            _opened.Set();
        }
        catch
        {
            _opened.Set();
            _loaded.Set();
            await StopAsync().ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            throw;
        }

        try
        {
            if (!hasWork) Load(_loadCancellation.Token); // at once: clients already use keys
            BeginWatch();
            _listening.SetResult();
            if (hasWork) await Task.Factory.StartNew(() => Load(_loadCancellation.Token), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).ConfigureAwait(false);
        }
        catch (Exception failure)
        {
            // If it was stopped before the loading began, it refuses the client that loads.
            bool wasStopped = failure is OperationCanceledException || Volatile.Read(ref _stopping) != 0;
            if (wasStopped) Engine.Log.Warning(LogEvents.LoadingStopped, "The server was stopped while it loaded its data.");
            else if (failure is IOException) Engine.Log.Warning(LogEvents.LoadingFailed, failure.Message);
            _loaded.Set();
            await StopAsync().ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing); // it is logged; this failure came first
            if (wasStopped) throw failure as OperationCanceledException ?? new OperationCanceledException(failure.Message, failure);
            if (failure is IOException) throw new RedKiteConfigException(failure.Message);
            throw;
        }
    }

    private bool Open() // whether there may be data to load
    {
        try
        {
            Action[] checks =
            [
                () => UserDeclarations.Apply(Engine.Configuration, Engine.Users), Engine.Log.Open, Engine.Configuration.CheckAtStart, Engine.Memory.CheckAtStart,
                () => _clientLimit.ApplyAtStart(_loopCount), () => _tls.Apply(), Parts.Durability.CheckAtStart,
            ];
            foreach (Action check in checks) Check(check);
            if (_faults.Count == 0 && Cluster is { } cluster) Check(cluster.Begin);
            if (_faults.Count == 0) Check(_endpoints.Open); // otherwise the addresses may not be those that are meant
            if (_faults.Count > 0) throw new RedKiteConfigException(_faults);
        }
        catch
        {
            // Unless it is being stopped, which releases everything.
            _loaded.Set();
            if (Interlocked.Exchange(ref _stopping, 1) == 0)
            {
                ReleaseUnstarted(Engine.Keyspace);
                _stopped.TrySetResult();
            }

            throw;
        }

        _pidFile.Write();
        bool hasWork = Parts.Durability.PlanStart();
        Engine.Attention.Set(ServerAttention.Loading, on: hasWork);
        Parts.Replicas.CountGood();
        if (!hasWork) Parts.Replicas.ApplyAcks(mayWait: true); // clients may write at once
        for (int i = 0; i < _loopCount; i++) NewLoop();
        foreach (EventLoop acceptor in Acceptors)
        {
            foreach (ListeningSocket listener in _endpoints.Sockets) acceptor.Listen(listener);
        }

        foreach (SessionLoop loop in _loops) loop.Loop.Start();
        Engine.Metrics.Server.NoteBegin(Engine.Memory.OwnsProcess);
        return hasWork;

        void Check(Action step)
        {
            try
            {
                step();
            }
            catch (RedKiteConfigException failure)
            {
                _faults.AddRange(failure.Faults);
            }
        }
    }

    private void BeginWatch() // the loops already serve clients
    {
        long allocatedBefore = GC.GetAllocatedBytesForCurrentThread() - _allocatedBytes;
        ServerEvents.Begin();
        ServerWatch? watch = _watch?.Value;
        if (Volatile.Read(ref _stopping) != 0) watch?.Dispose(); // by a client meanwhile
        watch?.Start();
        Engine.Metrics.NoteStartup(Engine.Memory.OwnsProcess ? Math.Max(0, ProcessMemory.ResidentBytes - Engine.Keyspace.ResidentBytes) : GC.GetAllocatedBytesForCurrentThread() - allocatedBefore);
    }

    // What the constructor has taken, as far as it came.
    private void ReleaseUnstarted(Keyspace? keyspace)
    {
        Watching?.Dispose();
        _endpoints?.Dispose();
        keyspace?.Dispose();
        Cluster?.Agreement?.Dispose();
        Cluster?.Dispose();
        if (Engine is null) return;
        Engine.Script.Dispose();
        Engine.Messages.Release();
        if (Engine.Metrics is { } metrics) metrics.Runs.Dispose(); // there are none if the commands were refused
        Engine.Buffers.Dispose();
    }

    // Clients are answered meanwhile: LOADING, to everything that uses the data.
    private void Load(CancellationToken cancellation)
    {
        using (var replay = Register(new RedKiteSession(Engine, Remove, loads: true) { Expiry = ExpiryPolicy.Keep }))
        {
            var replies = new DiscardedReplies();
            if (_loads) Parts.Durability.Load(requests => replay.Execute(requests, replies), LoadKeyless, Engine.Commands, cancellation);
            else Parts.Durability.LeaveData();

            string? LoadKeyless(KeylessRecord record)
            {
                RedKiteReply reply = replay.Execute(Array.ConvertAll(record.LoadRequest(replaces: true), static argument => (ReadOnlyMemory<byte>)argument));
                return reply.IsError ? reply.Text : null;
            }
        }

        cancellation.ThrowIfCancellationRequested();
        Parts.Durability.Begin();
        if (Parts.Durability.LoadedPosition is { } position)
        {
            if (Engine.Settings.ReplicaOf.Length == 0) Parts.Replicas.Continue(position);
            else _follower.Continue(position);
        }

        Engine.Memory.Apply(Engine.Metrics, reports: true);
        if (Cluster?.Agreement is null) Engine.Routing.Hidden.RemoveForeign();
        _isLoaded = true;
        Interlocked.MemoryBarrier(); // who changes the setting sets it, and then looks at the field
        if (Engine.Settings.AppendOnly != Parts.Durability.BeginsLog) Parts.Durability.ApplyAppendOnly();
        Parts.Replicas.ApplyAcks(mayWait: true);
        _loaded.Set();
        Engine.Attention.Set(ServerAttention.Loading, on: false);
        _follower.Begin();
        Cluster?.Agreement?.Begin(Cluster.Watch.Run);
    }

    // Until every loop has ended the commands that it executes now.
    private void WaitForLoops(CancellationToken cancellation)
    {
        SessionLoop[] loops = _loops;
        var done = new CountdownEvent(loops.Length); // not disposed of: a loop may still signal it
        foreach (SessionLoop loop in loops) loop.Loop.PostOrRun(() => done.Signal());
        done.Wait(cancellation);
    }

    // Until everything has ended that was admitted before: loops by their iterations, callers in the process by the stripes that they hold, and by the script mutex, as a script may have no stripe yet.
    internal void EndCommandsBegunBefore(CancellationToken cancellation)
    {
        WaitForLoops(cancellation);
        if (!Parts.Durability.TryBarrier(() => cancellation.IsCancellationRequested)) throw new OperationCanceledException("a command or script has not ended");
    }

    private void ForEachLoop(Action<SessionLoop> action)
    {
        foreach (SessionLoop loop in _loops) loop.Loop.Post(() => action(loop));
    }

    /// <summary>The event loops. From any thread.</summary>
    internal SessionLoop[] Loops => _loops;

    /// <summary>Whether output waits for the append-only file.</summary>
    internal bool HasGatedOutput => Array.Exists(_loops, static loop => loop.Loop.AwaitedPosition > 0);

    /// <summary>The lines that a starting server logs about itself.</summary>
    internal IEnumerable<string> Banner()
    {
        yield return $"{ServerVersion.Describe(Engine.Settings.ReportedRedisVersion)}, pid {Environment.ProcessId}, {_loopCount} event loops, {(UsesSockets(Engine.Settings) ? "sockets" : "epoll")}";
        foreach (ListeningSocket listener in _endpoints.Sockets) yield return $"Listening on {listener}";
        yield return "Ready to accept connections";
    }

    private void Remove(RedKiteSession client)
    {
        lock (_clients) _clients.Remove(client);
    }

    private BlockedClientFigures BlockingFigures() =>
        new(Engine.Blocked.Count + Engine.Pause.Paused(Engine.Clients), Engine.Blocked.WithDeadline, Engine.Blocked.Keys, Engine.Blocked.KeysWakingWhenGone);

    // Next to the crash report, if automatic packages are on.
    private void WriteCrashPackage(CrashReport crash)
    {
        if (crash.Path is null || Engine.Settings.DebugPackageDirectoryPath.Length == 0 || Watching is not { } watch) return;
        File.WriteAllBytes(crash.Path + ".zip", DebugPackage.BuildAtCrash(watch.PackageSources));
    }

    // INFO as a package has it.
    private string InfoText() =>
        Execute("INFO", "everything") is { IsError: false, Text: { } text } ? text : throw new InvalidOperationException("INFO cannot be executed.");

    // CLIENT UNPAUSE
    private void EndPause()
    {
        Engine.Pause.End();
        ResumePaused();
    }

    private void ResumePaused() => ForEachLoop(static loop => loop.ResumePaused());

    private void Tick(long nowMs)
    {
        ServerTotals totals = Engine.Metrics.Sample(nowMs);
        Engine.Memory.Apply(Engine.Metrics, reports: true);
        if (_isLoaded && _stopping == 0) Parts.Replicas.Tick(nowMs); // first: a synchronization does not wait behind saves that follow each other
        if (_isLoaded && _stopping == 0)
        {
            Parts.Backup.Tick(nowMs);
            Parts.Migrations.Tick();
            Parts.SlotMoves()?.Tick();
            Parts.Durability.Tick(nowMs);
        }

        Engine.ClientEviction.Run(nowMs);
        _quietHugePages.Use(nowMs, totals.LoopMicroseconds, totals.KeyspaceHits, Engine.Settings.QuietHugePages);
    }

    private string? ReopenTcp(bool isTls, string error)
    {
        if (_loops.Length == 0) return null; // not started yet
        if (_endpoints.ReopenTcp(Acceptors, isTls) is not { } failure) return null;
        Engine.Log.Warning(LogEvents.ListeningFailed, failure);
        return error;
    }

    private static SessionLoop LoopOf(BlockedClient client) => (SessionLoop)client.Session.Connection!.Loop.Handler;

    // More loops than cores would only take turns (measured on one core: a second loop makes an operation of a deep
    // pipeline cost 1.2 to 1.6 times as much), so the loops beyond get no connections.
    private int ServingLoops => Math.Min(_loopCount, Environment.ProcessorCount);

    // All that get connections, so that one that executes a long command keeps none waiting. .NET's sockets accept beside the loops.
    private IEnumerable<EventLoop> Acceptors => _loops.Take(_loops[0].Loop.AcceptsBeside ? 1 : ServingLoops).Select(loop => loop.Loop);

    private EventLoop LeastLoaded()
    {
        if (_reserve.Accepting is { } reserve) return reserve;
        EventLoop least = _loops[0].Loop;
        for (int i = 1; i < ServingLoops; i++)
        {
            EventLoop other = _loops[i].Loop;
            if (!other.IsStuck && (least.IsStuck || other.ConnectionCount < least.ConnectionCount)) least = other;
        }

        return least;
    }

    // One stripe is enough when no other thread executes commands: consecutive commands of a pipeline then share its lock. The
    // program's own background walks and its dashboard hold it only briefly.
    private static int StripesOf(Settings settings, int loops, bool ownsProcess) =>
        settings.Stripes > 0 ? settings.Stripes : loops == 1 && ownsProcess ? 1 : StripeSet.StripesMax;
}
