namespace RedKite.Server.Durability;

/// <summary>How a request for a save in the background ends.</summary>
internal enum BackgroundStart
{
    Started,

    /// <summary>It begins when the one in progress has ended.</summary>
    Scheduled,

    /// <summary>The data is being saved.</summary>
    SaveInProgress,

    /// <summary>The append-only file is being rewritten.</summary>
    RewriteInProgress,
}
