namespace RedKite.Server.Diagnostics;

/// <summary>How much each client has written in the last minute, in bytes of commands that write: of two points of time half a minute apart, the older one is compared with now. On the diagnostics thread.</summary>
internal sealed class ClientInput
{
    internal const int ClientsMax = 20_000;
    private const int EverySeconds = 30;

    private Dictionary<long, long> _older = [];
    private Dictionary<long, long> _newer = [];
    private int _seconds;

    /// <summary>Ends an observed second.</summary>
    /// <param name="clients">The clients with what they have written since they connected.</param>
    internal void EndSecond(IEnumerable<(long Id, long Bytes)> clients)
    {
        if (_seconds++ % EverySeconds != 0) return;
        (_older, _newer) = (_newer, _older);
        _newer.Clear();
        foreach ((long id, long bytes) in clients.Take(ClientsMax)) _newer[id] = bytes;
        if (_seconds == 1) _older = new Dictionary<long, long>(_newer);
    }

    /// <summary>The client that has written most since the older point, and how much.</summary>
    internal (long Id, long Bytes) Most(IEnumerable<(long Id, long Bytes)> clients) =>
        clients.Take(ClientsMax).Select(client => (client.Id, client.Bytes - _older.GetValueOrDefault(client.Id))).OrderByDescending(client => client.Item2).FirstOrDefault();
}
