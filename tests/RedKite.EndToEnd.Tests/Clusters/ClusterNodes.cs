using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedKite.ClusterChecker;
using RedKite.EndToEnd.Tests.Hosts;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>Where a node runs.</summary>
/// <param name="Address">Its address for clients and other nodes.</param>
/// <param name="Port">Its port.</param>
/// <param name="Folder">What it keeps when it is started again.</param>
/// <param name="Prefix">What its command line begins with.</param>
/// <param name="Options">What its command line ends with; null: nothing.</param>
internal sealed record NodePlace(IPAddress Address, int Port, string Folder, string Prefix = "", string[]? Options = null)
{
    internal string Text => $"{Address}:{Port.ToString(CultureInfo.InvariantCulture)}";
}

/// <summary>The processes of a cluster that agrees by etcd, with replica-acks 1. Each keeps its port and its folder from start to start.</summary>
internal sealed class ClusterNodes : IDisposable
{
    internal const int LeaseMs = 3_000;

    private const int PatienceMs = 120_000;
    private const int OutputLinesShown = 25;

    private readonly IReadOnlyList<NodePlace> _places;
    private readonly string _etcd;
    private readonly string[] _options;
    private readonly ServerProcess?[] _processes;

    internal ClusterNodes(IReadOnlyList<NodePlace> places, string etcd, params string[] options)
    {
        (_places, _etcd, _options) = (places, etcd, options);
        _processes = new ServerProcess?[places.Count];
    }

    internal int Count => _places.Count;

    internal IEnumerable<string> Addresses => _places.Select(static place => place.Text);

    internal NodePlace PlaceOf(int node) => _places[node];

    internal int IdOf(int node) => _processes[node]!.Id;

    internal int NodeAt(string address) => _places.ToList().FindIndex(place => place.Text == address);

    internal bool IsRunning(int node) => _processes[node] is { HasExited: false };

    /// <summary>Starts all, and makes a cluster in which the first ones are primaries.</summary>
    /// <param name="shards">How many.</param>
    /// <param name="others">The order in which the others join, one behind the other; none: as they come.</param>
    internal void Create(int shards, params int[] others)
    {
        for (int i = 0; i < (others.Length > 0 ? shards : Count); i++) Start(i);
        for (int i = 0; i < shards; i++)
        {
            int first = Slot.Count * i / shards, last = (Slot.Count * (i + 1) / shards) - 1;
            WaitFor(() => Try(i, string.Create(CultureInfo.InvariantCulture, $"CLUSTER ADDSLOTSRANGE {first} {last}")) is "OK" or ['E', 'R', 'R', ' ', 'S', 'l', 'o', 't', ..], "slots");
        }

        for (int i = 0; i < others.Length; i++)
        {
            string known = (shards + i + 1).ToString(CultureInfo.InvariantCulture);
            Start(others[i]);
            WaitFor(() => HostServers.FieldOf("\n" + Try(0, "CLUSTER INFO"), "cluster_known_nodes") == known, "a node that joins");
        }

        WaitForAll();
    }

    internal void Start(int node)
    {
        NodePlace place = _places[node];
        Directory.CreateDirectory(place.Folder);
        string line = $"{place.Prefix}dotnet {Transfers.Program} --port {place.Port.ToString(CultureInfo.InvariantCulture)}";
        _processes[node]?.Dispose();
        _processes[node] = ServerProcess.StartUnchecked(
            new ServerProgram("redkite", line, IsRedKite: true),
            place.Port,
            ["--bind", place.Address.ToString(), "--protected-mode", "no", "--dir", place.Folder, "--save", "", "--loops", "1", "--cluster-enabled", "yes", "--cluster-etcd", _etcd, "--cluster-lease-ms", LeaseMs.ToString(CultureInfo.InvariantCulture),
            "--cluster-announce-ip", place.Address.ToString(), "--replica-acks", "1", "--replica-acks-timeout", "1000", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", "--repl-timeout", "4", "--diagnostics", "no", .. _options, .. place.Options ?? []]);
    }

    internal void Kill(int node)
    {
        _processes[node]?.Dispose();
        _processes[node] = null;
    }

    internal void Pause(int node) => _processes[node]!.Signal("STOP");

    internal void Continue(int node) => _processes[node]!.Signal("CONT");

    internal RespConnection Connect(int node, int timeoutMs = 1_500)
    {
        var address = new IPEndPoint(_places[node].Address, _places[node].Port);
        using (var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp))
        {
            using var patience = new CancellationTokenSource(timeoutMs);
            try
            {
                probe.ConnectAsync(address, patience.Token).AsTask().GetAwaiter().GetResult();
            }
            catch (OperationCanceledException)
            {
                throw new SocketException((int)SocketError.TimedOut);
            }
        }

        return RespConnection.Connect(address, timeoutMs);
    }

    /// <summary>The reply as text, an error as well; null: the node is not reached, or does not reply.</summary>
    internal string? Try(int node, string command)
    {
        try
        {
            using RespConnection client = Connect(node);
            RespValue reply = client.Run(command);
            return reply.IsClosed || reply.IsTimeout ? null : reply.IsAggregate ? reply.ToString() : reply.Text;
        }
        catch (Exception failure) when (failure is SocketException or IOException)
        {
            return null;
        }
    }

    /// <summary>Whether a node serves as a primary of slots.</summary>
    internal bool IsPrimary(int node) => Try(node, "CLUSTER INFO")?.Contains("cluster_state:ok", StringComparison.Ordinal) == true && HostServers.FieldOf(Try(node, "INFO replication"), "role") == "master";

    /// <summary>The nodes that serve as primaries.</summary>
    internal int[] Primaries() => [.. Enumerable.Range(0, Count).Where(IsPrimary)];

    /// <summary>A replica of a primary.</summary>
    internal int ReplicaOf(int primary)
    {
        string port = _places[primary].Port.ToString(CultureInfo.InvariantCulture), host = _places[primary].Address.ToString();
        int found = -1;
        WaitFor(() => (found = Enumerable.Range(0, Count).FirstOrDefault(node => Try(node, "INFO replication") is { } info && HostServers.FieldOf(info, "master_port") == port && HostServers.FieldOf(info, "master_host") == host, -1)) >= 0, "a replica");
        return found;
    }

    /// <summary>Every slot has a primary, and every other node is a replica in step.</summary>
    /// <param name="context">What a failure tells beside that.</param>
    internal void WaitForAll(Func<string>? context = null) => WaitFor(IsWhole, () => $"the whole cluster: {context?.Invoke()}");

    private bool IsWhole()
    {
        int primaries = 0, replicas = 0, connected = 0;
        for (int node = 0; node < Count; node++)
        {
            if (Try(node, "CLUSTER INFO") is not { } cluster || !cluster.Contains("cluster_state:ok", StringComparison.Ordinal) || HostServers.FieldOf("\n" + cluster, "cluster_slots_assigned") != "16384") return false;
            string? info = Try(node, "INFO replication");
            if (HostServers.FieldOf(info, "role") == "master")
            {
                primaries++;
                connected += int.Parse(HostServers.FieldOf(info, "connected_slaves")!, CultureInfo.InvariantCulture);
            }
            else if (HostServers.FieldOf(info, "master_link_status") == "up")
            {
                replicas++;
            }
            else
            {
                return false;
            }
        }

        return primaries + replicas == Count && replicas == connected && HostServers.FieldOf("\n" + Try(0, "CLUSTER INFO"), "cluster_size") == primaries.ToString(CultureInfo.InvariantCulture);
    }

    internal void WaitFor(Func<bool> condition, string what) => WaitFor(condition, () => what);

    internal void WaitFor(Func<bool> condition, Func<string> what)
    {
        long endMs = Environment.TickCount64 + PatienceMs;
        while (!condition())
        {
            if (Environment.TickCount64 > endMs) Assert.Fail($"timed out waiting for {what()}\n{Log()}");
            Thread.Sleep(25);
        }
    }

    /// <summary>What the nodes have said last.</summary>
    internal string Log() => string.Join("\n\n", _processes.Select((process, i) => $"node {i} at {_places[i].Text}: {(process is null ? "is not running" : string.Join('\n', process.Output.TakeLast(OutputLinesShown)))}"));

    public void Dispose()
    {
        foreach (ServerProcess? process in _processes) process?.Dispose();
    }
}
