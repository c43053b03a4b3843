using System.Collections.Concurrent;
using System.Diagnostics;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands;
using RedKite.Server.Config;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Loops;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server;

/// <summary>
/// A RedKite server in this process: event loops on the network, and commands executed without a socket. Several can live
/// side by side; they share nothing.
/// </summary>
public sealed class RedKiteServer : IAsyncDisposable
{
    // Of callers without a client of their own, as many as can work at a time keep one for the next call.
    private static readonly int IdleClientsMax = 2 * Environment.ProcessorCount;

    private static readonly double NsPerTick = 1e9 / Stopwatch.Frequency;

    private readonly List<EventLoop> _loops = [];
    private readonly List<SessionLoop> _sessionLoops = [];
    private readonly Endpoints _endpoints;
    private readonly ClientLimit _clientLimit;
    private readonly List<CommandExecutor> _executors = [];
    private readonly List<InProcessClient> _clients = [];
    private readonly ConcurrentQueue<InProcessClient> _idleClients = new();
    private readonly ExecutorMetrics _pastMetrics; // of in-process clients that are gone
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly QuietHugePages _quietHugePages;
    private int _idleClientCount;
    private int _stopping;

    internal RedKiteServer(Configuration configuration, TimeProvider timeProvider, Action<string>? log, IReadOnlyList<Behavior>? behaviors = null)
    {
        if (behaviors is { Count: > 0 }) Behaviors = new BehaviorPipeline(behaviors);
        Configuration = configuration;
        Settings = configuration.Settings;
        _endpoints = new Endpoints(Settings);
        Clock = new ServerClock(timeProvider);
        StartedMs = Clock.NowMs;
        Log = new ServerLog(Settings, log);
        _clientLimit = new ClientLimit(Settings, Log);
        Commands = new CommandTable(CommandFamilies.All);
        _pastMetrics = new ExecutorMetrics(Commands.All.Count);
        foreach (RenamedCommand renamed in configuration.RenamedCommands)
        {
            if (!Commands.Rename(renamed.Name, renamed.NewName)) throw new ConfigException($"{renamed.Where}: rename-command '{renamed.Name}': there is no such command, or the new name is taken");
        }

        LoopCount = Settings.Loops == 0 ? Environment.ProcessorCount : Settings.Loops;
        Keyspace = new Keyspace(Settings.Stripes, Settings.Databases);
        _quietHugePages = new QuietHugePages(Keyspace);
        Keyspace.FailStop.Version = ServerVersion.Text;
        Keyspace.FailStop.Folder = Log.Folder;
        Changes = new ChangePublisher(Keyspace);
        Blocked = new BlockedClients(Keyspace)
        {
            Begun = client => LoopOf(client).Begin(client),
            Finished = client => LoopOf(client).Finish(client),
        };
        ApplySettings();
    }

    /// <summary>The TCP port; 0 when the server listens on none.</summary>
    public int Port => _endpoints.Port;

    /// <summary>Ends when the server has stopped, by <see cref="StopAsync"/> or by the SHUTDOWN command.</summary>
    public Task Stopped => _stopped.Task;

    /// <summary>What broke the server, if something did: a bug, never a client's doing.</summary>
    public Exception? Failure { get; private set; }

    internal Configuration Configuration { get; }

    internal Settings Settings { get; }

    internal CommandTable Commands { get; }

    internal Keyspace Keyspace { get; }

    internal ServerClock Clock { get; }

    internal ServerLog Log { get; }

    internal ClientRegistry Clients { get; } = new();

    internal ClientPause Pause { get; } = new();

    /// <summary>Clients whose commands block.</summary>
    internal BlockedClients Blocked { get; }

    /// <summary>What learns of every change.</summary>
    internal ChangePublisher Changes { get; }

    internal SlowLog SlowLog { get; } = new();

    internal LatencyMonitor LatencyMonitor { get; } = new();

    internal ServerMetrics Stats { get; } = new();

    internal long StartedMs { get; }

    internal int LoopCount { get; }

    /// <summary>A random name of this run, as Redis has it.</summary>
    internal string RunId { get; } = NewId();

    /// <summary>The name of the data's history, which replicas would follow.</summary>
    internal string ReplicationId { get; private set; } = NewId();

    /// <summary>DEBUG SET-ACTIVE-EXPIRE.</summary>
    internal bool ExpiresActively { get; set; } = true;

    /// <summary>Whether an LFU policy is set, so that accesses are counted.</summary>
    internal bool CountsFrequency { get; private set; }

    /// <summary>What the host wraps around every command; null: nothing.</summary>
    internal BehaviorPipeline? Behaviors { get; }

    /// <summary>Whether every command is timed by itself: the slow log wants to know of short ones, or there are behaviors.</summary>
    internal bool TimesEachCommand { get; private set; }

    /// <summary>latency-tracking.</summary>
    internal bool TracksLatency { get; private set; } = true;

    /// <summary>The transport in use.</summary>
    internal bool UsesSockets => Settings.Transport == TransportChoice.Sockets || !EventLoop.EpollIsSupported;

    internal Endpoints Endpoints => _endpoints;

    internal IReadOnlyList<SessionLoop> SessionLoops => _sessionLoops;

    /// <summary>Native memory of replies on their way.</summary>
    internal BufferPool Buffers { get; } = new();

    /// <summary>The largest reply: as large as the machine's memory. More could never be delivered.</summary>
    internal long MemoryBytesMax { get; } = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

    /// <summary>
    /// The most that is built of replies to a connection's commands before they are sent: beyond, the client's output limit
    /// would close it anyway. The command's own reply may follow up to a full buffer of earlier ones.
    /// </summary>
    internal long ReplyBytesMax { get; private set; }

    /// <summary>What everything that executes or executed commands has counted; a copy of the list.</summary>
    internal ExecutorMetrics[] ExecutorMetrics
    {
        get
        {
            lock (_executors) return [.. _executors.Select(executor => executor.Metrics), _pastMetrics];
        }
    }

    /// <summary>Starts a server.</summary>
    /// <exception cref="ConfigException">A directive is unknown or has a bad value, or an address cannot be listened on; one line says which.</exception>
    /// <exception cref="ArgumentException">A behavior is registered twice, or was with another server in another place.</exception>
    public static Task<RedKiteServer> StartAsync(RedKiteOptions? options = null)
    {
        options ??= new RedKiteOptions();
        var arguments = new List<string>();
        if (options.ConfigFile is not null) arguments.Add(options.ConfigFile);
        if (options.ConfigFile is null || options.Port != 6379) arguments.AddRange(["--port", options.Port.ToString(System.Globalization.CultureInfo.InvariantCulture)]);
        foreach ((string name, string value) in options.Settings) arguments.AddRange(["--" + name, value]);

        var configuration = new Configuration(new Settings());
        ConfigFile.Load(configuration, CommandLine.Parse(arguments), Stream.Null);
        var server = new RedKiteServer(configuration, options.TimeProvider, options.Log ?? (_ => { }), [.. options.Behaviors]);
        if (options.BeforeFailStop is { } callback)
        {
            server.Keyspace.FailStop.Ending = crash => callback(new RedKiteCrash(crash.Failure, crash.Command, crash.Text, crash.Path));
        }

        server.Start();
        return Task.FromResult(server);
    }

    /// <summary>
    /// A client in this process: its own selected database and state, no socket. From any thread, one call at a time. To be
    /// disposed when it is no longer used.
    /// </summary>
    public InProcessClient CreateClient()
    {
        var client = new InProcessClient(this);
        lock (_clients)
        {
            ObjectDisposedException.ThrowIf(_stopping != 0, this);
            _clients.Add(client);
        }

        return client;
    }

    /// <summary>Executes one command in this process, in database 0. From any thread.</summary>
    public RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        if (_idleClients.TryDequeue(out InProcessClient? client)) Interlocked.Decrement(ref _idleClientCount);
        else client = CreateClient();
        bool isKept = false;
        try
        {
            RedKiteReply reply = client.Execute(arguments);
            client.Reset();
            isKept = Interlocked.Increment(ref _idleClientCount) <= IdleClientsMax;
            if (isKept) _idleClients.Enqueue(client);
            else Interlocked.Decrement(ref _idleClientCount);
            return reply;
        }
        finally
        {
            if (!isKept) client.Dispose();
        }
    }

    /// <summary>Stops the server: no new connections, the loops end, the memory is freed.</summary>
    public Task StopAsync()
    {
        if (Interlocked.Exchange(ref _stopping, 1) == 0) _ = Task.Run(Stop);
        return Stopped;
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync() => await StopAsync().ConfigureAwait(false);

    internal static long TicksToNs(long ticks) => NsPerTick == 1 ? ticks : (long)(ticks * NsPerTick);

    internal void Start()
    {
        try
        {
            Log.Open();
            _clientLimit.ApplyAtStart(LoopCount);
            _endpoints.Open();
        }
        catch
        {
            _endpoints.Dispose();
            Keyspace.Dispose();
            throw;
        }

        PidFile.Write(this);
        Stats.StartupBytes = Keyspace.UsedBytes;
        for (int i = 0; i < LoopCount; i++)
        {
            var loop = new EventLoop($"loop-{i}", UsesSockets, Buffers) { Chooser = LeastLoaded, Crashed = Crashed };
            var sessions = new SessionLoop(this, loop, i, LoopCount);
            loop.Handler = sessions;
            _loops.Add(loop);
            _sessionLoops.Add(sessions);
        }

        foreach (ListeningSocket listener in _endpoints.Sockets) _loops[0].Listen(listener);
        foreach (EventLoop loop in _loops) loop.Start();
    }

    /// <summary>What a starting server says of itself.</summary>
    internal IEnumerable<string> Banner()
    {
        yield return $"RedKite {ServerVersion.Text} (Redis {ServerVersion.Redis}), pid {Environment.ProcessId}, {LoopCount} event loops, {(UsesSockets ? "sockets" : "epoll")}";
        foreach (ListeningSocket listener in _endpoints.Sockets) yield return $"Listening on {listener}";
        yield return "Ready to accept connections";
    }

    internal CommandExecutor NewExecutor()
    {
        var executor = new CommandExecutor(this);
        lock (_executors) _executors.Add(executor);
        return executor;
    }

    /// <summary>An in-process client is gone. What it has counted stays.</summary>
    internal void Remove(InProcessClient client, CommandExecutor executor)
    {
        lock (_executors)
        {
            if (_executors.Remove(executor)) _pastMetrics.Add(executor.Metrics);
        }

        lock (_clients) _clients.Remove(client);
    }

    /// <summary>A client has more output waiting than its class may have.</summary>
    internal void CloseOverLimit(Session session, Connection connection)
    {
        Interlocked.Increment(ref Stats.OutputBufferDisconnections);
        Log.Warning($"Client id={session.Id} addr={connection.RemoteAddress} closed for overcoming of output buffer limits.");
        connection.Close();
    }

    /// <summary>CLIENT UNPAUSE, or a pause that was cut short.</summary>
    internal void EndPause()
    {
        Pause.End();
        for (int i = 0; i < _loops.Count; i++) _loops[i].Post(_sessionLoops[i].ResumePaused);
    }

    /// <summary>Whether a client must log in before it may do anything else. Removing the password frees everybody.</summary>
    internal bool RequiresLogin(Session session) => !session.Authenticated && Settings.RequirePass.Length > 0;

    /// <summary>Whether DEBUG and the like may be used by a client, which the configuration decides.</summary>
    internal bool AllowsProtected(Command command, Session session)
    {
        ProtectedAccess access = (command.Parent ?? command).Name == "module" ? Settings.EnableModuleCommand : Settings.EnableDebugCommand;
        return access == ProtectedAccess.Yes
            || (access == ProtectedAccess.Local && (session.Connection is null || session.Connection.RemoteAddress.IsLoopback));
    }

    internal void SampleRates(long nowMs)
    {
        ServerTotals totals = ServerTotals.Of(this);
        Stats.Sample(nowMs, totals, Keyspace.UsedBytes + totals.BufferBytes);
        _quietHugePages.Use(nowMs, totals.LoopMicroseconds, totals.KeyspaceHits);
    }

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void ResetStatistics()
    {
        foreach (ExecutorMetrics metrics in ExecutorMetrics) metrics.Reset();
        Stats.Reset(ServerTotals.Of(this), Keyspace.ExpiredKeys, Keyspace.ExpiredFields);
    }

    /// <summary>DEBUG CHANGE-REPL-ID.</summary>
    internal void ChangeReplicationId() => ReplicationId = NewId();

    private void ApplySettings()
    {
        Apply("slowlog-log-slower-than", () =>
        {
            long microseconds = Settings.SlowLogSlowerThanMicroseconds;
            SlowLog.ThresholdNs = microseconds < 0 ? long.MaxValue : microseconds * 1000;
            TimesEachCommand = microseconds is >= 0 and < 1000 || Behaviors is not null;
        });
        Apply("quiet-huge-pages", () => _quietHugePages.IsEnabled = Settings.QuietHugePages);
        Apply("latency-monitor-threshold", () => LatencyMonitor.SetThreshold(Settings.LatencyMonitorThresholdMs));
        Apply("slowlog-max-len", () => SlowLog.MaxLength = Settings.SlowLogMaxLength);
        Apply("client-output-buffer-limit", () =>
        {
            ulong hardBytes = Settings.NormalClientLimit.HardBytes;
            ReplyBytesMax = hardBytes == 0 || hardBytes > (ulong)MemoryBytesMax ? MemoryBytesMax : (long)hardBytes + ReplyWriter.ContiguousBytesMax;
        });
        Apply("latency-tracking", () => TracksLatency = Settings.LatencyTracking);
        Apply("maxmemory-policy", () => CountsFrequency = Settings.MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu);

        Configuration.OnChange("maxclients", _clientLimit.Check);
        Configuration.OnChange("port", () => ReopenTcp("Unable to listen on this port. Check server logs."));
        Configuration.OnChange("bind", () => ReopenTcp("Failed to bind to specified addresses."));

        void Apply(string name, Action apply)
        {
            apply();
            Configuration.OnChange(name, () =>
            {
                apply();
                return null;
            });
        }
    }

    private string? ReopenTcp(string error)
    {
        if (_loops.Count == 0) return null; // not started yet
        if (_endpoints.ReopenTcp(_loops[0]) is not { } failure) return null;
        Log.Warning(failure);
        return error;
    }

    private static BlockedClientTimeouts LoopOf(BlockedClient client) => ((SessionLoop)client.Session.Connection!.Loop.Handler).Blocked;

    private static string NewId() => Convert.ToHexStringLower(System.Security.Cryptography.RandomNumberGenerator.GetBytes(20));

    // More loops than cores only take turns on them (measured on one core: a second loop makes an operation of a deep
    // pipeline cost 1.2 to 1.6 times as much), so the loops beyond get no connections.
    private EventLoop LeastLoaded()
    {
        EventLoop least = _loops[0];
        for (int i = 1; i < Math.Min(_loops.Count, Environment.ProcessorCount); i++)
        {
            if (_loops[i].ConnectionCount < least.ConnectionCount) least = _loops[i];
        }

        return least;
    }

    private void Crashed(Exception failure)
    {
        Failure = failure;
        Log.Warning($"A loop ended because of a bug: {failure}");
        _ = StopAsync();
    }

    private void Stop()
    {
        foreach (EventLoop loop in _loops) loop.Post(loop.StopListening);
        foreach (EventLoop loop in _loops) loop.Stop();
        foreach (EventLoop loop in _loops) loop.Dispose();
        _endpoints.Dispose();
        PidFile.Remove(this);

        // A loop that broke may have left a stripe locked and its memory half changed: that is not touched again.
        if (Failure is null)
        {
            EndInProcessClients();
            Keyspace.Dispose();
        }

        Buffers.Dispose();
        _stopped.TrySetResult();
    }

    private void EndInProcessClients()
    {
        InProcessClient[] clients;
        lock (_clients) clients = [.. _clients];
        foreach (InProcessClient client in clients) client.End();
    }
}
