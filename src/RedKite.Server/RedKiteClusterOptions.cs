using System.Globalization;

namespace RedKite;

/// <summary>
/// How a server in this process is a node of a cluster. What most nodes need has a member here; <see cref="RedKiteOptions.Settings"/> have the other directives (<c>cluster-etcd-ca-file</c>).
/// </summary>
public sealed class RedKiteClusterOptions
{
    /// <summary>
    /// The members of etcd in which the nodes agree on who has which slots, as URLs with commas between them (<c>https://a:2379,https://b:2379</c>). Null: none; the topology is given to each node, and nothing happens
    /// by itself when one is gone.
    /// </summary>
    public string? Etcd { get; set; }

    /// <summary>What the cluster's keys in etcd begin with, so that several clusters may use the same etcd; null: <c>/redkite/</c>.</summary>
    public string? EtcdPrefix { get; set; }

    /// <summary>A user of etcd who may read and write these keys; null: none.</summary>
    public string? EtcdUser { get; set; }

    /// <summary>The password of <see cref="EtcdUser"/>.</summary>
    public string? EtcdPassword { get; set; }

    /// <summary>How long the node serves without having reached etcd, and so how long its slots are without a primary when it dies; whole seconds, 1 to 600. Null: 10 seconds.</summary>
    public TimeSpan? Lease { get; set; }

    /// <summary>How many replicas have a write before it is acknowledged, so that a failover does not lose it; null: none.</summary>
    public int? ReplicaAcks { get; set; }

    /// <summary>The IP address by which clients and nodes reach the node; null: that of its route to etcd.</summary>
    public string? AnnounceIp { get; set; }

    /// <summary>The port by which clients and nodes reach the node; null: that on which it listens.</summary>
    public int? AnnouncePort { get; set; }

    /// <summary>A name for people, in logs and lists; null: none.</summary>
    public string? Name { get; set; }

    /// <summary>Where the node is, so that a shard's nodes are in different zones where that is possible; null: it does not say.</summary>
    public string? Zone { get; set; }

    // What the members say, by the names of the settings.
    internal IEnumerable<(string Name, string Value)> Directives()
    {
        yield return ("cluster-enabled", "yes");
        if (Etcd is not null) yield return ("cluster-etcd", Etcd);
        if (EtcdPrefix is not null) yield return ("cluster-etcd-prefix", EtcdPrefix);
        if (EtcdUser is not null) yield return ("cluster-etcd-user", EtcdUser);
        if (EtcdPassword is not null) yield return ("cluster-etcd-password", EtcdPassword);
        if (Lease is { } lease) yield return ("cluster-lease-ms", ((long)lease.TotalMilliseconds).ToString(CultureInfo.InvariantCulture));
        if (ReplicaAcks is { } acks) yield return ("replica-acks", acks.ToString(CultureInfo.InvariantCulture));
        if (AnnounceIp is not null) yield return ("cluster-announce-ip", AnnounceIp);
        if (AnnouncePort is { } port) yield return ("cluster-announce-port", port.ToString(CultureInfo.InvariantCulture));
        if (Name is not null) yield return ("cluster-announce-human-nodename", Name);
        if (Zone is not null) yield return ("cluster-announce-zone", Zone);
    }

    // What the settings cannot know.
    internal static IEnumerable<string> Conflicts(RedKiteOptions options)
    {
        if (options.HasNoPort && !options.Settings.ContainsKey("tls-port")) yield return "Cluster needs a Port: clients and other nodes reach the node there";
        if (options.DataDirectory is null && options.ConfigFile is null && !options.Settings.ContainsKey("dir")) yield return "Cluster needs a DataDirectory: what the node knows of its cluster is kept there";
        if (options.Databases is not null and not 1) yield return "Databases has no effect on a node of a Cluster: the setting cluster-databases says how many it has";
    }
}
