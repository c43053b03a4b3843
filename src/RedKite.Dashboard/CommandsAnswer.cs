using Microsoft.AspNetCore.Http;
using RedKite.Server.Diagnostics;

namespace RedKite.Dashboard;

/// <summary>What each command did in a time range, from its history: the seconds of the last hour, and the minutes before. The reports count since the start.</summary>
internal static class CommandsAnswer
{
    private const int Minute = 60;

    // The series of RankedTable.Commands.
    private static readonly int Microseconds = RankedTable.Commands.Find("command_microseconds");
    private static readonly int Calls = RankedTable.Commands.Find("command_calls");
    private static readonly int Failures = RankedTable.Commands.Find("command_failures");
    private static readonly int P99 = RankedTable.Commands.Find("command_p99");
    private static readonly int Max = RankedTable.Commands.Find("command_max");

    internal static Task SendAsync(AdminSite site, HttpContext http)
    {
        RankedHistory history = site.Source.RankedHistories.First(each => each.Kind == RankedTable.Commands);
        long to = Math.Clamp(AdminEndpoints.Number(http, "to", site.Source.NowUnixSeconds), 1, site.Source.NowUnixSeconds);
        long from = Math.Clamp(AdminEndpoints.Number(http, "from", to - 300), 0, to);
        var sums = new Dictionary<int, Sum>();
        long firstSecond = long.MaxValue;
        history.ForEachSecond((second, ids, values) =>
        {
            firstSecond = Math.Min(firstSecond, second);
            if (second >= from && second <= to) Add(ids, values, 1);
        });
        if (from < firstSecond)
        {
            history.ForEachMinute((minute, ids, values) =>
            {
                if (minute * Minute >= from && minute * Minute <= Math.Min(to, firstSecond - Minute)) Add(ids, values, Minute);
            });
        }

        return AdminEndpoints.SendJsonAsync(http, json =>
        {
            json.WriteStartObject();
            json.WriteNumber("from", from);
            json.WriteNumber("to", to);
            json.WriteStartArray("commands");
            foreach ((int id, Sum sum) in sums.OrderByDescending(pair => pair.Value.Microseconds))
            {
                json.WriteStartObject();
                json.WriteString("name", history.Names[id]);
                json.WriteNumber("calls", Math.Round(sum.Calls));
                json.WriteNumber("failures", Math.Round(sum.Failures));
                json.WriteNumber("microseconds", sum.Microseconds);
                json.WriteNumber("p99_us", sum.P99);
                json.WriteNumber("max_us", sum.Max);
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        });

        void Add(ReadOnlySpan<ushort> ids, ReadOnlySpan<float> values, int seconds)
        {
            int width = RankedTable.Commands.Series.Length;
            for (int i = 0; i < ids.Length; i++)
            {
                if (!sums.TryGetValue(ids[i], out Sum? sum)) sums.Add(ids[i], sum = new Sum());
                ReadOnlySpan<float> of = values.Slice(i * width, width);
                sum.Microseconds += Known(of[Microseconds]) * seconds;
                sum.Calls += Known(of[Calls]) * seconds;
                sum.Failures += Known(of[Failures]) * seconds;
                sum.P99 = Math.Max(sum.P99, Known(of[P99]));
                sum.Max = Math.Max(sum.Max, Known(of[Max]));
            }
        }
    }

    private static double Known(float value) => float.IsFinite(value) ? value : 0;

    private sealed class Sum
    {
        internal double Microseconds { get; set; }

        internal double Calls { get; set; }

        internal double Failures { get; set; }

        /// <summary>The largest of a second or a minute.</summary>
        internal double P99 { get; set; }

        internal double Max { get; set; }
    }
}
