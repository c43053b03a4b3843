namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The source of the dashboard's reports: a running server, or a debug package.</summary>
internal interface IReportSource
{
    /// <summary>Whether the reports change: a running server.</summary>
    bool IsLive { get; }

    MetricHistory History { get; }

    /// <summary>The histories of each command and each event loop.</summary>
    IReadOnlyList<RankedHistory> RankedHistories { get; }

    /// <summary>The time up to which the source has something to show.</summary>
    long NowUnixSeconds { get; }

    /// <summary>A report as JSON; null if there is no such report.</summary>
    byte[]? Read(string name, CancellationToken cancellation);
}
