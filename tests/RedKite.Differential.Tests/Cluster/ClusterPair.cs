using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Cluster;

/// <summary>Three nodes of the oracle, which have met, and three of RedKite in this process, which have got the same topology with the same ids by CLUSTERX SETNODES.</summary>
internal sealed partial class ClusterPair : IAsyncDisposable
{
    public const int Nodes = 3;

    private const int PatienceMs = 120_000;

    private static readonly string[] Ranges = ["0 5460", "5461 10922", "10923 16383"];

    private readonly List<ServerProcess> _oracles = [];
    private readonly List<RedKiteServer> _servers = [];
    private readonly TemporaryFolder _folder = new();

    /// <summary>The ids of the nodes, in the order of their slots.</summary>
    public string[] Ids { get; private set; } = [];

    public int OraclePort(int node) => _oracles[node].Port;

    public int Port(int node) => _servers[node].Port;

    public static async Task<ClusterPair> StartAsync()
    {
        Assert.SkipWhen(OracleProgram.Redis8Path is null, "nodes of a cluster: " + OracleProgram.Redis8Missing);
        var pair = new ClusterPair();
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

        text = BusPort().Replace(text, ">@<bus>");
        text = Messages().Replace(text, "");
        text = Epochs().Replace(text, "$1");
        return Pings().Replace(text, " $1 $2 0 0 0 connected");
    }

    /// <summary>Adds a replica of the first node on each side, and waits until it has the data.</summary>
    public async Task AddReplicaAsync()
    {
        int busPort = LoopbackPort.Next();
        _oracles.Add(ServerProcess.Start(OracleProgram.Redis8!, "--cluster-enabled", "yes", "--cluster-port", busPort.ToString(CultureInfo.InvariantCulture), "--cluster-node-timeout", "60000", "--repl-diskless-sync-delay", "0"));
        _servers.Add(await StartNodeAsync(Nodes));
        using RespConnection oracle = _oracles[^1].Connect(), first = _oracles[0].Connect();
        string id = oracle.Run("CLUSTER MYID").Text;
        first.Run($"CLUSTER MEET 127.0.0.1 {OraclePort(Nodes)} {busPort}").IsOk();
        WaitFor(() => !oracle.Run("CLUSTER REPLICATE " + Ids[0]).IsError, "the replica does not know its primary");
        Ids = [.. Ids, id];
        GiveTopology(version: 20);
        first.Run("SET b 1").IsOk();
        Assert.Equal("OK", _servers[0].Execute("SET", "b", "1").Text);
        WaitFor(() => oracle.Run("DBSIZE").Text == "1" && _servers[^1].Execute("DBSIZE") is { IsError: false, Integer: 1 }, "a replica has no data");
        foreach (ServerProcess node in _oracles)
        {
            using RespConnection connection = node.Connect();
            WaitFor(() => connection.Run("CLUSTER NODES").Text.Contains($"slave {Ids[0]}", StringComparison.Ordinal), "a node of Redis does not know the replica");
            WaitFor(() => connection.Run("CLUSTER INFO").Text.Contains("cluster_state:ok", StringComparison.Ordinal), "the cluster of Redis is down");
        }
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
        foreach (ServerProcess oracle in _oracles) oracle.Dispose();
        _folder.Dispose();
    }

    /// <summary>Waits until the nodes of Redis know their own addresses: each learns its own, also after cluster-announce-ip was set, from the first one that calls it.</summary>
    public void WaitForAddresses()
    {
        foreach (ServerProcess oracle in _oracles)
        {
            using RespConnection node = oracle.Connect();
            WaitFor(() => node.Run("CLUSTER NODES").Text.Contains($" 127.0.0.1:{oracle.Port}@", StringComparison.Ordinal), "a node of Redis does not know its address");
        }
    }

    private void StartOracles()
    {
        List<int> busPorts = [];
        for (int i = 0; i < Nodes; i++)
        {
            busPorts.Add(LoopbackPort.Next());
            _oracles.Add(ServerProcess.Start(OracleProgram.Redis8!, "--cluster-enabled", "yes", "--cluster-port", busPorts[i].ToString(CultureInfo.InvariantCulture), "--cluster-node-timeout", "60000"));
        }

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
        Ids = [.. _oracles.Select(static oracle =>
        {
            using RespConnection node = oracle.Connect();
            return node.Run("CLUSTER MYID").Text;
        })];
    }

    private async Task<RedKiteServer> StartNodeAsync(int index)
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)
            [("cluster-enabled", "yes"), ("cluster-config-file", $"nodes-{index}.conf"), ("dir", _folder.Path), ("loops", "2"), ("save", ""), ("diagnostics", "no"), ("reported-redis-version", "8.0.2")])
        {
            options.Settings[name] = value;
        }

        return await RedKiteServer.StartAsync(options);
    }

    [GeneratedRegex(@">@\d+")]
    private static partial Regex BusPort();

    [GeneratedRegex(@"cluster_stats_messages_[a-z_]+:\d+\\r\\n|cluster_stats_messages_[a-z_]+:\d+\s+")]
    private static partial Regex Messages();

    [GeneratedRegex(@"(cluster_(?:my|current)_epoch:)\d+")]
    private static partial Regex Epochs();

    [GeneratedRegex(@" (\S*(?:master|slave)) (\S+) \d+ \d+ \d+ connected")]
    private static partial Regex Pings();
}

/// <summary>A connection to a node of each side. Replies are compared at once.</summary>
internal sealed class ClusterConnection(ClusterPair pair, RespConnection oracle, RespConnection subject) : IDisposable
{
    /// <summary>Runs a command on both and compares the replies. `{0}` to `{2}` are the ids of the nodes, `{p0}` to `{p2}` their ports.</summary>
    public string Run(string line) => Run([.. CommandLine.Split(line)]);

    /// <inheritdoc cref="Run(string)"/>
    public string Run(params byte[][] arguments)
    {
        RespValue expected = oracle.Run(For(arguments, isOracle: true)), actual = subject.Run(For(arguments, isOracle: false));
        Assert.True(expected.IsClosed == actual.IsClosed);
        string shown = string.Join(' ', arguments.Select(System.Text.Encoding.Latin1.GetString));
        string theirs = Shown(expected, shown, isOracle: true), ours = Shown(actual, shown, isOracle: false);
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
        oracle.Send(CommandLine.Encode(For(CommandLine.Split(line), isOracle: true)));
        subject.Send(CommandLine.Encode(For(CommandLine.Split(line), isOracle: false)));
    }

    /// <summary>Reads the replies to what was sent, and compares them.</summary>
    public string Read()
    {
        string theirs = pair.Normalized(oracle.Read().ToString(), isOracle: true), ours = pair.Normalized(subject.Read().ToString(), isOracle: false);
        Assert.Equal(theirs, ours);
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
