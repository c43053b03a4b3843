using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class ListCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Elements_are_pushed_and_popped_at_both_ends()
    {
        Run("RPUSH l b c").IsInteger(2);
        Run("LPUSH l a z").IsInteger(4);
        Run("LRANGE l 0 -1").IsArray("z", "a", "b", "c");
        Run("LPOP l").IsBulk("z");
        Run("RPOP l 2").IsArray("c", "b");
        Run("LPOP l 10").IsArray("a");
        Run("EXISTS l").IsInteger(0);
        Run("LPOP l").IsNull();
        Run("LPOP l 1").IsNull();
        Run("RPUSHX l a").IsInteger(0);
        Run("LLEN l").IsInteger(0);
    }

    [Fact]
    public void List_stays_a_listpack_up_to_the_limit_and_becomes_one_again_at_half_of_it()
    {
        Run("CONFIG SET list-max-listpack-size 4").IsOk();
        Run("RPUSH l 1 2 3 4").IsInteger(4);
        Run("OBJECT ENCODING l").IsBulk("listpack");
        Run("RPUSH l 5").IsInteger(5);
        Run("OBJECT ENCODING l").IsBulk("quicklist");
        Run("LTRIM l 0 1").IsOk();
        Run("OBJECT ENCODING l").IsBulk("listpack");
        Run("LRANGE l 0 -1").IsArray("1", "2");
    }

    [Fact]
    public void Expiry_survives_an_encoding_change()
    {
        Run("CONFIG SET list-max-listpack-size 2").IsOk();
        Run("RPUSH l a").IsInteger(1);
        Run("PEXPIREAT l 1900000000000").IsInteger(1);
        Run("RPUSH l b c d").IsInteger(4);
        Run("LPOP l 3").IsArray("a", "b", "c");
        Assert.Equal(1_900_000_000_000, _transcript.ExpiryOf("l"));
        Assert.Equal(ValueEncoding.ListPack, _transcript.EncodingOf("l"));
    }

    [Fact]
    public void Extreme_ranges_and_indexes_are_clamped()
    {
        Run("RPUSH l a b c").IsInteger(3);
        Run("LRANGE l -9223372036854775808 9223372036854775807").IsArray("a", "b", "c");
        Run("LRANGE l 9223372036854775807 -9223372036854775808").IsArray();
        Run("LINDEX l -9223372036854775808").IsNull();
        Run("LINDEX l 9223372036854775807").IsNull();
        Run("LPOS l a RANK -9223372036854775808").IsError("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        Run("LPOS l a RANK -9223372036854775807").IsNull();
        Run("LPOS l a RANK 9223372036854775807").IsNull();
        Run("LPOP l 9223372036854775807").IsArray("a", "b", "c");
        Run("RPUSH l a b a").IsInteger(3);
        Run("LREM l -9223372036854775808 a").IsError("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        Run("LREM l -9223372036854775807 a").IsInteger(2);
        Run("LTRIM l 9223372036854775807 -1").IsOk();
        Run("EXISTS l").IsInteger(0);
    }

    [Fact]
    public void Lpos_finds_positions_by_rank_count_and_maxlen()
    {
        Run("RPUSH l a b c 1 2 3 c c").IsInteger(8);
        Run("LPOS l c").IsInteger(2);
        Run("LPOS l c RANK 2").IsInteger(6);
        Run("LPOS l c RANK -1").IsInteger(7);
        Run("LPOS l c COUNT 0 RANK -1").Is(Integers(7, 6, 2));
        Run("LPOS l c COUNT 2").Is(Integers(2, 6));
        Run("LPOS l c COUNT 0 MAXLEN 3").Is(Integers(2));
        Run("LPOS l c MAXLEN 2").IsNull();
        Run("LPOS l x COUNT 1").IsArray();
        Run("LPOS nosuch x").IsNull();
    }

    [Fact]
    public void Lmove_pops_at_one_end_and_pushes_at_another()
    {
        Run("RPUSH l a b c").IsInteger(3);
        Run("LMOVE l other RIGHT LEFT").IsBulk("c");
        Run("LMOVE l l LEFT RIGHT").IsBulk("a");
        Run("LRANGE l 0 -1").IsArray("b", "a");
        Run("RPOPLPUSH l other").IsBulk("a");
        Run("LMOVE l l LEFT LEFT").IsBulk("b");
        Run("LMOVE l other LEFT RIGHT").IsBulk("b");
        Run("LRANGE other 0 -1").IsArray("a", "c", "b");
        Run("EXISTS l").IsInteger(0);
        Run("LMOVE l other LEFT RIGHT").IsNull();
    }

    [Fact]
    public void Lmove_to_a_wrong_type_pops_nothing()
    {
        Run("RPUSH l a").IsInteger(1);
        Run("SET s x").IsOk();
        Run("LMOVE l s LEFT LEFT").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
        Run("LMOVE s l LEFT LEFT").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
        Run("LMOVE nosuch s LEFT LEFT").IsNull();
        Run("LRANGE l 0 -1").IsArray("a");
    }

    [Fact]
    public void Lmpop_pops_from_the_first_non_empty_list()
    {
        Run("RPUSH l a b c").IsInteger(3);
        RespValue reply = Run("LMPOP 2 nosuch l RIGHT COUNT 2");
        reply.Items[0].IsBulk("l");
        reply.Items[1].IsArray("c", "b");
        Run("LMPOP 1 nosuch LEFT").IsNull();
        Run("LMPOP 0 l LEFT").IsError("ERR numkeys should be greater than 0");
        Run("LMPOP 1 l LEFT COUNT 0").IsError("ERR count should be greater than 0");
        Run("LMPOP 3 l m LEFT").IsError("ERR syntax error");
    }

    [Fact]
    public void Long_list_survives_copy_and_rename()
    {
        Run("CONFIG SET list-max-listpack-size 8").IsOk();
        for (int i = 0; i < 300; i++) Run($"RPUSH l member:{i}").IsInteger(i + 1);
        Run("COPY l copy").IsInteger(1);
        Run("RENAME l renamed").IsOk();
        Run("LINDEX copy 150").IsBulk("member:150");
        Run("LINDEX renamed -1").IsBulk("member:299");
        Run("LSET copy 150 x").IsOk();
        Run("LINDEX renamed 150").IsBulk("member:150");
        Run("DEL copy renamed").IsInteger(2);
    }

    private static RespValue Integers(params int[] values) =>
        RespValue.Aggregate('*', [.. values.Select(value => RespValue.Scalar(':', System.Text.Encoding.ASCII.GetBytes($"{value}")))]);

    private RespValue Run(string line) => _transcript.Run(line);
}
