namespace RedKite.Hosting;

/// <summary>The names that OpenTelemetry needs, so that this package needs none of its: <c>metrics.AddMeter(RedKiteTelemetry.MeterName)</c>, <c>tracing.AddSource(RedKiteTelemetry.ActivitySourceName)</c>.</summary>
public static class RedKiteTelemetry
{
    /// <summary>The meter with all metrics of the server. Each server of a process has one, with the tag <c>redkite.run_id</c>.</summary>
    public const string MeterName = "RedKite";

    /// <summary>The source of a span for each command that the process calls, and for each slow command of other clients.</summary>
    public const string ActivitySourceName = "RedKite";
}
