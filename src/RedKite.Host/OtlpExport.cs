using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;
using RedKite.Server.Config;

namespace RedKite.Host;

/// <summary>
/// Sends the meter and the spans "RedKite" to an OpenTelemetry collector by OTLP over HTTP, from threads of its own. If the
/// endpoint does not answer, the values of that time are lost, and nothing else.
/// </summary>
internal sealed class OtlpExport : IDisposable
{
    private const string SourceName = "RedKite";
    private const int StopTimeoutMs = 2_000;

    private readonly MeterProvider _metrics;
    private readonly TracerProvider _traces;

    private OtlpExport(Uri endpoint, Settings settings, string runId)
    {
        ResourceBuilder resource = ResourceBuilder.CreateDefault().AddService("redkite", serviceVersion: ServerVersion.Text, serviceInstanceId: runId);
        _metrics = Sdk.CreateMeterProviderBuilder()
            .SetResourceBuilder(resource)
            .AddMeter(SourceName)
            .AddOtlpExporter((exporter, reader) =>
            {
                UseHttp(exporter, endpoint, "metrics");
                reader.PeriodicExportingMetricReaderOptions.ExportIntervalMilliseconds = settings.OtlpIntervalSeconds * 1000;
            })
            .Build();
        _traces = Sdk.CreateTracerProviderBuilder()
            .SetResourceBuilder(resource)
            .AddSource(SourceName)
            .AddOtlpExporter(exporter => UseHttp(exporter, endpoint, "traces"))
            .Build();
    }

    /// <summary>Starts the export if `otlp-endpoint` is set; null: it is empty.</summary>
    /// <exception cref="RedKiteConfigException">`otlp-endpoint` is not an HTTP address.</exception>
    internal static OtlpExport? Start(Settings settings, string runId) => settings.OtlpEndpoint.Length == 0 ? null : StartTo(settings, runId);

    private static OtlpExport StartTo(Settings settings, string runId)
    {
        if (!Uri.TryCreate(settings.OtlpEndpoint, UriKind.Absolute, out Uri? endpoint) || (endpoint.Scheme != Uri.UriSchemeHttp && endpoint.Scheme != Uri.UriSchemeHttps))
        {
            throw new RedKiteConfigException($"otlp-endpoint '{settings.OtlpEndpoint}': not an address that begins with http:// or https://");
        }

        return new OtlpExport(endpoint, settings, runId);
    }

    /// <summary>Sends what is left, for a short time.</summary>
    public void Dispose()
    {
        _metrics.Shutdown(StopTimeoutMs);
        _traces.Shutdown(StopTimeoutMs);
        _metrics.Dispose();
        _traces.Dispose();
    }

    // The protocol's paths, below the endpoint's.
    private static void UseHttp(OtlpExporterOptions exporter, Uri endpoint, string signal)
    {
        exporter.Protocol = OtlpExportProtocol.HttpProtobuf;
        exporter.Endpoint = new Uri($"{endpoint.AbsoluteUri.TrimEnd('/')}/v1/{signal}");
    }
}
