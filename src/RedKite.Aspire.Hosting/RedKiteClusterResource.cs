using RedKite.Aspire.Hosting;

namespace Aspire.Hosting.ApplicationModel;

/// <summary>
/// A cluster of RedKite servers of an Aspire application, which are resources of their own. Its connection string names all of them, as every Redis client of .NET understands it:
/// <c>localhost:port,localhost:port,password=secret</c>.
/// </summary>
[AspireExport]
public sealed class RedKiteClusterResource : Resource, IResourceWithConnectionString
{
    private readonly List<RedKiteResource> _nodes = [];

    internal RedKiteClusterResource(string name, int shards, string prefix) : base(name) => (Shards, EtcdPrefix) = (shards, prefix);

    /// <summary>The nodes: at first they are the primaries of the shards, and those behind them replicas.</summary>
    public IReadOnlyList<RedKiteResource> Nodes => _nodes;

    /// <inheritdoc/>
    public ReferenceExpression ConnectionStringExpression
    {
        get
        {
            var expression = new ReferenceExpressionBuilder();
            for (int i = 0; i < _nodes.Count; i++)
            {
                if (i > 0) expression.AppendLiteral(",");
                expression.Append($"{_nodes[i].PrimaryEndpoint.Property(EndpointProperty.HostAndPort)}");
            }

            if (_nodes[0].PasswordParameter is { } password) expression.Append($",password={password}");
            return expression.Build();
        }
    }

    /// <summary>How many of the nodes get slots.</summary>
    internal int Shards { get; }

    /// <summary>What the cluster's keys in etcd begin with.</summary>
    internal string EtcdPrefix { get; private set; }

    /// <summary>The addresses of etcd: text, or an expression.</summary>
    internal object? Etcd { get; private set; }

    /// <summary>The etcd that belongs to it; null: a given one is used.</summary>
    internal EtcdResource? OwnEtcd { get; private set; }

    /// <summary>Where its nodes and its etcd have their folders; null: nothing is kept.</summary>
    internal string? DataFolder { get; private set; }

    internal void Add(RedKiteResource node) => _nodes.Add(node);

    internal void Use(EtcdResource own) => (OwnEtcd, Etcd) = (own, own.Client.Property(EndpointProperty.Url));

    /// <summary>Uses another etcd instead of its own.</summary>
    internal void UseOther(object addresses) => (OwnEtcd, Etcd) = (null, addresses);

    /// <summary>Keeps everything in a folder, and so has the same keys in etcd each time.</summary>
    internal void KeepIn(string folder) => (DataFolder, EtcdPrefix) = (folder, $"/redkite/{Name}/");
}
