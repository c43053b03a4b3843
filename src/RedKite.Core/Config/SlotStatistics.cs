namespace RedKite.Server.Config;

/// <summary>Which statistics of slots are kept (`cluster-slot-stats-enabled`), beside the number of keys, which is always known.</summary>
[Flags]
internal enum SlotStatistics
{
    None = 0,

    /// <summary>The time of commands.</summary>
    Cpu = 1 << 0,

    /// <summary>The bytes of requests and replies.</summary>
    Net = 1 << 1,

    /// <summary>The memory of keys and values, which is measured when it is asked for.</summary>
    Memory = 1 << 2,

    /// <summary>Those that are added up with each command.</summary>
    Counted = Cpu | Net,

    All = Cpu | Net | Memory,
}
