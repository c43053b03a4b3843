using System.Collections;

namespace RedKite.Figures;

/// <summary>Servers that run at the same time and stop together, even if one of them fails to start.</summary>
internal sealed class ServerGroup : IReadOnlyList<ServerUnderTest>, IDisposable
{
    private readonly List<ServerUnderTest> _servers = [];

    /// <param name="starting">Starts one server per step of its enumeration.</param>
    internal ServerGroup(IEnumerable<ServerUnderTest> starting)
    {
        try
        {
            foreach (ServerUnderTest server in starting) _servers.Add(server);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    public int Count => _servers.Count;

    public ServerUnderTest this[int index] => _servers[index];

    public IEnumerator<ServerUnderTest> GetEnumerator() => _servers.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    public void Dispose()
    {
        foreach (ServerUnderTest server in _servers) server.Dispose();
    }
}
