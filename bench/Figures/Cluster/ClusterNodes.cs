using System.Globalization;
using System.Text.RegularExpressions;

namespace RedKite.Figures.Cluster;

/// <summary>Nodes of clusters: how they are started, and get their slots.</summary>
internal static partial class ClusterNodes
{
    internal const int Slots = 16_384;

    private const int PatienceMs = 60_000;

    /// <summary>The servers that have a cluster mode to be measured, RedKite first.</summary>
    internal static ServerKind[] Compared(Options options, Report report) =>
        [.. ServerKind.Available(options, report).Where(static kind => kind.Name is "redkite" or "redis")];

    /// <summary>The command of a node. Its bus has a port of its own: ten thousand more may be no port.</summary>
    internal static ServerKind InCluster(ServerKind kind, string arguments = "") =>
        kind with { Command = string.Create(CultureInfo.InvariantCulture, $"{kind.Command} --cluster-enabled yes --cluster-port {MeasuredProcess.FindFreePort()} {arguments}") };

    /// <summary>A node with all slots, and no other.</summary>
    internal static ServerUnderTest StartAlone(ServerKind kind, string cpus = Machine.ServerCpus)
    {
        ServerUnderTest server = ServerUnderTest.Start(InCluster(kind), $"{kind.Name} cluster", cpus: cpus);
        try
        {
            AddSlots(server, 0, Slots - 1);
            WaitUntilServed([server], 1);
            return server;
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }

    internal static void AddSlots(ServerUnderTest server, int first, int last)
    {
        using SetupConnection connection = server.Connect();
        connection.Run("CLUSTER", "ADDSLOTSRANGE", Text(first), Text(last));
    }

    internal static string IdOf(ServerUnderTest server)
    {
        using SetupConnection connection = server.Connect();
        return connection.Run("CLUSTER", "MYID");
    }

    /// <summary>Divides the slots evenly among nodes of Redis or Valkey, and lets all of them meet, with those that get none.</summary>
    internal static void Meet(IReadOnlyList<ServerUnderTest> primaries, IReadOnlyList<ServerUnderTest> others)
    {
        for (int i = 0; i < primaries.Count; i++)
        {
            using SetupConnection connection = primaries[i].Connect();
            connection.Run("CLUSTER", "SET-CONFIG-EPOCH", Text(i + 1));
            AddSlots(primaries[i], Slots * i / primaries.Count, (Slots * (i + 1) / primaries.Count) - 1);
        }

        using SetupConnection first = primaries[0].Connect();
        foreach (ServerUnderTest other in (IEnumerable<ServerUnderTest>)[.. primaries.Skip(1), .. others])
        {
            using SetupConnection connection = other.Connect();
            first.Run("CLUSTER", "MEET", "127.0.0.1", Text(other.Port), BusPort().Match(connection.Run("CLUSTER", "NODES")).Groups[1].Value);
        }

        WaitUntilServed([.. primaries, .. others], primaries.Count + others.Count);
    }

    /// <summary>Waits until these nodes know so many, and find all slots served.</summary>
    internal static void WaitUntilServed(IReadOnlyList<ServerUnderTest> servers, int nodes) => WaitFor.Until(
        () => servers.All(server =>
        {
            using SetupConnection connection = server.Connect();
            string info = connection.Run("CLUSTER", "INFO");
            return info.Contains("cluster_state:ok", StringComparison.Ordinal) && info.Contains($"cluster_known_nodes:{Text(nodes)}\r", StringComparison.Ordinal)
                && info.Contains($"cluster_slots_ok:{Text(Slots)}\r", StringComparison.Ordinal);
        }),
        "a cluster to serve its slots", PatienceMs);

    internal static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);

    [GeneratedRegex(@"@(\d+)\S* myself")]
    private static partial Regex BusPort();
}
