using RedKite.Persistence.Files;
using RedKite.Server.Config;

namespace RedKite;

/// <summary>
/// How a server in this process is started. The settings are redis.conf's directives; nothing is read from files unless
/// <see cref="ConfigFile"/> says so.
/// </summary>
public sealed class RedKiteOptions
{
    /// <summary>The TCP port, on the loopback interface unless the setting <c>bind</c> names other addresses; 0 takes a free one (see <see cref="RedKiteServer.Port"/>).
    /// For none beside <c>unixsocket</c> or <c>tls-port</c>, set the directive <c>port</c> to 0 in <see cref="Settings"/>.</summary>
    public int Port { get; set; } = 6379;

    /// <summary>Further directives by name, e.g. <c>["requirepass"] = "secret"</c>; they take precedence over the file's.</summary>
    public IDictionary<string, string> Settings { get; } = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// Lines as in redis.conf, for directives with several values or that may occur more than once: <c>user alice on >secret ~* +@all</c>,
    /// <c>rename-command KEYS ""</c>. They follow the file's; <see cref="Settings"/> follow them.
    /// </summary>
    public IList<string> ConfigLines { get; } = [];

    /// <summary>A redis.conf file to read first.</summary>
    public string? ConfigFile { get; set; }

    /// <summary>How the data is kept on disk. Other values than None need a <see cref="DataDirectory"/>; <see cref="Settings"/> take precedence.</summary>
    public RedKitePersistence Persistence { get; set; }

    /// <summary>The folder of the data, which exists; what an earlier server has left there is loaded. Null: the setting <c>dir</c>, or the process's current folder.</summary>
    public string? DataDirectory { get; set; }

    /// <summary>When the append-only file of <see cref="RedKitePersistence.Log"/> is synced.</summary>
    public RedKiteLogSync LogSync { get; set; }

    /// <summary>The clock that determines when keys expire; tests may provide their own.</summary>
    public TimeProvider TimeProvider { get; set; } = TimeProvider.System;

    /// <summary>
    /// The behaviors that wrap every command, the first one outermost. Read when the server starts; the same options may start
    /// several servers, which then share the behaviors.
    /// </summary>
    public IList<Behavior> Behaviors { get; } = [];

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

    /// <summary>Whether values are in the guarded arena of the tests.</summary>
    internal bool GuardsMemory { get; init; }

    /// <summary>The file system of the data; null: the real one. For tests.</summary>
    internal IFiles? Files { get; init; }

    /// <summary>The process is the server's own, as in the program: its memory counts as the server's. For tests.</summary>
    internal bool OwnsProcess { get; set; }

    /// <summary>Receives log lines, from any thread, instead of the file of the setting <c>logfile</c>; null: the file has them, or without one they are discarded. If it throws, the exception is ignored and the line is lost.</summary>
    public Action<string>? Log { get; set; }

    /// <summary>The typed options as directives, in front of <see cref="Settings"/>.</summary>
    /// <exception cref="RedKiteConfigException">They do not fit together.</exception>
    internal IEnumerable<(string Name, string Value)> Directives()
    {
        if (Persistence != RedKitePersistence.None && DataDirectory is null && !Settings.ContainsKey("dir")) throw new RedKiteConfigException($"Persistence {Persistence} needs a DataDirectory");
        if (DataDirectory is not null) yield return ("dir", DataDirectory);
        if (Persistence == RedKitePersistence.None) yield break;
        yield return ("appendonly", Persistence == RedKitePersistence.Log ? "yes" : "no");
        yield return ("save", Persistence == RedKitePersistence.Log ? "" : SavePoint.ProgramDefault);
        yield return ("appendfsync", LogSync switch { RedKiteLogSync.Always => "always", RedKiteLogSync.WhenSystemDecides => "no", _ => "everysec" });
    }
}
