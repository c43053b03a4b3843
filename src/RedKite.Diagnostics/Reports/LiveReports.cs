using System.Buffers;
using System.Text.Json;

namespace RedKite.Server.Diagnostics.Reports;

/// <summary>The reports of a running server. From any thread; nothing here waits for a client or takes a lock of the data for long.</summary>
internal sealed class LiveReports(ServerParts parts, DiagnosticsService diagnostics) : IReportSource
{
    public bool IsLive => true;

    public MetricHistory History => diagnostics.History;

    public IReadOnlyList<RankedHistory> RankedHistories => diagnostics.RankedHistories;

    public long NowUnixSeconds => DateTimeOffset.UtcNow.ToUnixTimeSeconds();

    public byte[]? Read(string name, CancellationToken cancellation) =>
        ReportTable.Find(name) is { } report ? Write(report, redactionKey: null, cancellation) : null;

    /// <summary>Writes a report.</summary>
    /// <param name="redactionKey">Null: as it is; otherwise without keys, values and addresses, which are hashed with this key.</param>
    internal byte[] Write(Report report, byte[]? redactionKey, CancellationToken cancellation)
    {
        var bytes = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes)) report.Write(new ReportContext(parts, diagnostics, json, redactionKey, cancellation));
        return bytes.WrittenSpan.ToArray();
    }
}
