namespace RedKite.Persistence.Log;

/// <summary>When the log's writer makes the system put what it wrote on the disk (appendfsync).</summary>
internal enum FsyncPolicy : byte
{
    /// <summary>Once a second.</summary>
    EverySecond,

    /// <summary>After each write, before any reply to what was executed before leaves.</summary>
    Always,

    /// <summary>When the system wants to.</summary>
    No,
}
