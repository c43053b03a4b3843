using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class SortedSetCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Members_are_added_and_their_scores_changed()
    {
        Run("ZADD z 1 a 2 b").IsInteger(2);
        Run("ZADD z 3 a 2 b 5 c").IsInteger(1);
        Run("ZADD z CH 4 a 2 b 5 c 6 d").IsInteger(2);
        Run("ZRANGE z 0 -1 WITHSCORES").IsArray("b", "2", "a", "4", "c", "5", "d", "6");
        Run("ZCARD z").IsInteger(4);
        Run("ZSCORE z a").IsBulk("4");
        Run("ZSCORE z nosuch").IsNull();
        Run("ZMSCORE z b nosuch d").Is(RespValue.Aggregate('*', [Bulk("2"), RespValue.Null('$'), Bulk("6")]));
    }

    [Fact]
    public void Options_control_which_scores_are_set()
    {
        Run("ZADD z XX 1 a").IsInteger(0);
        Run("EXISTS z").IsInteger(0);
        Run("ZADD z NX 5 a").IsInteger(1);
        Run("ZADD z NX 6 a").IsInteger(0);
        Run("ZADD z GT 4 a 4 b").IsInteger(1);
        Run("ZADD z LT CH 4 a 5 b").IsInteger(1);
        Run("ZRANGE z 0 -1 WITHSCORES").IsArray("a", "4", "b", "4");
        Run("ZADD z INCR 2.5 a").IsBulk("6.5");
        Run("ZADD z NX INCR 1 a").IsNull();
        Run("ZADD z LT INCR 1 a").IsNull();
        Run("ZADD z XX INCR 1 nosuch").IsNull();
    }

    [Fact]
    public void Conflicting_options_are_refused()
    {
        Run("ZADD z NX XX 1 a").IsError("ERR XX and NX options at the same time are not compatible");
        Run("ZADD z NX GT 1 a").IsError("ERR GT, LT, and/or NX options at the same time are not compatible");
        Run("ZADD z GT LT 1 a").IsError("ERR GT, LT, and/or NX options at the same time are not compatible");
        Run("ZADD z INCR 1 a 2 b").IsError("ERR INCR option supports a single increment-element pair");
        Run("ZADD z 1 a 2").IsError("ERR syntax error");
        Run("ZADD z NX CH").IsError("ERR syntax error");
        Run("ZADD z 1 a x b").IsError("ERR value is not a valid float");
        Run("EXISTS z").IsInteger(0);
    }

    [Fact]
    public void Infinite_scores_count_and_their_difference_is_refused()
    {
        Run("ZADD z inf a -inf b +INFINITY c").IsInteger(3);
        Run("ZRANGE z 0 -1 WITHSCORES").IsArray("b", "-inf", "a", "inf", "c", "inf");
        Run("ZINCRBY z -inf a").IsError("ERR resulting score is not a number (NaN)");
        Run("ZSCORE z a").IsBulk("inf");
        Run("ZADD z nan a").IsError("ERR value is not a valid float");
    }

    [Fact]
    public void Scores_have_their_shortest_digits()
    {
        Run("ZINCRBY z 0.1 a").IsBulk("0.1");
        Run("ZINCRBY z 0.2 a").IsBulk("0.30000000000000004");
        Run("ZADD z 1e20 b 0x10 c 1e-7 d").IsInteger(3);
        Run("ZMSCORE z b c d").IsArray("1e+20", "16", "1e-7");
    }

    [Fact]
    public void Set_becomes_a_table_with_many_or_long_members()
    {
        Run("CONFIG SET zset-max-listpack-entries 2").IsOk();
        Run("ZADD z 1 a 2 b").IsInteger(2);
        Assert.Equal(ValueEncoding.ListPack, _transcript.EncodingOf("z"));
        Run("ZADD z 3 c").IsInteger(1);
        Assert.Equal(ValueEncoding.SkipList, _transcript.EncodingOf("z"));
        Run("OBJECT ENCODING z").IsBulk("skiplist");
        Run("ZREM z a b").IsInteger(2);
        Assert.Equal(ValueEncoding.SkipList, _transcript.EncodingOf("z"));
        Run("ZADD long 1 " + new string('x', 65)).IsInteger(1);
        Assert.Equal(ValueEncoding.SkipList, _transcript.EncodingOf("long"));
    }

    [Fact]
    public void Key_is_removed_with_its_last_member()
    {
        Run("ZADD z 1 a 2 b").IsInteger(2);
        Run("ZREM z a a nosuch").IsInteger(1);
        Run("ZREM z b").IsInteger(1);
        Run("EXISTS z").IsInteger(0);
        Run("ZREM z b").IsInteger(0);
    }

    [Fact]
    public void Ranks_count_from_both_ends()
    {
        Run("ZADD z 1 a 2 b 2 c 3 d").IsInteger(4);
        Run("ZRANK z a").IsInteger(0);
        Run("ZRANK z c").IsInteger(2);
        Run("ZREVRANK z c").IsInteger(1);
        Run("ZRANK z nosuch").IsNull();
        Run("ZRANK z c WITHSCORE").Is(RespValue.Aggregate('*', [RespValue.Scalar(':', "2"u8.ToArray()), Bulk("2")]));
        Run("ZREVRANK z nosuch WITHSCORE").Is(RespValue.Null('*'));
        Run("ZRANK z c WITHSCORES").IsError("ERR syntax error");
    }

    [Fact]
    public void Wrong_types_are_refused()
    {
        Run("SET s x").IsOk();
        foreach (string line in (string[])["ZADD s 1 a", "ZREM s a", "ZCARD s", "ZSCORE s a", "ZRANK s a", "ZINCRBY s 1 a", "ZMSCORE s a"])
        {
            Run(line).IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
        }
    }

    [Fact]
    public void Scores_are_numbers_in_resp3()
    {
        Run("HELLO 3");
        Run("ZADD z 1.5 a").IsInteger(1);
        Run("ZSCORE z a").Is(RespValue.Scalar(',', "1.5"u8.ToArray()));
        Run("ZADD z INCR 1 a").Is(RespValue.Scalar(',', "2.5"u8.ToArray()));
        Run("ZRANGE z 0 -1 WITHSCORES").Is(RespValue.Aggregate('*', [RespValue.Aggregate('*', [Bulk("a"), RespValue.Scalar(',', "2.5"u8.ToArray())])]));
    }

    private static RespValue Bulk(string text) => RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(text));

    private RespValue Run(string line) => _transcript.Run(line);
}
