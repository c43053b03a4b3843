using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Server.Diagnostics;

/// <summary>What watches one server and tells about it. It takes a third of a start, so it is made when the server already listens.</summary>
internal sealed class ServerWatch : IDisposable
{
    private readonly ServerMeter _meter;
    private readonly Lock _changing = new();
    private bool _hasEnded;

    /// <param name="parts">The server.</param>
    /// <param name="infoText">Writes INFO.</param>
    internal ServerWatch(ServerParts parts, Func<string> infoText)
    {
        Diagnostics = new DiagnosticsService(parts);
        Reports = new LiveReports(parts, Diagnostics);
        PackageSources = new PackageSources(parts, Diagnostics, infoText);
        Packages = new PackageService(PackageSources);
        AutomaticPackages = new AutomaticPackages(parts, Packages);
        Diagnostics.Findings.Opened += finding =>
        {
            if (finding.Diagnosis.Severity == FindingSeverity.Critical) AutomaticPackages.OnCritical(finding);
        };
        Diagnostics.Findings.Opened += ServerEvents.FindingOpened;
        Diagnostics.Findings.HasEnded += ServerEvents.FindingEnded;
        try
        {
            _meter = new ServerMeter(parts, Diagnostics);
        }
        catch
        {
            Diagnostics.Dispose(); // a listener has thrown
            throw;
        }
    }

    internal DiagnosticsService Diagnostics { get; }

    internal LiveReports Reports { get; }

    internal PackageSources PackageSources { get; }

    internal PackageService Packages { get; }

    internal AutomaticPackages AutomaticPackages { get; }

    /// <summary>Begins to watch, unless it has ended: a client may stop a server that is still starting.</summary>
    internal void Start()
    {
        lock (_changing)
        {
            if (!_hasEnded) Diagnostics.Start();
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_changing)
        {
            if (_hasEnded) return;
            _hasEnded = true;
            _meter.Dispose();
            Packages.Dispose();
            Diagnostics.Dispose();
        }
    }
}
