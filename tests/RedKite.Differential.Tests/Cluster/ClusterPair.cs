using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>Three nodes of the oracle, which have met, and three of RedKite in this process, which have got the same topology with the same ids by CLUSTERX SETNODES.</summary>
internal sealed partial class ClusterPair(ClusterOracle oracle, (string Name, string Value)[] settings) : IAsyncDisposable
{
    public const int Nodes = 3;

    private const int PatienceMs = 120_000;

    private static readonly string[] Ranges = ["0 5460", "5461 10922", "10923 16383"];

    private readonly List<ServerProcess> _oracles = [];
    private readonly List<RedKiteServer> _servers = [];
    private readonly TemporaryFolder _folder = new();

    /// <summary>The ids of the nodes, in the order of their slots.</summary>
    public string[] Ids { get; private set; } = [];

    /// <summary>What RedKite is compared with.</summary>
    public ClusterOracle Oracle => oracle;

    public int OraclePort(int node) => _oracles[node].Port;

    public int Port(int node) => _servers[node].Port;

    /// <param name="oracle">What RedKite is compared with.</param>
    /// <param name="settings">Of all nodes of both.</param>
    public static async Task<ClusterPair> StartAsync(ClusterOracle oracle, params (string Name, string Value)[] settings)
    {
        Assert.SkipWhen(oracle.Program is null, oracle.Missing);
        var pair = new ClusterPair(oracle, settings);
        try
        {
            pair.StartOracles();
            for (int i = 0; i < Nodes; i++) pair._servers.Add(await pair.StartNodeAsync(i));
            pair.GiveTopology(version: 3);
            return pair;
        }
        catch
        {
            await pair.DisposeAsync();
            throw;
        }
    }

    /// <summary>A connection to a node on each side.</summary>
    public ClusterConnection Open(int node, int protocol = 2)
    {
        var connection = new ClusterConnection(this, RespConnection.Connect(_oracles[node].Port), RespConnection.Connect(_servers[node].Port));
        if (protocol == 3) connection.RunUncompared("HELLO 3");
        return connection;
    }

    /// <summary>A reply or request with what differs between the sides replaced: ports, and what gossip has counted.</summary>
    public string Normalized(string text, bool isOracle)
    {
        for (int i = 0; i < Ids.Length; i++)
        {
            int port = isOracle ? OraclePort(i) : Port(i);
            text = text.Replace(port.ToString(CultureInfo.InvariantCulture), $"<port{i}>", StringComparison.Ordinal);
        }

        text = oracle.WithoutOwn(text, isOracle);
        text = BusPort().Replace(text, ">@<bus>");
        text = Messages().Replace(text, "");
        text = Epochs().Replace(text, "$1");
        text = Offsets().Replace(text, "$1");
        return Pings().Replace(text, " $1 $2 0 0 0 connected");
    }

    /// <summary>Adds a replica of the first node on each side, and waits until it has the data.</summary>
    public async Task AddReplicaAsync()
    {
        int busPort = StartOracle();
        _servers.Add(await StartNodeAsync(Nodes));
        using RespConnection replica = _oracles[^1].Connect(), first = _oracles[0].Connect();
        string id = replica.Run("CLUSTER MYID").Text;
        first.Run($"CLUSTER MEET 127.0.0.1 {OraclePort(Nodes)} {busPort}").IsOk();
        WaitFor(() => !replica.Run("CLUSTER REPLICATE " + Ids[0]).IsError, "the replica does not know its primary");
        Ids = [.. Ids, id];
        GiveTopology(version: 20);
        first.Run("SET b 1").IsOk();
        Assert.Equal("OK", _servers[0].Execute("SET", "b", "1").Text);
        WaitFor(() => replica.Run("DBSIZE").Text == "1" && _servers[^1].Execute("DBSIZE") is { IsError: false, Integer: 1 }, "a replica has no data");
        foreach (ServerProcess node in _oracles)
        {
            using RespConnection connection = node.Connect();
            WaitFor(() => connection.Run("CLUSTER NODES").Text.Contains($"slave {Ids[0]}", StringComparison.Ordinal), "a node of Redis does not know the replica");
            WaitFor(() => connection.Run("CLUSTER INFO").Text.Contains("cluster_state:ok", StringComparison.Ordinal), "the cluster of Redis is down");
        }
    }

    /// <summary>Waits until the replica has executed what the first node has, on both sides.</summary>
    public void WaitForReplica()
    {
        foreach ((int primary, int replica) in (ReadOnlySpan<(int, int)>)[(OraclePort(0), OraclePort(Nodes)), (Port(0), Port(Nodes))])
        {
            using RespConnection first = RespConnection.Connect(primary), second = RespConnection.Connect(replica);
            WaitFor(() => OffsetIn(first, "master_repl_offset:") == OffsetIn(second, "slave_repl_offset:"), "the replica is behind");
        }

        static string OffsetIn(RespConnection node, string field) => node.Run("INFO replication").Text.Split(field)[1].Split('\r')[0];
    }

    private static void WaitFor(Func<bool> condition, string fault)
    {
        Stopwatch clock = Stopwatch.StartNew();
        while (!condition())
        {
            if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException(fault);
            Thread.Sleep(20);
        }
    }

    /// <summary>Gives the nodes of RedKite the slots that they had at the start, without keys, and without those that move.</summary>
    public void GiveTopology(int version)
    {
        string list = string.Join('\n', Enumerable.Range(0, Nodes).Select(i => $"{Ids[i]} 127.0.0.1 {Port(i)} master - {Ranges[i].Replace(' ', '-')}"));
        if (Ids.Length > Nodes) list += $"\n{Ids[Nodes]} 127.0.0.1 {Port(Nodes)} slave {Ids[0]}";
        for (int i = 0; i < Ids.Length; i++)
        {
            _servers[i].Execute("FLUSHALL");
            foreach (string slot in (string[])["5", "3168", "3300", "6000"]) _servers[i].Execute("CLUSTER", "SETSLOT", slot, "STABLE");
            Assert.Equal("OK", _servers[i].Execute("CLUSTERX", "SETNODEID", Ids[i]).Text);
            Assert.Equal("OK", _servers[i].Execute("CLUSTERX", "SETNODES", list, $"{version}").Text);
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (RedKiteServer server in _servers) await server.DisposeAsync();
        foreach (ServerProcess process in _oracles) process.Dispose();
        _folder.Dispose();
    }

    /// <summary>Waits until the nodes of Redis know their own addresses: each learns its own, also after cluster-announce-ip was set, from the first one that calls it.</summary>
    public void WaitForAddresses()
    {
        foreach (ServerProcess process in _oracles)
        {
            using RespConnection node = process.Connect();
            WaitFor(() => node.Run("CLUSTER NODES").Text.Contains($" 127.0.0.1:{process.Port}@", StringComparison.Ordinal), "a node of Redis does not know its address");
        }
    }

    private int StartOracle()
    {
        int busPort = LoopbackPort.Next();
        _oracles.Add(ServerProcess.Start(oracle.Program!,
        [
            "--cluster-enabled", "yes", "--cluster-port", busPort.ToString(CultureInfo.InvariantCulture), "--cluster-node-timeout", "60000", "--repl-diskless-sync-delay", "0",
            .. settings.SelectMany(static setting => (string[])["--" + setting.Name, setting.Value]),
        ]));
        return busPort;
    }

    private void StartOracles()
    {
        List<int> busPorts = [];
        for (int i = 0; i < Nodes; i++) busPorts.Add(StartOracle());
        using RespConnection first = _oracles[0].Connect();
        for (int i = 0; i < Nodes; i++)
        {
            using RespConnection node = _oracles[i].Connect();
            node.Run("CLUSTER ADDSLOTSRANGE " + Ranges[i]).IsOk();
            node.Run($"CLUSTER SET-CONFIG-EPOCH {i + 1}").IsOk();
        }

        for (int i = 1; i < Nodes; i++) first.Run($"CLUSTER MEET 127.0.0.1 {_oracles[i].Port} {busPorts[i]}").IsOk();
        Stopwatch clock = Stopwatch.StartNew();
        for (int i = 0; i < Nodes; i++)
        {
            using RespConnection node = _oracles[i].Connect();
            while (node.Run("CLUSTER INFO").Text is var text && !(text.Contains("cluster_state:ok", StringComparison.Ordinal) && text.Contains("cluster_slots_assigned:16384", StringComparison.Ordinal)))
            {
                if (clock.ElapsedMilliseconds > PatienceMs) throw new TimeoutException("the nodes of Redis do not meet: " + text);
                Thread.Sleep(50);
            }
        }

        WaitForAddresses();
        Ids = [.. _oracles.Select(static process =>
        {
            using RespConnection node = process.Connect();
            return node.Run("CLUSTER MYID").Text;
        })];
    }

    private async Task<RedKiteServer> StartNodeAsync(int index)
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)
            [("cluster-enabled", "yes"), ("cluster-config-file", $"nodes-{index}.conf"), ("dir", _folder.Path), ("loops", "2"), ("save", ""), ("diagnostics", "no"), ("reported-redis-version", oracle.Version), .. settings])
        {
            options.Settings[name] = value;
        }

        return await RedKiteServer.StartAsync(options);
    }

    [GeneratedRegex(@">@\d+")]
    private static partial Regex BusPort();

    [GeneratedRegex(@"cluster_stats_messages_[a-z_]+:\d+\\r\\n|cluster_stats_messages_[a-z_]+:\d+\s+")]
    private static partial Regex Messages();

    // A node of RedKite that has no store knows its own alone.
    [GeneratedRegex(@"(\$replication-offset) :\d+")]
    private static partial Regex Offsets();

    [GeneratedRegex(@"(cluster_(?:my|current)_epoch:)\d+")]
    private static partial Regex Epochs();

    [GeneratedRegex(@" (\S*(?:master|slave)\S*) (\S+) \d+ \d+ \d+ connected")]
    private static partial Regex Pings();
}

/// <summary>A connection to a node of each side. Replies are compared at once.</summary>
internal sealed class ClusterConnection(ClusterPair pair, RespConnection oracle, RespConnection subject) : IDisposable
{
    private string _sent = "";

    /// <summary>Runs a command on both and compares the replies. `{0}` to `{2}` are the ids of the nodes, `{p0}` to `{p2}` their ports.</summary>
    public string Run(string line) => Run([.. CommandLine.Split(line)]);

    /// <inheritdoc cref="Run(string)"/>
    public string Run(params byte[][] arguments)
    {
        if (!pair.Oracle.Runs(string.Join(' ', arguments.Select(System.Text.Encoding.Latin1.GetString)))) return "";
        RespValue expected = oracle.Run(For(arguments, isOracle: true)), actual = subject.Run(For(arguments, isOracle: false));
        Assert.True(expected.IsClosed == actual.IsClosed);
        string shown = string.Join(' ', arguments.Select(System.Text.Encoding.Latin1.GetString));
        string theirs = Shown(expected, shown, isOracle: true), ours = Shown(actual, shown, isOracle: false);
        (theirs, ours) = (pair.Oracle.Compared(theirs, shown), pair.Oracle.Compared(ours, shown));
        if (theirs != ours) Assert.Fail($"{shown}\nRedis:   {theirs}\nRedKite: {ours}");
        foreach ((List<RespValue> pushes, bool isOracle) in (ReadOnlySpan<(List<RespValue>, bool)>)[(oracle.Pushes, true), (subject.Pushes, false)])
        {
            if (pushes.Count > 0) Assert.Fail($"{shown}: an unexpected push {pushes[0]}, {(isOracle ? "Redis" : "RedKite")}");
        }

        return ours;
    }

    public void RunUncompared(string line)
    {
        oracle.Run(For(CommandLine.Split(line), isOracle: true));
        subject.Run(For(CommandLine.Split(line), isOracle: false));
    }

    /// <summary>Reads a message from both and compares it.</summary>
    public string ReadMessage()
    {
        string theirs = oracle.ReadAny().ToString(), ours = subject.ReadAny().ToString();
        Assert.Equal(theirs, ours);
        return ours;
    }

    /// <summary>Sends a command to both, whose reply comes later.</summary>
    public void Send(string line)
    {
        _sent = line;
        oracle.Send(CommandLine.Encode(For(CommandLine.Split(line), isOracle: true)));
        subject.Send(CommandLine.Encode(For(CommandLine.Split(line), isOracle: false)));
    }

    /// <summary>Reads the replies to what was sent, and compares them.</summary>
    public string Read()
    {
        string theirs = pair.Normalized(oracle.Read().ToString(), isOracle: true), ours = pair.Normalized(subject.Read().ToString(), isOracle: false);
        Assert.Equal(pair.Oracle.Compared(theirs, _sent), pair.Oracle.Compared(ours, _sent));
        return ours;
    }

    public void Dispose()
    {
        oracle.Dispose();
        subject.Dispose();
    }

    private byte[][] For(IEnumerable<byte[]> arguments, bool isOracle) => [.. arguments.Select(argument =>
    {
        string text = System.Text.Encoding.Latin1.GetString(argument);
        for (int i = 0; i < pair.Ids.Length; i++)
        {
            text = text.Replace($"{{id{i}}}", pair.Ids[i], StringComparison.Ordinal)
                .Replace($"{{port{i}}}", (isOracle ? pair.OraclePort(i) : pair.Port(i)).ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal);
        }

        return System.Text.Encoding.Latin1.GetBytes(text);
    })];

    // Redis lists nodes, shards and the keys of a slot in the order of a hash table.
    private string Shown(RespValue reply, string command, bool isOracle)
    {
        if (command.StartsWith("CLUSTER NODES", StringComparison.Ordinal) && reply.IsString)
        {
            string text = pair.Normalized(reply.Text, isOracle);
            string format = text.StartsWith("txt:", StringComparison.Ordinal) ? "txt:" : "";
            return $"{reply.Marker}{format}{string.Join('\n', text[format.Length..].Split('\n').Order(StringComparer.Ordinal))}";
        }

        if ((command.StartsWith("CLUSTER SHARDS", StringComparison.Ordinal) || command.StartsWith("CLUSTER GETKEYSINSLOT", StringComparison.Ordinal)) && reply.IsAggregate)
        {
            return string.Join('\n', reply.Items.Select(item => pair.Normalized(item.ToString(), isOracle)).Order(StringComparer.Ordinal));
        }

        return pair.Normalized(reply.ToString(), isOracle);
    }
}
