using RedKite.Net;

namespace RedKite.Server.Metrics;

/// <summary>The requests to one address of the dashboard.</summary>
/// <param name="Endpoint">Method and path as in the table of endpoints; never text that a client sent.</param>
/// <param name="Failures">Those that ended with a status of 400 or above, or with an exception.</param>
internal sealed record HttpFigures(string Endpoint, long Requests, long Failures, long Exceptions, LatencyHistogram Durations);

/// <summary>
/// Requests to the page and the endpoints of the admin port, as ASP.NET Core reports them. The duration of a streaming request is
/// the time that its viewer watches. From any thread.
/// </summary>
internal sealed class HttpRequests
{
    private readonly Lock _lock = new();
    private readonly Dictionary<string, HttpFigures> _endpoints = [];

    /// <summary>All addresses that were requested, by name; copies.</summary>
    internal IReadOnlyList<HttpFigures> Figures
    {
        get
        {
            lock (_lock) return [.. _endpoints.Values.OrderBy(figures => figures.Endpoint, StringComparer.Ordinal).Select(Copy)];
        }
    }

    internal long Requests { get; private set; }

    internal long Failures { get; private set; }

    internal long Exceptions { get; private set; }

    /// <summary>Counts a request that has ended.</summary>
    internal void NoteRequest(string endpoint, int status, TimeSpan duration)
    {
        lock (_lock)
        {
            HttpFigures figures = Of(endpoint);
            figures.Durations.Record((long)duration.TotalNanoseconds, 1);
            bool isFailure = status >= 400;
            _endpoints[endpoint] = figures with { Requests = figures.Requests + 1, Failures = figures.Failures + (isFailure ? 1 : 0) };
            Requests++;
            if (isFailure) Failures++;
        }
    }

    /// <summary>Counts an unhandled exception of an endpoint; its request ends with status 500.</summary>
    internal void NoteException(string endpoint)
    {
        lock (_lock)
        {
            HttpFigures figures = Of(endpoint);
            _endpoints[endpoint] = figures with { Exceptions = figures.Exceptions + 1 };
            Exceptions++;
        }
    }

    private HttpFigures Of(string endpoint) => _endpoints.GetValueOrDefault(endpoint) ?? new HttpFigures(endpoint, 0, 0, 0, new LatencyHistogram());

    private static HttpFigures Copy(HttpFigures figures)
    {
        var durations = new LatencyHistogram();
        figures.Durations.AddTo(durations);
        return figures with { Durations = durations };
    }
}
