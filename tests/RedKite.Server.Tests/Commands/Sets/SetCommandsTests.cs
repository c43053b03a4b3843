using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class SetCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Members_are_added_once_and_removed()
    {
        Run("SADD s a b c a").IsInteger(3);
        Run("SADD s c d").IsInteger(1);
        Run("SCARD s").IsInteger(4);
        Run("SISMEMBER s a").IsInteger(1);
        Run("SISMEMBER s x").IsInteger(0);
        Run("SMISMEMBER s a x d").Is(Integers(1, 0, 1));
        Run("SMISMEMBER missing a").Is(Integers(0));
        Run("SREM s a x b").IsInteger(2);
        Members("SMEMBERS s", "c", "d");
        Run("SREM s c d e").IsInteger(2);
        Run("EXISTS s").IsInteger(0);
        Run("SREM s a").IsInteger(0);
        Run("SCARD s").IsInteger(0);
        Assert.Empty(Run("SMEMBERS s").Items);
    }

    [Fact]
    public void Integers_stay_an_intset_until_another_member_is_added()
    {
        Run("SADD s 3 1 2 -7 9223372036854775807").IsInteger(5);
        Assert.Equal(ValueEncoding.IntSet, _transcript.EncodingOf("s"));
        Run("SMEMBERS s").IsArray("-7", "1", "2", "3", "9223372036854775807");
        Run("SADD s 01").IsInteger(1);
        Assert.Equal(ValueEncoding.ListPack, _transcript.EncodingOf("s"));
        Members("SMEMBERS s", "-7", "01", "1", "2", "3", "9223372036854775807");
        Run("OBJECT ENCODING s").IsBulk("listpack");
    }

    [Theory]
    [InlineData(512, "intset")]
    [InlineData(513, "hashtable")]
    public void Intset_becomes_a_table_at_the_setting(int count, string encoding)
    {
        for (int i = 0; i < count; i++) Run($"SADD s {i}").IsInteger(1);
        Run("OBJECT ENCODING s").IsBulk(encoding);
        Run("SCARD s").IsInteger(count);
    }

    [Theory]
    [InlineData(128, "listpack")]
    [InlineData(129, "hashtable")]
    public void Packed_set_becomes_a_table_at_the_setting(int count, string encoding)
    {
        for (int i = 0; i < count; i++) Run($"SADD s m{i}").IsInteger(1);
        Run("OBJECT ENCODING s").IsBulk(encoding);
    }

    [Theory]
    [InlineData(64, "listpack")]
    [InlineData(65, "hashtable")]
    public void Long_member_makes_a_table(int length, string encoding)
    {
        Run($"SADD s {new string('x', length)}").IsInteger(1);
        Run("OBJECT ENCODING s").IsBulk(encoding);
        Run("SADD integers 1 2 3").IsInteger(3);
        Run($"SADD integers {new string('x', length)}").IsInteger(1);
        Run("OBJECT ENCODING integers").IsBulk(encoding);
    }

    [Theory]
    [InlineData("SINTERSTORE", 200_000)]
    [InlineData("SUNIONSTORE", 400_000)]
    [InlineData("SDIFFSTORE", 100_000)]
    public void Large_results_are_stored_whole_or_not_at_all(string command, int members)
    {
        _transcript.Fill("SADD a", "member:{0}", 300_000);
        _transcript.Fill("SADD b", "member:{0}", 400_000);
        _transcript.Fill("SREM b", "member:{0}", 100_000);
        Run("SET target old").IsOk();
        _transcript.SweepAll();
        long used = _transcript.UsedBytes;
        Run("CONFIG SET maxmemory 1").IsOk();
        Run($"{command} target a b").IsError("OOM command not allowed when used memory > 'maxmemory'.");
        Run("CONFIG SET maxmemory 0").IsOk();
        Run("GET target").IsBulk("old");
        Assert.Equal(used, _transcript.UsedBytes);

        Run($"{command} target a b").IsInteger(members);
        Run("SCARD target").IsInteger(members);
        (int inTarget, int outside) = command == "SDIFFSTORE" ? (99_999, 100_000) : (100_000, command == "SINTERSTORE" ? 99_999 : 400_000);
        Run($"SMISMEMBER target member:{inTarget} member:{outside}").Is(Integers(1, 0));
    }

    [Fact]
    public void Members_about_to_be_added_count_too()
    {
        Run("CONFIG SET set-max-listpack-entries 3").IsOk();
        Run("SADD s a a a a").IsInteger(1);
        Run("OBJECT ENCODING s").IsBulk("hashtable");
        Run("CONFIG SET set-max-intset-entries 2").IsOk();
        Run("SADD i 1 1 1").IsInteger(1);
        Run("OBJECT ENCODING i").IsBulk("listpack");
    }

    [Fact]
    public void Smove_moves_members_between_sets()
    {
        Run("SADD a one two").IsInteger(2);
        Run("SADD b three").IsInteger(1);
        Run("SMOVE a b two").IsInteger(1);
        Run("SMOVE a b missing").IsInteger(0);
        Run("SMOVE a a one").IsInteger(1);
        Members("SMEMBERS b", "three", "two");
        Run("SMOVE a new one").IsInteger(1);
        Run("EXISTS a").IsInteger(0);
        Members("SMEMBERS new", "one");
        Run("SET text x").IsOk();
        Run("SMOVE b text two").IsError(WrongType);
        Run("SMOVE missing text two").IsInteger(0);
    }

    [Fact]
    public void Sets_are_combined()
    {
        Run("SADD a 1 2 3 4").IsInteger(4);
        Run("SADD b 3 4 5 x").IsInteger(4);
        Run("SADD c 4 5 6").IsInteger(3);
        Members("SINTER a b", "3", "4");
        Members("SINTER a b c", "4");
        Members("SINTER a b missing");
        Members("SUNION a b", "1", "2", "3", "4", "5", "x");
        Members("SUNION a b c a b c", "1", "2", "3", "4", "5", "6", "x");
        Members("SDIFF a b", "1", "2");
        Members("SDIFF b a c", "x");
        Members("SDIFF missing a");
        Run("SINTERCARD 2 a b").IsInteger(2);
        Run("SINTERCARD 2 a b LIMIT 1").IsInteger(1);
        Run("SINTERCARD 2 a b LIMIT 0").IsInteger(2);
        Run("SINTERCARD 0 a").IsError("ERR numkeys should be greater than 0");
        Run("SINTERCARD 3 a b").IsError("ERR Number of keys can't be greater than number of args");
        Run("SINTERCARD 1 a LIMIT -1").IsError("ERR LIMIT can't be negative");
        Run("SINTERCARD 1 a b").IsError("ERR syntax error");
    }

    [Fact]
    public void Results_are_stored_even_over_their_own_sources()
    {
        Run("SADD a 1 2 3").IsInteger(3);
        Run("SADD b 2 3 4").IsInteger(3);
        Run("EXPIRE a 100").IsInteger(1);
        Run("SINTERSTORE a a b").IsInteger(2);
        Run("SMEMBERS a").IsArray("2", "3");
        Assert.Null(_transcript.ExpiryOf("a"));
        Run("SUNIONSTORE a b a").IsInteger(3);
        Run("SDIFFSTORE b a b").IsInteger(0);
        Run("EXISTS b").IsInteger(0);
        Run("SET text x").IsOk();
        Run("SUNIONSTORE text a").IsInteger(3);
        Run("TYPE text").IsSimple("set");
        Run("SINTERSTORE text a missing").IsInteger(0);
        Run("EXISTS text").IsInteger(0);
    }

    [Fact]
    public void Wrong_type_is_refused_at_any_position()
    {
        Run("SET text x").IsOk();
        Run("SADD s a").IsInteger(1);
        foreach (string command in (string[])["SADD text a", "SREM text a", "SCARD text", "SMEMBERS text", "SISMEMBER text a", "SMISMEMBER text a", "SPOP text", "SPOP text 2",
            "SRANDMEMBER text", "SRANDMEMBER text 2", "SINTER missing text", "SUNION s text", "SDIFF s text", "SINTERCARD 2 s text", "SUNIONSTORE d s text", "SSCAN text 0"])
        {
            Run(command).IsError(WrongType);
        }
    }

    [Fact]
    public void Srandmember_and_spop()
    {
        Run("SADD s a b c").IsInteger(3);
        Assert.Contains(Run("SRANDMEMBER s").Text, (string[])["a", "b", "c"]);
        Assert.Equal(2, Run("SRANDMEMBER s 2").Items.Select(item => item.Text).Distinct().Count());
        Members("SRANDMEMBER s 10", "a", "b", "c");
        Assert.Equal(10, Run("SRANDMEMBER s -10").Items.Count);
        Assert.Empty(Run("SRANDMEMBER s 0").Items);
        Run("SRANDMEMBER missing").IsNull();
        Assert.Empty(Run("SRANDMEMBER missing 3").Items);
        Run("SRANDMEMBER s -9223372036854775808").IsError("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        Run("SRANDMEMBER s x").IsError("ERR value is not an integer or out of range");
        Run("SRANDMEMBER s 1 2").IsError("ERR syntax error");

        Assert.Contains(Run("SPOP s").Text, (string[])["a", "b", "c"]);
        Run("SCARD s").IsInteger(2);
        Assert.Empty(Run("SPOP s 0").Items);
        Assert.Single(Run("SPOP s 1").Items);
        Assert.Single(Run("SPOP s 100").Items);
        Run("EXISTS s").IsInteger(0);
        Run("SPOP s").IsNull();
        Assert.Empty(Run("SPOP s 2").Items);
        Run("SPOP s -1").IsError("ERR value is out of range, must be positive");
        Run("SPOP s 1 2").IsError("ERR syntax error");
    }

    [Theory]
    [InlineData(100)]
    [InlineData(3_000)]
    public void Srandmember_with_a_positive_count_is_distinct_and_uniform(int size)
    {
        for (int i = 0; i < size; i += 50) Run("SADD s " + string.Join(' ', Enumerable.Range(i, 50).Select(member => $"m{member}")));
        int[] counts = new int[size];
        int rounds = 0;
        foreach (int count in (int[])[3, size / 10, size / 2, size - 1])
        {
            for (int round = 0; round < 40; round++)
            {
                string[] members = [.. Run($"SRANDMEMBER s {count}").Items.Select(item => item.Text)];
                Assert.Equal(count, members.Distinct().Count());
                foreach (string member in members) counts[int.Parse(member.AsSpan(1), CultureInfo.InvariantCulture)]++;
                rounds += count;
            }
        }

        // No member's count deviates from the mean by more than a one-in-a-million event.
        double mean = (double)rounds / size;
        Assert.All(counts, count => Assert.InRange(count, mean - 40, mean + 40));
    }

    [Fact]
    public void Spop_with_a_count_removes_from_a_table()
    {
        for (int i = 0; i < 2_000; i += 50) Run("SADD s " + string.Join(' ', Enumerable.Range(i, 50).Select(member => $"m{member}")));
        HashSet<string> popped = [];
        while (Run("EXISTS s").Number == 1)
        {
            foreach (RespValue item in Run("SPOP s 90").Items) Assert.True(popped.Add(item.Text));
        }

        Assert.Equal(2_000, popped.Count);
    }

    [Fact]
    public void Scan_returns_every_member_that_stays()
    {
        for (int i = 0; i < 1_000; i += 50) Run("SADD s " + string.Join(' ', Enumerable.Range(i, 50).Select(member => $"m{member}")));
        HashSet<string> seen = [];
        string cursor = "0";
        int calls = 0;
        do
        {
            RespValue reply = Run($"SSCAN s {cursor} COUNT 20");
            cursor = reply.Items[0].Text;
            seen.UnionWith(reply.Items[1].Items.Select(item => item.Text));
            calls++;
            Run("SADD s " + string.Join(' ', Enumerable.Range(0, 40).Select(member => $"other{calls}:{member}")));
        }
        while (cursor != "0");

        Assert.True(calls > 10);
        Assert.True(seen.IsSupersetOf(Enumerable.Range(0, 1_000).Select(member => $"m{member}")));
    }

    [Fact]
    public void Small_set_is_scanned_in_one_call()
    {
        Run("SADD s 1 2 3 x").IsInteger(4);
        RespValue reply = Run("SSCAN s 12345 COUNT 1");
        reply.Items[0].IsBulk("0");
        Assert.Equal(4, reply.Items[1].Items.Count);
        Run("SSCAN s 0 MATCH [12]").Items[1].IsArray("1", "2");
        Run("SSCAN s 0 COUNT 0").IsError("ERR syntax error");
        Run("SSCAN s 0 COUNT x").IsError("ERR value is not an integer or out of range");
        Run("SSCAN s x").IsError("ERR invalid cursor");
        Run("SSCAN s 0 NOVALUES").IsError("ERR NOVALUES option can only be used in HSCAN");
        Run("SSCAN missing 0").Items[0].IsBulk("0");
    }

    [Fact]
    public void Sets_can_be_sorted_and_are_inputs_of_sorted_sets()
    {
        Run("SADD s 10 9 100").IsInteger(3);
        Run("SADD t x 9").IsInteger(2);
        Run("SORT s").IsArray("9", "10", "100");
        Run("SORT s ALPHA DESC LIMIT 0 2").IsArray("9", "100");
        Run("SORT s BY nosort STORE list").IsInteger(3);
        Run("LRANGE list 0 -1").IsArray("10", "100", "9");
        Assert.Equal(2, Run("SORT s BY nosort LIMIT 1 5").Items.Count);
        Run("ZUNION 2 s t WITHSCORES").IsArray("10", "1", "100", "1", "x", "1", "9", "2");
        Run("ZADD z 5 9 6 y").IsInteger(2);
        Run("ZINTER 2 s z WITHSCORES").IsArray("9", "6");
        Run("ZDIFFSTORE d 2 s z").IsInteger(2);
        Run("ZRANGE d 0 -1").IsArray("10", "100");
    }

    [Fact]
    public void Sets_have_their_resp3_type()
    {
        Run("SADD s a").IsInteger(1);
        Run("HELLO 3");
        foreach (string command in (string[])["SMEMBERS s", "SINTER s s", "SUNION s", "SDIFF s missing", "SPOP s 1"]) Assert.Equal('~', Run(command).Marker);
        Assert.Equal('~', Run("SPOP s 1").Marker);
        Run("SADD s a").IsInteger(1);
        Assert.Equal('*', Run("SRANDMEMBER s 1").Marker);
        Assert.Equal('*', Run("SMISMEMBER s a").Marker);
    }

    private const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

    private static RespValue Integers(params int[] values) =>
        RespValue.Aggregate('*', [.. values.Select(value => RespValue.Scalar(':', System.Text.Encoding.ASCII.GetBytes(value.ToString(CultureInfo.InvariantCulture))))]);

    private void Members(string command, params string[] members) =>
        Assert.Equal(members.Order(StringComparer.Ordinal), Run(command).Items.Select(item => item.Text).Order(StringComparer.Ordinal));

    [Theory]
    [InlineData(100, 30, "intset")]
    [InlineData(1_000, 100, "hashtable")]
    [InlineData(4_000, 900, "hashtable")]
    [InlineData(4_000, 3_000, "hashtable")]
    public void Spop_removes_exactly_the_returned_members(int members, int count, string encoding)
    {
        Run("SADD s " + string.Join(' ', Enumerable.Range(0, members)));
        Run("OBJECT ENCODING s").IsBulk(encoding);
        HashSet<string> popped = [.. Run($"SPOP s {count}").Items.Select(item => item.Text)];
        Assert.Equal(count, popped.Count);
        Members("SMEMBERS s", [.. Enumerable.Range(0, members).Select(member => $"{member}").Except(popped)]);
        Assert.Equal(members - count, Run($"SPOP s {members}").Items.Count);
        Run("EXISTS s").IsInteger(0);
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
