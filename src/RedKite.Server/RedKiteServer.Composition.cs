using RedKite.Json;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Persistence.Rdb;
using RedKite.Server;
using RedKite.Server.Client;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Store;
using RedKite.Server.Commands;
using RedKite.Server.Commands.Connection;
using RedKite.Server.Commands.Scripting;
using RedKite.Server.Commands.Server;
using RedKite.Server.Config;
using RedKite.Server.Custom;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Durability;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Following;
using RedKite.Server.Logging;
using RedKite.Server.Loops;
using RedKite.Server.Metrics;
using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Server.SlotMoves;
using RedKite.Sketches;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries;

namespace RedKite;

/// <content>How a server is put together: every part is made and connected here, in order.</content>
public sealed partial class RedKiteServer
{
    /// <param name="configuration">What was read of it.</param>
    /// <param name="faults">What was wrong with it.</param>
    /// <param name="options">What is no setting.</param>
    internal RedKiteServer(Configuration configuration, IEnumerable<string> faults, RedKiteOptions options)
    {
        ServerTypes.Add();
        long allocatedBefore = GC.GetAllocatedBytesForCurrentThread();
        _faults = [.. faults];
        Settings settings = configuration.Settings;
        bool ownsProcess = options.OwnsProcess;
        var serverLog = new ServerLog(settings, options.Log ?? (options.LogsToConsole || settings.LogFilePath.Length > 0 ? null : static _ => { }));
        BehaviorPipeline? pipeline = options.Behaviors.Count > 0 ? new BehaviorPipeline([.. options.Behaviors], serverLog) : null; // first: it throws if a behavior is refused
        _loopCount = settings.Loops == 0 ? Environment.ProcessorCount : settings.Loops;
        Keyspace? keyspace = null;
        try
        {
            bool isClustered = settings.ClusterEnabled;
            if (isClustered) settings.Databases = settings.ClusterDatabases;
            bool usesSlots = options.UsesSlots || isClustered;
            int stripes = StripesOf(settings, _loopCount, ownsProcess);
            if (usesSlots && stripes > 1) stripes = StripeSet.StripesMax;
            keyspace = new Keyspace(stripes, settings.Databases, options.GuardsMemory, new KeyHasher { SlotStripes = usesSlots ? stripes : 0 }) { BoundsDivisor = options.BoundsDivisor };
            keyspace.FailStop.Prepare(serverLog.Folder, ServerVersion.Text);
            // Execution, and the core that every room uses.
            Engine = new Engine(configuration, keyspace, new ServerClock(options.TimeProvider), serverLog, ClientDescription.Of, ownsProcess)
            {
                Blocked = new BlockedClients(keyspace)
                {
                    Begun = client => LoopOf(client).Begin(client),
                    Finished = client => LoopOf(client).Blocked.Finish(client),
                },
                LoopCount = _loopCount,
                Transport = UsesSockets(settings) ? "sockets" : "epoll",
            };
            if (pipeline is not null) Engine.Intercept(pipeline);

            // The rooms beside it: each is made of the core and of what this server answers it.
            var host = new Host(this);
            var libraries = new FunctionLibraries(Engine.Script.Uses);
            Engine.Keyless.Add(libraries);
            foreach (IKeylessData kind in options.Keyless) Engine.Keyless.Add(kind);
            _timeSeries = new TimeSeriesService(Engine);
            var durability = new DurabilityService(Engine, host, options.Files, LoadProgressOf(options));
            Parts = new ServerParts
            {
                Core = Engine,
                Durability = durability,
                Backup = new BackupService(settings, durability, Engine.Changes, Engine.WriteGate, serverLog, Engine.Clock),
                Replicas = new ReplicaService(Engine, durability, host),
                Migrations = new MigrationService(Engine.Clock, Engine.WriteGate, serverLog),
                SlotMoves = () => _slotMoves,
                Cluster = () => Cluster?.Watch,
                KeySurvey = () => Watching?.Diagnostics.Survey.Latest,
                Listening = () => new ListeningFigures(_endpoints!.Port, [.. _endpoints.Describe()]),
                Tls = () => _tls!.Figures(),
                Blocking = BlockingFigures,
                Observation = () => Watching?.Diagnostics.Latest,
                Findings = () => Watching?.Diagnostics.Findings.Current ?? [],
                Packages = () => Packages,
                ReplyLater = host.ReplyLater,
                EndPause = EndPause,
                BeginRoleChange = primary => _follower!.BeginChange(primary),
                Shutdown = ownsProcess || options.AllowShutdown ? TryStop : null,
                ShutdownAfterReplicas = TryStopAfterReplicas,
            };

            // As a node of a cluster. What it reads decides whether the server follows a primary.
            if (isClustered)
            {
                Engine.Attention.Set(ServerAttention.Clustered, on: true);
                if (settings.ReplicaOf.Length > 0) _faults.Add("replicaof directive not allowed in cluster mode");
                Cluster = new ClusterService(Engine, host, options.Files);
                if (Cluster.Load() is { } fault) _faults.Add(fault);
                try
                {
                    if ((options.ClusterStore?.Invoke() ?? ClusterStores.Open(settings)) is { } store) Cluster.Use(new ClusterAgreement(Engine, host, Cluster, store));
                }
                catch (StoreException failure)
                {
                    _faults.Add(failure.Message);
                }

                settings.ReplicaOf = Cluster.Primary is { } primary ? $"{primary.Host} {primary.Port}" : "";
            }

            // The network.
            _quietHugePages = new QuietHugePages(keyspace);
            _newTransport = options.NewTransport ?? (UsesSockets(settings) ? static loop => new SocketsTransport(loop) : static _ => new EpollTransport());
            _userChanges = new UserChanges(Engine, () => _loops);
            _tls = new TlsSetup(settings, serverLog);
            _endpoints = new Endpoints(settings, _tls.Server.NewLayer);
            _reserve = new ReserveLoops(NewLoop, () => Array.Find(_loops, static loop => loop.Loop.IsCurrent), () => _endpoints.Sockets, serverLog);
            _clientLimit = new ClientLimit(settings, serverLog);
            _sockets = new OpenSockets(() => settings.MaxClients + OpenSockets.RefusedMax);
            _arrivals = new ArrivalWatch(() => _loops.Select(loop => loop.Loop));
            _pidFile = new PidFile(settings, serverLog);

            // What executes commands beside the loops: callers in the process, and the link to a primary.
            Engine.UseCommands(NewCommandTable(libraries, new ClusterCommands(Cluster, host, Engine.Replication, () => Engine.Metrics, () => _slotMoves!), options.Families, options.Commands));
            Clients = new ClientParts(Engine);
            _client = new RedKiteClient(Clients);
            _follower = new Follower(Engine, new LinkServices
            {
                Replicas = Parts.Replicas,
                Data = durability,
                WaitForLoops = WaitForLoops,
                Tls = _tls.ClientOptions,
                NewExecutor = () => new Caller(Engine, origin: CommandOrigin.Primary) { Expiry = ExpiryPolicy.Keep },
                Port = () => _endpoints.Port,
                Identity = () => Cluster?.Identity,
                Answered = (isFull, cancellation) => Cluster?.NoteAnswer(isFull, cancellation),
                EndWaits = Engine.EndWaitsForRole,
            });

            if (Cluster?.Agreement is not null) _follower.Detach(); // until it goes by the topology in the store
            if (Cluster is not null)
            {
                _slotMoves = new SlotMoveService(new SlotMoveParts
                {
                    Core = Engine,
                    Data = durability,
                    Ownership = Cluster,
                    Tls = _tls.ClientOptions,
                    SlotsMoved = host.SlotsMoved,
                    ResumePaused = ResumePaused,
                });
            }

            // Events, in the order in which they are told.
            Engine.WriteGate.Opened += ResumePaused;
            Engine.Script.BusyBegins += _reserve.Begin;
            Engine.Script.BusyEnded += _reserve.End;
            Engine.Users.Changed += _userChanges.Begin;
            Engine.Users.Deleted += Engine.CloseAllOf;
            if (settings.Diagnostics)
            {
                _watch = new Lazy<ServerWatch>(() => new ServerWatch(Parts, InfoText));
                Engine.Timeline.Added += ServerEvents.OnTimeline;
            }

            // The host comes first: both share the time that the process waits.
            if (options.BeforeFailStop is { } callback) keyspace.FailStop.Ending += crash => callback(new RedKiteCrash(crash.Failure, crash.Command, crash.Text, crash.Path));
            if (settings.Diagnostics) keyspace.FailStop.Ending += WriteCrashPackage;

            ApplyChangedSettings(configuration);
            _loads = options.LoadOnStart;
            Engine.Attention.Set(ServerAttention.Loading, on: true); // until it has begun
        }
        catch
        {
            ReleaseUnstarted(keyspace);
            throw;
        }

        _allocatedBytes = GC.GetAllocatedBytesForCurrentThread() - allocatedBefore;
    }

    private static Action<long, long, long>? LoadProgressOf(RedKiteOptions options) =>
        options.LoadProgress is { } progress ? (loaded, total, keys) => progress.Report(new RedKiteLoadProgress(loaded, total, keys)) : null;

    // What a setting's change does beside the setting. The rooms see to those that are their own.
    private void ApplyChangedSettings(Configuration configuration)
    {
        OnChange(_clientLimit.Check, "maxclients");
        OnChange(Quietly(Parts.Replicas.CountGood), "min-replicas-to-write", "min-replicas-max-lag");
        OnChange(Quietly(Parts.Durability.ApplySaveSettings), "save", "stop-writes-on-bgsave-error");
        OnChange(
            Quietly(() =>
            {
                if (_isLoaded) Parts.Replicas.ApplyAcks(mayWait: false);
                Cluster?.Agreement?.LookAgain();
            }),
            "replica-acks");
        if (Cluster?.Agreement is { } agreement)
        {
            Parts.Replicas.NodeCameOnline += agreement.LookAgain;
            OnChange(Quietly(agreement.LookAgain), "cluster-announce-ip", "cluster-announce-port", "cluster-announce-tls-port", "cluster-announce-hostname", "cluster-announce-human-nodename", "cluster-announce-zone", "cluster-replica-no-failover");
        }

        OnChange(Quietly(Parts.Durability.Log.ApplySettings), "appendfsync", "no-appendfsync-on-rewrite", "aof-timestamp-enabled");
        OnChange(
            Quietly(() =>
            {
                Interlocked.MemoryBarrier(); // otherwise the thread that loads sees the setting
                if (_isLoaded) Parts.Durability.ApplyAppendOnly();
            }),
            "appendonly");
        OnChange(() => ReopenTcp(isTls: false, "Unable to listen on this port. Check server logs."), "port");
        OnChange(() => ReopenTcp(isTls: false, "Failed to bind to specified addresses.") ?? ReopenTcp(isTls: true, "Failed to bind to specified addresses."), "bind");
        OnChange(() => _tls.Change() ?? ReopenTcp(isTls: true, "Unable to listen on this port. Check server logs."), "tls-port");
        OnChange(_tls.Change, "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients", "tls-protocols", "tls-ciphersuites", "tls-session-caching", "tls-handshakes-max", "tls-replication", "tls-client-cert-file", "tls-client-key-file", "tls-client-key-file-pass");
        OnChange(_tls.Change, TlsSetup.UsersWithoutEffect);

        void OnChange(Func<string?> apply, params IEnumerable<string> names)
        {
            foreach (string name in names) configuration.OnChange(name, apply);
        }

        static Func<string?> Quietly(Action apply) => () =>
        {
            apply();
            return null;
        };
    }

    private CommandTable NewCommandTable(FunctionLibraries libraries, ClusterCommands cluster, IEnumerable<CommandFamily> added, RedKiteCommandSet custom)
    {
        CommandFamily[] families = [.. CommandFamilies.Of(Parts, libraries, cluster), .. JsonTypes.Families, .. SketchTypes.Families, .. _timeSeries.Families, .. added];
        var commands = new CommandTable(families);
        if (custom.Count > 0)
        {
            CommandFamily hosts = CustomCommands.Bind(custom, Engine.Log, name => commands.Find(System.Text.Encoding.UTF8.GetBytes(name)) is not null, _faults);
            commands = new CommandTable([.. families, hosts]);
        }

        foreach (RenamedCommand renamed in Engine.Configuration.RenamedCommands)
        {
            if (commands.Rename(renamed.Name, renamed.NewName) is { } error) _faults.Add($"{renamed.Where}: rename-command {renamed.Name} {renamed.NewName}: {error}");
        }

        return commands;
    }

    private SessionLoop NewLoop()
    {
        int index = _loops.Length;
        var loop = new EventLoop($"loop-{index}", Engine.Buffers, _newTransport) { Index = index, Chooser = LeastLoaded, ArrivalWatch = _arrivals, Sockets = _sockets, Crashed = Crashed };
        var sessions = new SessionLoop(Engine, Parts.Replicas, loop, index, _loopCount) { Ticked = index == 0 ? Tick : null };
        loop.Serve(sessions);
        if (Engine.SyncedLog.Log is { } log) sessions.Gate.Use(log);
        _loops = [.. _loops, sessions];
        return sessions;
    }

    /// <summary>What the rooms ask of the server, and tell it.</summary>
    private sealed class Host(RedKiteServer server) : IDurabilityHost, IReplicationHost, IClusterHost
    {
        public RdbReplication? Position => server.Parts.Replicas.CurrentPosition();

        public long Changes => ServerTotals.Of(server.Engine.Metrics).Changes;

        public long Commands => ServerTotals.Of(server.Engine.Metrics).Commands;

        public RdbReplication? PositionOfReplica => server._follower.CurrentPosition();

        public void DataReplaced() => server.Parts.Backup.NoteOtherData();

        public void Stopping() => server.Parts.Backup.Dispose();

        public void LogBegan(ISyncedLog log) => server.ForEachLoop(loop => loop.Gate.Use(log));

        public void LogEnded() => server.ForEachLoop(static loop => loop.Gate.Use(null));

        public void LogSynced(long position)
        {
            foreach (SessionLoop loop in server._loops)
            {
                if (loop.Loop.AwaitedPosition is > 0 and long awaited && awaited <= position) loop.Loop.Post(() => loop.Loop.ReleaseOutput(position));
            }
        }

        // A command that writes and began before may still serve another loop's clients: its loop posts their replies, and they
        // are held there. So each loop ends its iteration before any of them closes what is held.
        public void LogAbandoned(ISyncedLog log)
        {
            long failure = log.Refusing;
            SessionLoop[] loops = server._loops;
            int left = loops.Length;
            foreach (SessionLoop loop in loops)
            {
                loop.Loop.PostOrRun(() =>
                {
                    if (Interlocked.Decrement(ref left) == 0) server.ForEachLoop(each =>
                    {
                        each.Gate.Abandon(log, failure);
                        each.Acks.CloseAll(); // what replicas acknowledge from here on would pass the gate
                    });
                });
            }
        }

        public int Port => server.Port;

        public int TlsPort => server.TlsPort;

        public void SlotsMoved()
        {
            server.Engine.RedirectBlocked();
            server.ForEachLoop(static loop => loop.EndMovedSubscriptions());
            if (server.Engine.Routing.Value is { } routing) server.Clients.Subscriptions.EndMoved(routing);
        }

        public Action BeginRoleChange(PrimaryAddress? primary) => server._follower.BeginChange(primary);

        (string History, long Offset)? IClusterHost.Position => server._follower.Position;

        public int StreamDatabase => server._follower.History.Database;

        public bool ReadStream(long from, long to, Action<ReadOnlySpan<byte>> read) => server.Parts.ReplicaStream.TryRead(from, to, read);

        public IEnumerable<string> ReplicasInStep => server.Parts.Replicas.InStep;

        public bool CountedReplicasHaveAll => server.Parts.Replicas.CountedReplicasHaveAll;

        public void ReplicasChanged() => server.Parts.Replicas.ReplicasChanged();

        public IReadOnlyList<MoveProgress> Moves => server._slotMoves is { } moves ? SlotMoveProgress.Of(moves.Moves, server.Engine.Keyspace, server.Engine.Clock.NowMs) : [];

        public void Detach() => server._follower.Detach();

        public void Attach() => server._follower.Attach();

        public bool PrepareHandover(string id, string incarnation, CancellationToken cancellation) => server.Parts.Replicas.PrepareHandover(id, incarnation, server.EndCommandsBegunBefore, cancellation);

        public bool ConfirmHandover(string id, string incarnation, CancellationToken cancellation) => server.Parts.Replicas.ConfirmHandover(id, incarnation, server.EndCommandsBegunBefore, cancellation);

        public void EndHandover()
        {
            server.Engine.Pause.Release(PauseReason.Handover);
            server.ResumePaused();
            SlotsMoved(); // blocked clients have waited, too
        }

        public void ChangeRole(PrimaryAddress? primary) => server._follower.Change(primary);

        public void AcknowledgeSoon() => server._follower.AcknowledgeSoon();

        public void ResumePaused() => server.ResumePaused();

        // A connection's loop handles this behind the command that waits. A caller in the process may only be about to wait: it finds the reply then.
        public void ReplyLater(Session session, LateReply wait, byte[] reply)
        {
            if (server._haveLoopsEnded) return; // nobody waits any more
            wait.Set(reply);
            if (session.Connection is { } connection) EventLoop.Post(connection, Finish);
            else Finish();

            void Finish()
            {
                if (session.Blocked is { } blocked && blocked.Block.Late == wait) server.Engine.Blocked.EndByLateReply(blocked, server.Engine.Buffers);
            }
        }
    }
}
