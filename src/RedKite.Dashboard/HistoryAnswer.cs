using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Reports;

namespace RedKite.Dashboard;

/// <summary>
/// Metrics over time, and series of single commands and loops: the mean and the maximum of as many steps as a chart can show. A metric is asked
/// for by its name, a series by its name and the command or loop: command_calls:get, loop_busy_percent:0.
/// </summary>
internal static class HistoryAnswer
{
    private const int MetricsMax = 64; // the view of commands has 45
    private const int PointsMax = 2000;
    private const int Minute = 60;

    internal static Task SendAsync(AdminSite site, HttpContext http)
    {
        MetricHistory history = site.Source.History;
        Series?[] wanted = [.. http.Request.Query["metrics"].ToString().Split(',', StringSplitOptions.RemoveEmptyEntries).Distinct().Select(name => Find(site.Source, name))];
        long to = Math.Clamp(AdminEndpoints.Number(http, "to", site.Source.NowUnixSeconds), 1, site.Source.NowUnixSeconds);
        long from = Math.Clamp(AdminEndpoints.Number(http, "from", to - 600), Math.Max(0, to - (MetricHistory.MinutesKept * Minute)), to);
        long points = Math.Clamp(AdminEndpoints.Number(http, "points", 300), 1, PointsMax);
        if (wanted.Length is 0 or > MetricsMax || wanted.Contains(null))
        {
            http.Response.StatusCode = StatusCodes.Status400BadRequest;
            return Task.CompletedTask;
        }

        // Seconds from the first whole minute that has them all; minutes before.
        long seconds = ((history.LatestSecond - MetricHistory.SecondsKept) / Minute * Minute) + Minute;
        long unit = from < seconds ? Minute : 1;
        long step = ((to - from) / points / unit * unit) + unit;
        long first = from / step * step;
        int steps = (int)((to - first) / step) + 1;
        return AdminEndpoints.SendJsonAsync(http, json =>
        {
            json.WriteStartObject();
            json.WriteNumber("step", step);
            json.WriteNumber("from", from);
            json.WriteNumber("to", to);
            json.WriteStartObject("series");
            foreach (Series? each in wanted)
            {
                var sums = new double[steps];
                var weights = new double[steps];
                var maxima = new double[steps];
                Array.Fill(maxima, double.NegativeInfinity);
                if (unit == Minute) Add(each!.Minutes(first, Math.Min(to, seconds - 1)), Minute);
                Add(each!.Seconds(Math.Max(first, seconds), to), 1);
                json.WriteStartObject(each.Name);
                Write(json, "mean", steps, i => weights[i] == 0 ? double.NaN : sums[i] / weights[i]);
                Write(json, "max", steps, i => maxima[i]);
                json.WriteEndObject();

                void Add(List<HistoryPoint> observed, double weight)
                {
                    foreach (HistoryPoint point in observed)
                    {
                        int i = (int)((point.UnixSeconds - first) / step);
                        if (!float.IsFinite(point.Value) || i < 0 || i >= steps) continue;
                        sums[i] += point.Value * weight;
                        weights[i] += weight;
                        maxima[i] = Math.Max(maxima[i], point.Max);
                    }
                }
            }

            json.WriteEndObject();
            Write(json, "times", steps, i => first + (i * step));
            json.WriteEndObject();
        });
    }

    // Null: there is no such series. Of a command or a loop that has no history, as in a package of an earlier version, nothing was observed.
    private static Series? Find(IReportSource source, string name)
    {
        if (MetricTable.Find(name) is { } metric) return new Series(name, (from, to) => source.History.Seconds(metric.Index, from, to), (from, to) => source.History.Minutes(metric.Index, from, to));
        int colon = name.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0) return null;
        foreach (RankedHistory history in source.RankedHistories)
        {
            int series = history.Kind.Find(name[..colon]);
            if (series < 0) continue;
            int id = history.Find(name[(colon + 1)..]);
            return id < 0 ? new Series(name, (_, _) => [], (_, _) => []) : new Series(name, (from, to) => history.Seconds(id, series, from, to), (from, to) => history.Minutes(id, series, from, to));
        }

        return null;
    }

    // Null: nothing was observed.
    private static void Write(Utf8JsonWriter json, string name, int count, Func<int, double> value)
    {
        json.WriteStartArray(name);
        for (int i = 0; i < count; i++)
        {
            if (double.IsFinite(value(i))) json.WriteNumberValue(value(i));
            else json.WriteNullValue();
        }

        json.WriteEndArray();
    }

    /// <param name="Seconds">The points of a range of time, from and to a Unix time.</param>
    private sealed record Series(string Name, Func<long, long, List<HistoryPoint>> Seconds, Func<long, long, List<HistoryPoint>> Minutes);
}
