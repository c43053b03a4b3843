using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// A shard of three processes that agree by a real etcd, with replica-acks 1, while one client writes and primaries are killed, stand still for longer than their lease, and hand over: no write that was
/// acknowledged is lost, none is acknowledged by a process whose lease has ended, and a node serves again.
/// </summary>
public sealed class EtcdClusterTests
{
    private const int Nodes = 3;
    private const int PatienceMs = 90_000;
    private const string LeaseMs = "2000";

    private long _acknowledged;

    [Fact]
    public async Task Acknowledged_writes_survive_primaries()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        List<ServerProcess> nodes = [];
        try
        {
            for (int i = 0; i < Nodes; i++) nodes.Add(Start(etcd));
            Run(nodes[0], "CLUSTER ADDSLOTSRANGE 0 16383");
            Until(() => nodes.Count(static node => Run(node, "ROLE").Contains("slave", StringComparison.Ordinal)) == Nodes - 1, "replicas");

            Write(nodes);
            ServerProcess primary = PrimaryOf(nodes);
            primary.Signal("KILL");
            primary.WaitForExit(PatienceMs);
            nodes.Remove(primary);
            primary.Dispose();
            nodes.Add(Start(etcd)); // joins, so that writes are acknowledged
            Write(nodes);

            // It stands still for longer than its lease. What it was sent meanwhile it must not acknowledge.
            primary = PrimaryOf(nodes);
            using RespConnection before = primary.Connect();
            primary.Signal("STOP");
            before.SendCommand("INCR counter");
            Write([.. nodes.Where(node => node != primary)]);
            primary.Signal("CONT");
            Assert.DoesNotContain(':', ReplyOrEnd(before));

            ServerProcess replica = nodes.First(static node => Run(node, "ROLE").Contains("slave", StringComparison.Ordinal));
            Until(() => Run(replica, "CLUSTER FAILOVER") is var reply && (reply.StartsWith("+OK", StringComparison.Ordinal) || reply.Contains("to a replica", StringComparison.Ordinal)), "the failover");
            Write(nodes);
        }
        finally
        {
            foreach (ServerProcess node in nodes) node.Dispose();
        }
    }

    private static ServerProcess Start(EtcdProgram etcd) => Transfers.Start(
        "redkite", "--save", "", "--cluster-enabled", "yes", "--cluster-etcd", etcd.Addresses[0].ToString(), "--cluster-lease-ms", LeaseMs, "--cluster-announce-ip", "127.0.0.1",
        "--replica-acks", "1", "--replica-acks-timeout", "1000", "--repl-diskless-sync-delay", "0");

    // Increments a counter at the node that serves until one more was acknowledged, and checks that it counts on from the last one.
    private void Write(IReadOnlyList<ServerProcess> nodes)
    {
        long seen = _acknowledged;
        Until(
            () =>
            {
                foreach (ServerProcess node in nodes)
                {
                    string reply = Run(node, "INCR counter");
                    if (!reply.StartsWith(':')) continue;
                    long value = long.Parse(reply.AsSpan(1), CultureInfo.InvariantCulture);
                    Assert.True(value > _acknowledged, $"{value} was acknowledged behind {_acknowledged}");
                    _acknowledged = value;
                    return _acknowledged > seen;
                }

                return false;
            },
            "an acknowledged write");
    }

    private static ServerProcess PrimaryOf(List<ServerProcess> nodes)
    {
        ServerProcess? found = null;
        Until(() => (found = nodes.Find(static node => Run(node, "CLUSTER INFO").Contains("cluster_state:ok", StringComparison.Ordinal) && Run(node, "ROLE").Contains("master", StringComparison.Ordinal))) is not null, "a primary");
        return found!;
    }

    private static string Run(ServerProcess node, string command)
    {
        try
        {
            using RespConnection client = node.Connect();
            return client.Run(command).ToString()!;
        }
        catch (Exception ended) when (ended is IOException or System.Net.Sockets.SocketException)
        {
            return "";
        }
    }

    private static string ReplyOrEnd(RespConnection client)
    {
        try
        {
            return client.Read().ToString()!;
        }
        catch (Exception ended) when (ended is IOException or System.Net.Sockets.SocketException)
        {
            return "";
        }
    }

    private static void Until(Func<bool> holds, string what) => Assert.True(SpinWait.SpinUntil(
        () =>
        {
            if (holds()) return true;
            Thread.Sleep(20);
            return false;
        },
        PatienceMs), what);
}
