namespace RedKite.Server.Model;

/// <summary>A command's flags, as COMMAND INFO names them; the last ones are RedKite's own and not reported.</summary>
[Flags]
internal enum CommandFlags
{
    None = 0,
    Write = 1 << 0,
    ReadOnly = 1 << 1,
    DenyOom = 1 << 2,
    Admin = 1 << 3,
    PubSub = 1 << 4,
    NoScript = 1 << 5,
    Blocking = 1 << 6,
    Loading = 1 << 7,
    Stale = 1 << 8,
    SkipMonitor = 1 << 9,
    SkipSlowLog = 1 << 10,
    Asking = 1 << 11,
    Fast = 1 << 12,
    NoAuth = 1 << 13,
    MayReplicate = 1 << 14,
    NoAsyncLoading = 1 << 15,
    NoMulti = 1 << 16,
    AllowBusy = 1 << 17,
    Sentinel = 1 << 18,
    OnlySentinel = 1 << 19,
    MovableKeys = 1 << 20,
    Protected = 1 << 21,
    NoMandatoryKeys = 1 << 22,

    /// <summary>Open to a client with subscriptions over RESP2.</summary>
    AllowedToSubscribers = 1 << 30,

    /// <summary>Executes at once even if its client is in a transaction: EXEC, DISCARD and the like.</summary>
    NotQueued = 1 << 23,

    /// <summary>Runs a script, which may use keys that the request does not name.</summary>
    RunsScript = 1 << 24,

    /// <summary>Locks stripes by itself, one at a time. In a transaction or script it needs them all.</summary>
    WalksStripes = 1 << 25,

    /// <summary>Held by a pause of writes although COMMAND INFO reports no write: PFCOUNT updates the count that it caches, PUBLISH reaches replicas.</summary>
    PausedAsWrite = 1 << 26,

    /// <summary>
    /// Takes the batch's short path although COMMAND INFO does not report it as fast. SET is the important one.
    /// </summary>
    Short = 1 << 27,

    /// <summary>Executes with every stripe locked, because it works on whole databases.</summary>
    AllStripes = 1 << 28,

    /// <summary>Omitted from COMMAND's lists.</summary>
    Hidden = 1 << 29,
}
