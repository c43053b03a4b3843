using System.Globalization;

namespace RedKite.Figures.Vectors;

/// <summary>One of the compared servers, and what is measured on it.</summary>
internal sealed class VectorSide(ServerUnderTest server) : IDisposable
{
    private readonly VectorClient _client = new(server);
    private readonly Dictionary<int, double> _recalls = [];
    private readonly Dictionary<int, List<double>> _searchingCosts = [];
    private double _addingTotal;
    private int _added;
    private long _usedBefore;
    private long _residentBefore;

    internal string Name => server.Name;

    /// <summary>Microseconds of CPU of an addition, the mean of all.</summary>
    internal double AddingCost => _addingTotal / _added;

    internal double UsedBytes { get; private set; }

    internal double ResidentBytes { get; private set; }

    internal double Recall(int effort) => _recalls[effort];

    /// <summary>Microseconds of CPU of a search: a mean for each round.</summary>
    internal IReadOnlyList<double> SearchingCosts(int effort) => _searchingCosts[effort];

    /// <summary>Compiles the code and fills the buffers that additions and searches use.</summary>
    internal void WarmUp(VectorData data, int count)
    {
        _client.Add(data.Vectors, 0, count);
        _client.Search(data, effort: 200, out _);
        _client.Clear();
        IdleWait.Run(server, IdleWait.AfterRound);
        (_usedBefore, _residentBefore) = ReadMemory();
    }

    /// <summary>A thread that adds vectors to the server, which has a core meanwhile.</summary>
    internal Thread Adding(VectorData data, int from, int count, int core)
    {
        Pin(core.ToString(CultureInfo.InvariantCulture));
        return new Thread(() =>
        {
            _addingTotal += _client.Add(data.Vectors, from, count) * count;
            _added += count;
        });
    }

    /// <summary>Moves all threads of the server to cores.</summary>
    internal void Pin(string cpus)
    {
        if (ExternalProgram.Find("taskset") is { } taskset) ExternalProgram.Run(taskset, ["-a", "-p", "-c", cpus, server.ProcessId.ToString(CultureInfo.InvariantCulture)]);
    }

    internal void NoteMemory()
    {
        IdleWait.Run(server, IdleWait.AfterRound);
        (long used, long resident) = ReadMemory();
        UsedBytes = used - _usedBefore;
        ResidentBytes = resident - _residentBefore;
    }

    internal void Search(VectorData data, int effort)
    {
        double cost = _client.Search(data, effort, out int found);
        _recalls[effort] = (double)found / (data.Queries.Length * VectorData.Wanted);
        if (!_searchingCosts.TryGetValue(effort, out List<double>? costs)) _searchingCosts.Add(effort, costs = []);
        costs.Add(cost);
    }

    public void Dispose() => _client.Dispose();

    private (long Used, long Resident) ReadMemory()
    {
        using SetupConnection connection = server.Connect();
        return (connection.ReadInfo("memory", "used_memory") ?? 0, server.ResidentBytes);
    }
}
