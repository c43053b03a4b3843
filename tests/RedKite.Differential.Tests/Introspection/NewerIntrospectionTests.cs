using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>Redis 8.6 and RedKite, which a class of tests only asks about what they have.</summary>
public sealed class NewerIntrospectionServers : IDisposable
{
    private readonly ServerProcess? _oracle = OracleProgram.Redis86 is { } program ? ServerProcess.Start(program) : null;
    private readonly ServerProcess _subject = ServerProcess.Start(ServerProgram.UnderTest);

    internal (RespConnection Oracle, RespConnection Subject) Connect()
    {
        Assert.SkipWhen(_oracle is null, OracleProgram.Redis86Missing);
        return (_oracle.Connect(), _subject.Connect());
    }

    public void Dispose()
    {
        _oracle?.Dispose();
        _subject.Dispose();
    }
}

/// <summary>The names of what Redis 8.6 reports on itself, and its table of commands: RedKite has all of them.</summary>
public sealed class NewerIntrospectionTests(NewerIntrospectionServers servers) : IClassFixture<NewerIntrospectionServers>
{
    // Debian's 8.0.2 says that another word STREAMS, or another STORE, may come first; its 8.6.3 has no such remark yet.
    private static readonly string[] RemarkedLater = ["georadius keys", "georadiusbymember keys", "xread keys", "xreadgroup keys"];

    // Complexities that Redis explains at length and RedKite in its own words: CommandTableTests looks at their orders.
    private static readonly string[] ComplexityInOwnWords =
    [
        "append", "cluster|slot-stats", "dump", "getrange", "restore", "restore-asking", "setrange", "substr", "trimslots", "xackdel", "xadd", "xclaim", "xdel", "xdelex",
        "xgroup|destroy", "xpending", "xrange", "xreadgroup", "xrevrange", "xtrim",
    ];

    // One line for each command, error, database or loop: as many as there are.
    private static readonly string[] Numbered = ["cmdstat_", "latency_percentiles_usec_", "errorstat_", "db", "io_thread_"];

    [Fact]
    public void Command_info_of_every_row_is_the_same()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        List<string> differences = CommandEntries.Differences(CommandEntries.Info(oracle), CommandEntries.Info(subject));
        Assert.Equal(RemarkedLater, differences.Select(difference => difference.Split('\n')[0]).Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Command_docs_of_every_row_are_the_same()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        List<string> differences = CommandEntries.Differences(CommandEntries.Docs(oracle, RedisVersion.Second), CommandEntries.Docs(subject, RedisVersion.Second));
        Assert.Equal(ComplexityInOwnWords.Select(name => name + " complexity"), differences.Select(difference => difference.Split('\n')[0]).Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Every_category_has_the_same_commands()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        RespValue categories = oracle.Run("ACL CAT");
        Assert.InRange(categories.Items.Count, 21, 100);
        HashSet<string> common = [.. CommandEntries.Info(oracle).Keys.Intersect(CommandEntries.Info(subject).Keys)];
        foreach (string category in categories.Items.Select(item => item.Text))
        {
            Assert.Equal(Names(oracle), Names(subject));
            string[] Names(RespConnection server) => [.. server.Run("ACL CAT " + category).Items.Select(item => item.Text).Where(common.Contains).Order(StringComparer.Ordinal)];
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("all")]
    [InlineData("everything")]
    public void Info_has_every_field_in_its_section(string section)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        foreach (RespConnection server in (RespConnection[])[oracle, subject])
        {
            foreach (string line in (string[])["CONFIG SET maxmemory 1gb", "SET k v EX 100", "HSET h a 1", "EVAL \"return 1\" 0", "INCR h", "XADD s * a 1"]) server.Run(line);
        }

        string[] fields = [.. FieldsOf(oracle)];
        Assert.InRange(fields.Length, 150, 1000);
        Assert.Empty(fields.Except(FieldsOf(subject)));

        IEnumerable<string> FieldsOf(RespConnection server)
        {
            string current = "";
            foreach (string line in server.Run(("INFO " + section).TrimEnd()).Text.Split("\r\n"))
            {
                if (line.StartsWith("# ", StringComparison.Ordinal)) current = line;
                else if (line.Contains(':', StringComparison.Ordinal) && !Array.Exists(Numbered, prefix => line.StartsWith(prefix, StringComparison.Ordinal))) yield return $"{current} {line.Split(':')[0]}";
            }
        }
    }

    // Those that a pattern does not list can be asked for by name.
    [Fact]
    public void Every_setting_has_the_same_value()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        string[] hidden =
        [
            "aof-disable-auto-gc", "cluster-ping-interval", "cluster-slot-migration-max-archived-tasks", "cluster-slot-migration-sync-buffer-drain-timeout", "key-load-delay",
            "lazyexpire-nested-arbitrary-keys", "loading-process-events-interval-bytes", "lua-enable-deprecated-api", "prefetch-batch-max-size", "rdb-key-save-delay", "repl-rdb-channel",
            "use-exit-on-panic", "watchdog-period",
        ];
        string[] names = [.. oracle.Run("CONFIG GET *").Items.Where((_, at) => at % 2 == 0).Select(name => name.Text)];
        Assert.InRange(names.Length, 200, 1000);
        Assert.DoesNotContain("lazyexpire-nested-arbitrary-keys", names);
        string[] ofThisProcess = ["bind", "dir", "logfile", "maxclients", "maxmemory", "pidfile", "port", "unixsocket", "locale-collate", "save", "appendonly"];
        string request = "CONFIG GET " + string.Join(' ', names.Concat(hidden).Except(ofThisProcess));
        Assert.Equal(Pairs(oracle), Pairs(subject));

        string[] Pairs(RespConnection server) => [.. server.Run(request).Items.Chunk(2).Select(pair => $"{pair[0]} {pair[1]}").Order(StringComparer.Ordinal)];
    }

    [Theory]
    [InlineData("CLIENT LIST")]
    [InlineData("CLIENT INFO")]
    public void A_clients_line_has_the_same_fields(string command)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        Assert.Equal(Names(oracle), Names(subject));
        string[] Names(RespConnection server) => [.. server.Run(command).Text.TrimEnd('\n').Split('\n')[^1].Split(' ').Select(field => field.Split('=')[0])];
    }

    [Fact]
    public void Memory_stats_have_the_same_fields()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        foreach (RespConnection server in (RespConnection[])[oracle, subject]) server.Run("SET k v");
        Assert.Equal(Names(oracle.Run("MEMORY STATS")), Names(subject.Run("MEMORY STATS")));
        string[] Names(RespValue map) => [.. map.Items.Chunk(2).SelectMany(pair => pair[1].IsAggregate ? Names(pair[1]).Prepend(pair[0].Text) : [pair[0].Text])];
    }

    [Theory]
    [InlineData("ACL")]
    [InlineData("CLIENT")]
    [InlineData("COMMAND")]
    [InlineData("CONFIG")]
    [InlineData("FUNCTION")]
    [InlineData("LATENCY")]
    [InlineData("MEMORY")]
    [InlineData("OBJECT")]
    [InlineData("PUBSUB")]
    [InlineData("SCRIPT")]
    [InlineData("SLOWLOG")]
    [InlineData("XGROUP")]
    public void Help_lists_the_same_subcommands(string container)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        Assert.Empty(Syntax(oracle).Except(Syntax(subject)));
        string[] Syntax(RespConnection server) => [.. server.Run(container + " HELP").Items.Select(line => line.Text).Where(line => !line.StartsWith(' '))];
    }

    // How often, how many bytes in and out, and what the last command was, of a client that another one looks at.
    [Fact]
    public void A_clients_line_counts_alike()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        Assert.Equal(Lines(oracle), Lines(subject));

        string[] Lines(RespConnection client)
        {
            using RespConnection watcher = ReferenceEquals(client, oracle) ? servers.Connect().Oracle : servers.Connect().Subject;
            string id = $"id={client.Run("CLIENT ID").Number} ";
            long[] before = [];
            var lines = new List<string>();
            foreach (string line in (string[])[
                // Not an unknown command without arguments, whose error Redis 8.6 words otherwise than 8.0.2.
                "PING", "NOSUCH b", "NOSUCH a", "GET", "SET k v", "MULTI", "SET k v", "NOSUCH b", "EXEC", "MULTI", "SET k v", "GET k", "EXEC", "CLIENT NOSUCH", "DISCARD",
                "EVAL \"redis.call('SET','a',1) redis.call('SET','a',1) return 1\" 0", "BLPOP nolist 0.01", "SUBSCRIBE c", "PING", "GET x", "UNSUBSCRIBE c", "WATCH k", "AUTH x y", "ACL WHOAMI", "LPUSH k v"])
            {
                client.Run(line);
                string described = watcher.Run("CLIENT LIST").Text.Split('\n').Single(text => text.StartsWith(id, StringComparison.Ordinal));
                Dictionary<string, string> fields = described.Split(' ').Select(field => field.Split('=', 2)).ToDictionary(field => field[0], field => field[1]);
                long[] now = [.. new[] { "tot-net-in", "tot-net-out", "tot-cmds" }.Select(name => long.Parse(fields[name], System.Globalization.CultureInfo.InvariantCulture))];
                if (before.Length > 0) lines.Add($"{line}: {string.Join(' ', now.Zip(before, (a, b) => a - b))} {fields["cmd"]}");
                before = now;
            }

            return [.. lines];
        }
    }

    [Fact]
    public void A_paused_client_shows_the_command_that_waits()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        Assert.Equal("blpop b", Waiting(oracle));
        Assert.Equal("blpop b", Waiting(subject));

        string Waiting(RespConnection client)
        {
            using RespConnection watcher = ReferenceEquals(client, oracle) ? servers.Connect().Oracle : servers.Connect().Subject;
            string id = $"id={client.Run("CLIENT ID").Number} ";
            watcher.Run("CLIENT PAUSE 60000 WRITE");
            client.Send(CommandLine.Encode(CommandLine.Split("BLPOP nolist 0.01")));
            string line;
            do
            {
                line = watcher.Run("CLIENT LIST").Text.Split('\n').Single(text => text.StartsWith(id, StringComparison.Ordinal));
            }
            while (!line.Contains(" flags=b ", StringComparison.Ordinal));
            watcher.Run("CLIENT UNPAUSE");
            client.Read();
            return $"{Field("cmd")} {Field("flags")}";

            string Field(string name) => line.Split(' ').Single(field => field.StartsWith(name + "=", StringComparison.Ordinal))[(name.Length + 1)..];
        }
    }
}
