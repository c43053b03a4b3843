using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>Commands whose work is the product of two sizes that clients choose, beyond what the data has: they reply an error.</summary>
public sealed class ProductTests : TranscriptTests
{
    private const string Again = "ERR the command would read more than 16777216 elements again, because it names the same keys";
    private const int Members = 20_000;
    private const int Times = 900;

    [Fact]
    public void Keys_that_are_named_again_and_again_are_refused()
    {
        Server.Execute(["SADD", "s", .. Enumerable.Range(0, Members).Select(i => $"{i}")]);
        Server.Execute(["ZADD", "z", .. Enumerable.Range(0, Members).SelectMany(i => new[] { "1", $"{i}" })]);
        Server.Execute("SETRANGE", "b", $"{8 * Members}", "x");
        foreach (string command in (string[])["SINTER", "SUNION", "SDIFF", "SINTERSTORE d", "SUNIONSTORE d", "SDIFFSTORE d", $"SINTERCARD {Times}", $"ZUNION {Times}", $"ZINTER {Times}", $"ZDIFF {Times}", $"ZUNIONSTORE d {Times}", $"ZINTERCARD {Times}", "BITOP OR d"])
        {
            string key = command[0] == 'Z' ? "z" : command[0] == 'B' ? "b" : "s";
            Assert.Equal(Again, Server.Execute([.. command.Split(' '), .. Enumerable.Repeat(key, Times)]).Text);
            RedKiteReply few = Server.Execute([.. command.Replace($"{Times}", "20", StringComparison.Ordinal).Split(' '), .. Enumerable.Repeat(key, 20)]);
            Assert.NotEqual(Again, few.Text);
        }

        Assert.Equal("PONG", Server.Execute("PING").Text);
    }

    // A pattern that begins again for each byte, and a class of a megabyte that is read for each of many short texts.
    [Fact]
    public void Patterns_end_with_an_error_in_every_command_that_has_one()
    {
        const string TooLong = "ERR the pattern takes too long";
        string text = new('a', 20_000);
        string[] patterns = ["*" + new string('a', 500) + "b", "*[" + new string('x', 100_000) + "]"];
        using RedKiteSession client = Server.CreateSession();
        client.UnitWork.Patterns.Granted = 1 << 20;
        foreach (int i in Enumerable.Range(0, 40))
        {
            client.Execute("SET", $"{text}{i}", "v");
            client.Execute("HSET", "h", $"{text}{i}", "v");
            client.Execute("SADD", "s", $"{text}{i}");
            client.Execute("ZADD", "z", "1", $"{text}{i}");
        }

        client.Execute("FUNCTION", "LOAD", "#!lua name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nredis.register_function('f', function() end)");
        using RedKiteSubscription subscription = Server.CreateClient().Subscribe([.. Enumerable.Range(0, 40).Select(i => text + i)]);
        foreach (string pattern in patterns)
        {
            List<string[]> commands = [["KEYS", pattern], ["SCAN", "0", "MATCH", pattern, "COUNT", "1000"], ["HSCAN", "h", "0", "MATCH", pattern, "COUNT", "1000"], ["SSCAN", "s", "0", "MATCH", pattern, "COUNT", "1000"], ["ZSCAN", "z", "0", "MATCH", pattern, "COUNT", "1000"], ["PUBSUB", "CHANNELS", pattern]];
            if (pattern[1] == '[') commands.AddRange([["COMMAND", "LIST", "FILTERBY", "PATTERN", pattern], ["CONFIG", "GET", pattern], ["FUNCTION", "LIST", "LIBRARYNAME", pattern]]);
            foreach (string[] command in commands)
            {
                Assert.Equal((command[0], TooLong), (command[0], client.Execute(command).Text));
                client.Execute("MULTI");
                client.Execute(command);
                client.Execute("PING");
                Assert.Equal([TooLong, "PONG"], client.Execute("EXEC").Items.Select(item => item.Text));
            }

            Assert.Contains(TooLong, client.Execute("EVAL", "return redis.call('KEYS', ARGV[1])", "0", pattern).Text, StringComparison.Ordinal);
            Assert.Equal(43, client.Execute("KEYS", "*").Items.Count);
        }
    }

    // Compiling is one piece of work.
    [Fact]
    public void Script_has_so_many_bytes_and_no_more()
    {
        string fits = "return 1 --" + new string('x', 1 << 20);
        Assert.Equal(1, Server.Execute("EVAL", fits, "0").Integer);
        string large = fits + new string('x', 1 << 20);
        foreach (string[] command in (string[][])[["EVAL", large, "0"], ["SCRIPT", "LOAD", large], ["FUNCTION", "LOAD", "#!lua name=l\n" + large], ["EVAL", "return loadstring(ARGV[1])()", "0", large]])
        {
            Assert.Matches("the text has more than [0-9]+ bytes, the limit|attempt to call", Server.Execute(command).Text);
        }
    }

    // 18 digits never ended.
    [Fact]
    public async Task Debug_populates_what_the_memory_can_have()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "enable-debug-command", "yes");
        foreach (string arguments in (string[])["9223372036854775807", "1000000000000", "100000000000 k", "1000000 k 500000000"])
        {
            Assert.Contains("by the memory that the process may use", server.Run("DEBUG POPULATE " + arguments).Text, StringComparison.Ordinal);
        }

        server.Run("DEBUG POPULATE 1000").IsOk();
        Assert.Equal(1000, server.Run("DBSIZE").Number);
    }

    [Fact]
    public void Sort_looks_up_so_many_keys_and_no_more()
    {
        Server.Execute(["RPUSH", "l", .. Enumerable.Range(0, Members).Select(i => $"{i}")]);
        string[] gets = [.. Enumerable.Repeat(new[] { "GET", "k*" }, Times).SelectMany(words => words)];
        Assert.Equal("ERR SORT would look up more than 16777216 keys for its GET patterns", Server.Execute(["SORT", "l", .. gets]).Text);
        Assert.Equal(10 * Times, Server.Execute(["SORT", "l", "LIMIT", "0", "10", .. gets]).Items.Count);
        Assert.Equal(2 * Members, Server.Execute("SORT", "l", "GET", "#", "GET", "k*").Items.Count);
    }

    // 200,000 names of a megabyte took 105 seconds.
    [Fact]
    public void Sort_composes_so_many_bytes_of_names_and_no_more()
    {
        const string TooMany = "ERR SORT would compose names of more than 1073741824 bytes for its patterns";
        Server.Execute(["RPUSH", "l", .. Enumerable.Range(0, Members).Select(i => $"{i}")]);
        string pattern = new string('w', 100_000) + "*";
        Assert.Equal(TooMany, Server.Execute("SORT", "l", "BY", pattern, "LIMIT", "0", "1").Text);
        Assert.Equal(TooMany, Server.Execute("SORT", "l", "GET", pattern).Text);
        Assert.Equal(10, Server.Execute("SORT", "l", "LIMIT", "0", "10", "GET", pattern).Items.Count);
        Assert.Single(Server.Execute("SORT", "l", "BY", pattern[..^1], "LIMIT", "0", "1").Items);
        Assert.Single(Server.Execute("SORT", "l", "BY", new string('w', 500) + "*", "LIMIT", "0", "1").Items);
    }

    [Fact]
    public void Command_documents_so_many_names_and_no_more()
    {
        string[] names = [.. Enumerable.Repeat("GET", 1024)];
        Assert.Equal("ERR more than 1024 names of commands", Server.Execute(["COMMAND", "DOCS", .. names, "GET"]).Text);
        Assert.Equal("ERR more than 1024 names of commands", Server.Execute(["COMMAND", "INFO", .. names, "GET"]).Text);
        Assert.Equal(1024, Server.Execute(["COMMAND", "INFO", .. names]).Items.Count);
        Assert.True(Server.Execute("COMMAND", "COUNT").Integer <= 1024);
    }
}
