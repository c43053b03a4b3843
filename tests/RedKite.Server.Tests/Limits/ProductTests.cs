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
