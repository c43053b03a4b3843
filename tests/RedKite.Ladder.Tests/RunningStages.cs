using System.Collections.Concurrent;

namespace RedKite.Ladder.Tests;

/// <summary>A server per rung of the ladder, started on first use and shared by all tests.</summary>
public sealed class RunningStages : IDisposable
{
    private readonly ConcurrentDictionary<string, StageProcess> _stages = new();

    /// <summary>Every rung except the one that deliberately spins.</summary>
    public static TheoryData<string> Names => [.. Rung.All.Select(rung => rung.Name).Where(name => name != "5-busy")];

    internal int PortOf(string name) => _stages.GetOrAdd(name, Start).Port;

    internal static StageProcess Start(string name) => StageProcess.Start(Rung.Select(name)[0], cpus: null);

    public void Dispose()
    {
        foreach (StageProcess stage in _stages.Values) stage.Dispose();
    }
}
