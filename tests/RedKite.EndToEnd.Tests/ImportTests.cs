using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite import between real servers and RedKite: everything arrives, in both ways of copying, and an interrupted import continues.</summary>
[Collection(TransfersCollection.Name)]
public sealed class ImportTests(Transfers servers) : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    // Redis 7 takes no dump of version 12, so the commands of each type are used by themselves.
    [Theory]
    [InlineData("redis 8", "redkite", "", 1)]
    [InlineData("redis 8", "redkite", "--plain", 2)]
    [InlineData("redkite", "redis 7", "", 8)]
    public Task Random_data_arrives(string from, string to, string options, int seed) => Transfer(from, to, options, seed, keys: 10);

    [Theory]
    [Long]
    [InlineData("redis 7", "redkite", "", 3)]
    [InlineData("redis 7", "redkite", "--plain", 9)]
    [InlineData("valkey 8", "redkite", "", 4)]
    [InlineData("valkey 8", "redkite", "--plain", 10)]
    [InlineData("redkite", "redkite", "", 5)]
    [InlineData("redkite", "redkite", "--plain", 6)]
    [InlineData("redkite", "redis 8", "", 7)]
    [InlineData("redkite", "valkey 8", "", 11)]
    public Task More_random_data_arrives(string from, string to, string options, int seed) => Transfer(from, to, options, TestScale.GivenSeed ?? seed, keys: 60);

    private async Task Transfer(string from, string to, string options, int seed, int keys)
    {
        ServerProcess source = servers.Source(from);
        ServerProcess target = servers.Target(to);
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        bool takesNoDumps = to is "redis 7" or "valkey 8" && from is "redis 8" or "redkite";
        bool isPlain = options == "--plain" || takesNoDumps;
        bool hasFieldExpiries = from is "redis 8" or "redkite" && to is "redis 8" or "redkite";
        RandomData.Fill(sourceClient, new Random(seed), keys, hasFieldExpiries);
        sourceClient.Run("SELECT 3");
        byte[] existing = sourceClient.Run("RANDOMKEY").Payload!;
        targetClient.Run("SELECT 3");
        targetClient.Run("RPUSH"u8.ToArray(), existing, "replaced"u8.ToArray()).IsInteger(1);
        targetClient.Run("RPUSH other stays").IsInteger(1);
        ChildProgram import = (await Import(source, target, options.Split(' ', StringSplitOptions.RemoveEmptyEntries))).Succeeded();
        targetClient.Run("SELECT 3");
        targetClient.Run("LRANGE other 0 -1").IsArray("stays");
        targetClient.Run("DEL other").IsInteger(1);
        bool isSameKind = (from, to) is ("redkite" or "redis 8", "redkite" or "redis 8");
        int count = SameData.Check(sourceClient, targetClient, isExact: !isPlain && isSameKind, hasFieldExpiries);
        Assert.True(count > 3 * keys, $"{count} keys");
        Assert.Contains($"{count} keys copied, 0 kept, 2 function libraries", import.Output, StringComparison.Ordinal);
        Assert.Equal(takesNoDumps, import.Output.Contains("does not take dumps of this version", StringComparison.Ordinal));
        Assert.Empty(Directory.GetFiles(_folder.Path));
    }

    [Fact]
    public async Task Arrays_arrive_by_their_commands()
    {
        ServerProcess source = servers.Source("redkite");
        ServerProcess target = servers.Target("redkite");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        sourceClient.Run("EVAL \"for i = 1, 9000 do redis.call('ARSET', KEYS[1], i * 3, i .. string.rep('x', i % 40)) end\" 1 large");
        sourceClient.Run("ARSET far 18446744073709551613 a b").IsInteger(2);
        sourceClient.Run("ARSEEK far 18446744073709551615").IsInteger(1);
        sourceClient.Run("ARRING ring 3 a b c d").IsInteger(0);
        Assert.Contains("3 keys copied", (await Import(source, target, "--plain")).Succeeded().Output, StringComparison.Ordinal);
        foreach (string question in (string[])["ARSCAN large 0 18446744073709551614", "ARSCAN far 0 18446744073709551614", "ARNEXT large", "ARNEXT far", "ARLASTITEMS ring 3"])
        {
            Assert.Equal(sourceClient.Run(question).ToString(), targetClient.Run(question).ToString());
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("--plain")]
    public async Task Documents_arrive(string options)
    {
        ServerProcess source = servers.Source("redkite");
        ServerProcess target = servers.Target("redkite");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        sourceClient.Run("""JSON.SET small $ '{"a":[1,2.50,1e300,18446744073709551615,"\u00fc\n",null,true],"b":{}}'""").IsOk();
        sourceClient.Run("PEXPIRE small 100000000").IsInteger(1);
        string items = string.Join(',', Enumerable.Range(1, 9000).Select(i => $$"""{"id":{{i}},"text":"{{new string('x', i % 1500)}}"}"""));
        sourceClient.Run($"JSON.SET large $ '[{items}]'").IsOk();
        sourceClient.Run("JSON.DEL large $[17]").IsInteger(1);
        sourceClient.Run("JSON.NUMINCRBY large $..id 1");
        ChildProgram import = (await Import(source, target, options.Split(' ', StringSplitOptions.RemoveEmptyEntries))).Succeeded();
        Assert.Contains("2 keys copied", import.Output, StringComparison.Ordinal);
        Assert.Equal("ReJSON-RL", targetClient.Run("TYPE large").Text);
        foreach (string question in (string[])["JSON.GET small", "JSON.GET large", "JSON.ARRLEN large", "DEBUG DIGEST-VALUE small large"])
        {
            string expected = sourceClient.Run(question).ToString();
            Assert.NotEqual("(nil)", expected);
            Assert.Equal(expected, targetClient.Run(question).ToString());
        }

        Assert.InRange(targetClient.Run("PTTL small").Number, 1, 100_000_000);
    }

    // A Redis without the module: the other keys are copied.
    [Theory]
    [InlineData("")]
    [InlineData("--plain")]
    public async Task Documents_that_the_target_does_not_take_are_listed(string options)
    {
        ServerProcess source = servers.Source("redkite");
        ServerProcess target = servers.Target("redis 7");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        sourceClient.Run("JSON.SET doc $ [1]").IsOk();
        sourceClient.Run("SET text x").IsOk();
        ChildProgram import = await Import(source, target, options.Split(' ', StringSplitOptions.RemoveEmptyEntries));
        Assert.Equal(1, import.ExitCode);
        Assert.Contains("key 'doc': type ReJSON-RL", import.Output + import.Errors, StringComparison.Ordinal);
        Assert.Equal("x", targetClient.Run("GET text").Text);
        Assert.Equal(1, targetClient.Run("DBSIZE").Number);
    }

    [Theory]
    [InlineData("redis 8")]
    [InlineData("redkite")]
    public async Task Vector_sets_arrive_by_their_commands(string from)
    {
        const int Elements = 150;
        ServerProcess source = servers.Source(from);
        ServerProcess target = servers.Target("redkite");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        foreach ((string key, string options) in (ReadOnlySpan<(string, string)>)[("q", "Q8 M 8"), ("f", "NOQUANT"), ("b", "BIN")])
        {
            for (int i = 0; i < Elements; i++) Assert.False(sourceClient.Run($"VADD {key} VALUES 3 {i + 1} {(i * 7 % 100) - 50} {-i} e{i} {options.Split(' ')[0]}{(i % 3 == 0 ? $" SETATTR {i}" : "")}{options[options.Split(' ')[0].Length..]}").IsError);
        }

        Assert.False(sourceClient.Run("VADD reduced REDUCE 2 VALUES 3 1 2 3 e").IsError);
        ChildProgram import = await Import(source, target, "--plain");
        Assert.Equal(1, import.ExitCode);
        Assert.Contains("key 'reduced': type vectorset", import.Output + import.Errors, StringComparison.Ordinal);
        foreach (string key in (string[])["q", "f", "b"])
        {
            Assert.Equal(Elements, targetClient.Run($"VCARD {key}").Number);
            foreach (string field in (string[])["quant-type", "hnsw-m", "vector-dim"]) Assert.Equal(sourceClient.Run($"VINFO {key}")[field]!.Text, targetClient.Run($"VINFO {key}")[field]!.Text);
            for (int i = 0; i < Elements; i += 7)
            {
                Assert.Equal(sourceClient.Run($"VGETATTR {key} e{i}").ToString(), targetClient.Run($"VGETATTR {key} e{i}").ToString());
                double[] expected = Vector(sourceClient, key, i), actual = Vector(targetClient, key, i);
                for (int at = 0; at < expected.Length; at++) Assert.Equal(expected[at], actual[at], tolerance: 0.001 * Math.Max(1, Math.Abs(expected[at])));
            }
        }

        static double[] Vector(RespConnection client, string key, int element) =>
            [.. client.Run($"VEMB {key} e{element}").Items.Select(static value => double.Parse(value.Text, System.Globalization.CultureInfo.InvariantCulture))];
    }

    // The target becomes full, and then has room again.
    [Fact]
    public async Task Full_target_ends_it_and_it_continues_where_it_was()
    {
        const int Keys = 4_000; // 12 MB; the target has room for half of them, whatever its buffers do meanwhile
        ServerProcess source = servers.Source("redkite");
        ServerProcess target = servers.Target("redkite");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        sourceClient.Run("EVAL \"for i = 1, ARGV[1] do redis.call('SET', 'key:' .. i, i .. string.rep('x', 3000)) end\" 0 " + Keys);
        sourceClient.Run("SELECT 2");
        sourceClient.Run("SET last value PX 100000000").IsOk();
        long used = long.Parse(Info(targetClient, "memory", "used_memory"), System.Globalization.CultureInfo.InvariantCulture);
        targetClient.Run($"CONFIG SET maxmemory {used + 6_000_000}").IsOk();
        ChildProgram full = await Import(source, target);
        Assert.Equal(1, full.ExitCode);
        string line = Assert.Single(full.Errors.TrimEnd().Split('\n'));
        Assert.StartsWith($"redkite import: 127.0.0.1:{target.Port}: the server is full (maxmemory): OOM command not allowed", line, StringComparison.Ordinal);
        Assert.EndsWith($"the same command continues there ({State})", line, StringComparison.Ordinal);

        ChildProgram other = await Transfers.Run("import", Address(target), "--to", Address(source), "--state", State);
        Assert.Equal(1, other.ExitCode);
        Assert.Contains("is the state of another import", other.Errors, StringComparison.Ordinal);

        targetClient.Run("CONFIG SET maxmemory 0").IsOk();
        long before = Commands(sourceClient);
        ChildProgram rest = (await Import(source, target)).Succeeded();
        Assert.Contains("continues in database 0 after", rest.Output, StringComparison.Ordinal);
        Assert.True(Commands(sourceClient) - before < Keys * 3 / 4, "it began again");
        Assert.Equal(Keys + 1, SameData.Check(sourceClient, targetClient));
        Assert.False(File.Exists(State));

        // How many values were read.
        long Commands(RespConnection client) => long.Parse(Info(client, "commandstats", "cmdstat_dump:calls="), System.Globalization.CultureInfo.InvariantCulture);
    }

    [Fact]
    public async Task Killed_import_continues_and_leaves_nothing_behind()
    {
        ServerProcess source = servers.Source("redkite");
        ServerProcess target = servers.Target("redkite");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        for (int i = 0; i < 100; i++) sourceClient.Run($"EVAL \"for i = 1, 3000 do redis.call('RPUSH', KEYS[1], i .. string.rep('x', 20)) end\" 1 list:{i}");
        using (System.Diagnostics.Process import = System.Diagnostics.Process.Start(new System.Diagnostics.ProcessStartInfo("dotnet", [Transfers.Program, .. Arguments(source, target, "--plain")]) { RedirectStandardOutput = true, RedirectStandardError = true })!)
        {
            while (targetClient.Run("DBSIZE").Number < 2 && !import.HasExited) Thread.Sleep(1);
            import.Kill();
            await import.WaitForExitAsync(TestContext.Current.CancellationToken);
        }

        Assert.True(File.Exists(State));
        (await Import(source, target, "--plain")).Succeeded();
        Assert.Equal(100, SameData.Check(sourceClient, targetClient));
    }

    [Fact]
    public async Task Keys_of_the_target_are_kept_if_asked_and_one_database_is_copied()
    {
        using ServerProcess source = Transfers.Start("redkite", "--requirepass", "planted-secret");
        ServerProcess target = servers.Target("redkite");
        using RespConnection sourceClient = source.Connect();
        using RespConnection targetClient = target.Connect();
        sourceClient.Run("AUTH planted-secret").IsOk();
        sourceClient.Run("ACL SETUSER alice on >planted-word ~a* (~b* +get) +@read").IsOk();
        sourceClient.Run("SET outside 1").IsOk();
        sourceClient.Run("SELECT 7");
        sourceClient.Run("MSET a 1 b 2 c 3").IsOk();
        targetClient.Run("SELECT 7");
        foreach (string way in (string[])["--keep", "--plain"])
        {
            targetClient.Run("FLUSHALL");
            targetClient.Run("SET a mine").IsOk();
            string[] options = way == "--plain" ? ["--keep", "--plain", "--users"] : ["--keep", "--users"];
            ChildProgram import = (await Transfers.Run(["import", $"redis://:planted-secret@127.0.0.1:{source.Port}/7", "--to", Address(target), "--state", State, .. options])).Succeeded();
            Assert.Contains("2 keys copied, 1 kept, 0 function libraries, 1 user", import.Output, StringComparison.Ordinal);
            targetClient.Run("MGET a b c").IsArray("mine", "2", "3");
            targetClient.Run("DBSIZE").IsInteger(3);
        }

        Assert.Equal(sourceClient.Run("ACL GETUSER alice").ToString(), targetClient.Run("ACL GETUSER alice").ToString());
    }

    [Fact]
    public async Task Both_servers_are_reached_by_tls()
    {
        using var certificates = new TestCertificates();
        certificates.Issue("server").Dispose();
        certificates.Issue("client").Dispose();
        string authority = certificates.PathOf("authority.crt");
        (int from, int to) = (LoopbackPort.Next(), LoopbackPort.Next());
        using ServerProcess source = Transfers.Start("redkite", Tls(from, "yes"));
        using ServerProcess target = Transfers.Start("redkite", Tls(to, "no"));
        using RespConnection client = source.Connect();
        client.Run("SET k v").IsOk();
        string[] words = ["import", $"rediss://localhost:{from}", "--to", $"rediss://localhost:{to}", "--state", State, "--tls", authority, "--cert", certificates.PathOf("client.crt"), "--key", certificates.PathOf("client.key")];
        ChildProgram unverified = await Transfers.Run(words);
        Assert.Equal(1, unverified.ExitCode);
        Assert.StartsWith($"redkite import: localhost:{to}: ", Assert.Single(unverified.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
        Assert.Contains("1 key copied", (await Transfers.Run([.. words, "--to-tls", authority])).Succeeded().Output, StringComparison.Ordinal);
        string dump = _folder.File("dump.rdb");
        (await Transfers.Run("export", $"rediss://localhost:{to}", dump, "--tls", "none")).Succeeded();
        Assert.True(File.Exists(dump));

        string[] Tls(int port, string clients) =>
        [
            "--tls-port", $"{port}", "--tls-cert-file", certificates.PathOf("server.crt"), "--tls-key-file", certificates.PathOf("server.key"), "--tls-ca-cert-file", authority, "--tls-auth-clients", clients,
        ];
    }

    [Fact]
    public async Task What_goes_wrong_is_one_line_without_passwords()
    {
        using ServerProcess source = Transfers.Start("redkite", "--requirepass", "planted-secret");
        string server = $"127.0.0.1:{source.Port}";
        await Refused($"{server}: the server replied: WRONGPASS", 1, "import", $"redis://bob:planted-wrong@{server}", "--to", Address(source));
        await Refused($"{server}: the server replied: NOAUTH", 1, "import", $"redis://{server}", "--to", Address(source));
        await Refused("cannot connect: Connection refused", 1, "export", $"redis://bob:planted-wrong@127.0.0.1:{LoopbackPort.Next()}", _folder.File("dump.rdb"));
        await Refused("an address has the form", 2, "import", "http://bob:planted-wrong@host");
        await Refused("an address has the form", 2, "import", "redis://bob:planted-wrong@host:planted");
        await Refused("are the same server", 1, "import", $"redis://:planted-secret@{server}", "--to", $"redis://:planted-secret@{server}");
        await Refused("unknown option '--nonsense'", 2, "import", $"redis://{server}", "--nonsense");
        await Refused("ADDRESS and FILE are required", 2, "export", $"redis://{server}");
        await Refused("--to names no database", 2, "import", $"redis://{server}", "--to", $"redis://{server}/3");
        Assert.Empty(Directory.GetFiles(_folder.Path));
    }

    private async Task Refused(string reason, int exitCode, params string[] arguments)
    {
        ChildProgram program = await Transfers.Run(arguments);
        Assert.Equal(exitCode, program.ExitCode);
        string line = Assert.Single(program.Errors.TrimEnd().Split('\n'));
        Assert.StartsWith($"redkite {arguments[0]}: ", line, StringComparison.Ordinal);
        Assert.Contains(reason, line, StringComparison.Ordinal);
        Assert.DoesNotContain("planted", program.Errors + program.Output, StringComparison.Ordinal);
    }

    private string State => _folder.File("state");

    private string[] Arguments(ServerProcess source, ServerProcess target, params string[] options) => ["import", Address(source), "--to", Address(target), "--state", State, .. options];

    private Task<ChildProgram> Import(ServerProcess source, ServerProcess target, params string[] options) => Transfers.Run(Arguments(source, target, options));

    private static string Address(ServerProcess server) => Transfers.Address(server);

    private static string Info(RespConnection client, string section, string start)
    {
        string text = client.Run("INFO " + section).Text;
        int at = text.IndexOf(start, StringComparison.Ordinal);
        if (at < 0) return "0";
        return new string([.. text[(at + start.Length)..].TrimStart(':').TakeWhile(char.IsAsciiDigit)]);
    }
}
