namespace RedKite.Differential.Tests.Cluster;

// What happens to those who wait, or have queued commands, when a slot leaves; and MIGRATE. The slot of "f", 3168, and that of "b", 3300, are the first node's.
public abstract partial class ClusterTranscripts
{
    private static readonly string[] Blocking =
    [
        "BLPOP {f}l 0", "BRPOP {f}l {f}m 0", "BLMOVE {f}l {f}m LEFT RIGHT 0", "BRPOPLPUSH {f}l {f}m 0", "BLMPOP 0 2 {f}l {f}m LEFT", "BZPOPMIN {f}z 0", "BZPOPMAX {f}z {f}y 0", "BZMPOP 0 1 {f}z MIN COUNT 2", "XREAD BLOCK 0 STREAMS {f}s $", "XREAD BLOCK 0 STREAMS {f}s {f}t 0 0",
    ];

    private static readonly string[] Migrations =
    [
        "SET b 1", "SET {b}2 2", "MIGRATE 127.0.0.1 {port1} b 0 60000", "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 KEYS b {b}2", "MIGRATE 127.0.0.1 {port1} b 1 60000", "MIGRATE 127.0.0.1 {port1} \"\" 1 60000 KEYS b {b}2", "MIGRATE 127.0.0.1 {port1} nosuch{b} 0 60000",
        "MIGRATE 127.0.0.1 {port1} a 0 60000", "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 KEYS a b", "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 COPY KEYS b", "MIGRATE 127.0.0.1 {port1} b 0 60000 KEYS b", "MIGRATE 127.0.0.1 {port1} b -1 60000", "MIGRATE 127.0.0.1 {port1} b x 60000",
        "MGET b {b}2",
    ];

    [Fact]
    public void What_waits_for_a_slot_that_leaves_is_sent_elsewhere()
    {
        using ClusterConnection node = servers.Pair.Open(0);
        foreach (string line in Blocking)
        {
            using ClusterConnection waiting = servers.Pair.Open(0);
            waiting.Send(line);
            servers.WaitForBlocked(0);
            node.Run("CLUSTER SETSLOT 3168 NODE {id1}");
            Assert.StartsWith("-MOVED 3168 ", waiting.Read(), StringComparison.Ordinal);
            waiting.Run("PING");
            node.RunUncompared("CLUSTER SETSLOT 3168 NODE {id0}");
        }
    }

    [Fact]
    public void What_is_queued_is_looked_at_again_by_exec()
    {
        using ClusterConnection node = servers.Pair.Open(0), client = servers.Pair.Open(0);

        // It has left.
        foreach (string line in (string[])["MULTI", "GET f", "SET {f}2 1"]) client.Run(line);
        node.Run("CLUSTER SETSLOT 3168 NODE {id1}");
        Assert.StartsWith("-MOVED 3168 ", client.Run("EXEC"), StringComparison.Ordinal);
        foreach (string line in (string[])["EXEC", "WATCH f", "MULTI", "GET f", "EXEC", "WATCH b", "MULTI", "GET b", "EXEC"]) client.Run(line);
        node.RunUncompared("CLUSTER SETSLOT 3168 NODE {id0}");

        // It is leaving: of no keys, some and all.
        foreach (string queued in (string[])["GET {f}2", "MGET f {f}2", "GET f", "SET {f}2 1", "EVAL \"return 1\" 2 f {f}2", "EVAL \"return redis.call('get', KEYS[1])\" 1 {f}2", "SORT f STORE {f}2", "COPY f {f}2", "BLPOP {f}2 0", "SPUBLISH f x"])
        {
            node.Run("SET f 1");
            client.Run("MULTI");
            client.Run(queued);
            node.Run("CLUSTER SETSLOT 3168 MIGRATING {id1}");
            client.Run("EXEC");
            if (!servers.Pair.Oracle.IsOfValkey)
            {
                client.Run("MULTI");
                client.Run(queued);
                client.Run("EXEC");
            }

            node.Run("CLUSTER SETSLOT 3168 STABLE");
            node.Run("DEL f {f}2");
        }
    }

    // ASKING is for one command, or one transaction, and not for what follows it.
    [Fact]
    public void Asking_is_for_one_command()
    {
        using ClusterConnection source = servers.Pair.Open(0), target = servers.Pair.Open(1);
        target.Run("CLUSTER SETSLOT 3300 IMPORTING {id0}");
        foreach (string sequence in (string[])
            [
                "asking|get b|get b", "asking|ping|get b", "asking|multi|get b|set b 1|exec|get b", "asking|multi|get b|discard|get b", "multi|asking|get b|exec", "multi|asking|exec|get b", "asking|watch b|multi|get b|exec", "asking|watch b|asking|multi|get b|exec",
                "asking|mget b {b}2", "asking|mset b 1 {b}2 2", "asking|readonly|get b|readwrite", "asking|eval return(redis.call('get',KEYS[1])) 1 b", "asking|sort b by nosort store {b}3", "asking|sort b by nosort get # get {b}*", "asking|reset|get b", "asking|get a|get b", "asking|set b 1 foo|get b",
                "asking|client no-evict off|get b", "asking|spublish b x", "asking|blpop b 0.01|get b", "asking|xread block 1 streams b 0|get b", "asking|object encoding b", "asking|del b",
            ]) RunAll(target, sequence);
        target.Run("CLUSTER SETSLOT 3300 STABLE");
        target.RunUncompared("FLUSHALL");
        Run(source, "get b");
    }

    [Fact]
    public void Keys_go_to_a_node_that_takes_them()
    {
        using ClusterConnection source = servers.Pair.Open(0), target = servers.Pair.Open(1);
        foreach (string line in Migrations) source.Run(line);
        source.Run("CLUSTER SETSLOT 3300 MIGRATING {id1}");
        target.Run("CLUSTER SETSLOT 3300 IMPORTING {id0}");
        foreach (string line in (string[])
            [
                "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 COPY KEYS b nosuch{b}", "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 KEYS b {b}2", "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 REPLACE KEYS b {b}2", "MGET b {b}2",
                "MIGRATE 127.0.0.1 {port1} \"\" 0 60000 KEYS b {b}2", "CLUSTER COUNTKEYSINSLOT 3300",
            ]) source.Run(line);
        foreach (string line in (string[])["ASKING", "MGET b {b}2", "MIGRATE 127.0.0.1 {port0} \"\" 0 60000 KEYS b {b}2", "ASKING", "DEL b {b}2", "CLUSTER SETSLOT 3300 STABLE"]) target.Run(line);
        source.Run("CLUSTER SETSLOT 3300 STABLE");
        source.RunUncompared("FLUSHALL");
    }

    // Sorting by keys of other slots is refused, and by those of the list's slot is not.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Sorting_uses_keys_of_one_slot(int protocol)
    {
        using ClusterConnection node = servers.Pair.Open(0, protocol);
        foreach (string line in (string[])
            [
                "DEL b", "RPUSH b 2 1 3", "MSET {b}w1 9 {b}w2 1 {b}w3 5", "SORT b", "SORT b BY {b}w*", "SORT b BY {b}w* GET {b}w* GET #", "SORT b BY w*", "SORT b BY {a}w*", "SORT b GET w*", "SORT b GET {b}w* GET {a}w*", "SORT b BY nosort GET #", "SORT b BY b*", "SORT b GET b*",
                "SORT b BY {b}w*->x", "SORT b GET {b}w*->x", "SORT b BY *", "SORT b GET *", "SORT b GET {*}", "SORT b GET {b*}", "SORT b GET {*b}", "SORT b GET *{b}", "SORT b GET {}{b}*", "SORT b STORE {b}c", "SORT b STORE a", "SORT b BY {b}w* GET # STORE {b}c", "LRANGE {b}c 0 -1", "SORT a BY {a}w*",
                "SORT_RO b BY {b}w*", "SORT_RO b GET w*", "SORT_RO b GET # GET {b}w*", "EVAL \"return redis.call('sort', KEYS[1], 'by', 'w*')\" 1 b", "EVAL \"return redis.call('sort', KEYS[1], 'by', '{b}w*', 'get', '#')\" 1 b", "EVAL \"return redis.call('sort', KEYS[1], 'store', 'a')\" 1 b",
                "EVAL \"return redis.call('sort', KEYS[1], 'store', '{b}c')\" 1 b", "GEOADD {b}g 1 1 m", "GEORADIUS {b}g 1 1 9 km STORE {b}h", "GEORADIUS {b}g 1 1 9 km STORE a", "GEOSEARCHSTORE a {b}g FROMLONLAT 1 1 BYRADIUS 9 km", "FLUSHALL",
            ]) node.Run(line);
    }
}
