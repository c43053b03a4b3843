using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redis-cli in its modes.</summary>
[Collection(RunningServersCollection.Name)]
public sealed class RedisCliTests(RunningServers servers)
{
    public static TheoryData<string> Transports => RunningServers.Transports;

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Commands_are_read_from_standard_input(string transport)
    {
        ChildProgram cli = await Cli(servers.On(transport), [], "SET k v\nGET k\nINCR n\nGET none\nNOSUCH\nSELECT 1\nDBSIZE\n");
        Assert.Equal(["OK", "v", "1", "", "ERR unknown command 'NOSUCH', with args beginning with: ", "", "OK", "0"], cli.Lines);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Interactive_session_starts_and_ends(string transport)
    {
        ServerProcess server = servers.On(transport);
        // script provides a terminal, without which redis-cli neither requests command documentation nor prints prompts and types.
        // The terminal is dumb, so that redis-cli reads whole lines.
        ChildProgram session = await ChildProgram.Run("script", ["-qec", $"env TERM=dumb '{OracleProgram.Cli}' -p {server.Port}", "/dev/null"], "set k 12\nincr k\nhelp get\nget none\nquit\n");
        Assert.Equal(0, session.ExitCode);
        Assert.Contains("(integer) 13", session.Output, StringComparison.Ordinal);
        Assert.Contains("(nil)", session.Output, StringComparison.Ordinal);
        Assert.Contains("\x1b[1mGET\x1b[0m \x1b[90mkey\x1b[0m", session.Output, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Help_of_redis_cli_8_comes_from_the_server(string transport)
    {
        Assert.SkipWhen(OracleProgram.Redis8Cli is null, OracleProgram.Redis8Missing);
        ServerProcess server = servers.On(transport);
        ChildProgram session = await ChildProgram.Run("script", ["-qec", $"env TERM=dumb '{OracleProgram.Redis8Cli}' -p {server.Port}", "/dev/null"], "help zadd\nhelp @stream\nhelp client kill\nquit\n");
        Assert.Equal(0, session.ExitCode);
        string text = Regex.Replace(session.Output.ReplaceLineEndings("\n"), "\e\\[[0-9]*m", "");
        Assert.Contains("ZADD key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]\n", text, StringComparison.Ordinal);
        Assert.Contains("summary: Adds members to a sorted set or sets their scores.", text, StringComparison.Ordinal);
        Assert.Contains("since: 1.2.0\n", text, StringComparison.Ordinal);
        Assert.Contains("group: sorted-set\n", text, StringComparison.Ordinal);
        Assert.Contains("XADD key [NOMKSTREAM] [KEEPREF|DELREF|ACKED] [IDMPAUTO pid|IDMP pid iid] [MAXLEN|MINID [=|~] threshold [LIMIT count]] *|id field value [field value ...]\n", text, StringComparison.Ordinal);
        Assert.Contains("CLIENT KILL ip:port|[ID client-id]|[TYPE NORMAL|", text, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Resp3_replies_print_as_their_types(string transport)
    {
        ServerProcess server = servers.On(transport);
        Assert.Equal(["(nil)"], (await Cli(server, ["-3", "--no-raw", "GET", "none"])).Lines);
        string[] hello = (await Cli(server, ["-3", "--no-raw", "HELLO"])).Lines;
        Assert.Contains("3# \"proto\" => (integer) 3", hello);
        Assert.Equal(["\"redis\""], (await Cli(server, ["-3", "--json", "ECHO", "redis"])).Lines);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Scan_lists_all_keys(string transport)
    {
        ServerProcess server = servers.On(transport);
        Fill(server, 1_000);
        Assert.Equal(1_000, (await Cli(server, ["--scan"])).Lines.Distinct().Count());
        Assert.Equal(111, (await Cli(server, ["--scan", "--pattern", "key:5*"])).Lines.Distinct().Count());
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Bigkeys_and_memkeys_sample_the_keyspace(string transport)
    {
        ServerProcess server = servers.On(transport);
        Fill(server, 200);
        using RespConnection connection = server.Connect();
        connection.Run($"SET biggest {new string('x', 5_000)}").IsOk();

        ChildProgram bigkeys = await Cli(server, ["--bigkeys"]);
        Assert.Contains("Sampled 201 keys in the keyspace!", bigkeys.Output, StringComparison.Ordinal);
        Assert.Matches("Biggest string found +'?\"biggest\"'? has 5000 bytes", bigkeys.Output); // redis-cli 8 leaves the apostrophes out
        ChildProgram memkeys = await Cli(server, ["--memkeys"]);
        Assert.Matches("Biggest string found +'?\"biggest\"'? has", memkeys.Output);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    [Alone]
    public async Task Latency_is_sampled_for_a_second(string transport)
    {
        ServerProcess server = servers.On(transport);
        await QuietMachine.TryAsync(async () =>
        {
            string[] figures = (await Cli(server, ["--latency", "-i", "0.3"])).Lines[0].Split(' ');
            Assert.Equal(4, figures.Length);
            Assert.True(int.Parse(figures[3], CultureInfo.InvariantCulture) > 3, "samples");
        });
    }

    [Theory]
    [MemberData(nameof(Transports))]
    [Alone]
    public async Task Stat_prints_lines_repeatedly(string transport)
    {
        ServerProcess server = servers.On(transport);
        Fill(server, 10);
        await QuietMachine.TryAsync(async () =>
        {
            // It never exits by itself, so timeout stops it, with status 124.
            ChildProgram stat = await ChildProgram.Run("timeout", ["1.5", "stdbuf", "-oL", OracleProgram.Cli, "-p", $"{server.Port}", "--stat", "-i", "0.2"]);
            Assert.Equal(124, stat.ExitCode);
            Assert.StartsWith("10 ", stat.Lines[^1], StringComparison.Ordinal);
        });
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Pipe_loads_many_commands(string transport)
    {
        ServerProcess server = servers.On(transport);
        string input = string.Concat(Enumerable.Range(0, 20_000).Select(i => $"SET key:{i} value:{i}\r\n"));
        ChildProgram pipe = await Cli(server, ["--pipe"], input);
        Assert.Contains("errors: 0, replies: 20000", pipe.Output, StringComparison.Ordinal);
        using RespConnection connection = server.Connect();
        connection.Run("DBSIZE").IsInteger(20_000);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Options_select_database_repetition_and_input(string transport)
    {
        ServerProcess server = servers.On(transport);
        Assert.Equal(["OK"], (await Cli(server, ["-n", "3", "-x", "SET", "k"], "from input")).Lines);
        Assert.Equal(["from input"], (await Cli(server, ["-n", "3", "GET", "k"])).Lines);
        Assert.Equal(["1", "2", "3"], (await Cli(server, ["-r", "3", "INCR", "n"])).Lines);
        Assert.Equal(["PONG"], (await ChildProgram.Run(OracleProgram.Cli, ["-u", $"redis://127.0.0.1:{server.Port}/2", "PING"])).Succeeded().Lines);
        ChildProgram error = await ChildProgram.Run(OracleProgram.Cli, ["-p", $"{server.Port}", "-e", "NOSUCH"]);
        Assert.Equal(1, error.ExitCode);
    }

    private static async Task<ChildProgram> Cli(ServerProcess server, IEnumerable<string> arguments, string input = "") =>
        (await ChildProgram.Run(OracleProgram.Cli, ["-p", $"{server.Port}", .. arguments], input)).Succeeded();

    private static void Fill(ServerProcess server, int keys)
    {
        using RespConnection connection = server.Connect();
        for (int i = 0; i < keys; i++) connection.Run($"SET key:{i} {i}").IsOk();
    }
}
