using System.Text;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>A replica in a cluster replies as one of Redis or Valkey: it reads for those who say READONLY, and does not change slots.</summary>
public abstract class ClusterReplicas(ClusterServers servers)
{
    private static readonly string[] Lines =
    [
        "get b", "set b 1", "get a", "readonly", "get b", "set b 1", "mget b {b}2", "get a", "mget a b", "exists b", "eval return(redis.call('get',KEYS[1])) 1 b", "eval_ro return(redis.call('get',KEYS[1])) 1 b",
        "eval return(redis.call('set',KEYS[1],1)) 1 b", "eval return(redis.call('get','b')) 0", "multi", "get b", "exec", "multi", "set b 1", "exec", "multi", "get b", "get a", "exec", "watch b", "unwatch", "blpop b 1",
        "xread block 1 streams b 0", "spublish b x", "readwrite", "get b", "multi", "get b", "exec", "spublish b x", "CLUSTER NODES", "CLUSTER INFO", "CLUSTER SLOTS", "CLUSTER MYID", "CLUSTER REPLICAS {id0}",
        "CLUSTER REPLICAS {id3}", "CLUSTER REPLICAS {id1}", "CLUSTER SETSLOT 5 stable", "CLUSTER SETSLOT 5 node {id0}", "CLUSTER SETSLOT 5 migrating {id1}", "CLUSTER FAILOVER x", "CLUSTER FORGET {id0}",
        "CLUSTER FORGET {id3}", "CLUSTER REPLICATE {id3}", "CLUSTER COUNTKEYSINSLOT 3300", "CLUSTER GETKEYSINSLOT 3300 1", "CLUSTER ADDSLOTS 5", "CLUSTER DELSLOTS x", "replicaof no one", "keys *", "dbsize",
        "CLUSTER COUNT-FAILURE-REPORTS {id0}", "CLUSTER SET-CONFIG-EPOCH 3", "CONFIG SET cluster-replica-no-failover yes", "CLUSTER NODES", "CONFIG SET cluster-replica-no-failover no", "CLUSTER NODES", "CLUSTER SHARDS",
    ];

    private static readonly string[] OfPrimary = ["CLUSTER NODES", "CLUSTER SLOTS", "CLUSTER REPLICAS {id0}", "CLUSTER SETSLOT 6000 importing {id3}", "CLUSTER SETSLOT 5 migrating {id3}", "CLUSTER SETSLOT 5 node {id3}", "CLUSTER REPLICATE {id3}"];

    [Fact]
    public async Task Replies_are_those_of_a_replica()
    {
        await servers.Pair.AddReplicaAsync();
        foreach (int protocol in (int[])[2, 3])
        {
            using ClusterConnection replica = servers.Pair.Open(ClusterPair.Nodes, protocol), primary = servers.Pair.Open(0, protocol);
            foreach (string line in Lines) replica.Run([.. line.Split(' ').Select(Encoding.Latin1.GetBytes)]);
            foreach (string line in OfPrimary) primary.Run([.. line.Split(' ').Select(Encoding.Latin1.GetBytes)]);
        }
    }
}

/// <summary>Compared with Redis 8.0.2.</summary>
public sealed class ClusterReplicaTests(ClusterServers servers) : ClusterReplicas(servers), IClassFixture<ClusterServers>;

/// <summary>Compared with Redis 8.6.</summary>
public sealed class ClusterReplicasOfRedis86Tests(ClusterServersOfRedis86 servers) : ClusterReplicas(servers), IClassFixture<ClusterServersOfRedis86>;

/// <summary>Compared with Valkey 9.1.</summary>
public sealed class ClusterReplicasOfValkey9Tests(ClusterServersOfValkey9 servers) : ClusterReplicas(servers), IClassFixture<ClusterServersOfValkey9>;
