using System.Globalization;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Tests.Following;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>What a primary counts, and what it keeps of what replicas and clients send.</summary>
public class PrimaryCountsTests
{
    [Fact]
    public async Task Resetstat_resets_what_it_does_in_Redis()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, offset);
        using var other = new RawReplica(primary.Server.Port);
        other.Send($"PSYNC {primary.Server.Engine.Replication.Id} {offset + 1}");
        Assert.StartsWith("+CONTINUE", other.ReadLineWithText(), StringComparison.Ordinal);
        primary.Client.Run("SET a 1").IsOk();
        replica.ReadLineWithText();
        primary.Client.Run("SAVE").IsOk();
        string[] fields = ["sync_full", "sync_partial_ok", "total_forks", "total_net_repl_output_bytes"];
        primary.WaitFor(() => fields.All(field => primary.Info(field, "stats") != "0"), "the counts");
        Assert.Equal("1", primary.Info("rdb_saves", "persistence"));
        long full = primary.Server.Parts.Replicas.Counts.Full;
        primary.Client.Run("CONFIG RESETSTAT").IsOk();
        foreach (string field in (string[])[.. fields, "sync_partial_err"]) Assert.Equal("0", primary.Info(field, "stats"));
        Assert.Equal("0", primary.Info("rdb_saves", "persistence"));
        Assert.Equal(full, primary.Server.Parts.Replicas.Counts.Full); // metrics never go back
    }

    [Fact]
    public async Task Long_ids_and_texts_are_cut_where_they_are_kept()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        string text = new('n', 1_000_000);
        using var replica = new RawReplica(primary.Server.Port);
        replica.Send($"PSYNC {primary.Server.Engine.Replication.Id}{text} 1");
        Assert.StartsWith("+FULLRESYNC", replica.ReadLineWithText(), StringComparison.Ordinal);
        Assert.InRange(primary.Server.Parts.Replicas.Counts.LastRefusal!.Reason.Length, 40, 400);
        Assert.InRange(primary.Log.Length, 0, 10_000);

        RespConnection client = primary.Connect();
        client.Run($"EVAL \"redis.log(redis.LOG_WARNING, ARGV[1])\" 0 {text}");
        Assert.InRange(primary.Log.Length, ServerLog.TextCharactersMax, ServerLog.TextCharactersMax + 10_000);
    }

    [Fact]
    public async Task A_blocked_call_that_a_change_of_the_role_ends_has_failed()
    {
        using Oracle oracle = Oracle.Of(OracleProgram.Redis8, "--save", "");
        await using ReplicatedServer server = await ReplicatedServer.StartAsync();
        string[] lines = [.. new[] { oracle.Port, server.Server.Port }.Select(port =>
        {
            using RespConnection client = RespConnection.Connect(port), blocked = RespConnection.Connect(port), waits = RespConnection.Connect(port);
            blocked.SendCommand("BLPOP list 0");
            waits.SendCommand("WAIT 1 0");
            server.WaitFor(() => ReplicatedServer.Field(client.Run("INFO clients").Text, "blocked_clients") == "2", "the blocked clients");
            client.Run("REPLICAOF 127.0.0.1 1").IsOk();
            Assert.StartsWith("UNBLOCKED ", blocked.Read().Text, StringComparison.Ordinal);
            Assert.StartsWith("UNBLOCKED ", waits.Read().Text, StringComparison.Ordinal);
            return Counts("cmdstat_blpop") + Counts("cmdstat_wait") + ReplicatedServer.Field(client.Run("INFO errorstats").Text, "errorstat_UNBLOCKED");

            string Counts(string name)
            {
                string line = ReplicatedServer.Field(client.Run("INFO commandstats").Text, name);
                return line[line.IndexOf(",rejected", StringComparison.Ordinal)..] + " ";
            }
        })];
        Assert.Equal(lines[0], lines[1]);
    }

    // As in Redis: it counts as soon as INFO shows it as online, which is when it has been sent all data.
    [Fact]
    public async Task A_replica_counts_for_min_replicas_when_it_is_shown_online()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("min-replicas-to-write", "1");
        Assert.StartsWith("NOREPLICAS ", primary.Client.Run("SET a 1").Text, StringComparison.Ordinal);
        using var replica = new RawReplica(primary.Server.Port);
        replica.Synchronize();
        primary.WaitFor(() => primary.Info("slave0").Contains("state=online", StringComparison.Ordinal), "the state");
        Assert.Equal("1", primary.Info("min_slaves_good_slaves"));
        primary.Client.Run("SET a 1").IsOk();
    }

    [Fact]
    public async Task A_shorter_period_of_PING_takes_effect_at_once()
    {
        var clock = new ManualClock();
        await using ReplicationChain chain = await ReplicationChain.StartAsync(clock, "redkite", "redkite");
        RedKiteServer primary = chain.Primary.Server!;
        primary.Execute("CONFIG", "SET", "repl-ping-replica-period", "3600");
        Pass(2000);
        long offset = primary.Parts.ReplicaStream.Offset;
        primary.Execute("CONFIG", "SET", "repl-ping-replica-period", "5");
        Pass(2000);
        Assert.Equal(offset, primary.Parts.ReplicaStream.Offset);
        Pass(2000);
        Assert.Equal(offset + 14, primary.Parts.ReplicaStream.Offset);

        void Pass(long milliseconds)
        {
            clock.Advance(milliseconds);
            primary.Parts.Replicas.Tick(primary.Engine.Clock.SteadyMs);
        }
    }

    [Fact]
    public async Task A_shutdown_says_how_long_it_waits_and_which_replicas_lack_something()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("shutdown-timeout", "60");
        var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, offset);
        primary.Client.Run("SET a 1").IsOk();
        Task<bool> stop = Task.Run(() => primary.Server.TryStopAfterReplicas(StopSaving.Never, forces: false), TestContext.Current.CancellationToken);
        primary.WaitFor(() => primary.Server.Parts.Replicas.Shutdown.IsInProgress, "the wait");
        string info = primary.Client.Run("INFO server").Text;
        Assert.InRange(int.Parse(ReplicatedServer.Field(info, "shutdown_in_milliseconds"), CultureInfo.InvariantCulture), 1, 60_000);
        Assert.True(info.IndexOf("io_threads_active", StringComparison.Ordinal) < info.IndexOf("shutdown_in_milliseconds", StringComparison.Ordinal));
        replica.Dispose();
        Assert.True(await stop.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        Assert.Contains("1 of 1 replicas do not have everything", primary.Log, StringComparison.Ordinal);
    }
}
