using System.Text;
using RedKite.Protocol;

namespace RedKite.Differential.Tests;

/// <summary>
/// What Redis 8.0.2 does and RedKite deliberately does not: one row for each behavior, which docs/reference/differences.md shows. Streams
/// leave out the commands after which the two servers would hold different data; differing replies alone are rows of
/// <see cref="AllowedDifferences"/>.
/// </summary>
internal static class NotCopied
{
    /// <summary>The row of the fields that only RedKite has; a test compares it with both servers.</summary>
    public const string InfoFields = "INFO, further fields";

    public static readonly Row[] Rows =
    [
        new(
            InfoFields,
            "none",
            "`redkite_version`, `redis_versions_compared`, `loops`, `client_output_bytes`, `suspended_clients`, `quiet_huge_pages`, `quiet_huge_pages_cpu_milliseconds`, `quiet_huge_pages_gain_nanoseconds`; `findings_open` and a line finding_NAME for each open finding",
            "they report what RedKite alone has: its own version, loops, clients whose reading is suspended, huge pages, and findings",
            _ => false),
        new(
            "INFO replication with `replica-acks`, and the error of a write whose acknowledgement did not come",
            "no such setting",
            "`replica_acks` and what it waits for; `NOREPLICAS` with a text of its own, behind a write that was executed",
            "a setting of RedKite's own: replies to writes wait for replicas",
            _ => false),
        new(
            "INFO threads",
            "one line for each I/O thread (`io-threads`)",
            "one line for each event loop",
            "the loops do the work of Redis's I/O threads",
            _ => false),
        new(
            "used_memory of a small data set, and a maxmemory little above used_memory_startup",
            "grows by what a key takes",
            "grows in steps of some KiB, because each part of the keyspace takes memory for itself; the limit may be reached after a few keys, or a few keys later",
            "parts that share no memory need no common lock",
            _ => false),
        new(
            "latest_fork_usec and total_forks in INFO, and LATENCY's event fork",
            "how long the process took to fork, and how often it did",
            "how long all keys were locked when a snapshot in the background began, and how often one did",
            "nothing forks; this is what clients wait for when a snapshot begins",
            _ => false),
        new(
            "current_cow_size, current_cow_peak, rdb_last_cow_size and aof_last_cow_size in INFO",
            "the memory that a child process made the server copy",
            "0",
            "nothing forks, and memory is not copied",
            _ => false),
        new(
            "LATENCY's events aof-fstat, aof-rename and rdb-unlink-temp-file",
            "calls of the system that took long, while nothing else was executed",
            "none",
            "a thread of its own makes these calls, and no client waits for it",
            _ => false),
        new(
            "Weak tables of scripts (`__mode` in a metatable)",
            "a garbage collection removes entries whose key or value nothing else names",
            "they are strong: entries stay until the script or library drops the table",
            "Lua 5.4 needs the square of a table's entries for weak keys that its values name, in one piece that SCRIPT KILL cannot end",
            _ => false),
        new(
            "Sizes that are products of what clients choose: patterns, filters, the text of scripts, DEBUG POPULATE",
            "take as long as they take",
            "an error from a limit on ([bounds.md](../bounds.md))",
            "one request would hold the server for minutes",
            _ => false),
        new(
            "MIGRATE",
            "stops the whole server until the target has answered",
            "the client waits; others execute. A key that changes while it is sent is sent again, with REPLACE, and one that is removed here is removed there. From the fourth time on, other commands that write wait for that, a second at most. Beyond the fifth time an error says so and the key stays here. More than 512 keys or 1 MiB are sent in several transfers, and each removes its keys",
            "a slow target would stop every client for as long as the timeout",
            _ => false),
        new(
            "MIGRATE in a transaction or script",
            "executed",
            "ERR MIGRATE cannot be used in a transaction or script, because it waits for another server",
            "a transaction holds its keys until its end",
            _ => false),
        new(
            "DEBUG SLEEP",
            "stops the whole server; MIGRATE to such a target times out",
            "stops the clients of one event loop; new connections and those of the others are served",
            "event loops do not wait for each other",
            _ => false),
        new(
            "MIGRATE whose AUTH or SELECT the target refuses",
            "RESTORE was sent with them and may write into another database of the target, or as another user",
            "RESTORE is sent when they are accepted",
            "it could overwrite other keys",
            _ => false),
        new(
            "MIGRATE without AUTH, soon after one with AUTH to the same target",
            "uses its connection, which has logged in",
            "uses a connection of its own",
            "a client without the password would act as the user",
            _ => false),
        new(
            "MIGRATE to a target that replies to RESTORE with neither +OK nor an error",
            "removes the key",
            "IOERR, and the key stays",
            "the target has not said that it has the key",
            _ => false),
        new(
            "MIGRATE to Valkey, or to Redis 7.2",
            "ERR Target instance replied with error: ERR DUMP payload version or checksum are wrong",
            "sends the value once more in the older format, if that loses nothing",
            "RedKite can write it",
            _ => false),
        new(
            "A cluster",
            "nodes speak to each other over a bus, count others as failed, and vote",
            "a node's topology is given to it, by CLUSTER on the node or by CLUSTERX SETNODES; CLUSTER MEET and, on a replica, CLUSTER FAILOVER have an error of RedKite's own; CLUSTER LINKS is empty, no node or slot is counted as failing, no messages are counted, and PUBLISH reaches its node's subscribers",
            "a controller outside decides, and nothing has to agree in between: [cluster.md](../cluster.md)",
            _ => false),
        new(
            "CLUSTER NODES, SHARDS and GETKEYSINSLOT",
            "in the order of a hash table",
            "in the order of the topology, and of the keys' hashes",
            "nothing depends on it",
            _ => false),
        new(
            "Keys of a slot that another node gets by a new topology",
            "are removed at once, while every client waits",
            "are hidden at once and removed in slices, by a DEL for each in the log and the stream; a slot that comes back meanwhile keeps what is left",
            "other clients go on",
            _ => false),
        new(
            "CLUSTER RESET of a replica with keys",
            "removes them",
            "an error",
            "no command but FLUSHALL removes all data",
            _ => false),
        new(
            "`nodes.conf`",
            "lines of text",
            "JSON, of RedKite's own",
            "a damaged file is recognized, and it has what a controller has said",
            _ => false),
        new(
            "MIGRATE with tls-cluster yes",
            "uses TLS",
            "does not use TLS",
            "nodes have no bus that the setting is about",
            _ => false),
        new(
            "AUTH or HELLO AUTH that fails while earlier replies of the connection are unsent",
            "no reply; those of later commands move up",
            "the error",
            "a client would take every later reply for that of another command",
            _ => false),
        new(
            "ACL SETUSER with +command and a first argument where the argument contains a space",
            "accepts it, and ends with an assertion at the next ACL LIST",
            "ERR Error in ACL SETUSER modifier ...: Syntax error",
            "a rule must be readable again where it is written",
            _ => false),
        new(
            "ACL SETUSER with a zero byte in the name of a command or category",
            "what stands before the zero byte counts",
            "ERR Error in ACL SETUSER modifier ...: Unknown command or category name in ACL",
            "a rule means what it says as a whole",
            _ => false),
        new(
            "The original name of a renamed command, right behind a call by its new name",
            "executes it: the request's name is compared with the last command's own before it is looked up",
            "ERR unknown command ...",
            "rename-command takes a name away",
            _ => false),
        new(
            "A blocking command with a timeout, sent during CLIENT PAUSE ALL",
            "waits forever",
            "the timeout starts when the pause ends",
            "the client requested a timeout",
            _ => false),
        new(
            "A command that is larger than client-query-buffer-limit, of several arguments that are not",
            "executed: what is read and not parsed yet counts, an argument at most",
            "closes the client: a command counts with all its arguments, whichever part of it arrives last",
            "the server keeps all of them until the last has arrived",
            _ => false),
        new(
            "CONFIG SET bind with only optional addresses (-ADDRESS) of which none can be used",
            "OK, and the server stops listening on every address",
            "an error; the current listeners stay open",
            "no client could connect to undo the change",
            _ => false),
        new(
            "cluster-announce-ip and cluster-announce-human-nodename with a space, a comma, a control character, or more than 256 characters",
            "OK; with a comma or a space in the name, the node does not start again, as it cannot read its cluster's file",
            "an error, in the words that Redis has for other characters of the name",
            "such a value cannot stand in a line of CLUSTER NODES",
            _ => false),
        new(
            "Clients that block on the same key and reach different event loops",
            "are served in the order in which the server read their requests",
            "in the order of arrival at the system, exact to a tick of the kernel's clock (4 ms with 250 per second; over Unix sockets, to a turn of the event loop); a key that becomes ready serves the clients whose requests its loops have read by then",
            "event loops do not wait for each other",
            _ => false),
        new(
            "Commands pipelined behind blocking commands, when one command serves several blocked clients",
            "execute in the order in which the clients were served",
            "each client's commands execute in order; clients of different event loops run concurrently (with `loops 1` as in Redis)",
            "event loops do not wait for each other",
            _ => false),
        new(
            "LSET with an index that does not fit 32 bits",
            "the index is cut to 32 bits, so that 4294967296 is the first element",
            "ERR index out of range",
            "it overwrites an element that the client did not name",
            command => Is(command, "LSET") && command.Length > 2 && RespNumber.TryParseInt64(command[2], out long index) && index is < int.MinValue or > int.MaxValue),
        new(
            "LIMIT with a negative offset in a range by score or member",
            "elements are skipped from an end of the whole set, or the reply is empty, depending on the encoding",
            "an empty range",
            "documented nowhere, and not the same for a set's two encodings",
            HasNegativeOffset),
        new(
            "RESTORE with a time to live whose end does not fit 64 bits",
            "a key that is there until a command finds it expired",
            "a time that has passed: the key is not created",
            "the time overflows into the past",
            command => IsRestore(command) && command.Length > 2 && RespNumber.TryParseInt64(command[2], out long ttlMs) && ttlMs > EndMax && !HasWord(command, "ABSTTL")),
        new(
            "RESTORE of a payload of version 13 to 16 (Redis 8.6 to 8.12) or of 80 and 81 (Valkey 9)",
            "ERR DUMP payload version or checksum are wrong",
            "reads it, as far as its type exists",
            "data can be moved in from newer servers",
            command => IsRestore(command) && command.Length > 3 && command[3].Length >= 10 && (command[3][^10] | (command[3][^9] << 8)) is (>= 13 and <= 16) or 80 or 81),
        new(
            "A delivery of an entry that XCLAIM has given RETRYCOUNT 9223372036854775807",
            "the number of deliveries becomes negative",
            "it stays",
            "XNACK FATAL sets this number, and the entry stays refused",
            command => Is(command, "XCLAIM") && HasWord(command, "9223372036854775807")),
        new(
            "HLEN of a hash with expired fields that are still in memory",
            "counts them",
            "counts what HGETALL returns",
            "the count would depend on when the sweep passed",
            _ => false),
        new(
            "HDEL of an expired field that is still in memory",
            "1",
            "0, as for a missing field",
            "the reply would depend on when the sweep passed",
            _ => false),
        new(
            "HSET, HSETEX and HEXPIRE of an expired field that is still in memory",
            "act on it: HSET replies 0, HEXPIRE 1 and gives it another expiry; the events are those of a field that is there",
            "as for a missing field: HSET replies 1, HEXPIRE -2; the events hexpired, and del where it was the last one, come first",
            "the reply would depend on when the sweep passed",
            _ => false),
        new(
            "subexpiry in INFO keyspace, when the last field with an expiry in a hash has lost it by HPERSIST, HGETEX PERSIST, HSET or HSETEX",
            "counts the hash until the field would have expired",
            "does not count it",
            "it counts hashes that have fields with an expiry",
            _ => false),
        new(
            "FLUSHALL and FLUSHDB of a client that tracks keys itself",
            "the invalidation precedes the reply",
            "it follows the reply",
            "it does after every other command, and after a flush in a transaction",
            _ => false),
        new(
            "WATCH, UNWATCH, DISCARD or RESET while a script is busy that holds a stripe of the watched keys",
            "executed",
            "BUSY",
            "the watched keys of a stripe are the stripe's, and its clients should not wait for the script",
            _ => false),
        new(
            "SWAPDB while clients track keys",
            "no invalidation: what they have cached may be another database's",
            "the invalidation of all keys, as after FLUSHALL",
            "what a key holds changes for every client of the two databases",
            _ => false),
        new(
            "A RESP3 client that is blocked and subscribed to the keyspace events of what its own command does when it is served",
            "the reply, then the events",
            "the reply and the events in either order",
            "an event is sent when the change is made, and the reply when the command has ended",
            _ => false),
        new(
            "COMMAND GETKEYS of a request whose number of keys is not a plain integer (ZUNION +1 a)",
            "the keys that atoi's reading of the number gives",
            "ERR Invalid arguments specified for command",
            "the command itself refuses such a request",
            _ => false),
        new(
            "An expired key or a large expired value, with latency-monitor-threshold set",
            "LATENCY has an expire-cycle event if freeing it took that long",
            "the event counts the sweep alone, which takes microseconds; the value is freed later, in slices",
            "no client waits for it",
            _ => false),
        new(
            "lazyfreed_objects and lazyfree_pending_objects in INFO memory",
            "count values that UNLINK, FLUSHALL ASYNC or a lazyfree setting hands to a thread",
            "count values whose last part is freed after the command that removed them, whichever it was",
            "every large value is freed in slices, so that no client waits for it",
            _ => false),
        new(
            "VSIM WITHATTRIBS, VRANGE",
            "a syntax error, and an unknown command",
            "as in Redis 8.2 and 8.4",
            "clients of later versions use them",
            _ => false),
        new(
            "EPSILON, `null` and `in` with a string on its right in FILTER, and EF above 1,000,000, of VSIM; VADD REDUCE to more dimensions than the vector has",
            "EPSILON is a distance, from 0 to 2; null is an operator that does nothing; in is false; both are accepted",
            "as in Redis 8.6: EPSILON is how much a score may be below 1; null is a value; in looks for a part of the string; both are errors",
            "clients of later versions use them",
            command => Is(command, "VSIM") && (HasWord(command, "EPSILON") || Array.Exists(command, HasNewerFilter))),
        new(
            "VADD and VSIM with more than 65,536 dimensions, or a projection of more than 4,194,304 components; FILTER with more than 131,072 bytes, or more than 10 ms for one element",
            "any",
            "an error",
            "what one request takes is bounded",
            _ => false),
        new(
            "VADD REDUCE",
            "signs of the projection that Redis's own function gives",
            "other signs; a set that is loaded or restored keeps those that it has",
            "the function is not documented",
            _ => false),
        new(
            "VADD with components that are not finite, and NOQUANT",
            "stores NaN, and distances are NaN",
            "stores 0, at the distance 1 from everything",
            "an order needs numbers",
            _ => false),
        new(
            "VADD of a new element with an empty SETATTR",
            "it has attributes that are empty: VINFO counts them, and filters look at them",
            "it has none",
            "VSETATTR with an empty text removes attributes",
            command => Is(command, "VADD") && Enumerable.Range(1, command.Length - 1).Any(at => command[at].Length == 0 && Is(command[at - 1], "SETATTR"))),
        new(
            "Commands of vector sets with too few arguments, or VCARD and the like with too many",
            "are executed: MULTI queues them, COMMAND GETKEYS and ACL DRYRUN accept them, and INFO commandstats counts failed_calls",
            "are refused before, as in Redis 8.6: COMMAND INFO says how many arguments they take, and COMMAND DOCS which",
            "clients of later versions go by it",
            _ => false),
        new(
            "VINFO, attributes-count, after VADD with CAS and SETATTR",
            "does not count the attributes of the new element",
            "counts them",
            "it is the truth",
            _ => false),
        new(
            "VADD that replaces a vector",
            "neither replicas nor the append-only file get it",
            "they do",
            "a replica has its primary's data",
            _ => false),
        new(
            "Scores and components of vector sets",
            "sums in one order",
            "sums in another order: the seventh digit may differ",
            "more components are multiplied at a time",
            _ => false),
        new(
            "REPLCONF version",
            "an error: it is no option of Redis",
            "OK; the replica then gets data in a format that this version of Valkey reads",
            "Valkey reads no data in the format of Redis 8, so it could not follow",
            _ => false),
        new(
            "RESTORE and FUNCTION RESTORE in the stream of a server that follows a redis-server 8 and is followed by a Valkey",
            "the payload as the client sent it",
            "the same: a server that follows passes the stream on as it came, so the Valkey fails at that command as it would behind the redis-server. Only a primary converts payloads",
            "the offsets of the stream are the primary's, byte by byte",
            _ => false),
        new(
            "The words in the stream and in the append-only file",
            "UNLINK for a key that is removed with a lazyfree setting on; XX, NX, GT and LT of HEXPIRE, fields of HGETDEL that do not exist, and LEFT and RIGHT of LMOVE, as the client sent them; SELECT behind the MULTI of a transaction; one XCLAIM for each entry of XREADGROUP; one SREM for each 1,024 members of SPOP",
            "DEL; what was changed, without conditions; SELECT before the MULTI; fields that expired, one by one; one XCLAIM, and one SREM, for all",
            "a replica has the same data, whatever it would decide itself",
            _ => false),
        new(
            "DEBUG LISTPACK, HTSTATS and HTSTATS-KEY; the nodes of a list in DEBUG OBJECT (ql_nodes and so on); the sizes of tables in MEMORY STATS",
            "show Redis's structures",
            "ERR unknown subcommand ...; no such fields; sizes of RedKite's tables",
            "RedKite does not have these structures",
            _ => false),
        new(
            "OBJECT ENCODING of a list that has shrunk, after its list-max-listpack-size was changed or LSET made a node longer than that",
            "a list keeps the limit that it became a quicklist with, and LSET lets a node exceed it; so other elements share the last node, and the list is a listpack again earlier or later",
            "the limit in force holds for every node",
            "a node's size bounds the time of a command that changes it",
            _ => false),
        new(
            "DEBUG RELOAD NOSAVE and DEBUG LOADAOF, when the file is missing",
            "remove the data, then report an error",
            "change nothing, and report the error",
            "what cannot be replaced is not removed",
            _ => false),
        new(
            "DEBUG DIGEST while other clients write",
            "nothing else is executed meanwhile",
            "it is made in slices, with other clients in between: what they change is in the digest or not; in one piece in a transaction",
            "it takes seconds for a million keys",
            _ => false),
        new(
            "repl-diskless-load",
            "has no flush-before-load; after a transfer that broke off with swapdb, the replica has no place in a history any more",
            "has it, as Valkey does; the replica keeps its place with the data",
            "the data is still that of the place",
            _ => false),
        new(
            "Keys with an expiry that clients of a replica have moved or copied to another database (replica-read-only no)",
            "they are removed some time after they have expired",
            "they are hidden, and stay until the next full synchronization or promotion",
            "only keys of the selected database are remembered",
            _ => false),
        new(
            "A replica whose synchronizations fail because too much is written meanwhile",
            "each one begins at once, with the same limit",
            "the limit doubles, up to eight times; then the next ones wait, for up to two minutes",
            "it would load both servers without end",
            _ => false),
        new(
            "A server with an append-only file that was stopped and started again",
            "as a replica it copies everything, and so do the replicas of such a primary; since 8.2 the manifest has startoffset and endoffset, from which a primary takes its offset",
            "the file's last line names the place in the stream, from which they go on",
            "an append-only file says of the data what a dump file does",
            _ => false),
        new(
            "rdb_last_load_keys_expired of a primary whose replicas go on where they were",
            "the keys that had expired before the load, which are not loaded",
            "0: they are loaded, and expire afterwards",
            "the replicas are told of each in the stream, as of any other key that expires",
            _ => false),
        new(
            "save in a server that is embedded in a program",
            "3600 1 300 100 60 10000",
            "empty",
            "a server in a program's process writes no files unless the program says so; as a program of its own it has Redis's save points",
            _ => false),
        new(
            "Bloom and cuckoo filters, count-min sketches, top-k and t-digests in dumps and files, and the chunks of BF.SCANDUMP and CF.SCANDUMP",
            "values of the modules MBbloom--, MBbloomCF, CMSk-TYPE, TopK-TYPE and TDIS-TYPE",
            "values of the modules rkt-bloom, rkt-cucko, rkt-cmsk-, rkt-topk- and rkt-tdig-; each server refuses those of the other by their names",
            "no document describes Redis's layouts",
            _ => false),
        new(
            "bind in a server without a configuration file",
            "* -::*",
            "127.0.0.1 -::1",
            "closed by default: other machines reach the server where its administrator says so",
            _ => false),
    ];

    /// <summary>What RedKite has of newer versions of Redis and Valkey, by the version that introduced it: each row is one thing.</summary>
    public static readonly (string Version, string What)[] Newer =
    [
        ("Redis 8.0", "time series, whose commands begin with TS, with the settings ts-*, after the documentation, because the server that is compared has no modules: what differs is in time-series.md"),
        ("Redis 8.0", "time series in dumps and files, where each is a value of the module rkt-tseri, which other servers refuse by that name; that of RedisTimeSeries (TSDB-TYPE), whose layout is not documented, is refused"),
        ("Redis 8.2", "used_memory_peak_time, master_link_up_since_seconds, total_disconnect_time_sec, expired_keys_active, expired_subkeys_active, rdb_saves_consecutive_failures, master_current_sync_attempts and master_total_sync_attempts in INFO"),
        ("Redis 8.2", "io_threaded_total_prefetch_batches and io_threaded_total_prefetch_entries in INFO, which are 0"),
        ("Redis 8.2", "CLUSTER SLOT-STATS, with the metrics of 8.6; EVAL counts as FCALL does, a reply to a command of a transaction counts once, what a script's commands reply and what replicas get does not count, commands of one batch share their time, and `mem` can be switched on at any time, because memory is measured when it is asked for, in slots with many keys by some of them"),
        ("Redis 8.2", "the events overwritten and type_changed"),
        ("Redis 8.2", "XDELEX, XACKDEL"),
        ("Redis 8.2", "KEEPREF, DELREF and ACKED of XADD and XTRIM, where what ACKED removes counts as deleted for the lag of groups"),
        ("Redis 8.2", "DIFF, DIFF1, ANDOR and ONE of BITOP"),
        ("Redis 8.4", "tot-net-in, tot-net-out and tot-cmds in CLIENT LIST"),
        ("Redis 8.4", "the settings cluster-slot-migration-*, and mem_cluster_slot_migration_* in INFO, of a server without a cluster"),
        ("Redis 8.4", "CLUSTER MIGRATION, between nodes of RedKite; CLUSTER SYNCSLOTS is what they say to each other"),
        ("Redis 8.4", "cluster_slot_migration_* in CLUSTER INFO, where a trim is the removal of keys whose slots another node has got"),
        ("Redis 8.4", "TRIMSLOTS, which removes keys in slices; replicas and the log get a DEL for each"),
        ("Redis 8.4", "DELEX, DIGEST, MSETEX"),
        ("Redis 8.4", "IFEQ, IFNE, IFDEQ and IFDNE of SET, of which a digest of another length with GET is one error where Redis 8.6 also sends the value"),
        ("Redis 8.4", "options of HEXPIRE and its variants, HGETEX and HSETEX behind the fields, with the errors of Redis 8.6"),
        ("Redis 8.4", "CLAIM of XREADGROUP"),
        ("Redis 8.6", "SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE are refused when memory is full"),
        ("Redis 8.6", "SUNSUBSCRIBE is executed where it is sent, whichever nodes have the slots of its channels"),
        ("Redis 8.6", "cjson.decode_array_with_array_mt, where all decoded arrays share one metatable"),
        ("Redis 8.6", "lazyexpire-nested-arbitrary-keys"),
        ("Redis 8.6", "vset-force-single-threaded-execution and prefetch-batch-max-size, which say why they have no effect"),
        ("Redis 8.6", "ENTRIESREAD of XGROUP is at most the number of entries that were added, and the log gets that number"),
        ("Redis 8.6", "RESTORE of a key that has already expired counts in expired_keys"),
        ("Redis 8.6", "key-memory-histograms, which can be switched on at any time, and whose bytes are those of MEMORY USAGE without the key's share of the table"),
        ("Redis 8.6", "HOTKEYS, in which a command with several keys counts equally for each, and sums are those of the sampled uses"),
        ("Redis 8.6", "the policies allkeys-lrm and volatile-lrm"),
        ("Redis 8.6", "IDMP and IDMPAUTO of XADD, XCFGSET, stream-idmp-duration and stream-idmp-maxsize: subexpiry in INFO keyspace counts such a stream, its dumps and files are of Redis 8.6, and replicas and the log get XCFGSET"),
        ("Redis 8.6", "XIDMPRECORD, whose id is forgotten by the time of its entry; replicas and the log get it"),
        ("Redis 8.8", "notifications of the fields of hashes, which without the letter of any class are of all"),
        ("Redis 8.8", "INCREX"),
        ("Redis 8.8", "XNACK, whose entries belong to the consumer with the empty name, as replicas and files of Redis 8.0.2 need it"),
        ("Redis 8.8", "COUNT of AGGREGATE, where an input counts as its weight"),
        ("Redis 8.8", "slowlog-entry-max-argc and slowlog-entry-max-string-len"),
        ("Redis 8.8", "arrays, whose commands begin with AR, after the documentation: what that leaves open is in arrays.md"),
        ("Redis 8.8", "array-slice-size, array-sparse-kmax and array-sparse-kmin, which have no effect: slices have 256 indexes"),
        ("Redis 8.8", "arrays in dumps and files, where each is a value of the module rkt-array, which other servers refuse by that name"),
        ("Redis 8.10", "the number of arguments as the seventh value of SLOWLOG GET's entries"),
        ("Redis 8.10", "BACKUP, which writes a log of its own instead of linking the server's files, ends with an open backup given up, and is refused in a transaction"),
        ("Redis 8.10", "LMOVEM, BLMOVEM, SUNIONCARD, SDIFFCARD, HIMPORT"),
        ("Redis 8.10", "MAXCOUNT and MAXSIZE of XREAD and XREADGROUP"),
        ("Redis 8.12", "BLESS, whose flag a new value and a new name of the key keep, a copy does not get, replicas and the log get as that command, and files have as a field that other servers pass over"),
        ("Redis 8.12", "SEXPIRE, SPEXPIRE, SEXPIREAT, SPEXPIREAT, STTL, SPTTL, SEXPIRETIME, SPEXPIRETIME, SPERSIST and SADDEX, which replies 1 or 0 as HSETEX does"),
        ("Redis 8.12", "sets with an expiring member, which are tables: SADD leaves an expiry as it is, SMOVE and stored results have none"),
        ("Redis 8.12", "sets with an expiring member in INFO keyspace, where subexpiry counts them, in dumps and files, where each is a value of the module rkset-exp, which other servers refuse by that name, and on replicas and in the log, which get SPEXPIREAT, SPERSIST and SADDEX"),
        ("Redis 8.12", "ZMOVE, BZMOVE and ZMOVEMEMBER, which reply the members without their scores"),
        ("Redis 8.12", "BITRANGEINTARRAY"),
        ("Valkey 8.0", "CLIENT CAPA, on which nothing depends"),
        ("Valkey 8.0", "NOSCORES of ZSCAN"),
        ("Valkey 8.1", "COMMANDLOG"),
        ("Valkey 8.1", "CLIENT IMPORT-SOURCE, of a server without the mode for imports"),
        ("Valkey 9.0", "DELIFEQ"),
        ("Valkey 9.0", "NX and XX of HSETEX"),
        ("Valkey 9.0", "CLUSTER MIGRATESLOTS, GETSLOTMIGRATIONS and CANCELSLOTMIGRATIONS, between nodes of RedKite"),
        ("Valkey 9.0", "CLUSTER FLUSHSLOT, which removes keys in slices, with a DEL for each to replicas and the log; it is refused while the slot is being given to another node, and in transactions and scripts for more than 4,096 keys"),
        ("Valkey 9.0", "`cluster-databases`; while it is 1, SELECT and MOVE have the errors of Redis; in a slot that moves key by key, MOVE and COPY to another database are refused (TRYAGAIN)"),
        ("Valkey 9.1", "CLUSTERSCAN"),
    ];

    // The script and the number of its keys come before the arguments, which are a command in streams.
    private const int ScriptArgumentsAt = 3;

    // No relative time to live that is greater fits, until the year 292,000,000.
    private const long EndMax = long.MaxValue - 4_102_444_800_000;

    /// <summary>Whether a command's outcome differs deliberately, so that a stream with it could not be compared any further.</summary>
    public static bool LeavesOut(byte[][] command) =>
        Array.Exists(Rows, row => row.LeavesOut(command))
        || (Is(command, "XGROUP") && HasWord(command, "ENTRIESREAD")) // capped, as in Redis 8.6
        || (Is(command, "HSETEX") && (HasWord(command, "NX") || HasWord(command, "XX"))) // newer, of Valkey 9.0
        || (IsScript(command) && Enumerable.Range(ScriptArgumentsAt, Math.Max(0, command.Length - ScriptArgumentsAt)).Any(at => LeavesOut(command[at..])));

    /// <summary>Whether a command may fail as in the first row, so that no reply may be unsent before it.</summary>
    public static bool NeedsSentReplies(byte[][] command) => Is(command, "AUTH") || (Is(command, "HELLO") && HasWord(command, "AUTH"));

    private static bool HasNegativeOffset(byte[][] command)
    {
        if (command.Length == 0 || command[0].Length == 0 || (command[0][0] | 0x20) != 'z') return false;
        int limit = Array.FindLastIndex(command, word => Is(word, "LIMIT"));
        return limit >= 0 && limit + 1 < command.Length && RespNumber.TryParseInt64(command[limit + 1], out long offset) && offset < 0;
    }

    private static bool HasNewerFilter(byte[] filter) => filter.AsSpan().IndexOf("null"u8) >= 0 || filter.AsSpan().IndexOf("in"u8) >= 0;

    private static bool IsScript(byte[][] command) => Is(command, "EVAL") || Is(command, "EVAL_RO") || Is(command, "EVALSHA") || Is(command, "FCALL");

    private static bool IsRestore(byte[][] command) => Is(command, "RESTORE") || Is(command, "RESTORE-ASKING");

    private static bool HasWord(byte[][] command, string word) => Array.Exists(command, argument => Is(argument, word));

    private static bool Is(byte[][] command, string name) => command.Length > 0 && Is(command[0], name);

    private static bool Is(byte[] word, string text) => Encoding.Latin1.GetString(word).Equals(text, StringComparison.OrdinalIgnoreCase);

    /// <param name="Command">The command and its circumstances.</param>
    /// <param name="InRedis">What Redis 8.0.2 does.</param>
    /// <param name="Here">What RedKite does.</param>
    /// <param name="Reason">Why.</param>
    /// <param name="LeavesOut">Whether streams leave a command out because of it.</param>
    internal sealed record Row(string Command, string InRedis, string Here, string Reason, Func<byte[][], bool> LeavesOut);
}
