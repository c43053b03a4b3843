using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;

namespace RedKite.Dashboard;

/// <summary>
/// Receives ASP.NET Core's diagnostic events of the dashboard's own requests: their duration, their status, and unhandled exceptions.
/// Each web application has a listener of its own, so a host's other pages are not included.
/// </summary>
internal sealed class HttpWatch(HttpRequests requests, ServerLog? log) : IObserver<KeyValuePair<string, object?>>
{
    // The framework's names. The payload of the first two is the request's HttpContext, of the third an object with httpContext and exception.
    private const string Request = "Microsoft.AspNetCore.Hosting.HttpRequestIn";
    private const string RequestStop = "Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop";
    private const string UnhandledException = "Microsoft.AspNetCore.Hosting.UnhandledException";

    private static readonly TimeSpan LoggedEvery = TimeSpan.FromSeconds(10);

    private long _logged;

    internal static IDisposable Subscribe(DiagnosticListener listener, HttpRequests requests, ServerLog? log) =>
        listener.Subscribe(new HttpWatch(requests, log), name => name.StartsWith(Request, StringComparison.Ordinal) || name == UnhandledException);

    public void OnNext(KeyValuePair<string, object?> item)
    {
        if (item.Key == RequestStop && item.Value is HttpContext http)
        {
            requests.NoteRequest(AdminEndpoints.NameOf(http), http.Response.StatusCode, Activity.Current?.Duration ?? TimeSpan.Zero);
        }
        else if (item.Key == UnhandledException && item.Value is { } payload)
        {
            NoteException(Member(payload, "httpContext") as HttpContext, Member(payload, "exception") as Exception);
        }
    }

    public void OnCompleted()
    {
    }

    public void OnError(Exception error)
    {
    }

    // The log has the first of ten seconds: a client that can reach the port may be able to repeat it.
    private void NoteException(HttpContext? http, Exception? failure)
    {
        if (failure is OperationCanceledException) return; // the client has gone
        string endpoint = http is null ? "other" : AdminEndpoints.NameOf(http);
        requests.NoteException(endpoint);
        long last = Volatile.Read(ref _logged);
        if (last != 0 && Stopwatch.GetElapsedTime(last) < LoggedEvery) return;
        Volatile.Write(ref _logged, Stopwatch.GetTimestamp());
        log?.Warning(LogEvents.DashboardFailed, $"The dashboard could not answer {endpoint}: {failure}");
    }

    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = "The framework keeps the members of its events' payloads, which have no public type.")]
    private static object? Member(object payload, string name) => payload.GetType().GetProperty(name)?.GetValue(payload);
}
