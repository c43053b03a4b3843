using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>INFO replication of a replica and of its primary is redis-server's line by line, in every state of the link. Times, ports, ids and offsets that depend on time are masked.</summary>
public sealed partial class LinkStateInfoTests : IDisposable
{
    private readonly TcpListener _silent = new(IPAddress.Loopback, 0);

    public void Dispose() => _silent.Dispose();

    [Fact]
    public async Task Replica_shows_each_state_of_its_link_as_redis_does()
    {
        using var primary = new ScriptedPrimary { Data = await DataAsync() };
        await using DiskServer replica = await DiskServer.StartAsync("save", "", "repl-timeout", "3600", "repl-rdb-channel", "no");
        replica.Server.Follower.Services.RetryAfter(1, 1);
        using var redis = Oracle.Of(OracleProgram.Redis8, ["--save", "", "--repl-timeout", "3600"]);
        using RespConnection here = RespConnection.Connect(replica.Server.Port), there = RespConnection.Connect(redis.Port);
        RespConnection[] both = [here, there];

        // Nothing listens there.
        int closed = LoopbackPort.Next();
        Compare("connect", closed, "down", "0");

        // The primary accepts the connection and never replies.
        _silent.Start();
        Compare("handshake", ((IPEndPoint)_silent.LocalEndpoint).Port, "down", "0");

        foreach (bool sendsLength in (bool[])[false, true])
        {
            primary.SendsLength = sendsLength;
            string total = sendsLength ? primary.Data.Length.ToString(System.Globalization.CultureInfo.InvariantCulture) : "0";
            foreach (RespConnection client in both)
            {
                client.Run("REPLICAOF NO ONE").IsOk();
                client.Run("FLUSHALL").IsOk();
            }

            // One after the other: a scripted primary serves one replica at a time.
            string[] waiting = [.. both.Select(client => Show(client, primary, holdsBeforeData: true, "-1"))];
            Assert.Equal(waiting[1], waiting[0]);
            string[] receiving = [.. both.Select(client => Show(client, primary, holdsBeforeData: false, total))];
            Assert.Equal(receiving[1], receiving[0]);
        }

        void Compare(string what, int port, string link, string inProgress)
        {
            foreach (RespConnection client in both)
            {
                client.Run($"REPLICAOF 127.0.0.1 {port}").IsOk();
                replica.WaitFor(() => Info(client).Contains($"master_link_status:{link}\r\n", StringComparison.Ordinal) && Info(client).Contains($"master_sync_in_progress:{inProgress}\r\n", StringComparison.Ordinal), what);
            }

            Assert.Equal(Masked(there), Masked(here));
        }

        string Show(RespConnection client, ScriptedPrimary to, bool holdsBeforeData, string total)
        {
            (to.HoldsBeforeData, to.HoldsAt) = (holdsBeforeData, holdsBeforeData ? -1 : 100);
            client.Run($"REPLICAOF 127.0.0.1 {to.Port}").IsOk();
            to.WaitUntilHeld();
            replica.WaitFor(() => Info(client).Contains($"master_sync_total_bytes:{total}\r\n", StringComparison.Ordinal), "the state");
            if (!holdsBeforeData) replica.WaitFor(() => !Info(client).Contains("master_sync_read_bytes:0\r\n", StringComparison.Ordinal), "data");
            string text = Masked(client);
            client.Run("REPLICAOF NO ONE").IsOk();
            to.BreakOff();
            return text;
        }
    }

    [Fact]
    public async Task Replica_shows_a_link_that_is_up_and_one_that_was_as_redis_does()
    {
        using var primary = new OneEnd(Oracle.Of(OracleProgram.Redis8, ["--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600"]));
        using var redis = Oracle.Of(OracleProgram.Redis8, ["--save", "", "--replicaof", "127.0.0.1", $"{primary.Port}"]);
        await using DiskServer replica = await DiskServer.StartAsync("save", "", "replicaof", $"127.0.0.1 {primary.Port}");
        using RespConnection here = RespConnection.Connect(replica.Server.Port), there = RespConnection.Connect(redis.Port);
        foreach (RespConnection client in (RespConnection[])[here, there]) replica.WaitFor(() => Info(client).Contains("master_link_status:up", StringComparison.Ordinal), "the link");
        Assert.Equal(Masked(there), Masked(here));
        primary.Dispose();
        foreach (RespConnection client in (RespConnection[])[here, there]) replica.WaitFor(() => Info(client).Contains("master_link_status:down", StringComparison.Ordinal), "the end of the link");
        Assert.Equal(Masked(there), Masked(here));
        foreach (RespConnection client in (RespConnection[])[here, there]) client.Run("REPLICAOF NO ONE").IsOk();
        Assert.Equal(Masked(there), Masked(here));
    }

    // A server that the test itself ends.
    private sealed class OneEnd(Oracle server) : IDisposable
    {
        private bool _hasEnded;

        internal int Port { get; } = server.Port;

        public void Dispose()
        {
            if (_hasEnded) return;
            _hasEnded = true;
            server.Dispose();
        }
    }

    private static async Task<byte[]> DataAsync()
    {
        await using DiskServer source = await DiskServer.StartAsync("save", "");
        source.Run("DEBUG POPULATE 1000");
        Assert.Equal("OK", source.Run("SAVE").Text);
        using Persistence.Files.IOpenFile file = source.Files.OpenRead(Path.Combine(source.Folder, "dump.rdb"));
        byte[] data = new byte[file.Length];
        Assert.Equal(data.Length, file.Read(0, data));
        return data;
    }

    private static string Info(RespConnection client) => client.Run("INFO replication").Text;

    // Without the fields that Redis has had since 8.2.
    private static string Masked(RespConnection client) => NewerFields().Replace(Compared(client), "");

    [GeneratedRegex("(master_current_sync_attempts|master_total_sync_attempts|master_link_up_since_seconds|total_disconnect_time_sec):[^\\n]*\\n")]
    private static partial Regex NewerFields();

    private static string Compared(RespConnection client) => SecondOffset().Replace(Times().Replace(Ids().Replace(Info(client), "$1:ID"), "$1:N"), "second_repl_offset:N");

    [GeneratedRegex("second_repl_offset:-?[0-9]+")]
    private static partial Regex SecondOffset();

    // Redis keeps an id of data that it does not have as the second one.
    [GeneratedRegex("(master_replid2?):[0-9a-f]{40}")]
    private static partial Regex Ids();

    [GeneratedRegex("([a-z_]+_seconds_ago|[a-z_]+_since_seconds|master_repl_offset|slave_read_repl_offset|slave_repl_offset|repl_backlog_first_byte_offset|repl_backlog_histlen|master_sync_read_bytes|master_sync_left_bytes|master_sync_perc):(?!-1\\r)-?[0-9.]+")]
    private static partial Regex Times();
}
