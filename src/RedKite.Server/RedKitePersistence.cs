namespace RedKite;

/// <summary>How a server keeps its data on disk.</summary>
public enum RedKitePersistence
{
    /// <summary>As <see cref="RedKiteOptions.Settings"/> and <see cref="RedKiteOptions.ConfigFile"/> say: without them, not at all.</summary>
    None,

    /// <summary>
    /// Snapshots: after an hour if a key has changed, 5 minutes if 100 have, a minute if 10,000 have, and when the server stops. A crash loses
    /// what changed since the last one.
    /// </summary>
    Snapshots,

    /// <summary>An append-only file: every change, as <see cref="RedKiteOptions.LogSync"/> says.</summary>
    Log,
}

/// <summary>When the append-only file is synced to the disk.</summary>
public enum RedKiteLogSync
{
    /// <summary>Once a second: a power loss costs the last second or two.</summary>
    EverySecond,

    /// <summary>Before any reply: nothing that was acknowledged is lost. Calls in process wait for it.</summary>
    Always,

    /// <summary>When the system decides, often every 30 seconds.</summary>
    WhenSystemDecides,
}
