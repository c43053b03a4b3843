using System.Globalization;
using RedKite.Server.Replication;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>Full synchronizations with a second connection for the data, in both directions, beside redis-server 8.0.2.</summary>
public class RdbChannelTests
{
    private const string Introduction = "REPLCONF listening-port 1234 capa eof capa psync2 capa rdb-channel-repl";

    // The replies to a replica that speaks step by step are those of redis-server, and so are the states that INFO shows.
    [Fact]
    public async Task Exchange_is_that_of_redis_server()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var redis = new Oracle("--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600");
        Assert.Equal(Transcript(redis.Port), Transcript(primary.Server.Port));
    }

    private static string[] Transcript(int port)
    {
        var lines = new List<string>();
        using RespConnection client = RespConnection.Connect(port);
        using (var other = new RawReplica(port))
        {
            foreach (string line in (string[])["REPLCONF rdb-channel 2", "REPLCONF rdb-channel x", "REPLCONF main-ch-client-id 99999", "REPLCONF main-ch-client-id x", "REPLCONF rdb-channel 1 main-ch-client-id 99999", "REPLCONF rdb-channel 0", "REPLCONF main-ch-client-id"]) lines.Add(other.Run(line));
        }

        using var main = new RawReplica(port);
        lines.Add(main.Run(Introduction));
        string[] answer = main.Run("PSYNC ? -1").Split(' ');
        lines.Add($"{answer.Length} {answer[0]}");
        lines.Add(Slaves(client));
        using var channel = new RawReplica(port);
        lines.Add(channel.Run($"REPLCONF capa eof rdb-only 1 rdb-channel 1 main-ch-client-id {answer[1]} listening-port 1234"));
        channel.Send("PSYNC ? -1");
        (long offset, byte[] data) = channel.ReadAll();
        lines.Add(offset.ToString(CultureInfo.InvariantCulture));
        lines.Add(data.Length > 0 ? "data" : "none");
        channel.WaitForEnd(); // the primary closes it
        client.Run("SET a 1").IsOk();
        lines.Add(main.ReadText(50)); // the stream needs no acknowledgement first
        main.Send($"REPLCONF ACK {offset + 50}");
        Assert.True(SpinWait.SpinUntil(() => Slaves(client).Contains("offset=50", StringComparison.Ordinal), TimeSpan.FromSeconds(60)), Slaves(client));
        lines.Add(Slaves(client));
        return [.. lines];
    }

    [Fact]
    public async Task Stream_is_sent_while_the_data_is_on_its_way()
    {
        await using ReplicatedServer primary = await PrimaryWithDataAsync();
        using var main = new RawReplica(primary.Server.Port);
        using RawReplica channel = Open(primary, main, out _);
        primary.WaitFor(() => Slaves(primary.Client).Contains("state=send_bulk_and_stream", StringComparison.Ordinal), "the beginning");
        primary.Client.Run("SET a 1").IsOk();
        Assert.Equal("*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n", main.ReadText(50));
        Assert.Contains("connected_slaves:1\r\n", primary.Client.Run("INFO replication").Text, StringComparison.Ordinal);
        Assert.Contains("state=send_bulk_and_stream", Slaves(primary.Client), StringComparison.Ordinal); // the data was not read
        channel.ReadAll();
        channel.WaitForEnd();
        primary.WaitFor(() => Slaves(primary.Client).Contains("state=online", StringComparison.Ordinal), "the end of the data");
        main.Send("REPLCONF ACK 50");
        primary.WaitForAll();
        primary.Client.Run("SET a 2").IsOk();
        Assert.Equal("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n2\r\n", main.ReadText(27));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Both_connections_end_together(bool mainEnds)
    {
        await using ReplicatedServer primary = await PrimaryWithDataAsync();
        var main = new RawReplica(primary.Server.Port);
        RawReplica channel = Open(primary, main, out _);
        primary.WaitFor(() => Slaves(primary.Client).Contains("state=send_bulk_and_stream", StringComparison.Ordinal), "the beginning");
        (mainEnds ? main : channel).Dispose();
        (mainEnds ? channel : main).WaitForEnd();
        primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas.Count == 0, "their end");
        main.Dispose();
        channel.Dispose();
        using var next = new RawReplica(primary.Server.Port);
        next.Synchronize();
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public async Task Redis_server_follows_while_clients_write(string channel)
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        RandomData.Fill(primary.Client, new Random(5), keys: 40, hasFieldExpiry: true);
        Oracle replica = primary.Follow("--repl-rdb-channel", channel);
        for (int i = 0; i < 300 || !primary.Server.Parts.Replicas.Replicas.Any(static each => each.State == ReplicaState.Online); i++) primary.Client.Run($"INCR n:{i % 7}");
        primary.AssertEqual(replica);
        Assert.Equal(channel == "yes", primary.Log.Contains("on a second connection", StringComparison.Ordinal));
        Assert.Equal(1, primary.Server.Parts.Replicas.Counts.Full);
    }

    [Theory]
    [InlineData("0")]
    [InlineData("100000")]
    public async Task Redkite_follows_while_clients_write(string limit)
    {
        using var primary = new Oracle("--save", "", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0", "--repl-rdb-channel", "yes", "--rdb-key-save-delay", "2000", "--repl-ping-replica-period", "3600");
        for (int i = 0; i < 300; i++) primary.Run("SET", $"key:{i}", new string('x', 200));
        await using DiskServer replica = await DiskServer.StartAsync("replica-full-sync-buffer-limit", limit, "replicaof", $"127.0.0.1 {primary.Port}");
        string value = new('y', 5_000);
        long buffered = 0;
        for (int i = 0; replica.Server.Engine.Replication.LinkStatus is not { State: ReplicaLinkState.Connected } || i < 200; i++)
        {
            primary.Run("SET", $"other:{i % 50}", value);
            buffered = Math.Max(buffered, Buffered());
        }

        string offset = ReplicatedServer.Field(primary.RunText("INFO", "replication"), "master_repl_offset");
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { BufferBytes: 0 } all && all.AppliedOffset >= long.Parse(offset, CultureInfo.InvariantCulture), "the whole stream");
        Assert.Equal(primary.RunText("DEBUG", "DIGEST"), replica.Digest());
        ReplicaLinkStatus link = replica.Server.Engine.Replication.LinkStatus!.Value;
        Assert.Equal(0, link.BufferBytes);
        Assert.Equal(0, Buffered());
        Assert.InRange(buffered, 1, link.BufferPeakBytes);
        Assert.InRange(link.BufferPeakBytes, 5_000, limit == "0" ? long.MaxValue : 100_000 + (256 * 1024));
        Assert.Equal("1", ReplicatedServer.Field(primary.RunText("INFO", "stats"), "sync_full"));

        long Buffered() => long.Parse(ReplicatedServer.Field(replica.Run("INFO memory").Text!, "mem_replica_full_sync_buffer"), CultureInfo.InvariantCulture);
    }

    [Fact]
    public async Task Setting_switches_it_off()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("repl-rdb-channel", "no");
        using var replica = new RawReplica(primary.Server.Port);
        Assert.Equal("+OK", replica.Run(Introduction));
        replica.Send("PSYNC ? -1");
        replica.ReadAll();
        await using ReplicatedServer other = await ReplicatedServer.StartAsync();
        await using ReplicatedServer follower = await ReplicatedServer.StartAsync("repl-rdb-channel", "no", "replicaof", $"127.0.0.1 {other.Server.Port}");
        other.WaitForOnline(1);
        Assert.DoesNotContain("second connection", other.Log, StringComparison.Ordinal);
    }

    private static async Task<ReplicatedServer> PrimaryWithDataAsync()
    {
        ReplicatedServer primary = await ReplicatedServer.StartAsync("rdbcompression", "no");
        string value = new('v', 1 << 20);
        for (int i = 0; i < 12; i++) primary.Client.Run($"SET large:{i} {value}").IsOk();
        return primary;
    }

    private static RawReplica Open(ReplicatedServer primary, RawReplica main, out string id)
    {
        Assert.Equal("+OK", main.Run(Introduction));
        id = main.Run("PSYNC ? -1").Split(' ')[1];
        var channel = new RawReplica(primary.Server.Port, receiveBufferBytes: 16 * 1024);
        Assert.Equal("+OK", channel.Run($"REPLCONF capa eof rdb-only 1 rdb-channel 1 main-ch-client-id {id} listening-port 1234"));
        channel.Send("PSYNC ? -1");
        return channel;
    }

    private static string Slaves(RespConnection client)
    {
        string text = client.Run("INFO replication").Text;
        return string.Join(" | ", text.Split("\r\n").Where(line => line.StartsWith("connected_slaves", StringComparison.Ordinal) || line.StartsWith("slave", StringComparison.Ordinal)).Select(line => System.Text.RegularExpressions.Regex.Replace(line, "lag=[0-9]+", "lag=n")));
    }
}
