using RedKite.Server;
using RedKite.Server.Model;
using RedKite.TimeSeries.Compaction;
using RedKite.TimeSeries.Labels;
using RedKite.TimeSeries.Ranges;

namespace RedKite.TimeSeries;

/// <summary>Time series: the type of value and the commands that this project adds to a server.</summary>
internal sealed class TimeSeriesService(ServerCore core)
{
    private readonly LabelCommands _labels = new(core.Changes);

    /// <summary>The families of commands.</summary>
    internal CommandFamily[] Families => [SeriesCommands.Family, SeriesInfoCommands.Family, RangeCommands.Family, RuleCommands.Family, _labels.Family];

    /// <summary>Adds the type to the process: see <see cref="AddedTypes"/>.</summary>
    internal static void Add() => AddedTypes.Add(new PersistedSeries());
}
