using System.Globalization;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Commands.Keys;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.SlotMoves;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// CLUSTER and CLUSTERX, and what a client says about redirects. The table is their single declaration; <see cref="ClusterReplies"/> describes the cluster, <see cref="ClusterChanges"/> and
/// <see cref="ClusterSlotChanges"/> change the node's state. A server without a cluster has one reply to all of them.
/// </summary>
internal sealed class ClusterCommands
{
    private const CommandFlags Changes = Admin | Stale | NoAsyncLoading;
    private const CommandFlags ChangesSlots = Changes | WalksStripes;
    private const CommandFlags ClientFlags = Loading | Stale | Fast;
    private const string PerSlotArgument = "O(N) where N is the total number of hash slot arguments";
    private const string PerSlot = "O(N) where N is the total number of the slots between the start slot and end slot arguments.";
    private const string PerNode = "O(N) where N is the total number of Cluster nodes";
    private const string PerReplica = "O(N) where N is the number of replicas.";
    private const string Ranges = "range:<start-slot:integer end-slot:integer [start-slot:integer end-slot:integer ...]>";

    private static readonly string[] Varies = ["nondeterministic_output"];

    private readonly ClusterService? _cluster;
    private readonly ClusterReplies? _replies;
    private readonly ClusterChanges? _changes;
    private readonly ClusterSlotChanges? _slots;
    private readonly SlotMoveCommands? _moves;
    private readonly ClusterSlotStatistics? _statistics;
    private readonly SlotKeyCommands? _keys;
    private readonly byte[] _scanId = Encoding.ASCII.GetBytes(Guid.NewGuid().ToString("N")[..8]); // positions in tables are this server's alone

    /// <param name="cluster">The node; null: the server is none.</param>
    /// <param name="host">Its server.</param>
    /// <param name="replication">Which primary it follows.</param>
    /// <param name="metrics">What commands have taken.</param>
    /// <param name="moves">What moves slots as a whole.</param>
    internal ClusterCommands(ClusterService? cluster, IClusterHost host, ReplicationState replication, Func<MetricsRegistry> metrics, Func<SlotMoveService>? moves = null)
    {
        _cluster = cluster;
        if (cluster is null) return;
        _replies = new ClusterReplies(cluster, replication, moves!);
        _changes = new ClusterChanges(cluster, host);
        _slots = new ClusterSlotChanges(cluster, host, moves!);
        _moves = new SlotMoveCommands(moves!, cluster, host);
        _statistics = new ClusterSlotStatistics(cluster, metrics);
        _keys = new SlotKeyCommands(cluster, replication);
    }

    /// <summary>READONLY, READWRITE and ASKING.</summary>
    internal CommandFamily ClientFamily => new("cluster", "connection",
    [
        new("ASKING", 1, Fast, KeySpecs.None, Node(Ask), new("3.0.0", "O(1)", "Lets the next command use a slot that is being migrated to this node.")) { KeepsAsking = true },
        new("READONLY", 1, ClientFlags, KeySpecs.None, Node(ReadReplicas), new("3.0.0", "O(1)", "Allows reads from a replica in a cluster.")),
        new("READWRITE", 1, ClientFlags, KeySpecs.None, Node(ReadPrimaries), new("3.0.0", "O(1)", "Ends what READONLY has allowed.")),
    ]);

    internal CommandFamily Family => new("cluster", "",
    [
        new("CLUSTER", -2, None, KeySpecs.None, ReplyNoCluster, new("3.0.0", "Depends on subcommand.", "A container for commands on the cluster."),
        [
            new("ADDSLOTS", -3, ChangesSlots, KeySpecs.None, Node((ref CommandContext cmd) => _slots!.Add(ref cmd)), new("3.0.0", PerSlotArgument, "Gives hash slots to this node.", "slot:integer [slot:integer ...]")),
            new("ADDSLOTSRANGE", -4, ChangesSlots, KeySpecs.None, Node((ref CommandContext cmd) => _slots!.AddRanges(ref cmd)), new("7.0.0", PerSlot, "Gives ranges of hash slots to this node.", Ranges)),
            new("BUMPEPOCH", 2, Changes, KeySpecs.None, Node((ref CommandContext cmd) => _changes!.BumpEpoch(ref cmd)), new("3.0.0", "O(1)", "Raises the epoch of the cluster's configuration.")) { Tips = Varies },
            new("CANCELSLOTMIGRATIONS", 2, Changes, KeySpecs.None, Node((ref CommandContext cmd) => _moves!.CancelMigrations(ref cmd)), new("9.0.0", "O(N) where N is the number of slot migrations.", "Cancels the migrations of hash slots.") { IsOfValkey = true }),
            new("COUNT-FAILURE-REPORTS", 3, Admin | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.CountFailureReports(ref cmd)), new("3.0.0", "O(N) where N is the number of failure reports", "Counts the reports that a node has failed.", "node-id")) { Tips = Varies },
            new("COUNTKEYSINSLOT", 3, Stale | WalksStripes, KeySpecs.None, Node(ClusterSlotChanges.CountKeys), new("3.0.0", "O(1)", "Counts the keys of a hash slot.", "slot:integer")),
            new("DELSLOTS", -3, ChangesSlots, KeySpecs.None, Node((ref CommandContext cmd) => _slots!.Remove(ref cmd)), new("3.0.0", PerSlotArgument, "Takes hash slots from the node that has them.", "slot:integer [slot:integer ...]")),
            new("DELSLOTSRANGE", -4, ChangesSlots, KeySpecs.None, Node((ref CommandContext cmd) => _slots!.RemoveRanges(ref cmd)), new("7.0.0", PerSlot, "Takes ranges of hash slots from the node that has them.", Ranges)),
            new("FAILOVER", -2, Changes, KeySpecs.None, Agreed((ref CommandContext cmd) => _changes!.FailOver(ref cmd)), new("3.0.0", "O(1)", "Makes a replica take over from its primary.", "options:[FORCE | TAKEOVER]")) { ChangesRole = true },
            new("FLUSHSLOT", -3, Write | Admin | NoAsyncLoading | WalksStripes, KeySpecs.None, Node((ref CommandContext cmd) => _keys!.Flush(ref cmd)), new("9.0.0", "O(N) where N is the number of keys in the hash slot", "Removes the keys of a hash slot.", "slot:integer flush-type:[ASYNC | SYNC]") { IsOfValkey = true }) { Categories = AclCategory.Keyspace },
            new("FLUSHSLOTS", 2, ChangesSlots, KeySpecs.None, Agreed((ref CommandContext cmd) => _slots!.RemoveAll(ref cmd)), new("3.0.0", "O(1)", "Takes all hash slots from this node.")),
            new("FORGET", 3, ChangesSlots, KeySpecs.None, Agreed((ref CommandContext cmd) => _changes!.Forget(ref cmd)), new("3.0.0", "O(1)", "Removes a node from this node's table.", "node-id")),
            new("GETKEYSINSLOT", 4, Stale | WalksStripes, KeySpecs.None, Node(ClusterSlotChanges.GetKeys), new("3.0.0", "O(N) where N is the number of requested keys", "Lists keys of a hash slot.", "slot:integer count:integer")) { Tips = Varies },
            new("GETSLOTMIGRATIONS", 2, Admin | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _moves!.GetMigrations(ref cmd)), new("9.0.0", "O(N) where N is the number of slot migrations.", "Lists the migrations of hash slots.") { IsOfValkey = true }) { Tips = Varies },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Node(Help), new("5.0.0", "O(1)", "Lists the subcommands, in a cluster.")),
            new("INFO", 2, Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.Info(ref cmd)), new("3.0.0", "O(1)", "Describes the state of this node.")) { Tips = Varies },
            new("KEYSLOT", 3, Stale, KeySpecs.None, Node(ClusterReplies.KeySlotOf), new("3.0.0", "O(N) where N is the number of bytes in the key", "Computes the hash slot of a key.", "key:string")),
            new("LINKS", 2, Stale, KeySpecs.None, Node(ClusterReplies.Links), new("7.0.0", PerNode, "Lists the connections to and from other nodes.")) { Tips = Varies },
            new("MEET", -4, Changes, KeySpecs.None, Agreed((ref CommandContext cmd) => _changes!.Meet(ref cmd)), new("3.0.0", "O(1)", "Introduces this node to another one.", "ip:string port:integer [cluster-bus-port:integer@4.0.0]") { History = [("4.0.0", "Accepts the port of the cluster bus.")] }),
            new("MIGRATESLOTS", -7, Changes, KeySpecs.None, Node((ref CommandContext cmd) => _moves!.MigrateSlots(ref cmd)), new("9.0.0", "O(N) where N is the number of hash slots.", "Moves ranges of hash slots to another node.", "<SLOTSRANGE start-slot:integer end-slot:integer> <NODE node-id:string>") { IsOfValkey = true }),
            new("MIGRATION", -4, Changes, KeySpecs.None, Node((ref CommandContext cmd) => _moves!.Migration(ref cmd)), new("8.4.0", PerSlot, "Starts, cancels or describes the import of hash slots.", "subcommand:<IMPORT import:(start-slot:integer end-slot:integer ...) | CANCEL cancel:<ID task-id | ALL> | STATUS status:<[ID task-id] | [ALL]>>")),
            new("MYID", 2, Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.MyId(ref cmd)), new("3.0.0", "O(1)", "Returns this node's id.")),
            new("MYSHARDID", 2, Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.MyShardId(ref cmd)), new("7.2.0", "O(1)", "Returns the id of this node's shard.")) { Tips = Varies },
            new("NODES", 2, Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.Nodes(ref cmd)), new("3.0.0", PerNode, "Lists the nodes that this node knows.")) { Tips = Varies },
            new("REPLICAS", 3, Admin | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.Replicas(ref cmd)), new("5.0.0", PerReplica, "Lists the replicas of a primary.", "node-id")) { Tips = Varies },
            new("REPLICATE", 3, ChangesSlots, KeySpecs.None, Agreed((ref CommandContext cmd) => _changes!.Replicate(ref cmd)), new("3.0.0", "O(1)", "Makes this node a replica of another one.", "node-id")) { ChangesRole = true },
            new("RESET", -2, Admin | NoScript | Stale | WalksStripes, KeySpecs.None, Node((ref CommandContext cmd) => _changes!.Reset(ref cmd)), new("3.0.0", "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.", "Makes this node leave the cluster.", "reset-type:[HARD | SOFT]")) { ChangesRole = true },
            new("SAVECONFIG", 2, Changes, KeySpecs.None, Node((ref CommandContext cmd) => _changes!.SaveConfig(ref cmd)), new("3.0.0", "O(1)", "Writes the cluster's configuration to disk.")),
            new("SET-CONFIG-EPOCH", 3, ChangesSlots, KeySpecs.None, Agreed((ref CommandContext cmd) => _changes!.SetConfigEpoch(ref cmd)), new("3.0.0", "O(1)", "Sets the epoch of a new node's configuration.", "config-epoch:integer")),
            new("SETSLOT", -4, ChangesSlots, KeySpecs.None, Node((ref CommandContext cmd) => _slots!.SetSlot(ref cmd)), new("3.0.0", "O(1)", "Changes the state of a hash slot.", "slot:integer subcommand:<IMPORTING importing{node-id}:string | MIGRATING migrating{node-id}:string | NODE node{node-id}:string | STABLE>")),
            new("SHARDS", 2, Loading | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.Shards(ref cmd)), new("7.0.0", "O(N) where N is the total number of cluster nodes", "Lists the shards with their hash slots.")) { Tips = Varies },
            new("SLAVES", 3, Admin | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.Replicas(ref cmd)), new("3.0.0", PerReplica, "Lists the replicas of a primary.", "node-id") { DeprecatedSince = "5.0.0", ReplacedBy = "`CLUSTER REPLICAS`" }) { Tips = Varies },
            new("SLOT-STATS", -4, Loading | Stale | WalksStripes, KeySpecs.None, Node((ref CommandContext cmd) => _statistics!.Reply(ref cmd)), new("8.2.0", "O(N) where N is the number of hash slots; O(N*log(N)) with ORDERBY.", "Returns statistics of hash slots.", "filter:<SLOTSRANGE slotsrange:(start-slot:integer end-slot:integer) | ORDERBY orderby:(metric [LIMIT limit] order:[ASC | DESC])>")) { Tips = [.. Varies, "request_policy:all_shards"] },
            new("SLOTS", 2, Loading | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.Slots(ref cmd)), new("3.0.0", PerNode, "Lists the hash slots with their nodes.") { DeprecatedSince = "7.0.0", ReplacedBy = "`CLUSTER SHARDS`", History = [("4.0.0", "Includes node ids."), ("7.0.0", "Includes further network data.")] }) { Tips = Varies },
            new("SYNCSLOTS", -3, Changes, KeySpecs.None, Node((ref CommandContext cmd) => _moves!.Sync(ref cmd)), new("8.4.0", "O(1)", "Moves hash slots, between nodes.", "subcommand:<SYNC sync:(task-id slot-range:(start-slot:integer end-slot:integer ...)) | RDBCHANNEL task-id | SNAPSHOT-EOF | STREAM-EOF | ACK ack:(state offset) | FAIL error | CONF conf:(option [option ...] value [value ...])>")) { Tips = Varies },
        ]),
        new("CLUSTERX", -2, None, KeySpecs.None, ReplyNoCluster, new("0.1.0", "Depends on subcommand.", "A container for what a controller tells the nodes of a cluster, in the form of Kvrocks."),
        [
            new("MYID", 2, Admin | Stale, KeySpecs.None, Node((ref CommandContext cmd) => _replies!.MyId(ref cmd)), new("0.1.0", "O(1)", "Returns this node's id.")),
            new("SETNODEID", 3, Changes | NoScript, KeySpecs.None, Node((ref CommandContext cmd) => _changes!.SetNodeId(ref cmd)), new("0.1.0", "O(N) where N is the number of nodes", "Gives this node its id.", "node-id")) { ChangesRole = true },
            new("SETNODES", -4, ChangesSlots | NoScript, KeySpecs.None, Node((ref CommandContext cmd) => _changes!.SetNodes(ref cmd)), new("0.1.0", "O(N) where N is the number of nodes and slots", "Gives this node a topology, unless it has a newer one.", "nodes:string version:integer [FORCE]")) { ChangesRole = true },
            new("VERSION", 2, Admin | Stale, KeySpecs.None, Node(Version), new("0.1.0", "O(1)", "Returns the version of this node's topology.")),
        ]),
        new("CLUSTERSCAN", -2, CommandFlags.ReadOnly | WalksStripes, KeySpecs.One(1, KeyFlags.NotKey), Node((ref CommandContext cmd) => ScanCommands.ReplyOfCluster(cmd, _scanId, ServesReads, Imports)), new("9.1.0", "O(1) for every call. O(N) for a complete iteration, where N is the number of keys in the cluster.", "Lists some keys of a cluster, and a cursor from which the next call continues.", "cursor:string [MATCH pattern] [COUNT count] [TYPE type] [SLOT slot:integer]") { IsOfValkey = true }) { HasSlotCursor = true, Categories = AclCategory.Keyspace, Tips = ["nondeterministic_output", "request_policy:special", "response_policy:special"] },
    ]);

    /// <summary>The commands on slots that have categories of their own.</summary>
    internal CommandFamily SlotFamily => new("server", "keyspace",
    [
        new("TRIMSLOTS", -5, Write | WalksStripes, KeySpecs.None, Node((ref CommandContext cmd) => _keys!.Trim(ref cmd)), new("8.4.0", "O(N) where N is the number of keys of all databases", "Removes the keys of hash slots that this node does not have.", "RANGES ranges:(numranges:integer slots:(startslot:integer endslot:integer ...))")) { Categories = AclCategory.Dangerous },
    ]);

    // A change of a topology that a store has waits for the store, which a transaction or a script cannot. Slots alone are also added and removed in a transaction, whose reply is then before
    // the change: redis-cli --cluster fix does so.
    private CommandHandler Agreed(CommandHandler handler) => _cluster?.Agreement is null ? Node(handler) : (ref CommandContext cmd) =>
    {
        if (ClusterSlotChanges.MayWaitForStoreOrReply(cmd)) handler(ref cmd);
    };

    // Without a cluster, all have one reply.
    private CommandHandler Node(CommandHandler handler) => _cluster is null ? ReplyNoCluster : handler;

    private static void ReplyNoCluster(ref CommandContext cmd) => cmd.Reply.Error("ERR This instance has cluster support disabled"u8);

    private bool Imports(int slot) => _cluster!.Routing?.Importing.ContainsKey(slot) == true;

    private bool ServesReads(int slot) => _cluster!.Routing is { } routing && routing.Covers(slot);

    // ASKING
    private static void Ask(ref CommandContext cmd)
    {
        cmd.Session.Ask(true);
        cmd.Reply.Ok();
    }

    // READONLY
    private static void ReadReplicas(ref CommandContext cmd)
    {
        cmd.Session.UseReplicas(true);
        cmd.Reply.Ok();
    }

    // READWRITE
    private static void ReadPrimaries(ref CommandContext cmd)
    {
        cmd.Session.UseReplicas(false);
        cmd.Reply.Ok();
    }

    // CLUSTER HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "COUNTKEYSINSLOT <slot>", "    Counts the keys of a slot.",
        "GETKEYSINSLOT <slot> <count>", "    Lists keys of a slot that are here.",
        "INFO", "    Describes the state of this node.",
        "KEYSLOT <key>", "    Computes the slot of a key.",
        "MYID", "    Returns this node's id.",
        "MYSHARDID", "    Returns the id of this node's shard.",
        "NODES", "    Lists the nodes that this node knows, one line each:", "    <id> <ip:port@bus-port[,hostname]> <flags> <primary> <pings> <pongs> <epoch> <link> <slot> ...",
        "REPLICAS <node-id>", "    Lists the replicas of a primary.",
        "SLOTS", "    Lists ranges of slots with their primary and its replicas.",
        "SHARDS", "    Lists the shards with their slots and nodes.",
        "ADDSLOTS <slot> [<slot> ...]", "    Gives slots to this node.",
        "ADDSLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...]", "    Gives ranges of slots to this node.",
        "BUMPEPOCH", "    Raises this node's epoch.",
        "COUNT-FAILURE-REPORTS <node-id>", "    Counts the reports that a node has failed.",
        "DELSLOTS <slot> [<slot> ...]", "    Takes slots from the node that has them.",
        "DELSLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...]", "    Takes ranges of slots from the node that has them.",
        "FORGET <node-id>", "    Removes a node from this node's topology.",
        "FLUSHSLOTS", "    Takes all slots from this node.",
        "REPLICATE <node-id>", "    Makes this node a replica of another one.",
        "RESET [HARD|SOFT]", "    Makes this node leave the cluster (default: soft).",
        "SET-CONFIG-EPOCH <epoch>", "    Sets the epoch of a new node.",
        "SETSLOT <slot> (IMPORTING <node-id>|MIGRATING <node-id>|STABLE|NODE <node-id>)", "    Changes the state of a slot.",
        "SAVECONFIG", "    Writes the topology to the node's file.",
        "MIGRATESLOTS SLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...] NODE <node-id> [SLOTSRANGE ...]", "    Moves ranges of slots from this node to another one.",
        "GETSLOTMIGRATIONS", "    Lists the moves of slots from and to this node.",
        "CANCELSLOTMIGRATIONS", "    Cancels the moves from this node.",
        "MIGRATION IMPORT <start slot> <end slot> [<start slot> <end slot> ...] | STATUS <ID <id> | ALL> | CANCEL <ID <id> | ALL>", "    Moves ranges of slots to this node, lists moves, cancels them.",
        "LINKS", "    Lists the connections to other nodes, of which there are none.");

    // CLUSTERX VERSION
    private void Version(ref CommandContext cmd) => cmd.Reply.Bulk(_cluster!.State.Topology.Version.ToString(CultureInfo.InvariantCulture));
}
