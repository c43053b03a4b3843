using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>What the pages' servers are here: a primary, its replica, and a folder for files.</summary>
public sealed partial class DocumentedServers : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly ServerProcess _primary;
    private readonly Dictionary<string, string?> _help = [];
    private ServerProcess? _replica;
    private int _dataFolders;

    public DocumentedServers()
    {
        _primary = ServerProcess.Start(ServerProgram.UnderTest, "--appendonly", "yes", "--aof-timestamp-enabled", "yes", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0");
        Primary = _primary.Connect();
        Settings = [.. Primary.Run("CONFIG GET *").Items.Select(static item => item.Text), "user"];
        Commands = [.. Primary.Run("COMMAND LIST").Items.Select(static item => item.Text.ToUpperInvariant())];
    }

    internal RespConnection Primary { get; }

    internal HashSet<string> Settings { get; }

    internal HashSet<string> Commands { get; }

    internal string CliHelp => field ??= ChildProgram.Run(OracleProgram.Cli, ["--help"]).GetAwaiter().GetResult() is var help ? help.Output + help.Errors : "";

    private string Port => _primary.Port.ToString(CultureInfo.InvariantCulture);

    private string ReplicaPort => (_replica ??= ServerProcess.Start(ServerProgram.UnderTest, "--replicaof", "127.0.0.1", Port, "--enable-debug-command", "yes")).Port.ToString(CultureInfo.InvariantCulture);

    /// <summary>What a program of redkite prints with --help; null if there is no such program.</summary>
    internal string? Help(string program)
    {
        if (_help.TryGetValue(program, out string? known)) return known;
        ChildProgram run = Transfers.Run(program, "--help").GetAwaiter().GetResult();
        return _help[program] = run.ExitCode == 0 ? run.Output : null;
    }

    /// <summary>Executes a line here; what is wrong, or null.</summary>
    internal async Task<string?> Execute(string line)
    {
        string[] words = [.. CommandLine.SplitText(Here(DocumentedCommandTests.Variables().Replace(line, "")))];
        if (words is ["redis-cli", .. string[] cli])
        {
            ChildProgram run = await ChildProgram.Run(OracleProgram.Cli, cli.Contains("-p") ? cli : ["-p", Port, .. cli]);
            if (line.EndsWith("DEBUG PACKAGE", StringComparison.Ordinal)) return run.Output.StartsWith("PK", StringComparison.Ordinal) ? null : run.Output;
            return run.ExitCode == 0 && !run.Output.StartsWith("ERR", StringComparison.Ordinal) ? null : run.Output + run.Errors;
        }

        if (words[1].StartsWith("--", StringComparison.Ordinal) && words[1] is not ("--help" or "--version"))
        {
            using ServerProcess server = ServerProcess.Start(new("documented", $"dotnet \"{Transfers.Program}\" {string.Join(' ', words.Skip(1))}{(words.Contains("--port") ? "" : " --port {port}")} --admin-port 0", IsRedKite: true));
            using RespConnection client = server.Connect();
            RespValue reply = client.Run("PING");
            return reply.IsError && !reply.Text.StartsWith("LOADING", StringComparison.Ordinal) ? reply.Text : null; // a file that an earlier line has left
        }

        string[] arguments = [.. words.Skip(1), .. More(words)];
        ChildProgram program = await ChildProgram.Run("dotnet", [Transfers.Program, .. arguments], input: "y\n");
        bool succeeded = words[1] == "analyze" ? program.ExitCode <= 2 : program.ExitCode == 0;
        return succeeded && (program.Errors.Length == 0 || words[1] == "bench") ? null : $"{string.Join(' ', arguments)} exits with {program.ExitCode}: {program.Errors}{program.Output}";
    }

    public void Dispose()
    {
        Primary.Dispose();
        _replica?.Dispose();
        _primary.Dispose();
        _folder.Dispose();
    }

    // The page's hosts, ports, files and amounts as those of this test.
    private string Here(string line)
    {
        string text = line
            .Replace("redis://app:secret@cache.example:6379/1", $"redis://127.0.0.1:{Port}/1", StringComparison.Ordinal)
            .Replace("cache.example:6379 --user U", $"127.0.0.1:{Port}", StringComparison.Ordinal)
            .Replace("redis://primary.example", $"redis://127.0.0.1:{Port}", StringComparison.Ordinal)
            .Replace("redis://127.0.0.1:6379", $"redis://127.0.0.1:{Port}", StringComparison.Ordinal)
            .Replace("10.0.0.1 6379", $"127.0.0.1 {Port}", StringComparison.Ordinal)
            .Replace("old.example 6379", $"127.0.0.1 {Port}", StringComparison.Ordinal)
            .Replace("-h old.example", $"-p {Port}", StringComparison.Ordinal)
            .Replace("-p 6379", $"-p {Port}", StringComparison.Ordinal)
            .Replace("--until 1767225600", "--until 4000000000", StringComparison.Ordinal) // nothing is later
            .Replace("pause 10000", "pause 1", StringComparison.Ordinal)
            .Replace("DEBUG PACKAGE", "DEBUG PACKAGE LOG 0", StringComparison.Ordinal)
            .Replace("http://collector:4318", "http://127.0.0.1:4318", StringComparison.Ordinal)
            .Replace("/backup/dump-$(date +%F).rdb", Path.Combine(_primary.Folder, "dump.rdb"), StringComparison.Ordinal)
            .Replace("/var/lib/redkite", _folder.Path, StringComparison.Ordinal)
            .Replace(" package.zip", " " + Path.Combine(_folder.Path, "package.zip"), StringComparison.Ordinal)
            .Replace(" dump.rdb", " " + Path.Combine(_folder.Path, "dump.rdb"), StringComparison.Ordinal);
        if (text.Contains("old.example", StringComparison.Ordinal)) text = text.Replace("redis://app@old.example:6379", $"redis://127.0.0.1:{ReplicaPort}", StringComparison.Ordinal);
        if (text.Contains("-p 6380", StringComparison.Ordinal)) text = text.Replace("-p 6380", $"-p {ReplicaPort}", StringComparison.Ordinal);
        if (text.Contains("replica.example", StringComparison.Ordinal))
        {
            text = text.Replace("redis://replica.example", $"redis://127.0.0.1:{ReplicaPort}", StringComparison.Ordinal);
            using RespConnection replica = _replica!.Connect(); // an earlier page has told it to follow none
            Assert.StartsWith("OK", replica.Run($"REPLICAOF 127.0.0.1 {Port}").Text, StringComparison.Ordinal); // or "OK Already connected", if it still follows it
        }

        if (text.EndsWith(" appendonlydir", StringComparison.Ordinal)) text = text.Replace("appendonlydir", CopyOfLog(), StringComparison.Ordinal);
        return Amount().Replace(Ports().Replace(text, "--port {port}"), static match => match.Value.StartsWith("-c", StringComparison.Ordinal) ? "-c 2" : "-n 20");
    }

    private string[] More(string[] words) => words switch
    {
        [_, "bench", ..] when !words.Any(static word => word.Contains("127.0.0.1", StringComparison.Ordinal)) => ["-s", "127.0.0.1", "-p", Port, "-c", "2"],
        [_, "debug-package", "127.0.0.1", ..] => ["--log", "0"],
        [_, "debug-package", ..] => ["--log", "0", .. words.Any(static word => word.Contains("127.0.0.1", StringComparison.Ordinal)) ? (string[])[] : ["--port", Port]],
        [_, "import", ..] => ["--to", $"redis://127.0.0.1:{Port}", "--state", Path.Combine(_folder.Path, "state")],
        [_, "service", "install"] => ["--dry-run"],
        _ => [],
    };

    private string CopyOfLog()
    {
        string copy = Path.Combine(_folder.Path, $"log{_dataFolders++}");
        Directory.CreateDirectory(copy);
        foreach (string file in Directory.GetFiles(Path.Combine(_primary.Folder, "appendonlydir"))) File.Copy(file, Path.Combine(copy, Path.GetFileName(file)));
        return copy;
    }

    [GeneratedRegex(@"--port \d+")]
    private static partial Regex Ports();

    [GeneratedRegex(@"--test-time \d+|-n \w+|-c \d+")]
    private static partial Regex Amount();
}
