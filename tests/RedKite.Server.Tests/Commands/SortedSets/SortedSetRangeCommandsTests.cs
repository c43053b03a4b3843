using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>Each test runs on a packed set and on a table.</summary>
public sealed class SortedSetRangeCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData(128)]
    [InlineData(0)]
    public void Ranges_of_ranks_count_from_either_end(int membersMax)
    {
        Fill(membersMax);
        Run("ZRANGE z 1 2").IsArray("b", "c");
        Run("ZRANGE z -2 100").IsArray("d", "e");
        Run("ZRANGE z 3 1").IsArray();
        Run("ZRANGE z 0 1 REV").IsArray("e", "d");
        Run("ZREVRANGE z -2 -1 WITHSCORES").IsArray("b", "2", "a", "1");
        Run("ZRANGE z 9223372036854775807 -9223372036854775808").IsArray();
        Run("ZRANGE z 0 x").IsError("ERR value is not an integer or out of range");
    }

    [Theory]
    [InlineData(128)]
    [InlineData(0)]
    public void Ranges_of_scores_may_exclude_their_ends(int membersMax)
    {
        Fill(membersMax);
        Run("ZRANGEBYSCORE z 2 4").IsArray("b", "c", "d");
        Run("ZRANGEBYSCORE z (2 (4").IsArray("c");
        Run("ZRANGEBYSCORE z -inf +inf WITHSCORES LIMIT 1 2").IsArray("b", "2", "c", "3");
        Run("ZREVRANGEBYSCORE z +inf (1 LIMIT 1 -1").IsArray("d", "c", "b");
        Run("ZRANGE z (1 3 BYSCORE").IsArray("b", "c");
        Run("ZRANGE z 3 (1 BYSCORE REV LIMIT 0 1").IsArray("c");
        Run("ZRANGEBYSCORE z -inf +inf LIMIT -1 2").IsArray();
        Run("ZCOUNT z (1 3").IsInteger(2);
        Run("ZCOUNT z 3 1").IsInteger(0);
        Run("ZCOUNT z x 1").IsError("ERR min or max is not a float");
        Run("ZCOUNT z nan 1").IsError("ERR min or max is not a float");
    }

    [Theory]
    [InlineData(128)]
    [InlineData(0)]
    public void Ranges_of_members_are_in_byte_order(int membersMax)
    {
        Run($"CONFIG SET zset-max-listpack-entries {membersMax}").IsOk();
        Run("ZADD z 0 a 0 b 0 c 0 d 0 e").IsInteger(5);
        Run("ZRANGEBYLEX z - [c").IsArray("a", "b", "c");
        Run("ZRANGEBYLEX z (a (c").IsArray("b");
        Run("ZREVRANGEBYLEX z + (b LIMIT 1 5").IsArray("d", "c");
        Run("ZRANGE z [b + BYLEX LIMIT 1 2").IsArray("c", "d");
        Run("ZLEXCOUNT z [b +").IsInteger(4);
        Run("ZLEXCOUNT z + -").IsInteger(0);
        Run("ZREMRANGEBYLEX z [b (d").IsInteger(2);
        Run("ZLEXCOUNT z - +").IsInteger(3);
        Run("ZRANGEBYLEX z b c").IsError("ERR min or max not valid string range item");
    }

    [Theory]
    [InlineData(128)]
    [InlineData(0)]
    public void Ranges_are_removed_and_the_key_with_its_last_member(int membersMax)
    {
        Fill(membersMax);
        Run("ZREMRANGEBYRANK z 1 1").IsInteger(1);
        Run("ZREMRANGEBYSCORE z (3 4").IsInteger(1);
        Run("ZRANGE z 0 -1").IsArray("a", "c", "e");
        Run("ZREMRANGEBYSCORE z 10 20").IsInteger(0);
        Run("ZREMRANGEBYRANK z 0 -1").IsInteger(3);
        Run("EXISTS z").IsInteger(0);
    }

    [Theory]
    [InlineData(128)]
    [InlineData(2)]
    public void Zrangestore_replaces_the_destination(int membersMax)
    {
        Fill(membersMax);
        Run("SET to x").IsOk();
        Run("ZRANGESTORE to z 1 3").IsInteger(3);
        Run("ZRANGE to 0 -1 WITHSCORES").IsArray("b", "2", "c", "3", "d", "4");
        Run("OBJECT ENCODING to").IsBulk(membersMax == 2 ? "skiplist" : "listpack");
        Run("ZRANGESTORE z z (2 +inf BYSCORE LIMIT 0 2").IsInteger(2);
        Run("ZRANGE z 0 -1").IsArray("c", "d");
        Run("ZRANGESTORE z to 10 20").IsInteger(0);
        Run("EXISTS z").IsInteger(0);
        Run("ZRANGESTORE z to 0 1 WITHSCORES").IsError("ERR syntax error");
    }

    [Fact]
    public void Options_that_do_not_fit_the_range_are_refused()
    {
        Fill(128);
        Run("ZRANGE z 0 1 LIMIT 0 1").IsError("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
        Run("ZRANGE z - + BYLEX WITHSCORES").IsError("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
        Run("ZRANGE z - + BYLEX BYSCORE").IsError("ERR syntax error");
        Run("ZREVRANGE z 0 1 REV").IsError("ERR syntax error");
    }

    private void Fill(int membersMax)
    {
        Run($"CONFIG SET zset-max-listpack-entries {membersMax}").IsOk();
        Run("ZADD z 1 a 2 b 3 c 4 d 5 e").IsInteger(5);
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
