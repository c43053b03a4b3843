using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using RedKite.Server.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>
/// Causes provoked on a real server that observes itself: it finds exactly what is wrong. What would stop the other tests is in
/// the end-to-end tests. No test provokes what takes another machine or kernel: steal, pressure of memory and disks, memory that is
/// short, swap, pages read back from disk, huge pages, a slow disk, a clock that jumps; nor what takes ten minutes: few hits.
/// </summary>
[Alone]
public sealed class FindingProvocationTests : NetworkTests
{
    [Fact]
    public async Task Long_and_uneven_work()
    {
        await using RedKiteServer server = await StartObservedAsync();
        List<RespConnection> clients = [.. Enumerable.Range(0, 4).Select(_ => RespConnection.Connect(server.Port))];
        RespConnection busy = clients[0];
        RespConnection[] waiting = [.. clients.Where(client => client != busy && LoopOf(server, client) == LoopOf(server, busy))];
        Assert.NotEmpty(waiting);
        busy.SendCommand(ScriptOf(1.2));
        AssertFound(
            server,
            () =>
            {
                busy.SendCommand(ScriptOf(0.15)); // the loop has the next one before the last one ends
                foreach (RespConnection client in waiting) client.Send(string.Concat(Enumerable.Repeat("PING\r\n", 5)));
                busy.Read();
                foreach (RespConnection client in waiting) for (int i = 0; i < 5; i++) client.Read();
            },
            "command-stall",
            "long-script",
            "loop-saturated",
            "loops-uneven",
            "commands-wait",
            "slow-commands");
        clients.ForEach(client => client.Dispose());
    }

    [Fact]
    public async Task Commands_that_cost_or_fail()
    {
        await using RedKiteServer server = await StartObservedAsync();
        RedKiteSession client = server.CreateSession();
        RedKiteSession rival = server.CreateSession();
        for (int i = 0; i < 10_001; i++) client.Execute("SET", $"key:{i}", "value");
        client.Execute("MULTI");
        for (int i = 0; i < 10_001; i++) client.Execute("PING");
        client.Execute("EXEC");
        AssertFound(
            server,
            () =>
            {
                client.Execute("KEYS", "none*");
                for (int i = 0; i < 20; i++)
                {
                    client.Execute("WATCH", "key:1");
                    client.Execute("MULTI");
                    rival.Execute("SET", "key:1", "other");
                    Assert.True(client.Execute("EXEC").IsNull);
                    for (int error = 0; error < 20; error++) client.Execute("INCR", "key:1");
                }
            },
            "large-transaction",
            "keys-command",
            "transactions-refused",
            "error-rate");
    }

    [Fact]
    public async Task Key_that_gets_all_requests()
    {
        await using RedKiteServer server = await StartObservedAsync();
        RedKiteSession client = server.CreateSession();
        client.Execute("SET", "hot", "value");
        AssertFound(
            server,
            () =>
            {
                for (int i = 0; i < 50_000; i++) client.Execute("GET", "hot");
            },
            "hot-key");
    }

    [Fact]
    public async Task Commands_that_wait_for_one_key()
    {
        await using RedKiteServer server = await StartObservedAsync();
        server.Execute("SETRANGE", "bits", (16 << 20).ToString(CultureInfo.InvariantCulture), "x");
        AssertFound(server, () => Parallel.For(0, 3, _ => Repeat(20, () => server.Execute("BITCOUNT", "bits"))), "stripe-hot", "lock-waits");
        StripeFigures stripes = server.Diagnostics!.Latest!.Stripes;
        Assert.Equal(stripes.HottestHeldPercent, stripes.HeldPercents.Max());
    }

    [Fact]
    public async Task Collections_of_the_whole_managed_heap()
    {
        await using RedKiteServer server = await StartObservedAsync();
        AssertFound(server, () => { GC.Collect(2, GCCollectionMode.Forced, blocking: false); Rest(); }, "gc-full");
    }

    [Fact]
    public async Task Memory_at_its_limit()
    {
        await using RedKiteServer server = await StartObservedAsync(("maxmemory", "40mb"));
        AssertFound(server, () => Fill(server, "key"), "memory-near-limit", "memory-over-limit");
    }

    [Fact]
    public async Task Keys_evicted_while_they_are_in_use()
    {
        await using RedKiteServer server = await StartObservedAsync(("maxmemory", "60mb"), ("maxmemory-policy", "allkeys-lru"));
        int round = 0;
        AssertFound(server, () => Fill(server, $"round:{round++}"), "eviction-young");
    }

    // The rule looks at every second of the last half minute.
    [Fact]
    public async Task Keys_that_have_expired_and_are_not_removed()
    {
        await using RedKiteServer server = await StartObservedAsync(("enable-debug-command", "yes"));
        server.Execute("DEBUG", "SET-ACTIVE-EXPIRE", "0");
        for (int i = 0; i < 1000; i++) server.Execute("SET", $"key:{i}", "value", "PX", "1");
        AssertFound(server, Rest, "expiry-behind");
    }

    [Fact]
    public async Task Very_large_values()
    {
        await using RedKiteServer server = await StartObservedAsync();
        server.Execute("SETRANGE", "large", (300 << 20).ToString(CultureInfo.InvariantCulture), "x");
        AssertFound(server, Rest, "big-key", "stripe-uneven");
    }

    [Fact]
    public async Task Memory_that_is_free_between_blocks()
    {
        await using RedKiteServer server = await StartObservedAsync(("activedefrag", "no"));
        string value = new('x', 1000);
        for (int i = 0; i < 300_000; i++) server.Execute("SET", $"key:{i}", value);
        for (int i = 0; i < 300_000; i++)
        {
            if (i % 4 != 0) server.Execute("DEL", $"key:{i}");
        }

        AssertFound(server, Rest, "fragmented");
    }

    [Fact]
    public async Task Unread_replies_and_messages()
    {
        await using RedKiteServer server = await StartObservedAsync(("client-output-buffer-limit", "normal 200mb 0 0 pubsub 1mb 0 0"), ("client-query-buffer-limit", "1mb"), ("proto-max-bulk-len", "1gb"));
        using RespConnection lazy = RespConnection.Connect(server.Port);
        server.Execute("SET", "large", new string('x', 1 << 20));
        lazy.SendCommand("MGET" + string.Concat(Enumerable.Repeat(" large", 120)));
        using RespConnection subscriber = RespConnection.Connect(server.Port);
        subscriber.Send("SUBSCRIBE channel\r\n");
        WaitFor(() => server.Execute("PUBSUB", "NUMSUB", "channel").Items[1].Integer == 1, "it has subscribed");
        string message = new('m', 100_000);
        WaitFor(() => server.Execute("PUBLISH", "channel", message).Integer == 0, "the subscriber is closed");
        using RespConnection greedy = RespConnection.Connect(server.Port);
        greedy.Send("*2\r\n$4\r\nECHO\r\n$4000000\r\n" + new string('x', 3_000_000));
        Assert.True(greedy.Read().IsClosed);
        AssertFound(server, Rest, "clients-not-reading", "slow-subscriber", "query-limit", "buffers-large");

        Set(server, "client-output-buffer-limit", "normal 1mb 0 0");
        using RespConnection second = RespConnection.Connect(server.Port);
        second.SendCommand("MGET" + string.Concat(Enumerable.Repeat(" large", 120)));
        AssertFound(server, Rest, "output-limit");
    }

    [Fact]
    public async Task Very_large_request()
    {
        await using RedKiteServer server = await StartObservedAsync();
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("*2\r\n$4\r\nECHO\r\n$400000000\r\n");
        string part = new('x', 10_000_000);
        for (int i = 0; i < 30; i++) client.Send(part);
        AssertFound(server, Rest, "large-request");
    }

    [Fact]
    public async Task Clients_closed_because_of_their_memory()
    {
        await using RedKiteServer server = await StartObservedAsync(("maxmemory-clients", "4mb"));
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Send("*2\r\n$4\r\nECHO\r\n$8000000\r\n" + new string('x', 7_000_000));
        AssertFound(server, Rest, "clients-evicted");
    }

    [Fact]
    public async Task Connections_at_their_limit()
    {
        await using RedKiteServer server = await StartObservedAsync(("maxclients", "4"));
        List<RespConnection> clients = [.. Enumerable.Range(0, 4).Select(_ => RespConnection.Connect(server.Port))];
        clients.ForEach(client => client.Run("PING").IsSimple("PONG"));
        using (RespConnection refused = RespConnection.Connect(server.Port)) Assert.True(refused.Read().IsError);
        AssertFound(server, Rest, "clients-near-limit", "clients-refused");
        clients.ForEach(client => client.Dispose());
    }

    [Fact]
    public async Task Connections_in_a_storm()
    {
        await using RedKiteServer server = await StartObservedAsync();
        AssertFound(
            server,
            () =>
            {
                for (int i = 0; i < 50; i++)
                {
                    using RespConnection client = RespConnection.Connect(server.Port);
                    client.Run("PING").IsSimple("PONG");
                }
            },
            "connection-storm");
    }

    [Fact]
    public async Task Log_ins_and_commands_that_are_refused()
    {
        await using RedKiteServer server = await StartObservedAsync(("requirepass", "secret"), ("failed-logins-per-minute", "20"));
        server.Execute("ACL", "SETUSER", "reader", "on", ">password", "+get", "~open:*");
        using RespConnection reader = RespConnection.Connect(server.Port);
        reader.Run("AUTH reader password").IsOk();
        using RespConnection guesser = RespConnection.Connect(server.Port);
        AssertFound(
            server,
            () =>
            {
                for (int i = 0; i < 5; i++)
                {
                    Assert.True(guesser.Run("AUTH guess").IsError);
                    Assert.True(reader.Run("GET closed:1").IsError);
                    Assert.True(reader.Run("SET open:1 x").IsError);
                }
            },
            "logins-refused",
            "access-denied");
    }

    [Fact]
    public async Task Migrations_that_fail()
    {
        await using RedKiteServer server = await StartObservedAsync();
        server.Execute("SET", "k", "v");
        AssertFound(server, () => Assert.True(server.Execute("MIGRATE", "127.0.0.1", "0", "k", "0", "1000").IsError), "migrations-fail");
    }

    [Fact]
    public async Task Filters_past_their_capacity()
    {
        await using RedKiteServer server = await StartObservedAsync();
        server.Execute("BF.RESERVE", "f", "0.01", "2", "NONSCALING");
        AssertFound(server, () => server.Execute("BF.MADD", "f", "a", "b", "c", "d"), "filter-full");
    }

    // More than 100 a second throughout a minute.
    [Fact]
    public async Task Samples_out_of_order()
    {
        await using RedKiteServer server = await StartObservedAsync();
        server.Execute("TS.CREATE", "s", "DUPLICATE_POLICY", "LAST");
        server.Execute("TS.ADD", "s", "1000000", "1");
        AssertFound(server, () => Repeat(8_000, () => server.Execute("TS.ADD", "s", "500", "1")), "series-out-of-order");
    }

    // More than one a second throughout a minute.
    [Fact]
    public async Task Logins_that_fail()
    {
        await using RedKiteServer server = await StartObservedAsync(("requirepass", "secret"), ("failed-logins-per-minute", "0"));
        using RespConnection client = RespConnection.Connect(server.Port);
        AssertFound(
            server,
            () =>
            {
                for (int i = 0; i < 5; i++) Assert.True(client.Run("AUTH wrong").IsError);
                Rest();
            },
            "logins-fail");
    }

    [Fact]
    public async Task Settings_that_are_doubtful()
    {
        await using RedKiteServer server = await StartObservedAsync(("io-threads", "4"), ("enable-debug-command", "yes"), ("slowlog-log-slower-than", "5"), ("tcp-backlog", "1000000"));
        AssertFound(server, Rest, "setting-without-effect", "debug-enabled", "slow-log-everything", "backlog-capped");
        Set(server, "slowlog-log-slower-than", "-1");
        AssertFound(server, Rest, "slow-log-off");
    }

    [Fact]
    public async Task Servers_open_to_others()
    {
        await using RedKiteServer server = await StartObservedAsync(("bind", "0.0.0.0"), ("protected-mode", "no"));
        server.Execute("ACL", "SETUSER", "anybody", "on", "nopass", "+ping");
        AssertFound(server, Rest, "open-to-network", "users-without-password");
    }

    [Fact]
    public async Task Expiring_certificate_and_failing_handshakes()
    {
        string folder = Directory.CreateTempSubdirectory("redkite-findings-").FullName;
        try
        {
            using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
            using X509Certificate2 certificate = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256).CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(3));
            File.WriteAllText(Path.Combine(folder, "server.crt"), certificate.ExportCertificatePem());
            File.WriteAllText(Path.Combine(folder, "server.key"), key.ExportECPrivateKeyPem());
            int port = LoopbackPort.Next();
            await using RedKiteServer server = await StartObservedAsync(("tls-port", port.ToString(CultureInfo.InvariantCulture)), ("tls-cert-file", Path.Combine(folder, "server.crt")), ("tls-key-file", Path.Combine(folder, "server.key")), ("tls-auth-clients", "no"));
            AssertFound(
                server,
                () =>
                {
                    using var plain = new TcpClient("127.0.0.1", port);
                    plain.GetStream().Write("PING\r\n"u8);
                    Assert.True(plain.GetStream().Read(new byte[64]) <= 64);
                },
                "certificate-expires",
                "handshakes-fail");
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static string ScriptOf(double seconds) => string.Create(CultureInfo.InvariantCulture, $"EVAL \"local start = os.clock() while os.clock() - start < {seconds} do end\" 0");

    // A rate needs two observations: what happens before the first is in none.
    private static async Task<RedKiteServer> StartObservedAsync(params (string Name, string Value)[] settings)
    {
        RedKiteServer server = await StartAsync(OperatingSystem.IsLinux() ? "epoll" : "sockets", settings);
        WaitFor(() => server.Diagnostics!.History.LatestSecond > 0, "the first observation");
        return server;
    }

    private static void AssertFound(RedKiteServer server, Action provoke, params string[] names)
    {
        var clock = Stopwatch.StartNew();
        string[] missing = names;
        while (missing.Length > 0)
        {
            Assert.True(clock.ElapsedMilliseconds < 3 * PatienceMs, $"not found: {string.Join(", ", missing)}; found: {string.Join(", ", Found(server))}");
            provoke();
            missing = [.. missing.Except(Found(server))];
        }
    }

    private static string[] Found(RedKiteServer server) =>
        [.. server.Diagnostics!.Findings.Current.Concat(server.Diagnostics.Findings.Ended).Select(finding => finding.Rule.Name)];

    private static void Rest() => Thread.Sleep(50);

    private static void Repeat(int count, Action action)
    {
        for (int i = 0; i < count; i++) action();
    }

    private static void Fill(RedKiteServer server, string prefix)
    {
        string value = new('x', 1000);
        for (int i = 0; i < 2_000; i++) server.Execute("SET", $"{prefix}:{Random.Shared.Next()}", value);
    }
}
