using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite check on files of a real server: what it prints, what it cuts, and its exit status.</summary>
public sealed class CheckProgramTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Rdb_file_is_verified_and_described()
    {
        Skip();
        using ServerProcess server = Start("--dbfilename", "dump.rdb");
        using RespConnection client = server.Connect();
        client.Run("SET text value PX 100000000");
        client.Run("RPUSH list a b c");
        client.Run("SELECT 5");
        client.Run($"SET large {new string('x', 5_000).Replace("xx", "ab", StringComparison.Ordinal)}");
        client.Run("SAVE");
        string path = _folder.File("dump.rdb");
        ChildProgram check = (await RedKite(path)).Succeeded();
        foreach (string line in (string[])["RDB version 12 of Redis", "checksum correct", "redis-bits: 64", "database 0: 2 keys, 1 with an expiry, 0 of them expired", "list: 1 key", "database 5: 1 key", "string 'large' in database 5"])
        {
            Assert.Contains(line, check.Output, StringComparison.Ordinal);
        }

        byte[] bytes = await File.ReadAllBytesAsync(path, TestContext.Current.CancellationToken);
        bytes[^20] ^= 1;
        await File.WriteAllBytesAsync(path, bytes, TestContext.Current.CancellationToken);
        ChildProgram damaged = await RedKite(path);
        Assert.Equal(1, damaged.ExitCode);
        Assert.Contains($"{path}: at byte ", damaged.Errors, StringComparison.Ordinal);
    }

    // As redis-check-rdb and redis-check-aof.
    [Theory]
    [InlineData("dump.rdb", 1, "damaged: it is empty")]
    [InlineData("dump", 1, "damaged: it is empty")]
    [InlineData("appendonly.aof", 0, "is empty: an append-only file without commands")]
    [InlineData("appendonly.aof.1.base.rdb", 1, "damaged: it is empty")]
    public async Task Empty_file(string name, int status, string text)
    {
        Skip();
        string path = _folder.File(name);
        await File.WriteAllTextAsync(path, "", TestContext.Current.CancellationToken);
        ChildProgram check = await RedKite(path);
        Assert.Equal(status, check.ExitCode);
        Assert.Contains(text, check.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Broken_tail_of_an_append_only_file_is_cut_after_asking()
    {
        Skip();
        using (ServerProcess server = Start("--appendonly", "yes"))
        {
            using RespConnection client = server.Connect();
            client.Run("SET a 1");
            client.Run("SET b 2");
            client.Run("CONFIG SET appendonly no");
        }

        string folder = _folder.File("appendonlydir");
        string log = Directory.GetFiles(folder, "*.incr.aof").Single();
        (await RedKite(folder)).Succeeded();
        long length = new FileInfo(log).Length;
        await File.AppendAllTextAsync(log, "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\nc", TestContext.Current.CancellationToken);
        Assert.Equal(1, (await RedKite(folder)).ExitCode);
        Assert.Equal(1, (await RedKite("n\n", [folder, "--fix"])).ExitCode);
        Assert.NotEqual(length, new FileInfo(log).Length);
        (await RedKite("y\n", [folder, "--fix"])).Succeeded();
        Assert.Equal(length, new FileInfo(log).Length);
        (await RedKite(folder)).Succeeded();
    }

    [Fact]
    public async Task Log_is_cut_at_a_time()
    {
        Directory.CreateDirectory(_folder.File("aof"));
        string log = _folder.File("aof/a.1.incr.aof");
        const string Before = "#TS:1700000000\r\n*1\r\n$7\r\nFLUSHDB\r\n";
        await File.WriteAllTextAsync(_folder.File("aof/a.manifest"), "file a.1.incr.aof seq 1 type i\n", TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(log, Before + "#TS:1700000005\r\n*1\r\n$8\r\nFLUSHALL\r\n", TestContext.Current.CancellationToken);
        Assert.Contains("has nothing before that time", (await RedKite(_folder.File("aof"), "--until", "1600000000", "--yes")).Errors, StringComparison.Ordinal);
        (await RedKite(_folder.File("aof"), "--until", "1700000009", "--yes")).Succeeded();
        (await RedKite(_folder.File("aof"), "--until", "1700000004", "--yes")).Succeeded();
        Assert.Equal(Before, await File.ReadAllTextAsync(log, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Log_without_times_is_not_cut_at_one()
    {
        Directory.CreateDirectory(_folder.File("aof"));
        const string Log = "*1\r\n$7\r\nFLUSHDB\r\n";
        await File.WriteAllTextAsync(_folder.File("aof/a.manifest"), "file a.1.incr.aof seq 1 type i\n", TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(_folder.File("aof/a.1.incr.aof"), Log, TestContext.Current.CancellationToken);
        ChildProgram check = await RedKite(_folder.File("aof"), "--until", "1700000000", "--yes");
        Assert.Equal(1, check.ExitCode);
        Assert.Contains("a.1.incr.aof has no annotations of times, so --until cannot cut it", check.Errors, StringComparison.Ordinal);
        Assert.Equal(Log, await File.ReadAllTextAsync(_folder.File("aof/a.1.incr.aof"), TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Folder_of_a_servers_data_is_described_and_vector_sets_have_their_name()
    {
        Skip();
        Assert.Contains("neither an RDB file nor an append-only file", (await RedKite(_folder.Path)).Errors, StringComparison.Ordinal);
        using (ServerProcess server = Start("--appendonly", "yes", "--dbfilename", "dump.rdb"))
        {
            using RespConnection client = server.Connect();
            client.Run("VADD vectors VALUES 2 1 0 a").IsInteger(1);
            client.Run("SAVE").IsOk();
        }

        ChildProgram check = (await RedKite(_folder.Path)).Succeeded();
        foreach (string line in (string[])["a server with `appendonly yes` loads the append-only file", "    vectorset: 1 key", "vectorset 'vectors' in database 0", "appendonly.aof.manifest: "]) Assert.Contains(line, check.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("module", check.Output, StringComparison.Ordinal);
        await File.WriteAllTextAsync(_folder.File("dump.rdb"), "REDIS0012", TestContext.Current.CancellationToken);
        check = await RedKite(_folder.Path);
        Assert.Equal(1, check.ExitCode);
        Assert.Contains("dump.rdb", check.Errors, StringComparison.Ordinal);
        Assert.Contains("appendonly.aof.manifest: ", check.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("--nonsense")]
    [InlineData("a b")]
    [InlineData("a --until x")]
    public async Task Wrong_arguments_are_refused(string arguments)
    {
        ChildProgram check = await RedKite(arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries));
        Assert.Equal(2, check.ExitCode);
        Assert.StartsWith("redkite check: ", check.Errors, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Missing_file_is_one_line()
    {
        ChildProgram check = await RedKite(_folder.File("missing.rdb"));
        Assert.Equal(1, check.ExitCode);
        Assert.Equal($"redkite check: {_folder.File("missing.rdb")}: open failed: No such file or directory", check.Errors.TrimEnd());
    }

    private static void Skip() => Assert.SkipWhen(OracleProgram.Redis8 is null, OracleProgram.Redis8Missing);

    private ServerProcess Start(params string[] options) => ServerProcess.Start(OracleProgram.Redis8!, ["--dir", _folder.Path, .. options]);

    private static Task<ChildProgram> RedKite(params string[] arguments) => RedKite("", arguments);

    private static Task<ChildProgram> RedKite(string input, string[] arguments) => ChildProgram.Run("dotnet", [Program, "check", .. arguments], input);

    private static string Program => Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll");
}
