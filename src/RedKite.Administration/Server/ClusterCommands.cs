using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>CLUSTER of a server without a cluster: every subcommand replies the same error. The table is their single declaration.</summary>
internal static class ClusterCommands
{
    private const CommandFlags Changes = Admin | Stale | NoAsyncLoading;
    private const string PerSlotArgument = "O(N) where N is the total number of hash slot arguments";
    private const string PerSlot = "O(N) where N is the total number of the slots between the start slot and end slot arguments.";
    private const string PerNode = "O(N) where N is the total number of Cluster nodes";
    private const string PerReplica = "O(N) where N is the number of replicas.";
    private const string Ranges = "range:<start-slot:integer end-slot:integer [start-slot:integer end-slot:integer ...]>";

    private static readonly string[] Varies = ["nondeterministic_output"];

    internal static readonly CommandFamily Family = new("cluster", "",
    [
        new("CLUSTER", -2, None, KeySpecs.None, ReplyNoCluster, new("3.0.0", "Depends on subcommand.", "A container for commands on the cluster, of which this server is no part."),
        [
            new("ADDSLOTS", -3, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", PerSlotArgument, "Gives hash slots to this node.", "slot:integer [slot:integer ...]")),
            new("ADDSLOTSRANGE", -4, Changes, KeySpecs.None, ReplyNoCluster, new("7.0.0", PerSlot, "Gives ranges of hash slots to this node.", Ranges)),
            new("BUMPEPOCH", 2, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Raises the epoch of the cluster's configuration.")) { Tips = Varies },
            new("CANCELSLOTMIGRATIONS", 2, Changes, KeySpecs.None, ReplyNoCluster, new("9.0.0", "O(N) where N is the number of slot migrations.", "Cancels the migrations of hash slots.") { IsOfValkey = true }),
            new("COUNT-FAILURE-REPORTS", 3, Admin | Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(N) where N is the number of failure reports", "Counts the reports that a node has failed.", "node-id")) { Tips = Varies },
            new("COUNTKEYSINSLOT", 3, Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Counts the keys of a hash slot.", "slot:integer")),
            new("DELSLOTS", -3, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", PerSlotArgument, "Takes hash slots from the node that has them.", "slot:integer [slot:integer ...]")),
            new("DELSLOTSRANGE", -4, Changes, KeySpecs.None, ReplyNoCluster, new("7.0.0", PerSlot, "Takes ranges of hash slots from the node that has them.", Ranges)),
            new("FAILOVER", -2, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Makes a replica take over from its primary.", "options:[FORCE | TAKEOVER]")),
            new("FLUSHSLOT", -3, Write, KeySpecs.None, ReplyNoCluster, new("9.0.0", "O(N) where N is the number of keys in the hash slot", "Removes the keys of a hash slot.", "slot:integer flush-type:[ASYNC | SYNC]") { IsOfValkey = true }),
            new("FLUSHSLOTS", 2, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Takes all hash slots from this node.")),
            new("FORGET", 3, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Removes a node from this node's table.", "node-id")),
            new("GETKEYSINSLOT", 4, Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(N) where N is the number of requested keys", "Lists keys of a hash slot.", "slot:integer count:integer")) { Tips = Varies },
            new("GETSLOTMIGRATIONS", 2, Admin | Stale, KeySpecs.None, ReplyNoCluster, new("9.0.0", "O(N) where N is the number of slot migrations.", "Lists the migrations of hash slots.") { IsOfValkey = true }) { Tips = Varies },
            new("HELP", 2, Loading | Stale, KeySpecs.None, ReplyNoCluster, new("5.0.0", "O(1)", "Lists the subcommands, in a cluster.")),
            new("INFO", 2, Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Describes the state of this node.")) { Tips = Varies },
            new("KEYSLOT", 3, Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(N) where N is the number of bytes in the key", "Computes the hash slot of a key.", "key:string")),
            new("LINKS", 2, Stale, KeySpecs.None, ReplyNoCluster, new("7.0.0", PerNode, "Lists the connections to and from other nodes.")) { Tips = Varies },
            new("MEET", -4, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Introduces this node to another one.", "ip:string port:integer [cluster-bus-port:integer@4.0.0]") { History = [("4.0.0", "Accepts the port of the cluster bus.")] }),
            new("MIGRATESLOTS", -7, Changes, KeySpecs.None, ReplyNoCluster, new("9.0.0", "O(N) where N is the number of hash slots.", "Moves ranges of hash slots to another node.", "<SLOTSRANGE start-slot:integer end-slot:integer> <NODE node-id:string>") { IsOfValkey = true }),
            new("MIGRATION", -4, Changes, KeySpecs.None, ReplyNoCluster, new("8.4.0", PerSlot, "Starts, cancels or describes the import of hash slots.", "subcommand:<IMPORT import:(start-slot:integer end-slot:integer ...) | CANCEL cancel:<ID task-id | ALL> | STATUS status:<[ID task-id] | [ALL]>>")),
            new("MYID", 2, Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Returns this node's id.")),
            new("MYSHARDID", 2, Stale, KeySpecs.None, ReplyNoCluster, new("7.2.0", "O(1)", "Returns the id of this node's shard.")) { Tips = Varies },
            new("NODES", 2, Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", PerNode, "Lists the nodes that this node knows.")) { Tips = Varies },
            new("REPLICAS", 3, Admin | Stale, KeySpecs.None, ReplyNoCluster, new("5.0.0", PerReplica, "Lists the replicas of a primary.", "node-id")) { Tips = Varies },
            new("REPLICATE", 3, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Makes this node a replica of another one.", "node-id")),
            new("RESET", -2, Admin | NoScript | Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.", "Makes this node leave the cluster.", "reset-type:[HARD | SOFT]")),
            new("SAVECONFIG", 2, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Writes the cluster's configuration to disk.")),
            new("SET-CONFIG-EPOCH", 3, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Sets the epoch of a new node's configuration.", "config-epoch:integer")),
            new("SETSLOT", -4, Changes, KeySpecs.None, ReplyNoCluster, new("3.0.0", "O(1)", "Changes the state of a hash slot.", "slot:integer subcommand:<IMPORTING importing{node-id}:string | MIGRATING migrating{node-id}:string | NODE node{node-id}:string | STABLE>")),
            new("SHARDS", 2, Loading | Stale, KeySpecs.None, ReplyNoCluster, new("7.0.0", "O(N) where N is the total number of cluster nodes", "Lists the shards with their hash slots.")) { Tips = Varies },
            new("SLAVES", 3, Admin | Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", PerReplica, "Lists the replicas of a primary.", "node-id") { DeprecatedSince = "5.0.0", ReplacedBy = "`CLUSTER REPLICAS`" }) { Tips = Varies },
            new("SLOT-STATS", -4, Loading | Stale, KeySpecs.None, ReplyNoCluster, new("8.2.0", "O(N) where N is the number of hash slots; O(N*log(N)) with ORDERBY.", "Returns statistics of hash slots.", "filter:<SLOTSRANGE slotsrange:(start-slot:integer end-slot:integer) | ORDERBY orderby:(metric [LIMIT limit] order:[ASC | DESC])>")) { Tips = [.. Varies, "request_policy:all_shards"] },
            new("SLOTS", 2, Loading | Stale, KeySpecs.None, ReplyNoCluster, new("3.0.0", PerNode, "Lists the hash slots with their nodes.") { DeprecatedSince = "7.0.0", ReplacedBy = "`CLUSTER SHARDS`", History = [("4.0.0", "Includes node ids."), ("7.0.0", "Includes further network data.")] }) { Tips = Varies },
            new("SYNCSLOTS", -3, Changes, KeySpecs.None, ReplyNoCluster, new("8.4.0", "O(1)", "Moves hash slots, between nodes.", "subcommand:<SYNC sync:(task-id slot-range:(start-slot:integer end-slot:integer ...)) | RDBCHANNEL task-id | SNAPSHOT-EOF | STREAM-EOF | ACK ack:(state offset) | FAIL error | CONF conf:(option [option ...] value [value ...])>")) { Tips = Varies },
        ]),
        new("CLUSTERSCAN", -2, CommandFlags.ReadOnly, KeySpecs.None, ReplyNoCluster, new("9.1.0", "O(1) for every call. O(N) for a complete iteration, where N is the number of keys in the cluster.", "Lists some keys of a cluster, and a cursor from which the next call continues.", "cursor:string [MATCH pattern] [COUNT count] [TYPE type] [SLOT slot:integer]") { IsOfValkey = true }),
    ]);

    /// <summary>The commands on slots that have categories of their own.</summary>
    internal static readonly CommandFamily SlotFamily = new("server", "keyspace",
    [
        new("TRIMSLOTS", -5, Write, KeySpecs.None, ReplyNoCluster, new("8.4.0", "O(N) where N is the number of keys of all databases", "Removes the keys of hash slots that this node does not have.", "RANGES ranges:(numranges:integer slots:(startslot:integer endslot:integer ...))")) { Categories = AclCategory.Dangerous },
    ]);

    /// <summary>The reply of each command for clusters.</summary>
    internal static void ReplyNoCluster(ref CommandContext cmd) => cmd.Reply.Error("ERR This instance has cluster support disabled"u8);
}
