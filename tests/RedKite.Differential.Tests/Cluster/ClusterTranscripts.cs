using System.Text;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>A node of a cluster replies as one of Redis or Valkey: redirects, CLUSTER, and what a cluster does not allow.</summary>
public abstract partial class ClusterTranscripts(ClusterServers servers)
{
    // The node of slots 0 to 5460 has "b" (3300), and not "a" (15495) or "x" (16287).
    private static readonly string[] Lines =
    [
        "get x", "get a", "get b", "mget a b", "mget {a}1 {a}2", "eval return(1) 0", "eval return(redis.call('get','a')) 0", "eval return(redis.call('get','b')) 0",
        "eval return(redis.call('get','b')) 1 a", "eval return(redis.call('get',KEYS[1])) 2 a b", "select 1", "select 0", "select -1", "select x", "move b 1", "move b",
        "swapdb 0 1", "copy b {b}1 db 1", "copy b c", "sort b by w_*", "sort b get x_*", "sort b by nosort get #", "sort b by {b}_*", "sort b get {b}_*", "sort b by b",
        "sort_ro b by {x}*", "sort b get x", "sort b get {}b*", "replicaof no one", "slaveof no one", "failover", "failover x", "CLUSTER KEYSLOT a",
        "CLUSTER KEYSLOT {a}b", "CLUSTER KEYSLOT {}a", "CLUSTER COUNTKEYSINSLOT 3", "CLUSTER COUNTKEYSINSLOT 99999", "CLUSTER COUNTKEYSINSLOT x",
        "CLUSTER COUNTKEYSINSLOT -1", "CLUSTER GETKEYSINSLOT 3 -1", "CLUSTER GETKEYSINSLOT 3 x", "CLUSTER GETKEYSINSLOT 99999 1", "CLUSTER GETKEYSINSLOT x 1",
        "CLUSTER GETKEYSINSLOT 3 0", "CLUSTER SETSLOT 5 migrating nosuch", "CLUSTER SETSLOT 6000 migrating {id1}", "CLUSTER SETSLOT 6000 importing nosuch",
        "CLUSTER SETSLOT x stable", "CLUSTER SETSLOT 5 foo", "CLUSTER SETSLOT 5 node", "CLUSTER SETSLOT 5 node nosuch", "CLUSTER SETSLOT 5 stable x",
        "CLUSTER SETSLOT 5 migrating", "CLUSTER SETSLOT 99999 stable", "CLUSTER SETSLOT 5 importing {id1}", "CLUSTER REPLICAS nosuch", "CLUSTER REPLICAS {id0}",
        "CLUSTER SLAVES {id1}", "CLUSTER REPLICATE nosuch", "CLUSTER REPLICATE {id0}", "CLUSTER REPLICATE {id1}", "CLUSTER FORGET nosuch",
        "CLUSTER FAILOVER", "CLUSTER FAILOVER x", "CLUSTER FAILOVER force", "CLUSTER FAILOVER force x", "CLUSTER reset x", "CLUSTER reset x y", "CLUSTER RESET x y",
        "CLUSTER COUNT-FAILURE-REPORTS nosuch", "CLUSTER COUNT-FAILURE-REPORTS {id1}", "CLUSTER SAVECONFIG", "CLUSTER MEET x 1", "CLUSTER MEET 127.0.0.1 99999",
        "CLUSTER MEET 127.0.0.1 x", "CLUSTER MEET 127.0.0.1 1 x", "CLUSTER MEET 127.0.0.1 1 -1", "CLUSTER MEET 127.0.0.1 1 2 3", "CLUSTER NOSUCH", "readonly",
        "readwrite", "ssubscribe a", "ssubscribe a b", "spublish a m", "spublish b m", "publish a m", "CLUSTER ADDSLOTS 1 2 3 x", "CLUSTER ADDSLOTS 1 1",
        "CLUSTER ADDSLOTS 16384", "CLUSTER ADDSLOTSRANGE 5 3", "CLUSTER ADDSLOTSRANGE 5", "CLUSTER ADDSLOTSRANGE 5 6 7", "CLUSTER ADDSLOTSRANGE x 6",
        "CLUSTER ADDSLOTSRANGE 5 x", "CLUSTER DELSLOTS x", "CLUSTER DELSLOTS 16384", "CLUSTER DELSLOTS 1 1 1", "CLUSTER DELSLOTSRANGE 1 a", "CLUSTER DELSLOTSRANGE 5 1",
        "CLUSTER SET-CONFIG-EPOCH 0", "CLUSTER SET-CONFIG-EPOCH -1", "CLUSTER SET-CONFIG-EPOCH x", "CLUSTER SET-CONFIG-EPOCH 9", "CLUSTER INFO", "CLUSTER NODES",
        "CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER MYID", "CLUSTER", "CLUSTER INFO x", "CLUSTER NODES x", "CLUSTER SLOTS x", "CLUSTER SHARDS x", "CLUSTER MYID x",
        "CLUSTER KEYSLOT", "CLUSTER GETKEYSINSLOT 1", "CLUSTER SETSLOT 1", "CLUSTER SETSLOT", "CLUSTER LINKS x", "CLUSTER FLUSHSLOTS x", "role", "set b 1", "get b",
        "CLUSTER COUNTKEYSINSLOT 3300", "CLUSTER GETKEYSINSLOT 3300 10", "del b", "mset b 1 a 2", "mset {b}1 1 {b}2 2", "del {b}1 {b}2", "object encoding a",
        "object encoding b", "xread count 1 streams a 0", "xread count 1 streams a b 0 0", "xreadgroup group g c streams a b > >", "xgroup create a g $",
        "zunionstore b 1 a", "zunionstore b 2 {b}1 a", "blpop a 0", "blpop a b 0", "lmpop 2 a b left", "lmpop 1 a left", "bitop and b a", "rename b a", "rename a c",
        "watch a", "watch b", "unwatch", "pfmerge b a", "sintercard 2 a b", "sintercard 1 a", "georadius a 1 1 1 m store b", "eval x 1 a", "fcall nosuch 1 a",
        "fcall nosuch 0", "fcall nosuch 1 b", "evalsha x 1 a", "dump a", "dump b", "restore a 0 x", "restore-asking a 0 x", "restore-asking b 0 x", "touch a b",
        "touch b {b}2", "unlink a", "exists a b", "dbsize", "type a", "expire a 1", "ttl a", "wait 0 0", "sunsubscribe a", "sunsubscribe", "command getkeys get a",
    ];

    private static readonly string[] Sequences =
    [
        "multi|get a|exec", "multi|get b|get b|exec", "multi|get b|get {b}1|exec", "multi|get b|get {x}|exec", "multi|set b 1|get a|get b|exec", "multi|discard",
        "multi|CLUSTER MYID|mget a b|exec", "watch b|multi|get b|exec", "multi|eval return(1) 1 b|exec", "multi|eval return(1) 1 a|exec", "multi|get b|get {06S}|exec",
        "multi|ssubscribe b|exec", "multi|spublish b x|get b|exec", "multi|spublish {06S} x|get b|exec", "multi|select 0|exec", "multi|select 1|exec", "del b",
    ];

    private static readonly (string Flags, string Body, string Keys)[] Scripts =
    [
        ("flags=no-cluster", "return 1", ""), ("", "return 1", ""), ("", "return redis.call('get',KEYS[1])", "b"), ("", "redis.call('get','b') return redis.call('get','{b}2')", ""),
        ("", "redis.call('get','b') return redis.call('get','b2')", ""), ("", "redis.call('get','b') return redis.call('get','fo')", ""),
        ("flags=allow-cross-slot-keys", "redis.call('get','b') return redis.call('get','b2')", ""), ("flags=allow-cross-slot-keys", "redis.call('get','b') return redis.call('get','a')", ""),
        ("", "return redis.call('get','b3')", "b"), ("flags=no-writes", "return redis.call('get','b')", "b"), ("-", "redis.call('set','b','1') redis.call('set','b2','2') return redis.call('get','b')", ""),
        ("-", "return redis.pcall('MGET','b','a')", ""), ("-", "return redis.call('mget','b','f')", ""), ("-", "return redis.pcall('get','a')", ""), ("-", "return {redis.pcall('get','a'),redis.call('get','b')}", ""),
        ("-", "return redis.call('cluster','myid')", ""), ("-", "return redis.call('cluster','keyslot','a')", ""), ("-", "return redis.call('publish','b','a')", ""), ("-", "return redis.call('spublish','a','a')", ""),
        ("-", "return redis.call('spublish','b','a')", ""), ("-", "return redis.call('select',1)", ""), ("-", "return redis.call('cluster','reset')", ""), ("-", "return redis.pcall('xinfo','stream','a')", ""),
    ];

    // Of the slot of "b", which leaves the first node.
    private static readonly string[] AtSource =
    [
        "get b", "get {b}x", "mget b {b}2", "mget b {b}x", "mget {b}x {b}y", "mset {b}x 1 {b}y 2", "set {b}x 1", "multi|get b|exec", "multi|get {b}x|exec", "multi|get b|get {b}x|exec", "multi|get b|get {b}2|exec",
        "eval return(1) 1 b", "eval return(1) 1 {b}x", "eval return(1) 2 b {b}x", "eval return(redis.call('get','{b}x')) 0", "eval return(redis.pcall('mget','{b}x','b')) 0", "CLUSTER COUNTKEYSINSLOT 3300",
        "exists b {b}x", "del {b}x", "touch b {b}x", "restore-asking {b}x 0 x", "ssubscribe b", "spublish b 1", "sunsubscribe", "unsubscribe", "blpop {b}x 1", "blpop b 1", "CLUSTER NODES", "CLUSTER INFO",
    ];

    // And comes to the second.
    private static readonly string[] AtTarget =
    [
        "get b", "asking|get b", "asking|get {b}x", "asking|mget b {b}x", "asking|mget b b", "asking|multi|get b|exec|get b", "asking|multi|mget b {b}2|exec", "asking|mset b 1 {b}2 2", "asking|nosuch|get b",
        "asking|get|get b", "asking|asking|get b", "restore-asking b 0 x", "asking|eval return(1) 1 b", "asking|eval return(redis.call('set','{b}z',1)) 0", "asking|eval return(redis.call('set','{b}z',1)) 1 b",
        "asking|set {b}q 1", "get {b}q", "asking|get {b}q", "asking|mget {b}q b", "asking|del {b}q", "asking|del {b}z", "CLUSTER GETKEYSINSLOT 3300 10", "asking|ssubscribe b", "asking|spublish b x",
        "asking|watch b", "unwatch", "asking|blpop b 0.01", "asking|blpop {b}l b 0.01", "CLUSTER NODES", "CLUSTER INFO",
    ];

    private static readonly string[] WhileDown =
    [
        "eval return(redis.call('get','b')) 0", "eval return(redis.call('set','b',1)) 0", "eval return(redis.pcall('get','b')) 0", "eval return(1) 1 b", "eval return(1) 0", "get b", "set b 1", "del b", "spublish b x", "ssubscribe b|sunsubscribe b|sunsubscribe",
        "multi|get b|exec", "multi|set b 1|exec", "get a", "get {c}7 {c}", "mget a b", "ping", "eval_ro return(1) 1 b", "keys nosuch*", "exists b",
    ];

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Replies_are_those_of_a_node(int protocol)
    {
        using ClusterConnection first = servers.Pair.Open(0, protocol), second = servers.Pair.Open(1, protocol), third = servers.Pair.Open(2, protocol);
        foreach (string line in Lines)
        {
            if (protocol == 3 && line.StartsWith("sunsubscribe", StringComparison.Ordinal)) continue; // the reply is a push
            Run(first, line);
            if (!line.StartsWith("CLUSTER", StringComparison.Ordinal) && !line.StartsWith("get", StringComparison.Ordinal) && !line.StartsWith("eval", StringComparison.Ordinal)) continue;
            Run(second, line);
            Run(third, line);
        }

        foreach (string sequence in Sequences) RunAll(first, sequence);
        second.RunUncompared("CLUSTER SETSLOT 6000 STABLE");
        third.RunUncompared("CLUSTER SETSLOT 5 STABLE");
        first.RunUncompared("FLUSHALL");
    }

    [Fact]
    public void Scripts_use_the_keys_of_one_slot_here()
    {
        using ClusterConnection node = servers.Pair.Open(0);
        foreach ((string flags, string body, string keys) in Scripts)
        {
            string script = flags == "-" ? body : $"#!lua {flags}\n{body}";
            foreach (string command in (string[])["EVAL", "EVAL_RO"])
            {
                List<byte[]> request = [.. new[] { command, script, keys.Length > 0 ? "1" : "0" }.Select(Encoding.Latin1.GetBytes)];
                if (keys.Length > 0) request.Add(Encoding.Latin1.GetBytes(keys));
                node.Run([.. request]);
            }
        }

        const string Library = """
            #!lua name=l
            redis.register_function{function_name='f',callback=function(k,a) return redis.call('get',a[1]) end}
            redis.register_function{function_name='nc',callback=function(k,a) return 1 end,flags={'no-cluster'}}
            redis.register_function{function_name='x',callback=function(k,a) redis.call('get','b') return redis.call('get',a[1]) end,flags={'allow-cross-slot-keys'}}
            """;
        node.Run([.. new[] { "FUNCTION", "LOAD", "REPLACE", Library }.Select(Encoding.Latin1.GetBytes)]);
        foreach (string line in (string[])["fcall f 0 b", "fcall f 0 a", "fcall f 1 b b", "fcall f 1 b b2", "fcall f 1 b {b}2", "fcall f 1 a b", "fcall nc 0", "fcall nc 1 a", "fcall x 0 b2", "fcall x 0 a", "fcall x 1 b2 b2", "fcall_ro f 0 b", "fcall_ro nc 0"]) Run(node, line);
        node.Run("FUNCTION FLUSH");
        node.RunUncompared("FLUSHALL");
    }

    [Fact]
    public void A_slot_moves_key_by_key()
    {
        using ClusterConnection source = servers.Pair.Open(0), target = servers.Pair.Open(1), other = servers.Pair.Open(2);
        source.Run("SET b 1");
        source.Run("SET {b}2 2");
        source.Run("CLUSTER SETSLOT 3300 MIGRATING {id1}");
        target.Run("CLUSTER SETSLOT 3300 IMPORTING {id0}");
        foreach (string sequence in AtSource) RunAll(source, sequence);
        foreach (string sequence in AtTarget) RunAll(target, sequence);
        source.Run("CLUSTER SETSLOT 3300 NODE {id1}");
        source.Run("MIGRATE 127.0.0.1 {port1} \"\" 0 60000 KEYS b {b}2 {b}x");
        foreach (string line in (string[])["get b", "mget b {b}2", "get {b}x"]) Run(source, line);
        foreach (string line in (string[])["get b", "asking", "get b", "asking", "mget b {b}2", "get b"]) Run(target, line);
        target.Run("CLUSTER SETSLOT 3300 NODE {id1}");
        source.Run("CLUSTER SETSLOT 3300 NODE {id1}");
        other.RunUncompared("CLUSTER SETSLOT 3300 NODE {id1}"); // Redis has heard of it, or not yet
        foreach (ClusterConnection node in (ClusterConnection[])[source, target, other]) Run(node, "get b");
        target.Run("CLUSTER SLOTS");
        source.Run("CLUSTER SLOTS");

        // And back, without keys.
        target.RunUncompared("FLUSHALL");
        source.Run("CLUSTER SETSLOT 3300 IMPORTING {id1}");
        source.Run("CLUSTER SETSLOT 3300 NODE {id0}");
        target.Run("CLUSTER SETSLOT 3300 NODE {id0}");
        other.RunUncompared("CLUSTER SETSLOT 3300 NODE {id0}");
        Run(source, "get b");
    }

    [Fact]
    public void Without_a_slot_the_cluster_is_down()
    {
        using ClusterConnection node = servers.Pair.Open(0);
        using var waiting = servers.Pair.Open(0);
        waiting.Send("BLPOP {b}list 0");
        servers.WaitForBlocked(0);
        Assert.Contains("OK", node.Run("CLUSTER DELSLOTS 7"), StringComparison.Ordinal);
        servers.WaitUntilDown(0);
        waiting.Read();
        foreach (string sequence in WhileDown) RunAll(node, sequence);
        node.Run("CONFIG SET cluster-allow-reads-when-down yes");
        foreach (string sequence in WhileDown) RunAll(node, sequence);
        node.Run("CONFIG SET cluster-allow-pubsubshard-when-down no");
        foreach (string sequence in WhileDown) RunAll(node, sequence);
        node.Run("CONFIG SET cluster-allow-pubsubshard-when-down yes");
        node.Run("CONFIG SET cluster-allow-reads-when-down no");
        Assert.Contains("OK", node.Run("CLUSTER ADDSLOTS 7"), StringComparison.Ordinal);
        servers.WaitUntilUp(0);
        Run(node, "get b");
    }

    [Fact]
    public void Who_waits_and_who_has_subscribed_hears_that_the_slot_is_elsewhere()
    {
        using ClusterConnection node = servers.Pair.Open(0), waiting = servers.Pair.Open(0), subscriber = servers.Pair.Open(0);
        waiting.Send("BLPOP {c}list 0"); // slot 7365 is the second node's: replied at once
        waiting.Read();
        waiting.Send("BLPOP {f}list 0"); // 3168
        subscriber.Run("SSUBSCRIBE f");
        servers.WaitForBlocked(0);
        node.Run("CLUSTER SETSLOT 3168 NODE {id1}");
        waiting.Read();
        subscriber.ReadMessage();
        Run(node, "get f");
        node.RunUncompared("CLUSTER SETSLOT 3168 NODE {id0}");
        Run(node, "get f");
    }

    [Fact]
    public void Nodes_are_announced_as_the_settings_say()
    {
        using ClusterConnection node = servers.Pair.Open(0), modern = servers.Pair.Open(0, protocol: 3);
        foreach (string type in (string[])["hostname", "unknown-endpoint", "ip"])
        {
            node.Run("CONFIG SET cluster-preferred-endpoint-type " + type);
            foreach (string name in (string[])["host-1.example", "\"\""])
            {
                node.Run("CONFIG SET cluster-announce-hostname " + name);
                foreach (string line in (string[])["CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES"])
                {
                    node.Run(line);
                    modern.Run(line);
                }

                Run(node, "get a");
            }
        }

        node.Run("CONFIG SET cluster-announce-ip 1.2.3.4 cluster-announce-port 99 cluster-announce-bus-port 98 cluster-announce-tls-port 97");
        foreach (string line in (string[])["CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES"]) node.Run(line);
        node.Run("CONFIG SET cluster-announce-ip \"\" cluster-announce-port 0 cluster-announce-bus-port 0 cluster-announce-tls-port 0");
        servers.Pair.WaitForAddresses();
    }

    [Fact]
    public void A_busy_script_is_told_behind_permissions_and_slots()
    {
        using ClusterConnection node = servers.Pair.Open(0), restricted = servers.Pair.Open(0), busy = servers.Pair.Open(0);
        node.Run("ACL SETUSER u on nopass ~* +@all -get");
        restricted.Run("AUTH u x");
        node.Run("CONFIG SET busy-reply-threshold 1");
        busy.Send("EVAL \"while true do end\" 0");
        servers.WaitUntilBusy(0);
        foreach (string line in (string[])["get a", "get b", "mget a b", "mget b {b}2", "nosuch", "get", "ping", "select 1", "spublish a m", "spublish b m", "multi", "get a", "get b", "exec", "discard", "subscribe x"]) Run(node, line);
        foreach (string line in (string[])["get a", "get b", "set a 1", "set b 1"]) Run(restricted, line);
        node.Run("SCRIPT KILL");
        busy.Read();
        node.Run("CONFIG SET busy-reply-threshold 5000");
        node.Run("ACL DELUSER u");
    }

    [Fact]
    public void A_node_does_not_forget_itself()
    {
        using ClusterConnection node = servers.Pair.Open(0);
        foreach (string line in (string[])["CLUSTER FORGET {id0}", "CLUSTER FORGET nosuch", "CLUSTER FORGET", "CLUSTER REPLICATE {id1}"]) node.Run(line);
    }

    // Wrong arguments of everything that CLUSTER has, in an order that the seed gives.
    [Fact]
    public void Wrong_arguments_have_the_same_errors()
    {
        using ClusterConnection node = servers.Pair.Open(0);
        var random = new Random(20261128);
        string[] words = ["ADDSLOTS", "ADDSLOTSRANGE", "COUNT-FAILURE-REPORTS", "COUNTKEYSINSLOT", "DELSLOTSRANGE", "FAILOVER", "GETKEYSINSLOT", "INFO", "KEYSLOT", "MYID", "REPLICAS", "REPLICATE", "SAVECONFIG", "SET-CONFIG-EPOCH", "SETSLOT", "SLAVES"];
        string[] arguments = ["x", "-1", "16384", "", "99999999999999999999", "{id0}", "nosuch", "MIGRATING", "importing", "NODE", "STABLE", "HARD", "3 1", "1 2 3", "0x1", "1.5", "+1", " 1"];
        for (int i = 0; i < 400; i++)
        {
            List<string> request = ["CLUSTER", words[random.Next(words.Length)]];
            for (int count = random.Next(4); count > 0; count--) request.Add(arguments[random.Next(arguments.Length)]);
            node.Run([.. request.Select(Encoding.Latin1.GetBytes)]);
        }
    }

    private void RunAll(ClusterConnection node, string sequence)
    {
        if (!servers.Pair.Oracle.Runs(sequence)) return;
        foreach (string line in sequence.Split('|')) Run(node, line);
    }

    // A word is what is between spaces: scripts have quotes.
    private static void Run(ClusterConnection node, string line) => node.Run([.. line.Split(' ').Select(Encoding.Latin1.GetBytes)]);
}
