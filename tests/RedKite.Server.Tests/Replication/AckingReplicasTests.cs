using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;
using static RedKite.Server.Tests.Replication.ReplicaAcksTests;

namespace RedKite.Server.Tests.Replication;

/// <summary>replica-acks with replicas that stop, go, have replicas themselves or are Valkey; beside CLIENT PAUSE, WAIT, WAITAOF and min-replicas-to-write; over TLS.</summary>
public class AckingReplicasTests
{
    [Fact]
    public async Task A_replica_that_stops_answers_later_or_the_time_ends()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        Oracle redis = primary.Follow();
        primary.WaitForOnline(1);
        using RespConnection client = primary.Connect(), other = primary.Connect();
        redis.Pause();
        Send(client, "SET key 1", "INCR key");
        WaitForWaiting(primary, 2);
        other.Run("GET key").IsBulk("2");
        Assert.True(client.IsSilent);
        redis.GoOn();
        Assert.Equal(["+OK", ":2"], Read(client, 2));
        redis.Pause();
        client.SendCommand("SET key 3");
        WaitForWaiting(primary, 1);
        other.Run("CONFIG SET replica-acks-timeout 20").IsOk();
        Assert.Equal(Unacknowledged, client.Read().ToString());
        other.Run("CONFIG SET replica-acks-timeout 60000").IsOk();
        client.SendCommand("SET key 4");
        WaitForWaiting(primary, 1);
        redis.GoOn();
        client.Read().IsOk();
        Assert.Equal("4", redis.Run("GET", "key"));
    }

    [Fact]
    public async Task A_replica_of_a_replica_counts_for_nothing()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "2", "replica-acks-timeout", "30");
        Oracle middle = primary.Follow("--repl-diskless-sync-delay", "0");
        primary.WaitForOnline(1);
        using var last = new Oracle("--save", "", "--replicaof", "127.0.0.1", Text(middle.Port));
        primary.WaitFor(() => middle.RunText("INFO", "replication").Contains("state=online", StringComparison.Ordinal), "the end of the chain");
        Assert.Equal(Unacknowledged, primary.Client.Run("SET key 1").ToString());
        primary.Client.Run("WAIT 2 20").IsInteger(1);
        primary.WaitFor(() => (string?)last.Run("GET", "key") == "1", "the write at the end of the chain");
        primary.Client.Run("CONFIG SET replica-acks 1 replica-acks-timeout 60000").IsOk();
        primary.Client.Run("SET key 2").IsOk();
    }

    [Fact]
    public async Task A_replica_that_is_killed_leaves_the_wait_to_the_next_one()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RespConnection client = primary.Connect();
        using (RawReplica killed = Online(primary))
        {
            client.SendCommand("SET key 1");
            WaitForWaiting(primary, 1);
            primary.Client.Run("CLIENT KILL TYPE replica").IsInteger(1);
            killed.WaitForEnd();
        }

        primary.WaitForOnline(0);
        Assert.True(client.IsSilent);
        long before = primary.Server.Parts.ReplicaStream.Offset;
        using (RawReplica next = Online(primary)) // with the write in its data
        {
            client.Read().IsOk();
            client.SendCommand("SET key 2");
            WaitForWaiting(primary, 1);
            primary.Client.Run("CLIENT KILL TYPE replica").IsInteger(1);
            next.WaitForEnd();
        }

        primary.WaitForOnline(0);
        using var third = new RawReplica(primary.Server.Port); // goes on where another one was, in front of the write
        Assert.StartsWith("+CONTINUE", third.Run(string.Create(CultureInfo.InvariantCulture, $"PSYNC {primary.Server.Engine.Replication.Id} {before + 1}")), StringComparison.Ordinal);
        primary.WaitForOnline(1);
        third.Send("REPLCONF ACK " + before.ToString(CultureInfo.InvariantCulture));
        primary.WaitFor(() => primary.Server.Parts.Replicas.CountAcknowledged(before, onDisk: false) == 1, "the acknowledgement");
        Assert.True(client.IsSilent);
        Acknowledge(primary, third);
        client.Read().IsOk();
    }

    [Fact]
    public async Task Paused_clients_change_nothing_for_what_waits()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect(), paused = primary.Connect();
        Send(client, "SET key 1", "CLIENT PAUSE 600000 WRITE", "GET key");
        WaitForWaiting(primary, 1);
        paused.SendCommand("SET key 2");
        primary.WaitFor(() => primary.Server.Engine.Pause.Paused(primary.Server.Engine.Clients) == 1, "the paused write");
        Assert.True(client.IsSilent);
        Acknowledge(primary, replica);
        Assert.Equal(["+OK", "+OK", "$1"], Read(client, 3));
        Assert.True(paused.IsSilent);
        client.Run("CLIENT UNPAUSE").IsOk();
        WaitForWaiting(primary, 1);
        Assert.True(paused.IsSilent);
        client.Run("CLIENT PAUSE 600000 ALL").IsOk();
        Acknowledge(primary, replica);
        paused.Read().IsOk();
        client.SendCommand("PING");
        Assert.True(client.IsSilent);
        primary.Server.Execute("CLIENT", "UNPAUSE");
        Assert.Equal("+PONG", client.Read().ToString());
        Send(client, "SET key 3", "CLIENT PAUSE 600000 WRITE");
        WaitForWaiting(primary, 1);
        primary.Client.Run("CONFIG SET replica-acks-timeout 1").IsOk();
        Assert.Equal([Unacknowledged, "+OK"], Read(client, 2));
    }

    [Fact]
    public async Task Wait_counts_beside_it_and_stays_in_order()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "appendonly", "yes");
        using RawReplica replica = Online(primary);
        using RespConnection client = primary.Connect();
        Send(client, "SET key 1", "WAIT 1 0", "GET key");
        WaitForWaiting(primary, 1);
        Assert.True(client.IsSilent);
        Acknowledge(primary, replica);
        Assert.Equal(["+OK", ":1", "$1"], Read(client, 3));
        Send(client, "SET key 2", "WAIT 1 1"); // its time is over before the write is acknowledged
        WaitForWaiting(primary, 1);
        primary.WaitFor(() => primary.Server.Engine.Blocked.Count == 0, "the end of WAIT");
        Acknowledge(primary, replica);
        Assert.Equal("+OK", client.Read().ToString());
        string count = client.Read().ToString()!;
        Assert.True(count is ":0" or ":1", count); // of a moment before or behind the acknowledgement
        Send(client, "SET key 3", "WAITAOF 1 1 0");
        WaitForWaiting(primary, 1);
        string offset = primary.Server.Parts.ReplicaStream.Offset.ToString(CultureInfo.InvariantCulture);
        replica.Send($"REPLCONF ACK {offset}");
        client.Read().IsOk(); // in memory is enough for the reply
        Assert.True(client.IsSilent);
        replica.Send($"REPLCONF ACK {offset} FACK {offset}");
        Assert.Equal("*[:1 :1]", client.Read().ToString());
    }

    [Fact]
    public async Task Writes_that_are_refused_for_lack_of_replicas_wait_for_none()
    {
        const string Refused = "-NOREPLICAS Not enough good replicas to write.";
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0", "min-replicas-to-write", "1");
        using RespConnection client = primary.Connect(), other = primary.Connect();
        Send(client, "SET key 1", "GET key", "MULTI", "SET key 1", "EXEC", "EVAL \"return redis.call('SET', KEYS[1], '1')\" 1 key");
        string[] replies = Read(client, 6);
        Assert.Equal([Refused, "$(null)", "+OK", Refused, "-EXECABORT Transaction discarded because of previous errors."], replies[..5]);
        Assert.StartsWith("-NOREPLICAS Not enough good replicas to write.", replies[5], StringComparison.Ordinal);
        using (RawReplica replica = Online(primary))
        {
            primary.WaitFor(() => primary.Info("min_slaves_good_slaves") == "1", "the good replica");
            client.SendCommand("SET key 2");
            WaitForWaiting(primary, 1);
        }

        primary.WaitForOnline(0);
        primary.WaitFor(() => primary.Info("min_slaves_good_slaves") == "0", "its end");
        Assert.Equal(Refused, other.Run("SET key 3").ToString());
        client.SendCommand("SET key 3");
        other.Run("GET key").IsBulk("2");
        Assert.True(client.IsSilent);
        using RawReplica next = Online(primary);
        client.Read().IsOk();
        string then = client.Read().ToString()!; // refused, or executed if it was received behind the next replica's coming
        Assert.True(then is Refused || then == "+OK", then);
    }

    // Each asks for acknowledgements, also while clients are paused.
    [Theory]
    [InlineData("valkey 8")]
    [InlineData("valkey 9")]
    [InlineData("redis 8")]
    public async Task Servers_of_other_kinds_acknowledge(string kind)
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("replica-acks", "1", "replica-acks-timeout", "0");
        using var replica = Oracle.Of(kind switch { "valkey 9" => OracleProgram.Valkey9, "valkey 8" => OracleProgram.Valkey8, _ => OracleProgram.Redis8 }, "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--replicaof", "127.0.0.1", Text(primary.Server.Port));
        primary.WaitForOnline(1);
        using RespConnection client = primary.Connect();
        for (int i = 0; i < 100; i++) client.Run("INCR number").IsInteger(i + 1);
        Send(client, "MULTI", "RPUSH list a", "RPUSH list b", "EXEC");
        Assert.Equal(["+OK", "+QUEUED", "+QUEUED", "*[:1 :2]"], Read(client, 4));
        Send(client, "SET key 1", "WAITAOF 0 1 0", "CLIENT PAUSE 600000 WRITE");
        Assert.Equal(["+OK", "*[:0 :1]", "+OK"], Read(client, 3));
        client.Run("CLIENT UNPAUSE").IsOk();
        Send(client, "SET key 2", "CLIENT PAUSE 600000 WRITE", "GET key");
        Assert.Equal(["+OK", "+OK", "$2"], Read(client, 3));
        Assert.Equal(["100", "2"], replica.RunList("MGET", "number", "key"));
        Assert.Equal(0, primary.Server.Engine.Replication.Acks.FailedReplies);
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Replies_over_tls_wait(string transport)
    {
        using var certificates = new TestCertificates();
        certificates.Issue("server").Dispose();
        int port = LoopbackPort.Next();
        string[] files = ["tls-cert-file", certificates.PathOf("server.crt"), "tls-key-file", certificates.PathOf("server.key"), "tls-ca-cert-file", certificates.PathOf("authority.crt")];
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync([.. files, "tls-port", Text(port), "tls-auth-clients", "no", "transport", transport, "replica-acks", "0", "replica-acks-timeout", "0"]);
        primary.Client.Run("SETRANGE large 299999 x").IsInteger(300_000);
        primary.Client.Run("CONFIG SET replica-acks 1").IsOk();
        using var tcp = new TcpClient("127.0.0.1", port) { NoDelay = true };
        await using var tls = new SslStream(tcp.GetStream(), leaveInnerStreamOpen: false, static (_, certificate, _, _) => certificate?.Issuer.StartsWith("CN=authority ", StringComparison.Ordinal) == true);
        await tls.AuthenticateAsClientAsync("localhost");
        using var lines = new StreamReader(tls, Encoding.Latin1);
        using (RawReplica replica = Online(primary))
        {
            Write("PING", "SET key value", "GET large");
            Assert.Equal("+PONG", await ReadLine());
            WaitForWaiting(primary, 1);
            Task<string> reply = ReadLine();
            Assert.False(reply.IsCompleted);
            Acknowledge(primary, replica);
            Assert.Equal(["+OK", "$300000"], [await reply, await ReadLine()]);
            Assert.Equal(300_000, (await ReadLine()).Length);
            Write("GET key", "SET key other", "GET large");
            Assert.Equal(["$5", "value"], [await ReadLine(), await ReadLine()]);
            WaitForWaiting(primary, 1);
            primary.Client.Run("CONFIG SET replica-acks-timeout 1").IsOk();
            Assert.Equal([Unacknowledged, "$300000"], [await ReadLine(), await ReadLine()]);
            Assert.Equal(300_000, (await ReadLine()).Length);
        }

        primary.WaitForOnline(0);
        primary.Client.Run("CONFIG SET replica-acks-timeout 0").IsOk();
        Write("SET key last");
        WaitForWaiting(primary, 1);
        using var redis = new Oracle([.. files.Select(static (word, i) => i % 2 == 0 ? "--" + word : word), "--tls-replication", "yes", "--save", "", "--replicaof", "127.0.0.1", Text(port)]);
        Assert.Equal("+OK", await ReadLine());
        Assert.Equal("last", redis.Run("GET", "key"));

        void Write(params string[] requests) => tls.Write([.. requests.SelectMany(static line => CommandLine.Encode(CommandLine.Split(line)))]);

        async Task<string> ReadLine() =>
            await lines.ReadLineAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken) ?? "";
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
