using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>Expected replies are those of https://redis.io/commands/lmovem and blmovem; they do not give the texts of errors.</summary>
public sealed class ListBlockMovesTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("LEFT LEFT COUNT 2 OBO", "2 1", "3 4", "2 1 x")]
    [InlineData("LEFT LEFT COUNT 2 BULK", "1 2", "3 4", "1 2 x")]
    [InlineData("LEFT RIGHT COUNT 2 OBO", "1 2", "3 4", "x 1 2")]
    [InlineData("LEFT RIGHT COUNT 2 BULK", "1 2", "3 4", "x 1 2")]
    [InlineData("RIGHT LEFT COUNT 2 OBO", "3 4", "1 2", "3 4 x")]
    [InlineData("RIGHT LEFT COUNT 2 BULK", "3 4", "1 2", "3 4 x")]
    [InlineData("RIGHT RIGHT COUNT 2 OBO", "4 3", "1 2", "x 4 3")]
    [InlineData("RIGHT RIGHT COUNT 2 BULK", "3 4", "1 2", "x 3 4")]
    [InlineData("right left", "4", "1 2 3", "4 x")]
    [InlineData("LEFT LEFT COUNT 9 BULK", "1 2 3 4", "", "1 2 3 4 x")]
    [InlineData("LEFT LEFT EXACTLY 4 OBO", "4 3 2 1", "", "4 3 2 1 x")]
    public void Elements_arrive_in_the_order_of_the_reply(string ends, string reply, string source, string destination)
    {
        Run("RPUSH a 1 2 3 4").IsInteger(4);
        Run("RPUSH b x").IsInteger(1);
        Run($"LMOVEM a b {ends}").IsArray(reply.Split(' '));
        Assert.Equal((source, destination), (Elements("a"), Elements("b")));
        Run("EXISTS a").IsInteger(source.Length == 0 ? 0 : 1);
    }

    [Theory]
    [InlineData("LEFT LEFT EXACTLY 2 OBO", "b a", "b a c")]
    [InlineData("LEFT LEFT COUNT 2 BULK", "a b", "a b c")]
    [InlineData("LEFT RIGHT COUNT 2 BULK", "a b", "c a b")]
    [InlineData("RIGHT LEFT COUNT 2 OBO", "b c", "b c a")]
    [InlineData("LEFT LEFT COUNT 9 OBO", "c b a", "c b a")]
    [InlineData("RIGHT RIGHT COUNT 2 OBO", "c b", "a c b")]
    [InlineData("RIGHT RIGHT COUNT 9 OBO", "c b a", "c b a")]
    [InlineData("LEFT RIGHT", "a", "b c a")]
    public void Elements_move_within_a_list(string ends, string reply, string after)
    {
        Run("RPUSH a a b c").IsInteger(3);
        Run("EXPIRE a 100").IsInteger(1);
        Run($"LMOVEM a a {ends}").IsArray(reply.Split(' '));
        Assert.Equal(after, Elements("a"));
        Assert.NotNull(_transcript.ExpiryOf("a"));
    }

    [Theory]
    [InlineData("LEFT LEFT COUNT 5000 BULK")]
    [InlineData("LEFT LEFT COUNT 5000 OBO")]
    [InlineData("RIGHT RIGHT COUNT 5000 BULK")]
    [InlineData("RIGHT LEFT COUNT 5000 OBO")]
    public void Many_elements_move_in_portions(string ends)
    {
        _transcript.Fill("RPUSH a", "element:{0}", 10_000);
        Run("RPUSH a " + new string('x', 200_000)).IsInteger(10_001);
        string[] moved = [.. Run($"LMOVEM a b {ends}").Items.Select(item => item.Text)];
        Assert.Equal(5_000, moved.Length);
        Assert.Equal(string.Join(' ', moved), Elements("b"));
        Run("LLEN a").IsInteger(5_001);
        Run($"LMOVEM b a {(ends.StartsWith("LEFT", StringComparison.Ordinal) ? "LEFT LEFT" : "LEFT RIGHT")} COUNT 5000 BULK");
        Run("LLEN a").IsInteger(10_001);
    }

    [Theory]
    [InlineData("LEFT LEFT")]
    [InlineData("RIGHT RIGHT")]
    public void Many_elements_are_reversed_in_place(string ends)
    {
        _transcript.Fill("RPUSH a", "{0}", 2_000);
        IEnumerable<int> numbers = Enumerable.Range(0, 2_000);
        int[] expected = ends == "LEFT LEFT" ? [.. numbers.Take(1_500).Reverse(), .. numbers.Skip(1_500)] : [.. numbers.Take(500), .. numbers.Skip(500).Reverse()];
        Assert.Equal(1_500, Run($"LMOVEM a a {ends} EXACTLY 1500 OBO").Items.Count);
        Assert.Equal(string.Join(' ', expected), Elements("a"));
    }

    [Fact]
    public void Missing_elements_are_null()
    {
        Run("LMOVEM a b LEFT LEFT").IsNull();
        Run("LMOVEM a b LEFT LEFT COUNT 2 BULK").IsNull();
        Run("LMOVEM a b LEFT LEFT EXACTLY 1 BULK").IsNull();
        Run("RPUSH a 1 2 3").IsInteger(3);
        Run("LMOVEM a b LEFT LEFT EXACTLY 4 OBO").IsNull();
        Run("LLEN a").IsInteger(3);
        Run("MULTI").IsOk();
        Run("BLMOVEM a b LEFT LEFT 0 EXACTLY 4 OBO").IsSimple("QUEUED");
        Assert.True(Run("EXEC").Items[0].IsNull);
        Run("BLMOVEM a b LEFT RIGHT 0 EXACTLY 3 OBO").IsArray("1", "2", "3");
    }

    [Fact]
    public async Task Blocked_client_is_served_when_there_are_enough_elements()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        using RespConnection blocked = RespConnection.Connect(server.Server.Port);
        blocked.SendCommand("BLMOVEM a b LEFT RIGHT 0 EXACTLY 3 BULK");
        while (server.Info("clients", "blocked_clients") != "1") await Task.Yield();
        server.Run("RPUSH a 1 2").IsInteger(2);
        server.Run("LLEN a").IsInteger(2);
        server.Run("RPUSH a 3 4").IsInteger(4);
        blocked.Read().IsArray("1", "2", "3");
        server.Run("LRANGE a 0 -1").IsArray("4");
        blocked.SendCommand("BLMOVEM nosuch b LEFT RIGHT 0.01");
        Assert.True(blocked.Read().IsNull);
    }

    [Theory]
    [InlineData("LMOVEM a b LEFT", "ERR wrong number of arguments for 'lmovem' command")]
    [InlineData("LMOVEM a b LEFT MIDDLE", "ERR syntax error")]
    [InlineData("LMOVEM a b LEFT LEFT COUNT 2", "ERR syntax error")]
    [InlineData("LMOVEM a b LEFT LEFT OBO", "ERR syntax error")]
    [InlineData("LMOVEM a b LEFT LEFT COUNT 2 OBO BULK", "ERR syntax error")]
    [InlineData("LMOVEM a b LEFT LEFT COUNT 0 OBO", "ERR count should be greater than 0")]
    [InlineData("LMOVEM a b LEFT LEFT EXACTLY x OBO", "ERR count should be greater than 0")]
    [InlineData("LMOVEM a t LEFT LEFT", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("LMOVEM t b LEFT LEFT", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("BLMOVEM a b LEFT LEFT x", "ERR timeout is not a float or out of range")]
    public void Error_changes_nothing(string line, string error)
    {
        Run("RPUSH a 1 2").IsInteger(2);
        Run("SET t 1").IsOk();
        Run(line).IsError(error);
        Assert.Equal("1 2", Elements("a"));
    }

    private string Elements(string key) => string.Join(' ', Run($"LRANGE {key} 0 -1").Items.Select(item => item.Text));

    private RespValue Run(string line) => _transcript.Run(line);
}
