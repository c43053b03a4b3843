using System.Globalization;
using RedKite.Net;
using RedKite.Persistence.Files;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Model;

namespace RedKite;

/// <summary>
/// How a server in this process is started. What most hosts decide has a member here; <see cref="Settings"/> are redis.conf's directives
/// for everything else. Nothing is read from files unless <see cref="ConfigFile"/> or <see cref="DataDirectory"/> says so.
/// </summary>
/// <remarks>
/// <see cref="Settings"/> take precedence over the other members, and those over the file. The options are read once, by
/// <see cref="RedKiteServer.StartAsync(RedKiteOptions?, CancellationToken)"/>; the same object may start several servers.
/// </remarks>
public sealed class RedKiteOptions
{
    private int? _port;
    private bool _portIsGiven;
    private RedKitePersistence? _persistence;

    /// <summary>
    /// The TCP port, on the loopback interface unless the setting <c>bind</c> names other addresses; 0 takes a free one (see
    /// <see cref="RedKiteServer.Port"/>). Null, the default: none, so that only this process, a Unix socket or <c>tls-port</c> leads to the server; with a
    /// <see cref="ConfigFile"/> and never set, the file's.
    /// </summary>
    public int? Port
    {
        get => _port;
        set => (_port, _portIsGiven) = (value, true);
    }

    /// <summary>The path of a Unix socket to listen on, relative to the data's folder; null: none.</summary>
    public string? UnixSocketPath { get; set; }

    /// <summary>The password of the default user (<c>requirepass</c>), not empty; null: it needs none. Calls in this process never need one. The nodes of a cluster have the same one.</summary>
    public string? Password { get; set; }

    /// <summary>The memory that the data may take, in bytes; 0: as much as there is. Null: the file's, otherwise 0.</summary>
    public long? MaxMemory { get; set; }

    /// <summary>What happens at <see cref="MaxMemory"/>, without which it is refused; null: the file's policy, otherwise none is evicted and writes are refused.</summary>
    public RedKiteEviction? Eviction { get; set; }

    /// <summary>The number of event loops, each a thread that executes what it reads from its clients; null: one per core.</summary>
    public int? Loops { get; set; }

    /// <summary>The number of databases that SELECT can choose from; null: 16.</summary>
    public int? Databases { get; set; }

    /// <summary>How the data is kept on disk. Other values than None need a <see cref="DataDirectory"/>.</summary>
    public RedKitePersistence Persistence
    {
        get => _persistence ?? RedKitePersistence.None;
        set => _persistence = value;
    }

    /// <summary>
    /// The folder of the data; what an earlier server has left there is loaded. It needs a <see cref="Persistence"/>, be it None, which only loads. If it does not
    /// exist, the start creates it: a relative path with the folders above it, an absolute one in a folder that exists. Null: the setting <c>dir</c>, or the process's
    /// current folder.
    /// </summary>
    public string? DataDirectory { get; set; }

    /// <summary>When the append-only file of <see cref="RedKitePersistence.Log"/>, without which it is refused, is synced.</summary>
    public RedKiteLogSync LogSync { get; set; }

    /// <summary>
    /// The primary whose data the server follows, as <c>host:port</c>: the server is its replica, which clients only read, until REPLICAOF NO ONE. Null: the
    /// server is a primary.
    /// </summary>
    public string? ReplicaOf { get; set; }

    /// <summary>How the server is a node of a cluster: it serves the keys of its slots alone. Null: it is none.</summary>
    public RedKiteClusterOptions? Cluster { get; set; }

    /// <summary>
    /// Whether the data that an earlier server has left in the folder is loaded. False: the server begins empty; what it saves replaces
    /// the files that it has not loaded, and an append-only file begins anew at once.
    /// </summary>
    public bool LoadOnStart { get; set; } = true;

    /// <summary>
    /// Whether a client's SHUTDOWN command stops the server. False, as a host decides itself when its server stops: the reply is an error.
    /// </summary>
    public bool AllowShutdown { get; set; }

    /// <summary>The clock that determines when keys expire; tests may provide their own.</summary>
    public TimeProvider TimeProvider { get; set; } = TimeProvider.System;

    /// <summary>A redis.conf file to read first.</summary>
    public string? ConfigFile { get; set; }

    /// <summary>Every other directive by name, e.g. <c>["maxclients"] = "100"</c>; a name may have several values. They take precedence over all else.</summary>
    public RedKiteSettings Settings { get; } = [];

    /// <summary>
    /// The behaviors that wrap every command, the first one outermost. Read when the server starts; the same options may start
    /// several servers, which then share the behaviors.
    /// </summary>
    public IList<Behavior> Behaviors { get; } = [];

    /// <summary>Commands of the host's own. Read when the server starts.</summary>
    public RedKiteCommandSet Commands { get; } = new();

    /// <summary>
    /// Called when the process is about to end because an exception escaped while keys were locked, so that they may be half
    /// changed. It runs on a separate thread for at most five seconds, and must not use the server.
    /// </summary>
    public Action<RedKiteCrash>? BeforeFailStop { get; set; }

    /// <summary>
    /// Receives the progress of loading, some ten times a second, and once at its end, on the loading thread (or as the object itself hands
    /// reports over). An exception from it fails the start.
    /// </summary>
    public IProgress<RedKiteLoadProgress>? LoadProgress { get; set; }

    /// <summary>
    /// Receives the log, from any thread, instead of the file of the setting <c>logfile</c>; null: the file has it, or without one it is discarded.
    /// It must not block. If it throws, the exception is ignored and the line is lost. <c>loglevel</c> decides which lines there are.
    /// </summary>
    public Action<RedKiteLogEntry>? Log { get; set; }

    /// <summary>Whether values are in the guarded arena of the tests.</summary>
    internal bool GuardsMemory { get; init; }

    /// <summary>By what the bounds of slices and of some commands are divided. For tests.</summary>
    internal int BoundsDivisor { get; init; } = 1;

    /// <summary>The file system of the data; null: the real one. For tests.</summary>
    internal IFiles? Files { get; init; }

    /// <summary>Makes the event loops' transports; null: the one of the settings. For tests.</summary>
    internal Func<EventLoop, Transport>? NewTransport { get; init; }

    /// <summary>Whether keys are kept by their slots.</summary>
    internal bool UsesSlots { get; init; }

    /// <summary>Opens the store that a node agrees on its cluster by; null: the one that the settings name, if they do.</summary>
    internal Func<Server.Cluster.Store.IClusterStore>? ClusterStore { get; set; }

    /// <summary>Further data that is no key.</summary>
    internal IReadOnlyList<IKeylessData> Keyless { get; init; } = [];

    /// <summary>Further families of commands.</summary>
    internal IReadOnlyList<CommandFamily> Families { get; init; } = [];

    /// <summary>The process is the server's own, as in the program: its memory counts as the server's. For tests.</summary>
    internal bool OwnsProcess { get; set; }

    /// <summary>Whether the log is written to standard output where there is neither <see cref="Log"/> nor a file for it.</summary>
    internal bool LogsToConsole { get; init; }

    /// <summary>What was wrong where the options were read from; reported by the start.</summary>
    internal List<string> Faults { get; } = [];

    /// <summary>Whether the server listens on no TCP port, also without another way in.</summary>
    internal bool HasNoPort => Port is null && (_portIsGiven || ConfigFile is null) && !Settings.ContainsKey("port");

    /// <summary>Whether the server takes a free TCP port, whatever other ways in there are.</summary>
    internal bool TakesFreePort => Port == 0 && !Settings.ContainsKey("port");

    /// <summary>Takes a size as redis.conf has it: "256mb".</summary>
    internal bool TrySetMaxMemory(string text)
    {
        if (text.Length == 0 || !MemorySize.TryParse(text, out ulong bytes) || bytes > long.MaxValue) return false;
        MaxMemory = (long)bytes;
        return true;
    }

    /// <summary>Reads everything into settings that are at their defaults.</summary>
    /// <returns>All that is wrong; none of it has an effect.</returns>
    internal List<string> Apply(Configuration configuration)
    {
        List<string> faults = [.. Faults, .. Conflicts()];
        if (faults.Count == 0 && CreateFolder() is { } fault) faults.Add(fault);
        var lines = new List<string>();
        foreach ((string name, string value) in Directives().Concat(Settings.Select(line => (line.Key, line.Value)))) lines.Add(LineOf(name, value));
        try
        {
            RedKite.Server.Config.ConfigFile.Load(configuration, CommandLine.OfHost(ConfigFile, lines), Stream.Null);
        }
        catch (RedKiteConfigException failure)
        {
            faults.AddRange(failure.Faults);
        }

        configuration.Settings.TakesFreePort = TakesFreePort;
        configuration.Settings.HasNoPort = HasNoPort;
        return faults;
    }

    private IEnumerable<string> Conflicts()
    {
        if (Persistence != RedKitePersistence.None && DataDirectory is null && !Settings.ContainsKey("dir")) yield return $"Persistence {Persistence} needs a DataDirectory";
        if (_portIsGiven && Port is null && Settings.ContainsKey("port")) yield return "Port is null, which is none, and Settings has 'port'";
        foreach (string conflict in Cluster is null ? [] : RedKiteClusterOptions.Conflicts(this)) yield return conflict;
        if (Password is { Length: 0 }) yield return "Password is empty: null is none";
        if (ReplicaOf is not null && PrimaryOf(ReplicaOf) is null) yield return $"ReplicaOf '{ReplicaOf}' is not of the form host:port";
        if (ConfigFile is not null) yield break; // which has what is missing here, or the next version of it
        if (DataDirectory is not null && _persistence is null && !Settings.ContainsKey("appendonly") && !Settings.ContainsKey("save"))
        {
            yield return "DataDirectory needs a Persistence: Log or Snapshots, or None, which loads what is there and keeps nothing";
        }

        if (LogSync != RedKiteLogSync.EverySecond && Persistence != RedKitePersistence.Log && !Settings.ContainsKey("appendonly")) yield return $"LogSync {LogSync} needs the Persistence Log";
        if (Eviction is { } eviction and not RedKiteEviction.None && (MaxMemory ?? 0) == 0 && !Settings.ContainsKey("maxmemory")) yield return $"Eviction {eviction} needs a MaxMemory";
    }

    // A relative path cannot lead far from where it was meant to; an absolute one with a typing error could.
    private string? CreateFolder()
    {
        if (DataDirectory is not { } path || Directory.Exists(path)) return null;
        if (path.Length == 0 || File.Exists(path)) return $"DataDirectory '{path}' is no folder";
        string whole = Path.GetFullPath(path);
        if (Path.IsPathRooted(path) && Path.GetDirectoryName(whole) is { } parent && !Directory.Exists(parent)) return $"DataDirectory '{path}': there is no folder '{parent}'";
        try
        {
            Directory.CreateDirectory(whole);
            return null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            return $"DataDirectory '{path}': it does not exist and cannot be created ({(failure is UnauthorizedAccessException ? "no permission" : failure is PathTooLongException ? "the path is too long" : "the path is not valid, or the disk is read-only or full")})";
        }
    }

    // "host port", as the setting has it; null: it is no address.
    private static string? PrimaryOf(string address)
    {
        int colon = address.LastIndexOf(':');
        return colon > 0 && ushort.TryParse(address.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out ushort port) ? $"{address[..colon].Trim('[', ']')} {Text(port)}" : null;
    }

    // The members, in front of the settings.
    private IEnumerable<(string Name, string Value)> Directives()
    {
        if (_portIsGiven || ConfigFile is null) yield return ("port", Text(Port ?? 0));
        if (UnixSocketPath is not null) yield return ("unixsocket", UnixSocketPath);
        if (Password is not null) yield return ("requirepass", Password);
        if (Password is not null && Cluster is not null) yield return ("masterauth", Password); // nodes log in at each other
        foreach ((string Name, string Value) directive in Cluster?.Directives() ?? []) yield return directive;
        if (ReplicaOf is not null && PrimaryOf(ReplicaOf) is { } primary) yield return ("replicaof", primary);
        if (MaxMemory is { } bytes) yield return ("maxmemory", Text(bytes));
        if (Eviction is { } eviction) yield return ("maxmemory-policy", WordOf(eviction));
        if (Loops is { } loops) yield return ("loops", Text(loops));
        if (Databases is { } databases) yield return ("databases", Text(databases));
        if (DataDirectory is not null && Directory.Exists(DataDirectory)) yield return ("dir", DataDirectory); // otherwise there is a fault already
        if (Persistence == RedKitePersistence.None) yield break;
        yield return ("appendonly", Persistence == RedKitePersistence.Log ? "yes" : "no");
        if (!Settings.ContainsKey("save")) yield return ("save", Persistence == RedKitePersistence.Log ? "" : SavePoint.ProgramDefault);
        yield return ("appendfsync", LogSync switch { RedKiteLogSync.Always => "always", RedKiteLogSync.WhenSystemDecides => "no", _ => "everysec" });
    }

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);

    private static string WordOf(RedKiteEviction eviction) => eviction switch
    {
        RedKiteEviction.LeastRecentlyUsed => "allkeys-lru",
        RedKiteEviction.LeastFrequentlyUsed => "allkeys-lfu",
        RedKiteEviction.LeastRecentlyModified => "allkeys-lrm",
        RedKiteEviction.Random => "allkeys-random",
        RedKiteEviction.ExpiringLeastRecentlyUsed => "volatile-lru",
        RedKiteEviction.ExpiringLeastFrequentlyUsed => "volatile-lfu",
        RedKiteEviction.ExpiringLeastRecentlyModified => "volatile-lrm",
        RedKiteEviction.ExpiringRandom => "volatile-random",
        RedKiteEviction.ExpiringSoonest => "volatile-ttl",
        _ => "noeviction",
    };

    // A setting's value is one word, whatever it has in it; other directives have words.
    private static string LineOf(string name, string value) =>
        $"{name} {(SettingTable.Find(name) is null ? SettingText.FromNative(value) : ConfigLine.Quote(SettingText.FromNative(value)))}";
}
