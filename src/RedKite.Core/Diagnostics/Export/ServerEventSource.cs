using System.Diagnostics.Tracing;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>The events of <see cref="ServerEvents"/> for dotnet-trace, PerfView and EventListener.</summary>
[EventSource(Name = "RedKite")]
internal sealed class ServerEventSource : EventSource
{
    internal static readonly ServerEventSource Log = new();

    private ServerEventSource()
    {
    }

    [Event(1, Level = EventLevel.Informational)]
    public void ConnectionOpened(long clientId, string address) => WriteEvent(1, clientId, address);

    [Event(2, Level = EventLevel.Informational)]
    public void ConnectionClosed(long clientId, string address) => WriteEvent(2, clientId, address);

    [Event(3, Level = EventLevel.Warning)]
    public void SlowCommand(long microseconds, string command) => WriteEvent(3, microseconds, command);

    [Event(4, Level = EventLevel.Warning)]
    public void FindingOpened(string name, string severity, string title) => WriteEvent(4, name, severity, title);

    [Event(5, Level = EventLevel.Informational)]
    public void FindingEnded(string name, string severity, string title) => WriteEvent(5, name, severity, title);

    [Event(6, Level = EventLevel.Informational)]
    public void SettingChanged(string name) => WriteEvent(6, name);

    [Event(7, Level = EventLevel.Informational)]
    public void PackageWritten(long bytes) => WriteEvent(7, bytes);
}
