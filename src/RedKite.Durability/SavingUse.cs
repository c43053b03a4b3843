namespace RedKite.Server.Durability;

/// <summary>What the one snapshot at a time, or what excludes one, is for.</summary>
internal enum SavingUse
{
    /// <summary>Nothing, or it changes: what holds it has shown its end and is about to release it, or has just taken it and is about to say what it is.</summary>
    Changing,

    /// <summary>The dump file.</summary>
    Save,

    /// <summary>The base of an append-only file.</summary>
    Rewrite,

    /// <summary>The data for replicas.</summary>
    Synchronization,

    /// <summary>The base of a backup, the end of the log, data that is received, the end of the server: INFO shows no save.</summary>
    Other,
}
