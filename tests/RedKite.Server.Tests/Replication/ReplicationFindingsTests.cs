using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Tests.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>A real server's findings on replication name the replica or the primary, and its metrics have a label for each replica.</summary>
public class ReplicationFindingsTests
{
    [Fact]
    public async Task Replica_that_flaps_is_named()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("diagnostics", "yes");
        RedKiteServer server = primary.Server;
        int lost = 0;
        ObservedSeconds.Until(
            server,
            () =>
            {
                using (var replica = new RawReplica(server.Port)) replica.Synchronize();
                lost++;
                primary.WaitFor(() => server.Parts.Replicas.Counts.Lost == lost, "the end of the connection");
                return Found(server, "replicas-flap") is not null;
            },
            "the finding");
        Finding finding = Found(server, "replicas-flap")!;
        Assert.Matches("^[0-9]+ connections ended in ten minutes, 0 replicas closed", finding.Diagnosis.Evidence); // seconds that are skipped are short ones
        Assert.Matches("^the replica 127.0.0.1:1 [0-9]+ times within a minute$", finding.Diagnosis.Culprit);
    }

    [Fact]
    public async Task Replica_whose_data_differs_names_its_primary()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        await using ReplicatedServer replica = await ReplicatedServer.StartAsync("diagnostics", "yes", "replicaof", $"127.0.0.1 {primary.Server.Port}");
        primary.WaitForOnline(1);
        ObservedSeconds.Pass(replica.Server, 1);
        Assert.Null(Found(replica.Server, "data-diverged"));
        primary.Server.Parts.ReplicaStream.Append("*3\r\n$4\r\nLPOP\r\n$1\r\na\r\n$1\r\nx\r\n"u8);
        primary.WaitForAll();
        ObservedSeconds.Until(replica.Server, () => Found(replica.Server, "data-diverged") is not null, "the finding");
        Finding finding = Found(replica.Server, "data-diverged")!;
        Assert.Equal("1 command of the stream failed since the last full synchronization", finding.Diagnosis.Evidence);
        Assert.StartsWith($"the primary 127.0.0.1:{primary.Server.Port}", finding.Diagnosis.Culprit, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Each_replica_has_its_series()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("diagnostics", "yes");
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.Send($"REPLCONF ACK {offset}");
        primary.WaitForOnline(1);
        primary.Client.Run("SET a 1").IsOk();
        long lag = primary.Server.Parts.ReplicaStream.Offset - offset;
        Assert.True(lag > 0);
        ObservedSeconds.Pass(primary.Server, 1);
        string[] lines = PrometheusText.Write(primary.Server.Parts, primary.Server.Diagnostics!).Split('\n');
        Assert.Contains($"redkite_replica_offset_lag_bytes{{replica=\"127.0.0.1:1\"}} {lag}", lines);
        Assert.Contains(lines, line => line.StartsWith("redkite_replica_acknowledgement_age_seconds{replica=\"127.0.0.1:1\"} ", StringComparison.Ordinal));
        Assert.Contains($"redkite_replica_lag_bytes {lag}", lines);
        Assert.Contains("redkite_replication_overflows_total{phase=\"sync\"} 0", lines);
    }

    private static Finding? Found(RedKiteServer server, string rule) => server.Diagnostics!.Findings.Current.FirstOrDefault(finding => finding.Rule.Name == rule);
}
