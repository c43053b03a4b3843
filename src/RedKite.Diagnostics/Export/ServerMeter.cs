using System.Diagnostics.Metrics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>
/// The metrics as instruments of the meter "RedKite", for OpenTelemetry, dotnet-counters and every other MeterListener, under the names of
/// <see cref="ExportedMetrics"/> and in base units. They are observed: without a listener they cost nothing, with one they read the
/// observation of the last second. .NET has no histograms that are observed: the times of commands are a counter and percentiles. Each
/// server of a process has a meter of its own, distinguished by the tag `redkite.run_id`.
/// </summary>
internal sealed class ServerMeter : IDisposable
{
    internal const string Name = ServerEvents.Name;

    private readonly Meter _meter;
    private readonly ServerParts _parts;
    private readonly DiagnosticsService _diagnostics;

    internal ServerMeter(ServerParts parts, DiagnosticsService diagnostics)
    {
        _parts = parts;
        _diagnostics = diagnostics;
        _meter = new Meter(new MeterOptions(Name) { Version = ServerVersion.Text, Tags = [new("redkite.run_id", parts.Core.Run.RunId), new("db.system.name", "redis")] });
        try
        {
            foreach ((ExportedMetric metric, Metric[] rows) in ExportedMetrics.OfTable)
            {
                (Metric Row, KeyValuePair<string, object?>[] Tags)[] tagged = [.. rows.Select(row => (row, row.Export!.Labels.Select(label => Tag(label.Name, label.Value)).ToArray()))];
                Create(metric, () => Read(metric, tagged));
            }

            Create(ExportedMetrics.Calls, () => OfCommands(counts => counts.Calls));
            Create(ExportedMetrics.CallErrors, () => [.. OfCommands(counts => counts.Failed, Tag("outcome", "failed")), .. OfCommands(counts => counts.Rejected, Tag("outcome", "rejected"))]);
            Create(ExportedMetrics.CallTime, () => OfCommands(counts => counts.TotalNs / 1e9));
            Create(ExportedMetrics.ErrorReplies, () => ExportedMetrics.ErrorsByClass(_parts).Select(pair => new Measurement<double>(pair.Value, Tag("db.response.status_code", pair.Key))));
            Create(ExportedMetrics.ReplicaOffsetLag, () => ExportedMetrics.EachReplica(_parts).Select(replica => new Measurement<double>(replica.LagBytes, Tag("replica", replica.Name))));
            Create(ExportedMetrics.ReplicaAcknowledgementAge, () => ExportedMetrics.EachReplica(_parts).Select(replica => new Measurement<double>(replica.SilentSeconds, Tag("replica", replica.Name))));
            Create(ExportedMetrics.Finding, () => _diagnostics.Findings.Current.Select(finding => new Measurement<double>(1, Tag("name", finding.Rule.Name), Tag("severity", finding.Severity))));
        }
        catch
        {
            _meter.Dispose(); // a listener has thrown
            throw;
        }
    }

    public void Dispose() => _meter.Dispose();

    private void Create(ExportedMetric metric, Func<IEnumerable<Measurement<double>>> observe)
    {
        if (metric.Kind == MetricKind.Counter) _meter.CreateObservableCounter(metric.Name, observe, UnitOf(metric.Unit), metric.Help);
        else _meter.CreateObservableGauge(metric.Name, observe, UnitOf(metric.Unit), metric.Help);
    }

    private List<Measurement<double>> Read(ExportedMetric metric, (Metric Row, KeyValuePair<string, object?>[] Tags)[] rows)
    {
        var measurements = new List<Measurement<double>>(rows.Length);
        if (_diagnostics.Latest is not { } observation) return measurements;
        foreach ((Metric row, KeyValuePair<string, object?>[] tags) in rows)
        {
            double value = row.Read(observation);
            if (!double.IsNaN(value)) measurements.Add(new Measurement<double>(metric.InBaseUnit(value), tags));
        }

        return measurements;
    }

    // The command's name as in spans.
    private IEnumerable<Measurement<double>> OfCommands(Func<CommandMetrics, double> read, params KeyValuePair<string, object?>[] more)
    {
        foreach ((Command command, CommandMetrics[] counts) in ExportedMetrics.CalledCommands(_parts))
        {
            yield return new Measurement<double>(counts.Sum(read), [Tag("family", command.Group), Tag("db.operation.name", CommandSpans.OperationOf(command.FullName)), .. more]);
        }
    }

    private static KeyValuePair<string, object?> Tag(string name, string value) => new(name, value);

    // Base units, as the Unified Code for Units of Measure writes them.
    private static string? UnitOf(MetricUnit unit) => unit switch
    {
        MetricUnit.Bytes => "By",
        MetricUnit.Seconds or MetricUnit.Milliseconds or MetricUnit.Microseconds => "s",
        MetricUnit.Percent or MetricUnit.Ratio => "1",
        _ => null,
    };
}
