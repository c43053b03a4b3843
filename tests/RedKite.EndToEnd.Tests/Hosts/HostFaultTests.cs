using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>
/// A primary and two replicas on hosts of their own, while links are cut both ways and one way, processes are paused and killed, disks are full and primaries are replaced.
/// Clients outside write all the time; afterwards a checker that knows only what they saw says what must not be.
/// </summary>
public sealed class HostFaultTests
{
    private const int Hosts = 3;
    private const int ConfirmedPerRound = 20;
    private const int FaultMsMax = 6_000; // longer than repl-timeout, at times

    private enum Fault
    {
        LinkOfReplica,
        LinkOfPrimary,
        FromPrimary,
        ToPrimary,
        PausedReplica,
        PausedPrimary,
        FullDiskOfReplica,
        KilledReplica,
        KilledPrimary,
        KilledReplicaThenPrimary,
    }

    [Fact]
    [Long]
    public void Nothing_that_was_confirmed_is_lost_whatever_fails() => Run(TestScale.GivenSeed ?? 1, rounds: 20);

    private static void Run(int seed, int rounds)
    {
        HostNetwork.Skip();
        var random = new Random(seed);
        using var network = new HostNetwork(Hosts);
        using var servers = new HostServers(network, Hosts);
        using var clients = new HostClients(servers);
        WaitForAll(servers, clients);
        Fault[] all = Enum.GetValues<Fault>();
        for (int round = 0; round < rounds; round++)
        {
            // Each once in every ten rounds, in an order of the seed.
            if (round % all.Length == 0) random.Shuffle(all);
            Inflict(all[round % all.Length], random, network, servers, clients);
            WaitForAll(servers, clients);
        }

        clients.Stop();
        WaitForSame(servers, clients.History);
        using (RespConnection client = servers.Connect(servers.Primary, timeoutMs: 30_000))
        {
            foreach (string key in HostClients.Keys) clients.Read(client, key, servers.Primary);
        }

        Assert.NotEmpty(clients.History.Promotions);
        List<string> violations = ReplicationChecker.Check(clients.History);
        Assert.True(violations.Count == 0, $"seed {seed}: {string.Join('\n', violations.Take(20))}\n{servers.Log()}");
    }

    private static void Inflict(Fault fault, Random random, HostNetwork network, HostServers servers, HostClients clients)
    {
        int primary = servers.Primary, replica = (primary + random.Next(1, Hosts)) % Hosts, other = Hosts - primary - replica;
        int ms = random.Next(100, FaultMsMax);
        switch (fault)
        {
            case Fault.LinkOfReplica or Fault.LinkOfPrimary:
                network.Cut(fault == Fault.LinkOfReplica ? replica : primary);
                Thread.Sleep(ms);
                break;
            case Fault.FromPrimary:
                network.CutOneWay(primary, replica);
                Thread.Sleep(ms);
                break;
            case Fault.ToPrimary:
                network.CutOneWay(replica, primary);
                Thread.Sleep(ms);
                break;
            case Fault.PausedReplica or Fault.PausedPrimary:
                int paused = fault == Fault.PausedReplica ? replica : primary;
                servers.Pause(paused);
                Thread.Sleep(ms);
                servers.Continue(paused);
                break;
            case Fault.FullDiskOfReplica:
                servers.FillDisk(replica);
                Thread.Sleep(ms);
                servers.FreeDisk(replica);
                break;
            case Fault.KilledReplica:
                servers.Kill(replica);
                Thread.Sleep(ms);
                servers.Start(replica);
                servers.Follow(replica, primary);
                break;
            case Fault.KilledPrimary:
                servers.Kill(primary);
                Replace([replica, other], servers, clients);
                servers.Start(primary);
                servers.Follow(primary, servers.Primary);
                break;
            default:
                servers.Kill(replica);
                Thread.Sleep(ms);
                servers.Kill(primary);
                Replace([other], servers, clients);
                foreach (int server in (int[])[replica, primary])
                {
                    servers.Start(server);
                    servers.Follow(server, servers.Primary);
                }

                break;
        }

        network.Heal();
    }

    // As sentinels do, of the replicas that live the one that is ahead becomes the primary. Their links are down, so that their offsets stand still.
    private static void Replace(int[] candidates, HostServers servers, HostClients clients)
    {
        servers.WaitFor(() => candidates.All(candidate => servers.Field(candidate, "master_link_status") == "down"), "the end of the links");
        int chosen = candidates.MaxBy(candidate => long.Parse(servers.Field(candidate, "slave_repl_offset")!, CultureInfo.InvariantCulture));
        clients.History.Promotions.Enqueue(new Promotion(chosen, ReplicationHistory.Now, Hosts - 1, candidates.Length));
        servers.Promote(chosen);
        foreach (int candidate in candidates.Where(candidate => candidate != chosen)) servers.Follow(candidate, chosen);
    }

    // Both replicas follow the primary, and writes are confirmed again.
    private static void WaitForAll(HostServers servers, HostClients clients)
    {
        servers.WaitFor(() => Enumerable.Range(0, Hosts).All(server => server == servers.Primary || servers.Field(server, "master_link_status") == "up"), "the links");
        servers.WaitFor(() => servers.Field(servers.Primary, "connected_slaves") == "2", "the replicas");
        long confirmed = clients.Confirmed;
        servers.WaitFor(() => clients.Confirmed >= confirmed + ConfirmedPerRound, () => $"confirmed writes: {clients.Confirmed - confirmed} of {ConfirmedPerRound}\n{Recent(servers, clients)}");
    }

    // What clients see, and what servers say of their links.
    private static string Recent(HostServers servers, HostClients clients) =>
        string.Join('\n', clients.History.Writes.TakeLast(9).Select(write => write.ToString()).Concat(Enumerable.Range(0, Hosts).Select(server => servers.TryRun(server, "INFO replication") ?? "no reply")));

    private static void WaitForSame(HostServers servers, ReplicationHistory history)
    {
        servers.WaitFor(
            () =>
            {
                DataSeen?[] seen = [.. Enumerable.Range(0, Hosts).Select(server => DataOf(servers, server))];
                foreach (DataSeen? data in seen)
                {
                    if (data is not null) history.Data.Enqueue(data);
                }

                return Array.TrueForAll(seen, data => data is not null && data.History == seen[0]!.History && data.Offset == seen[0]!.Offset);
            },
            "the same place");
    }

    // Null: it cannot be reached, or something came meanwhile.
    private static DataSeen? DataOf(HostServers servers, int server)
    {
        string? before = servers.TryRun(server, "INFO replication");
        string? digest = servers.TryRun(server, "DEBUG DIGEST");
        string? after = servers.TryRun(server, "INFO replication");
        if (digest is null || HostServers.FieldOf(before, "master_repl_offset") is not { } offset || HostServers.FieldOf(after, "master_repl_offset") != offset || HostServers.FieldOf(after, "master_replid") is not { } id || HostServers.FieldOf(before, "master_replid") != id) return null;
        return new DataSeen(server, id, long.Parse(offset, CultureInfo.InvariantCulture), digest);
    }
}
