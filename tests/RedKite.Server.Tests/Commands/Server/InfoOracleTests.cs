using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>
/// INFO, CLIENT INFO, MEMORY and LATENCY against a redis-server 8 that gets the same commands: sections, fields, their
/// order, and every value but those that are listed here with a reason.
/// </summary>
public sealed class InfoOracleTests
{
    private static readonly HashSet<string> RedKiteOnly =
        ["redkite_version", "redis_versions_compared", "loops", "client_output_bytes", "suspended_clients", "quiet_huge_pages", "quiet_huge_pages_cpu_milliseconds", "quiet_huge_pages_gain_nanoseconds",
        "backup_in_progress", "used_memory_peak_time", "acl_access_denied_tls_cert", "expired_keys_active", "expired_subkeys_active", "rdb_saves_consecutive_failures",
        "io_threaded_total_prefetch_batches", "io_threaded_total_prefetch_entries", "mem_cluster_slot_migration_output_buffer", "mem_cluster_slot_migration_input_buffer",
        "mem_cluster_slot_migration_input_buffer_peak"]; // of newer versions

    // The prefixes of fields whose values belong to one process or one moment.
    private static readonly string[] NotCompared =
    [
        // The process and its machine code.
        "redis_version", "redis_build_id", "monotonic_clock", "atomicvar_api", "gcc_version", "process_id", "run_id", "tcp_port", "server_time_usec", "uptime_in_seconds",
        "lru_clock", "executable", "listener0", "master_replid:",

        // Its memory.
        "used_memory", "allocator_", "rss_overhead_", "mem_fragmentation_", "mem_clients_normal", "mem_allocator", "number_of_",

        // Time and processor time.
        "rdb_last_save_time", "used_cpu_", "eventloop_", "instantaneous_", "expire_cycle_cpu_milliseconds", "expired_time_cap_reached_count", "expired_stale_perc", "total_active_defrag_time",
        "latency_percentiles_",

        // INFO's own text and reply belong to what is counted.
        "total_net_output_bytes", "client_recent_max_",

        // How a server reads and writes, and where it keeps replies.
        "io_thread_", "total_reads_processed", "total_writes_processed", "reply_buffer_",

        // The oracle checks payloads only if configured to.
        "dump_payload_sanitizations",

        // Averages of the time to live depend on samples. (And 8.0.2 counts strings of 0 bytes below zero when SETRANGE creates
        // a key; a test of its own compares the sizes.)
        "db0",
    ];

    private static readonly string[] Commands =
    [
        "SET string value", "SET number 12345", "SET empty \"\"", "SETRANGE long 5000 x", "SET expiring x EX 1000", "PFADD loglog a b c",
        "RPUSH list a b c", "SADD set 1 2 3 4 5", "SADD names one two", "ZADD sorted 1 a 2 b", "HSET hash a 1 b 2", "HEXPIRE hash 1000 FIELDS 1 a",
        "XADD stream 1-1 a 1", "SELECT 3", "SET other 1", "RPUSH otherlist 1", "SELECT 0", "APPEND string 12345678901", "GET string", "GET missing", "GET other",
        "NOSUCHCOMMAND", "INCR string", "LPUSH string x", "DEL names", "UNLINK missing", "RENAME number renamed", "PEXPIRE empty -1", "AUTH nobody wrong",
        "CONFIG SET timeout x", "CLIENT SETNAME tester", "CLIENT SETINFO LIB-NAME kite", "CLIENT NO-EVICT ON", "OBJECT ENCODING set",
    ];

    private const string Findings = "# Findings"; // RedKite's own, the last of the default sections

    [Theory]
    [InlineData("INFO")]
    [InlineData("INFO default")]
    [InlineData("INFO all")]
    [InlineData("INFO everything")]
    [InlineData("INFO threads KEYSIZES nosuch")]
    [InlineData("INFO commandstats default")]
    public async Task Sections_match_redis(string command)
    {
        using Oracle oracle = new("--save", "");
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        string[] actual = Headings(server.Run(command).Text);
        if (command.Contains("nosuch", StringComparison.Ordinal)) Assert.DoesNotContain(Findings, actual);
        else Assert.Equal(Findings, actual[^1]);
        Assert.Equal(Headings(oracle.RunText(command.Split(' '))), actual.Where(heading => heading != Findings));

        static string[] Headings(string text) => [.. text.Split("\r\n").Where(line => line.StartsWith('#'))];
    }

    [Fact]
    public async Task Fields_their_order_and_values_match_redis()
    {
        using Oracle oracle = new("--save", "", "--enable-debug-command", "yes");
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "enable-debug-command", "yes");
        foreach (string command in Commands)
        {
            oracle.Run([.. CommandLine.SplitText(command)]);
            server.Run(command);
        }

        string[] expected = Fields(oracle.RunText("INFO", "everything"));
        string[] actual = [.. Fields(server.Run("INFO everything").Text).Where(line => !RedKiteOnly.Contains(NameOf(line)) && !line.StartsWith("finding", StringComparison.Ordinal))];
        Assert.Equal(expected.Select(NameOf), actual.Select(NameOf));
        Assert.Equal(expected.Where(IsCompared).Select(WithoutTime), actual.Where(IsCompared).Select(WithoutTime));

        static bool IsCompared(string line) => !Array.Exists(NotCompared, prefix => line.StartsWith(prefix, StringComparison.Ordinal));
    }

    [Fact]
    public async Task Keysizes_match_redis()
    {
        using Oracle oracle = new("--save", "");
        await using LiveServer server = await LiveServer.StartAsync();
        for (int i = 0; i < 40; i++)
        {
            string[] commands =
            [
                $"SET string:{i} {new string('x', i * i * 20)}y", $"SET number:{i} {i * 12345L * i * i}", $"HSET hash:{i % 7} f{i} v g{i * i} v", $"SADD set:{i % 3} {i} x{i}",
                $"ZADD sorted:{i % 2} {i} m{i}", $"RPUSH list:{i % 5} a b c d", $"APPEND string:{i / 2} abc", $"LPOP list:{i % 4}", $"SPOP set:0", $"XADD stream * a 1",
            ];
            foreach (string command in commands)
            {
                oracle.Run([.. CommandLine.SplitText(command)]);
                server.Run(command);
            }
        }

        Assert.Equal(oracle.RunText("INFO", "keysizes"), server.Run("INFO keysizes").Text);
    }

    [Fact]
    public async Task Keysizes_of_many_keys_are_estimates()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("DEBUG POPULATE 200000 short 5").IsOk();
        server.Run("DEBUG POPULATE 100000 long 100").IsOk();
        string[] bins = server.Info("keysizes", "db0_distrib_strings_sizes").Split(',');
        Assert.Equal(["4", "64"], bins.Select(bin => bin.Split('=')[0]));
        Assert.InRange(long.Parse(bins[0].Split('=')[1]), 190_000, 210_000);
        Assert.InRange(long.Parse(bins[1].Split('=')[1]), 92_000, 108_000);
    }

    [Fact]
    public async Task Client_info_matches_redis()
    {
        HashSet<string> ownValues = ["id", "addr", "laddr", "fd", "age", "idle", "qbuf-free", "rbs", "rbp", "tot-mem"];
        using Oracle oracle = new("--save", "");
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        foreach (string command in new[] { "CLIENT SETNAME tester", "SELECT 4", "CLIENT NO-TOUCH ON", "CLIENT SETINFO LIB-VER 1.2" })
        {
            oracle.Run([.. CommandLine.SplitText(command)]);
            server.Run(command);
        }

        string[] expected = oracle.RunText("CLIENT", "INFO").TrimEnd('\n').Split(' ');
        string[] actual = server.Run("CLIENT INFO").Text.TrimEnd('\n').Split(' ');
        Assert.Equal(["tot-net-in", "tot-net-out", "tot-cmds"], actual[^3..].Select(NameOf)); // of newer versions
        actual = actual[..^3];
        Assert.Equal(expected.Select(NameOf), actual.Select(NameOf));
        Assert.Equal(expected.Where(field => !ownValues.Contains(NameOf(field))), actual.Where(field => !ownValues.Contains(NameOf(field))));

        static string NameOf(string field) => field.Split('=')[0];
    }

    [Fact]
    public async Task Memory_stats_have_the_fields_of_redis_in_order()
    {
        using Oracle oracle = new("--save", "");
        await using LiveServer server = await LiveServer.StartAsync();
        oracle.Run("SET", "key", "value");
        server.Run("SET key value").IsOk();
        string[] expected = [.. ((List<object?>)oracle.Run("MEMORY", "STATS")!).Chunk(2).Select(pair => (string)pair[0]!)];
        string[] actual = [.. server.Run("MEMORY STATS").Items.Chunk(2).Select(pair => pair[0].Text)];
        Assert.Equal(expected, actual);
        string[] databaseFields = ["overhead.hashtable.main", "overhead.hashtable.expires"];
        Assert.Equal(databaseFields, server.Run("MEMORY STATS").Items.SkipWhile(item => item.Text != "db.0").ElementAt(1).Items.Chunk(2).Select(pair => pair[0].Text));
    }

    // Clients look at the first words.
    [Theory]
    [InlineData(12, "MEMORY DOCTOR")]
    [InlineData(16, "LATENCY DOCTOR")]
    [InlineData(6, "CONFIG SET latency-monitor-threshold 1", "LATENCY DOCTOR")]
    [InlineData(6, "CONFIG SET latency-monitor-threshold 1", "DEBUG SLEEP 0.01", "LATENCY DOCTOR")]
    public async Task Doctors_begin_as_in_redis(int characters, params string[] commands)
    {
        using Oracle oracle = new("--save", "", "--enable-debug-command", "yes");
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        string expected = "", actual = "";
        foreach (string command in commands)
        {
            expected = oracle.Run([.. CommandLine.SplitText(command)])!.ToString()!;
            actual = server.Run(command).Text;
        }

        Assert.StartsWith(expected[..characters], actual, StringComparison.Ordinal);
    }

    // Redis lists commands in the order of a hash table.
    private static string[] Fields(string text)
    {
        string[] fields = [.. text.Split("\r\n").Where(line => line.Contains(':') && !line.StartsWith("module:", StringComparison.Ordinal))];
        return [.. fields.Where(field => !IsCommand(field)), .. fields.Where(IsCommand).Order(StringComparer.Ordinal)];

        static bool IsCommand(string field) => field.StartsWith("cmdstat_", StringComparison.Ordinal) || field.StartsWith("latency_percentiles_", StringComparison.Ordinal);
    }

    private static string NameOf(string line) => line[..line.IndexOf(':')];

    private static string WithoutTime(string line) => Regex.Replace(line, "usec=.*usec_per_call=[0-9.]*", "usec");
}
