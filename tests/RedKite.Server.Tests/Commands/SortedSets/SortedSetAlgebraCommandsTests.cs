using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class SortedSetAlgebraCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        Run("ZADD x 1 a 2 b 3 c").IsInteger(3);
        Run("ZADD y 10 b 20 c 30 d").IsInteger(3);
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Union_adds_scores()
    {
        Run("ZUNION 2 x y WITHSCORES").IsArray("a", "1", "b", "12", "c", "23", "d", "30");
        Run("ZUNION 2 x missing").IsArray("a", "b", "c");
        Run("ZUNION 3 x y x WEIGHTS 1 0.5 -1 AGGREGATE MAX WITHSCORES").IsArray("a", "1", "b", "5", "c", "10", "d", "15");
        Run("ZUNIONSTORE to 2 x y AGGREGATE MIN").IsInteger(4);
        Run("ZRANGE to 0 -1 WITHSCORES").IsArray("a", "1", "b", "2", "c", "3", "d", "30");
    }

    [Fact]
    public void Intersection_has_members_of_all()
    {
        Run("ZINTER 2 x y WITHSCORES").IsArray("b", "12", "c", "23");
        Run("ZINTER 3 x y missing").IsArray();
        Run("ZINTERSTORE x 2 x y WEIGHTS 2 1").IsInteger(2);
        Run("ZRANGE x 0 -1 WITHSCORES").IsArray("b", "14", "c", "26");
        Run("ZINTERCARD 2 x y").IsInteger(2);
        Run("ZINTERCARD 2 x y LIMIT 1").IsInteger(1);
        Run("ZINTERCARD 2 x y LIMIT -1").IsError("ERR LIMIT can't be negative");
    }

    [Fact]
    public void Difference_has_members_of_the_first_only()
    {
        Run("ZDIFF 2 x y WITHSCORES").IsArray("a", "1");
        Run("ZDIFF 2 y missing").IsArray("b", "c", "d");
        Run("ZDIFFSTORE to 2 y x").IsInteger(1);
        Run("ZRANGE to 0 -1 WITHSCORES").IsArray("d", "30");
        Run("ZDIFF 2 x y WEIGHTS 1 1").IsError("ERR syntax error");
    }

    [Fact]
    public void Empty_result_removes_the_destination()
    {
        Run("SET to x").IsOk();
        Run("ZINTERSTORE to 2 x missing").IsInteger(0);
        Run("EXISTS to").IsInteger(0);
    }

    [Fact]
    public void Infinite_scores_that_cancel_out_are_zero()
    {
        Run("ZADD p inf a").IsInteger(1);
        Run("ZADD n -inf a").IsInteger(1);
        Run("ZUNION 2 p n WITHSCORES").IsArray("a", "0");
        Run("ZUNION 1 p WEIGHTS 0 WITHSCORES").IsArray("a", "0");
    }

    [Fact]
    public void Invalid_arguments_have_redis_error_texts()
    {
        Run("ZUNION 0 x").IsError("ERR at least 1 input key is needed for 'zunion' command");
        Run("ZINTERSTORE to 0 x").IsError("ERR at least 1 input key is needed for 'zinterstore' command");
        Run("ZUNION 3 x y").IsError("ERR syntax error");
        Run("ZUNION 2 x y WEIGHTS 1").IsError("ERR syntax error");
        Run("ZUNION 2 x y WEIGHTS 1 x").IsError("ERR weight value is not a float");
        Run("ZUNION 2 x y AGGREGATE AVG").IsError("ERR syntax error");
        Run("ZUNIONSTORE to 2 x y WITHSCORES").IsError("ERR syntax error");
        Run("SET s x").IsOk();
        Run("ZUNION 2 x s NOSUCH").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
