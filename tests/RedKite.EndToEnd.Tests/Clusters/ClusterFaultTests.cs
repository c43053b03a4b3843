using System.Diagnostics;
using System.Globalization;
using RedKite.EndToEnd.Tests.Hosts;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>
/// A cluster on three hosts, each with a member of etcd, while processes are killed and stand still, hosts are cut off both ways and one way, links are slow, disks are full, a clock steps, and etcd is away.
/// With two shards, slots move as a whole meanwhile. Clients of several kinds write and read all the time, and a program that knows only what they saw says what must not be.
/// </summary>
public sealed class ClusterFaultTests
{
    private const int Hosts = 3;
    private const int WritesPerRound = 10;
    private const int LeaseMs = ClusterNodes.LeaseMs;
    private const string RoundsVariable = "REDKITE_CLUSTER_ROUNDS";

    internal enum Fault
    {
        KilledPrimary,
        KilledPrimaryThatIsBackAtOnce,
        KilledReplica,
        KilledHost,
        PausedPrimary,
        PausedPrimaryShortly,
        PausedHost,
        CutHost,
        PrimaryHeardByNone,
        PrimaryHearsNone,
        PrimaryNotHeardByReplica,
        ReplicaNotHeardByPrimary,
        KilledMember,
        PausedMember,
        NoStore,
        NoStoreShortly,
        SlowHost,
        ShakyLink,
        FullDisk,
        SteppedClock,
        Handover,
        HandoverWhileCut,
        HandoverWhilePrimaryDies,
    }

    [Fact]
    public Task Nothing_that_was_acknowledged_is_lost() => Run(TestScale.GivenSeed ?? 1, shards: 1, [Fault.PrimaryHeardByNone, Fault.KilledPrimary], ClusterClients.Python, ClusterClients.Ioredis);

    [Fact]
    [Long]
    public Task Nothing_that_was_acknowledged_is_lost_whatever_fails()
    {
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        int rounds = int.TryParse(Environment.GetEnvironmentVariable(RoundsVariable), CultureInfo.InvariantCulture, out int given) ? given : Enum.GetValues<Fault>().Length;
        var random = new Random(seed);
        List<Fault> faults = [];
        while (faults.Count < rounds)
        {
            // Each once, in an order of the seed, before one comes again.
            Fault[] all = Enum.GetValues<Fault>();
            random.Shuffle(all);
            faults.AddRange(all);
        }

        return Run(seed, shards: 2, [.. faults.Take(rounds)], ClusterClients.Python, ClusterClients.Ioredis, ClusterClients.StackExchange);
    }

    private static async Task Run(int seed, int shards, Fault[] faults, params string[] names)
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        HostNetwork.Skip();
        var random = new Random(seed);
        using var hosts = new ClusterHosts(Hosts);
        NodePlace[] places = [.. Enumerable.Range(0, Hosts * shards).Select(node => hosts.PlaceOf(node, node % Hosts, hasClock: node == 0 && shards > 1))];
        using var nodes = new ClusterNodes(places, hosts.Etcd, "--appendonly", "yes");
        if (shards == 1) nodes.Create(shards);
        else nodes.Create(shards, 4, 3, 2, 5); // so that each shard is on all hosts, and no host's end takes two of its nodes
        using var history = new ClusterHistory();
        using var clients = new ClusterClients(nodes, history, seed, names);
        clients.WaitForProgress(WritesPerRound, "at the beginning");
        using SlotMover? mover = shards > 1 ? new SlotMover(nodes, seed) : null; // moves of slots are in progress all the time
        List<string> done = [];
        for (int round = 0; round < faults.Length; round++)
        {
            long begin = ClusterHistory.Now;
            string where = $"seed {seed}, round {round}: {faults[round]}";
            done.Add(where);
            Inflict(faults[round], random, hosts, nodes);
            nodes.WaitForAll(() => $"{where}\n{hosts.Log()}");
            clients.WaitForProgress(WritesPerRound, where);
            done[^1] += string.Create(CultureInfo.InvariantCulture, $", {Stopwatch.GetElapsedTime(begin).TotalSeconds:0} s, at {begin}");
        }

        mover?.Stop();
        clients.Stop();
        nodes.WaitForAll(() => $"seed {seed}: the end\n{hosts.Log()}");
        clients.ReadAtEnd();
        string verdict = await history.Judge(() => $"{string.Join('\n', done)}\n{nodes.Log()}");
        TestContext.Current.TestOutputHelper?.WriteLine($"{string.Join('\n', done)}\nseed {seed}, {faults.Length} rounds, {mover?.Begun ?? 0} moves of slots{(ClusterHosts.FakeTime is null ? ", no clock steps without libfaketime" : "")}: {verdict}\nerrors: {string.Join(' ', history.Errors)}");
        ClusterErrors.Expect(history.Errors);
    }

    private static void Inflict(Fault fault, Random random, ClusterHosts hosts, ClusterNodes nodes)
    {
        int[] primaries = nodes.Primaries();
        int primary = primaries[random.Next(primaries.Length)], replica = nodes.ReplicaOf(primary);
        int host = primary % Hosts, other = replica % Hosts;
        int longMs = LeaseMs + random.Next(500, 3_000), anyMs = random.Next(50, 2 * LeaseMs), shortMs = random.Next(100, LeaseMs * 9 / 10);
        int[] onHost = [.. Enumerable.Range(0, nodes.Count).Where(node => node % Hosts == host)];
        switch (fault)
        {
            case Fault.KilledPrimary or Fault.KilledReplica or Fault.KilledPrimaryThatIsBackAtOnce:
                int killed = fault == Fault.KilledReplica ? replica : primary;
                nodes.Kill(killed);
                if (fault != Fault.KilledPrimaryThatIsBackAtOnce) Thread.Sleep(anyMs);
                nodes.Start(killed);
                break;
            case Fault.KilledHost:
                hosts.KillEtcd(host);
                foreach (int node in onHost) nodes.Kill(node);
                Thread.Sleep(anyMs);
                hosts.StartEtcd(host);
                foreach (int node in onHost) nodes.Start(node);
                break;
            case Fault.PausedPrimary or Fault.PausedPrimaryShortly:
                nodes.Pause(primary);
                Thread.Sleep(fault == Fault.PausedPrimary ? longMs : shortMs);
                nodes.Continue(primary);
                break;
            case Fault.PausedHost:
                hosts.PauseEtcd(host);
                foreach (int node in onHost) nodes.Pause(node);
                Thread.Sleep(longMs);
                foreach (int node in onHost) nodes.Continue(node);
                hosts.ContinueEtcd(host);
                break;
            case Fault.CutHost:
                hosts.Network.Cut(host);
                Thread.Sleep(anyMs);
                break;
            case Fault.PrimaryHeardByNone or Fault.PrimaryHearsNone:
                foreach (int each in Enumerable.Range(0, Hosts).Where(each => each != host))
                {
                    if (fault == Fault.PrimaryHeardByNone) hosts.Network.CutOneWay(host, each);
                    else hosts.Network.CutOneWay(each, host);
                }

                Thread.Sleep(longMs);
                break;
            case Fault.PrimaryNotHeardByReplica when host != other:
                hosts.Network.CutOneWay(host, other);
                Thread.Sleep(anyMs);
                break;
            case Fault.ReplicaNotHeardByPrimary when host != other:
                hosts.Network.CutOneWay(other, host);
                Thread.Sleep(anyMs);
                break;
            case Fault.KilledMember:
                hosts.KillEtcd(host);
                Thread.Sleep(anyMs);
                hosts.StartEtcd(host);
                break;
            case Fault.PausedMember:
                hosts.PauseEtcd(host);
                Thread.Sleep(anyMs);
                hosts.ContinueEtcd(host);
                break;
            case Fault.NoStore or Fault.NoStoreShortly:
                for (int each = 0; each < Hosts; each++) hosts.KillEtcd(each);
                Thread.Sleep(fault == Fault.NoStore ? longMs : shortMs);
                for (int each = 0; each < Hosts; each++) hosts.StartEtcd(each);
                break;
            case Fault.SlowHost:
                hosts.Slow(host);
                Thread.Sleep(2 * anyMs);
                hosts.Unslow(host);
                break;
            case Fault.ShakyLink:
                for (int i = 0; i < 8; i++)
                {
                    hosts.Network.Cut(host);
                    Thread.Sleep(random.Next(50, 600));
                    hosts.Network.Heal();
                    Thread.Sleep(random.Next(50, 600));
                }

                break;
            case Fault.FullDisk:
                hosts.FillDisk(host);
                Thread.Sleep(longMs);
                hosts.FreeDisk(host);
                foreach (int node in onHost.Where(node => !nodes.IsRunning(node))) nodes.Start(node);
                break;
            case Fault.SteppedClock:
                hosts.StepClock(random.Next(2) == 0 ? 7_200 : -7_200);
                Thread.Sleep(longMs);
                hosts.StepClock(0);
                break;
            case Fault.Handover:
                nodes.Try(replica, "CLUSTER FAILOVER");
                break;
            case Fault.HandoverWhileCut:
                int deaf = random.Next(Hosts);
                hosts.Network.CutOneWay((deaf + random.Next(1, Hosts)) % Hosts, deaf);
                nodes.Try(replica, "CLUSTER FAILOVER");
                Thread.Sleep(anyMs);
                break;
            case Fault.HandoverWhilePrimaryDies:
                nodes.Try(replica, "CLUSTER FAILOVER");
                Thread.Sleep(random.Next(0, 40));
                nodes.Kill(primary);
                Thread.Sleep(anyMs);
                nodes.Start(primary);
                break;
            default:
                break; // both are on one host
        }

        hosts.Network.Heal();
    }
}
