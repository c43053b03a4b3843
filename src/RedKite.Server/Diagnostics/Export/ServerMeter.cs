using System.Diagnostics.Metrics;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>
/// The metrics as instruments of the meter "RedKite", for OpenTelemetry, dotnet-counters and every other MeterListener. They are
/// observed: without a listener they cost nothing, with one they read the observation of the last second. Each server of a process
/// has a meter of its own, distinguished by the tag `redkite.run_id`.
/// </summary>
internal sealed class ServerMeter : IDisposable
{
    internal const string Name = "RedKite";

    private readonly Meter _meter;

    internal ServerMeter(ServerParts parts, DiagnosticsService diagnostics)
    {
        _meter = new Meter(new MeterOptions(Name) { Version = ServerVersion.Text, Tags = [new("redkite.run_id", parts.Run.RunId)] });
        try
        {
            foreach (Metric metric in MetricTable.All)
            {
                if (metric.Kind == MetricKind.Counter) _meter.CreateObservableCounter(metric.Name, () => Read(metric), UnitOf(metric.Unit), metric.Help);
                else _meter.CreateObservableGauge(metric.Name, () => Read(metric), UnitOf(metric.Unit), metric.Help);
            }

            _meter.CreateObservableGauge("finding", () => diagnostics.Findings.Current.Select(MeasurementOf), null, "Open findings: 1 for each.");
        }
        catch
        {
            _meter.Dispose(); // a listener has thrown
            throw;
        }

        IEnumerable<Measurement<double>> Read(Metric metric)
        {
            double value = diagnostics.Latest is { } observation ? metric.Read(observation) : double.NaN;
            return double.IsNaN(value) ? [] : [new Measurement<double>(value)];
        }
    }

    public void Dispose() => _meter.Dispose();

    private static Measurement<int> MeasurementOf(Finding finding) =>
        new(1, new("name", finding.Rule.Name), new KeyValuePair<string, object?>("severity", ServerEvents.Word(finding.Diagnosis.Severity)));

    // As the Unified Code for Units of Measure writes them.
    private static string? UnitOf(MetricUnit unit) => unit switch
    {
        MetricUnit.Bytes => "By",
        MetricUnit.Seconds => "s",
        MetricUnit.Milliseconds => "ms",
        MetricUnit.Microseconds => "us",
        MetricUnit.Percent => "%",
        MetricUnit.Ratio => "1",
        _ => null,
    };
}
