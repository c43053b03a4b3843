using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>Commands of the host's own: arguments, keys, replies, effects, introspection, access, failures.</summary>
public sealed class CustomCommandTests : IAsyncLifetime
{
    private RedKiteServer _server = null!;
    private RedKiteClient _client = null!;
    private RedKiteClient? _outer; // what a bad command calls

    public async ValueTask InitializeAsync()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["loops"] = "1";
        options.Commands.Add(typeof(Leaderboard));
        options.Commands.Add("T.TYPES", static (string text, long number, double real, bool yes, byte[] bytes) => $"{text} {number} {real:F2} {yes} {bytes.Length}");
        options.Commands.Add("T.NOTHING", static () => { });
        options.Commands.Add("T.NULL", static string? () => null);
        options.Commands.Add("T.KEYS", static (RedKiteCommandKeys keys, [RedKiteKey] params string[] names) => names.Count(name => keys.Exists(name)));
        options.Commands.Add("T.OTHERKEY", static (RedKiteCommandKeys keys, [RedKiteKey] string key) => keys.GetString(key + "x"));
        options.Commands.Add("T.FAILS", static (RedKiteCommandKeys keys, [RedKiteKey] string key) =>
        {
            keys.Set(key, "written");
            throw new FormatException("secret");
        });
        options.Commands.Add("T.REFUSES", static (RedKiteCommandKeys keys, [RedKiteKey] string key) =>
        {
            if (!keys.Exists(key)) throw new RedKiteException("NOBOARD", "NOBOARD there is no such board");
        });
        options.Commands.Add("T.OUTSIDE", ([RedKiteKey] string key) => _outer!.GetString(key));
        options.Commands.Add("T.READS", static (RedKiteCommandKeys keys, [RedKiteKey] string key) => keys.Set(key, "v"), new RedKiteCommandOptions { IsReadOnly = true });
        _server = await RedKiteServer.StartAsync(options);
        _client = _outer = _server.CreateClient();
    }

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        Assert.Null(_server.Failure);
    }

    [Fact]
    public void Arguments_are_converted_and_results_are_replies()
    {
        Assert.Equal("a 5 1.50 True 3", Run("T.TYPES a 5 1.5 1 xyz").Text);
        Assert.Equal("OK", Run("t.nothing").Text);
        Assert.True(Run("T.NULL").IsNull);
        Assert.Equal("ERR value of 'number' is not an integer or out of range", Run("T.TYPES a x 1.5 1 xyz").Text);
        Assert.Equal("ERR value of 'real' is not a valid float", Run("T.TYPES a 1 nan 1 xyz").Text);
        Assert.Equal("ERR wrong number of arguments for 't.types' command", Run("T.TYPES a").Text);
        _client.Set("a", "1");
        Assert.Equal(1, Run("T.KEYS a b c").Integer);
        Assert.Equal(0, Run("T.KEYS").Integer);
    }

    [Fact]
    public void A_class_of_commands_works_on_its_keys()
    {
        Assert.Equal("1", Run("LEADERBOARD.ADD board alice 10").Text);
        Assert.Equal("1", Run("LEADERBOARD.ADD board bob 20").Text);
        Assert.Equal("0", Run("LEADERBOARD.ADD board bob 15").Text);
        Assert.Equal("bob, 15, alice, 10", Run("LEADERBOARD.TOP board").Text);
        Assert.Equal("bob, 15", Run("LEADERBOARD.TOP board 1").Text);
        Assert.Equal("ERR wrong number of arguments for 'leaderboard.top' command", Run("LEADERBOARD.TOP board 1 2").Text);
    }

    [Fact]
    public void Only_declared_keys_are_usable()
    {
        Assert.Equal("ERR 'get' uses a key that 't.otherkey' does not declare", Run("T.OTHERKEY k").Text);
        Assert.Equal("ERR 't.reads' is declared as read-only", Run("T.READS k").Text);
        Assert.False(_client.Exists("k"));
    }

    [Fact]
    public void An_exception_is_an_error_and_keeps_what_was_written()
    {
        Assert.Equal("ERR the command 't.fails' failed, see the server's log", Run("T.FAILS k").Text);
        Assert.Equal("written", _client.GetString("k"));
        Assert.Equal("NOBOARD there is no such board", Run("T.REFUSES missing").Text);
        Assert.Equal("OK", Run("T.REFUSES k").Text);
    }

    [Fact]
    public void A_call_of_a_client_is_refused()
    {
        Assert.StartsWith("ERR A custom command runs with its keys locked", Run("T.OUTSIDE k").Text, StringComparison.Ordinal);
        Assert.Null(_client.GetString("k")); // the thread may call again
        using RedKiteSession session = _server.CreateSession();
        Assert.StartsWith("ERR A custom command", session.Execute("T.OUTSIDE", "k").Text, StringComparison.Ordinal);
    }

    [Fact]
    public void They_run_in_transactions_and_scripts()
    {
        using RedKiteTransaction transaction = _client.CreateTransaction();
        RedKiteQueued added = transaction.Queue("LEADERBOARD.ADD", "b", "alice", "1");
        RedKiteQueued top = transaction.Queue("LEADERBOARD.TOP", "b");
        Assert.True(transaction.Execute());
        Assert.Equal(("1", "alice, 1"), (added.Reply.Text, top.Reply.Text));
        Assert.Equal("alice", _client.Eval("return redis.call('LEADERBOARD.TOP', KEYS[1])[1]", ["b"]).Text);
    }

    [Fact]
    public void They_are_documented_counted_and_have_categories()
    {
        RedKiteReply info = _client.Execute("COMMAND", "INFO", "leaderboard.add").Items[0];
        Assert.Equal(("leaderboard.add", 4L, 1L, 1L), (info.Items[0].Text, info.Items[1].Integer, info.Items[3].Integer, info.Items[4].Integer));
        Assert.Contains("write", info.Items[2].Text, StringComparison.Ordinal);
        Assert.Contains("@sortedset", info.Items[6].Text, StringComparison.Ordinal);
        string docs = _client.Execute("COMMAND", "DOCS", "leaderboard.top").Text!;
        Assert.Contains("Returns the members with the highest scores.", docs, StringComparison.Ordinal);
        Assert.Contains("count", docs, StringComparison.Ordinal);
        Assert.Equal("a, b", _client.Execute("COMMAND", "GETKEYS", "T.KEYS", "a", "b").Text);
        Run("LEADERBOARD.TOP board");
        Assert.Contains("cmdstat_leaderboard.top:calls=1,", Run("INFO commandstats").Text, StringComparison.Ordinal);
        Assert.Contains("leaderboard.top", Run("ACL CAT sortedset").Text, StringComparison.Ordinal);
        Run("ACL SETUSER eve on nopass ~other -@all +leaderboard.top");
        using RedKiteSession session = _server.CreateSession();
        Assert.Equal("OK", session.Execute("AUTH", "eve", "x").Text);
        Assert.StartsWith("NOPERM", session.Execute("LEADERBOARD.TOP", "board").Text, StringComparison.Ordinal);
        Assert.StartsWith("NOPERM", session.Execute("LEADERBOARD.TOP", "other").Text, StringComparison.Ordinal); // it may not ZRANGE
    }

    [Fact]
    public async Task Faults_of_declarations_are_found_at_the_start()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Commands.Add("GET", static () => { });
        options.Commands.Add("T.A", static (Guid id) => { });
        options.Commands.Add("T.B", static (string[] rest, int last) => { });
        options.Commands.Add("T.C", static async () => await Task.Yield());
        RedKiteConfigException error = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken));
        foreach (string part in (string[])["there is a command 'GET' already", "'id' has the type Guid", "only the last parameter", "returns a task"]) Assert.Contains(part, error.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>(() => options.Commands.Add(typeof(string)));
    }

    [Fact]
    public async Task Their_effects_are_logged_and_not_their_names()
    {
        using var folder = new TemporaryFolder();
        string log;
        var options = new RedKiteOptions { Port = 0, Persistence = RedKitePersistence.Log, DataDirectory = folder.Path };
        options.Settings["loops"] = "1";
        options.Commands.Add(typeof(Leaderboard));
        await using (RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken))
        {
            server.CreateClient().Execute("LEADERBOARD.ADD", "board", "alice", "10");
        }

        log = string.Concat(Directory.EnumerateFiles(folder.Path, "*.incr.aof", SearchOption.AllDirectories).Select(path => Encoding.Latin1.GetString(File.ReadAllBytes(path))));
        Assert.Contains("ZADD", log, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain("LEADERBOARD", log, StringComparison.OrdinalIgnoreCase);
        var plain = new RedKiteOptions { Port = 0, Persistence = RedKitePersistence.Log, DataDirectory = folder.Path };
        await using RedKiteServer loaded = await RedKiteServer.StartAsync(plain, TestContext.Current.CancellationToken);
        Assert.Equal(10, loaded.CreateClient().SortedSetScore("board", "alice"));
    }

    [Fact]
    public async Task A_replica_that_does_not_know_them_gets_their_effects()
    {
        await using RedKiteServer replica = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        RedKiteClient copy = replica.CreateClient();
        Run("LEADERBOARD.ADD board alice 10");
        copy.Execute("REPLICAOF", "127.0.0.1", $"{_server.Port}").OrThrow();
        while (_client.Execute("INFO", "replication").Text!.Contains("connected_slaves:0", StringComparison.Ordinal)) await Task.Delay(20, TestContext.Current.CancellationToken);
        Run("LEADERBOARD.ADD board bob 20");
        Assert.Equal(1, await _client.WaitForReplicasAsync(1, TimeSpan.FromMinutes(1), TestContext.Current.CancellationToken));
        Assert.Equal((10d, 20d), (copy.SortedSetScore("board", "alice"), copy.SortedSetScore("board", "bob")));
        Assert.StartsWith("ERR unknown command", copy.Execute("LEADERBOARD.TOP", "board").Text, StringComparison.Ordinal);
    }

    private RedKiteReply Run(string command) => _client.Execute(command.Split(' '));

    private static class Leaderboard
    {
        [RedKiteCommand("LEADERBOARD.ADD", Summary = "Sets a score.", Category = "sortedset")]
        public static bool Add(RedKiteCommandKeys keys, [RedKiteKey] string board, string member, double score)
        {
            return keys.SortedSetAdd(board, member, score);
        }

        [RedKiteCommand("LEADERBOARD.TOP", IsReadOnly = true, Summary = "Returns the members with the highest scores.", Category = "sortedset")]
        public static RedKitePairs Top(RedKiteCommandKeys keys, [RedKiteKey] string board, int count = 10) => keys.SortedSetRangeByRank(board, 0, count - 1, fromHighest: true);
    }
}
