using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>A client's connection: payload of RedKite.ConnectionOpened and RedKite.ConnectionClosed.</summary>
public sealed record ConnectionEvent(long ClientId, string Address);

/// <summary>A command of the slow log: payload of RedKite.SlowCommand.</summary>
public sealed record SlowCommandEvent(string Command, long Microseconds, long ClientId, string Address);

/// <summary>A finding: payload of RedKite.FindingOpened and RedKite.FindingEnded.</summary>
public sealed record FindingEvent(string Name, string Severity, string Title, string Evidence);

/// <summary>What listeners are told of a finding.</summary>
internal interface IFindingText
{
    string Name { get; }

    string Severity { get; }

    string Title { get; }

    string Details { get; }
}

/// <summary>A setting that CONFIG SET changed: payload of RedKite.SettingChanged.</summary>
public sealed record SettingEvent(string Name);

/// <summary>A debug package that was built: payload of RedKite.PackageWritten.</summary>
public sealed record PackageEvent(long Bytes);

/// <summary>
/// Publishes what happens in a server to its process and to tools: the DiagnosticListener "RedKite" with typed payloads, the
/// EventSource "RedKite" (dotnet-trace), and a span of the ActivitySource "RedKite" for each command of the slow log. Names and
/// payloads are in docs/exports.md. Without a listener nothing is allocated.
/// </summary>
internal static class ServerEvents
{
    /// <summary>The name of the sources, and of the meter.</summary>
    internal const string Name = "RedKite";

    private static readonly DiagnosticListener Listener = new(Name);
    private static readonly ActivitySource Spans = new(Name, ServerVersion.Text);

    // In a class of its own, so that reading it does not create the listeners.
    private static class Hearing
    {
        internal static volatile bool HasBegun;
    }

    /// <summary>Makes the listeners, which takes milliseconds the first time. Until then connections are no events: the first client would wait for them.</summary>
    internal static void Begin()
    {
        if (Hearing.HasBegun) return;
        _ = HearsSlowCommands;
        Hearing.HasBegun = true;
    }

    internal static void ConnectionOpened(long clientId, string address)
    {
        if (Listener.IsEnabled("RedKite.ConnectionOpened")) Write("RedKite.ConnectionOpened", new ConnectionEvent(clientId, address));
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.ConnectionOpened(clientId, address);
    }

    internal static void ConnectionClosed(long clientId, string address)
    {
        if (Listener.IsEnabled("RedKite.ConnectionClosed")) Write("RedKite.ConnectionClosed", new ConnectionEvent(clientId, address));
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.ConnectionClosed(clientId, address);
    }

    /// <summary>Whether anything listens to connection events: otherwise the address need not be formatted.</summary>
    internal static bool HearsConnections => Hearing.HasBegun && (Listener.IsEnabled() || ServerEventSource.Log.IsEnabled());

    /// <summary>Whether anything listens to slow commands.</summary>
    internal static bool HearsSlowCommands => Spans.HasListeners() || Listener.IsEnabled() || ServerEventSource.Log.IsEnabled();

    /// <summary>A changed setting is an event of the timeline, and one here.</summary>
    internal static void OnTimeline(TimelineEvent item)
    {
        if (item.Kind == TimelineKind.SettingChanged) SettingChanged(item.Detail);
    }

    /// <summary>Publishes a command that was added to the slow log.</summary>
    internal static void SlowCommand(SlowCommandEvent slow, DateTime end) => Guard(() => Tell(slow, end));

    internal static void SettingChanged(string name)
    {
        if (Listener.IsEnabled("RedKite.SettingChanged")) Write("RedKite.SettingChanged", new SettingEvent(name));
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.SettingChanged(name);
    }

    internal static void FindingOpened(IFindingText finding)
    {
        if (Listener.IsEnabled("RedKite.FindingOpened")) Write("RedKite.FindingOpened", PayloadOf(finding));
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.FindingOpened(finding.Name, finding.Severity, finding.Title);
    }

    internal static void FindingEnded(IFindingText finding)
    {
        if (Listener.IsEnabled("RedKite.FindingEnded")) Write("RedKite.FindingEnded", PayloadOf(finding));
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.FindingEnded(finding.Name, finding.Severity, finding.Title);
    }

    internal static void PackageWritten(long bytes)
    {
        if (Listener.IsEnabled("RedKite.PackageWritten")) Write("RedKite.PackageWritten", new PackageEvent(bytes));
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.PackageWritten(bytes);
    }

    private static FindingEvent PayloadOf(IFindingText finding) => new(finding.Name, finding.Severity, finding.Title, finding.Details);

    private static void Tell(SlowCommandEvent slow, DateTime end)
    {
        if (Listener.IsEnabled("RedKite.SlowCommand")) Write("RedKite.SlowCommand", slow);
        if (ServerEventSource.Log.IsEnabled()) ServerEventSource.Log.SlowCommand(slow.Microseconds, slow.Command);
        if (!Spans.HasListeners()) return;

        // The command has ended: its span is made afterwards, with the times that were measured.
        string operation = CommandSpans.OperationOf(slow.Command);
        using Activity? span = Spans.CreateActivity(operation, ActivityKind.Server);
        if (span is null) return;
        span.SetStartTime(end.AddMicroseconds(-slow.Microseconds));
        span.SetTag("db.system.name", "redis").SetTag("db.operation.name", operation).SetTag("network.peer.address", slow.Address).SetTag("redkite.client_id", slow.ClientId);
        span.Start();
        span.SetEndTime(end);
    }

    [UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "The payloads' public properties are kept by the attribute; they hold text and numbers.")]
    private static void Write<[DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicProperties)] T>(string name, T payload) => Guard(() => Listener.Write(name, payload));

    // Subscribers run on the thread that caused the event, mostly a loop: their exceptions must not end it.
    private static void Guard(Action tell)
    {
        try
        {
            tell();
        }
#pragma warning disable CA1031 // A subscriber may throw anything; the server continues.
        catch (Exception)
#pragma warning restore CA1031
        {
        }
    }
}
