using System.Globalization;
using System.Text;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Planning;

/// <summary>A cluster as its store has it at one revision: the topology, the nodes whose leases last, and the active controller.</summary>
/// <param name="Shared">The topology; null: no cluster was created.</param>
/// <param name="Alive">The nodes whose leases last, by their ids.</param>
/// <param name="Controller">The name of the active controller; empty: none is active.</param>
internal sealed record ClusterView(SharedTopology? Shared, IReadOnlyDictionary<string, NodeStatus> Alive, string Controller)
{
    /// <summary>How many characters of an id name a node at least.</summary>
    private const int IdPrefixMin = 4;

    internal ClusterTopology? Topology => Shared?.Topology;

    /// <summary>The primaries that may get slots: registered, and of a shard that is not sealed.</summary>
    internal IEnumerable<ClusterNode> Receivers => Topology is { } topology
        ? topology.Nodes.Where(node => node.IsPrimary && Alive.ContainsKey(node.Id) && !topology.Terms.Of(node.ShardId).IsSealed)
        : [];

    /// <param name="snapshot">What the store has.</param>
    /// <param name="skipsFaults">Whether what is not understood is passed over.</param>
    /// <exception cref="TopologyException">What the store has is broken, or of another version.</exception>
    internal static ClusterView Of(StoreSnapshot snapshot, bool skipsFaults = false)
    {
        SharedTopology? shared = null;
        Dictionary<string, NodeStatus> alive = new(StringComparer.Ordinal);
        string controller = "";
        foreach (StoreEntry entry in snapshot.Entries)
        {
            try
            {
                if (entry.Key == StoreKeys.Topology) shared = SharedTopology.Of(entry);
                else if (entry.Key == StoreKeys.Controller) controller = Encoding.UTF8.GetString(entry.Value.Span);
                else if (entry.Key.StartsWith(StoreKeys.Nodes, StringComparison.Ordinal)) alive[entry.Key[StoreKeys.Nodes.Length..]] = NodeStatus.Read(entry.Value);
            }
            catch (TopologyException) when (skipsFaults)
            {
                // The agent or the controller says so.
            }
        }

        return new ClusterView(shared, alive, controller);
    }

    /// <exception cref="StoreException">The store is not reached.</exception>
    /// <exception cref="TopologyException">What it has is broken, or of another version.</exception>
    internal static async Task<ClusterView> Read(IClusterStore store, CancellationToken cancellation) => Of(await store.Read("", cancellation));

    /// <summary>The node that a text names: an id, the beginning of one, an address, or the name that a node announces.</summary>
    /// <exception cref="PlanException">It names none, or several.</exception>
    internal ClusterNode Find(string text)
    {
        ClusterNode[] found = Named(text);
        return found switch
        {
            [{ } node] => node,
            [] => throw new PlanException($"there is no node '{text}': neither the topology nor the registered nodes have it"),
            _ => throw new PlanException($"'{text}' names {found.Length} nodes: {string.Join(", ", found.Select(static node => node.Id))}"),
        };
    }

    /// <summary>Whether a text names a node.</summary>
    internal bool Has(string text) => Named(text).Length > 0;

    /// <summary>A node for people: its address, its name if it has one, and the beginning of its id.</summary>
    internal string Show(string id)
    {
        ClusterNode? node = Topology?.Find(id) ?? Alive.GetValueOrDefault(id)?.Node;
        return node is null ? id : Show(node);
    }

    /// <inheritdoc cref="Show(string)"/>
    internal static string Show(ClusterNode node) => $"{node.Address} ({(node.Name.Length > 0 ? node.Name + ", " : "")}{node.Id[..8]})";

    private ClusterNode[] Named(string text)
    {
        ClusterNode[] all = [.. Topology?.Nodes ?? [], .. Alive.Values.Select(static status => status.Node).Where(node => Topology?.Find(node.Id) is null)];
        ClusterNode[] found = [.. all.Where(node => node.Id == text || IsAt(node, text) || (node.Name.Length > 0 && node.Name == text))];
        return found.Length > 0 || text.Length < IdPrefixMin ? found : [.. all.Where(node => node.Id.StartsWith(text, StringComparison.Ordinal))];
    }

    private static bool IsAt(ClusterNode node, string text)
    {
        int colon = text.LastIndexOf(':');
        if (colon <= 0 || !int.TryParse(text.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out int port) || port == 0) return false;
        string host = text[..colon].Trim('[', ']');
        return (host == node.Ip || host.Equals(node.HostName, StringComparison.OrdinalIgnoreCase) || (host == "localhost" && node.Ip is "127.0.0.1" or "::1")) && (port == node.Port || port == node.TlsPort);
    }
}

/// <summary>What an operator asks for cannot be planned. The message is one line.</summary>
/// <param name="message">The line.</param>
/// <param name="mayLose">Whether it is refused because acknowledged writes may be lost, and the operator may accept that.</param>
internal sealed class PlanException(string message, bool mayLose = false) : Exception(message)
{
    internal bool MayLose { get; } = mayLose;
}
