using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class SortCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Stored_order_of_a_set_does_not_depend_on_its_history()
    {
        // The same members in sets that grew differently, all with the same weight.
        Run("SADD s b a d c e").IsInteger(5);
        Run("CONFIG SET set-max-listpack-entries 2").IsOk();
        Run("SADD t e d c b a").IsInteger(5);
        Run("SORT s BY nosuch_* STORE fromS").IsInteger(5);
        Run("SORT t BY nosuch_* ALPHA STORE fromT").IsInteger(5);
        Run("LRANGE fromS 0 -1").IsArray("a", "b", "c", "d", "e");
        Run("LRANGE fromT 0 -1").IsArray("a", "b", "c", "d", "e");
    }

    [Fact]
    public void Large_elements_are_stored_completely()
    {
        string[] values = [.. Enumerable.Range(0, 40).Select(i => $"{99 - i}" + new string((char)('a' + (i % 26)), 1 << 20))];
        foreach (string value in values) Run("RPUSH l " + value);
        Run("SORT l ALPHA STORE sorted").IsInteger(40);
        Run("LRANGE sorted 0 -1").IsArray([.. values.Reverse()]);
        Run("SORT l BY nosort GET # GET # STORE twice").IsInteger(80);
        Run("LINDEX twice 79").IsBulk(values[^1]);
        Run("LINDEX twice 0").IsBulk(values[0]);
    }

    [Fact]
    public void Sort_unpacks_a_packed_sorted_set_even_on_failure()
    {
        Run("ZADD z 1 b 2 a").IsInteger(2);
        Run("OBJECT ENCODING z").IsBulk("listpack");
        Run("SORT z").IsError("ERR One or more scores can't be converted into double");
        Run("OBJECT ENCODING z").IsBulk("skiplist");
        Run("SORT_RO z ALPHA").IsArray("a", "b");
        Run("SORT z ALPHA STORE z").IsInteger(2);
        Run("LRANGE z 0 -1").IsArray("a", "b");
        Run("ZADD y 1 b 2 a 3 c").IsInteger(3);
        Run("SORT y BY nosort DESC LIMIT 0 2").IsArray("c", "a");
        Run("OBJECT ENCODING y").IsBulk("skiplist");
        Run("ZRANGE y 0 -1").IsArray("b", "a", "c");
    }

    [Fact]
    public void Numbers_are_sorted_in_both_orders_with_limit()
    {
        Run("RPUSH l 10 9 -1 2.5 100").IsInteger(5);
        Run("SORT l").IsArray("-1", "2.5", "9", "10", "100");
        Run("SORT l DESC LIMIT 1 2").IsArray("10", "9");
        Run("SORT l LIMIT -5 2").IsArray("-1", "2.5");
        Run("SORT l LIMIT 9223372036854775807 9223372036854775807").IsArray();
        Run("SORT_RO l ALPHA").IsArray("-1", "10", "100", "2.5", "9");
        Run("SORT l BY nosort DESC").IsArray("100", "2.5", "-1", "9", "10");
        Run("SORT nosuch").IsArray();
    }

    [Fact]
    public void Non_number_is_an_error_without_ALPHA()
    {
        Run("RPUSH l b a c").IsInteger(3);
        Run("SORT l").IsError("ERR One or more scores can't be converted into double");
        Run("SORT l ALPHA DESC").IsArray("c", "b", "a");
        Run("SET s x").IsOk();
        Run("SORT s").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
        Run("SORT s FOO").IsError("ERR syntax error");
        Run("SORT_RO l STORE x").IsError("ERR syntax error");
        Run("SORT l LIMIT 1 x").IsError("ERR value is not an integer or out of range");
    }

    [Fact]
    public void BY_and_GET_read_other_keys()
    {
        Run("RPUSH l 1 2 3").IsInteger(3);
        Run("MSET w_1 30 w_2 20 w_3 10 o_1 one o_3 three").IsOk();
        Run("SORT l BY w_*").IsArray("3", "2", "1");
        RespValue reply = Run("SORT l BY w_* GET # GET o_*");
        reply.Items[1].IsBulk("three");
        reply.Items[3].IsNull();
        reply.Items[5].IsBulk("one");
    }

    [Fact]
    public void Store_overwrites_any_value()
    {
        Run("RPUSH l 3 1 2").IsInteger(3);
        Run("SET o_1 one").IsOk();
        Run("SET d x EX 100").IsOk();
        Run("SORT l STORE d").IsInteger(3);
        Run("LRANGE d 0 -1").IsArray("1", "2", "3");
        Run("TTL d").IsInteger(-1);
        Run("SORT l GET o_* GET # STORE l").IsInteger(6);
        Run("LRANGE l 0 -1").IsArray("one", "1", "", "2", "", "3");
        Run("SORT nosuch STORE d").IsInteger(0);
        Run("EXISTS d").IsInteger(0);
    }

    [Fact]
    public void Hash_fields_are_weights_and_fetched()
    {
        Run("RPUSH l 1 2 3 4").IsInteger(4);
        Run("HSET w_1 weight 30 name one").IsInteger(2);
        Run("HSET w_2 weight 20 name 22").IsInteger(2);
        Run("HSET w_3 weight 10").IsInteger(1);
        Run("SET w_4 40").IsOk();
        Run("SORT l BY w_*->weight GET # GET w_*->name").IsArray("4", null, "3", null, "2", "22", "1", "one");
    }

    [Fact]
    public void Weights_are_decimal_numbers_of_any_size()
    {
        Run("RPUSH l 3 1e400 -1e400 1e-400 2").IsInteger(5);
        Run("SORT l").IsArray("-1e400", "1e-400", "2", "3", "1e400");
        Run("RPUSH hexadecimal 0x10 1").IsInteger(2);
        Run("SORT hexadecimal").IsError("ERR One or more scores can't be converted into double");
        Run("RPUSH blank ' 1' 1").IsInteger(2);
        Run("SORT blank").IsError("ERR One or more scores can't be converted into double");
    }

    // The same path was run once with 24 elements of 100 MiB and with 300,000 of 10 KB: what is stored may exceed 2 GiB.
    [Fact]
    public void Large_results_are_stored_whole()
    {
        int[] megabytes = [6, 6, 6, 20, 6, 0, 6, 1, 17, 6];
        for (int i = 0; i < megabytes.Length; i++)
        {
            if (megabytes[i] > 0) Run($"SETRANGE part:{i} {(megabytes[i] << 20) - 1} {(char)('a' + i)}");
            else Run($"SET part:{i} none");
            Run($"RPUSH l {i}");
        }

        Run("SORT l DESC GET part:* GET # STORE out").IsInteger(20);
        for (int i = 0; i < megabytes.Length; i++)
        {
            int at = megabytes.Length - 1 - i;
            string part = Run($"LINDEX out {2 * at}").Text;
            if (megabytes[i] == 0) Assert.Equal("none", part);
            else Assert.Equal((megabytes[i] << 20, (char)('a' + i), 0), (part.Length, part[^1], part.AsSpan(0, part.Length - 1).TrimStart('\0').Length));
            Run($"LINDEX out {(2 * at) + 1}").IsBulk($"{i}");
        }
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
