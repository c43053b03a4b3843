using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Diagnostics;

namespace RedKite.Dashboard;

/// <summary>Metrics over time: the mean and the maximum of as many steps as a chart can show.</summary>
internal static class HistoryAnswer
{
    private const int MetricsMax = 64; // the view of commands has 40
    private const int PointsMax = 2000;
    private const int Minute = 60;

    internal static Task SendAsync(AdminSite site, HttpContext http)
    {
        MetricHistory history = site.Source.History;
        Metric?[] metrics = [.. http.Request.Query["metrics"].ToString().Split(',', StringSplitOptions.RemoveEmptyEntries).Distinct().Select(MetricTable.Find)];
        long to = Math.Clamp(AdminEndpoints.Number(http, "to", site.Source.NowUnixSeconds), 1, site.Source.NowUnixSeconds);
        long from = Math.Clamp(AdminEndpoints.Number(http, "from", to - 600), Math.Max(0, to - (MetricHistory.MinutesKept * Minute)), to);
        long points = Math.Clamp(AdminEndpoints.Number(http, "points", 300), 1, PointsMax);
        if (metrics.Length is 0 or > MetricsMax || metrics.Contains(null))
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
            foreach (Metric? metric in metrics)
            {
                var sums = new double[steps];
                var weights = new double[steps];
                var maxima = new double[steps];
                Array.Fill(maxima, double.NegativeInfinity);
                if (unit == Minute) Add(history.Minutes(metric!.Index, first, Math.Min(to, seconds - 1)), Minute);
                Add(history.Seconds(metric!.Index, Math.Max(first, seconds), to), 1);
                json.WriteStartObject(metric.Name);
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
}
