using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// Expected replies are those of https://redis.io/commands (xdelex, xackdel, xnack, xadd, xtrim, xreadgroup); they do not give the texts of errors about ids.
/// </summary>
public sealed class StreamRemovalCommandsTests : IAsyncLifetime
{
    private const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

    private readonly CommandTranscript _transcript = new();

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        for (int i = 1; i <= 6; i++) Run($"XADD s {i}-1 f v{i}").IsBulk($"{i}-1");
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Xdelex_keeps_references_unless_told_otherwise()
    {
        Deliver("g", "a", 3);
        Run("XDELEX s IDS 2 1-1 9-9").IsIntegers(1, -1);
        Run("XDELEX s KEEPREF IDS 1 2-1").IsIntegers(1);
        Assert.Equal("3", Pending("g"));
        Run("XDELEX s IDS 2 3-1 1-1 DELREF").IsIntegers(1, -1);
        Assert.Equal("1", Pending("g")); // of 2-1
        Run("XLEN s").IsInteger(3);
        Run("XDELEX nosuch IDS 2 1-1 2-1").IsIntegers(-1, -1);
    }

    [Fact]
    public void Xdelex_acked_deletes_what_every_group_has_acknowledged()
    {
        Deliver("g", "a", 3);
        Deliver("h", "a", 2);
        Run("XDELEX s ACKED IDS 1 1-1").IsIntegers(2);
        Run("XACK s g 1-1 2-1 3-1").IsInteger(3);
        Run("XDELEX s ACKED IDS 1 1-1").IsIntegers(2);
        Run("XACK s h 1-1 2-1").IsInteger(2);
        Run("XDELEX s ACKED IDS 4 1-1 2-1 3-1 4-1").IsIntegers(1, 1, 2, 2); // h has not read 3-1, none has read 4-1
        Run("XLEN s").IsInteger(4);
    }

    [Fact]
    public void Xdelex_acked_deletes_where_there_is_no_group()
    {
        Run("XADD nogroup 1-1 f v").IsBulk("1-1");
        Run("XADD nogroup 2-1 f v").IsBulk("2-1");
        Run("XDELEX nogroup ACKED IDS 2 1-1 9-9").IsIntegers(1, -1);
        Run("XLEN nogroup").IsInteger(1);
        Run("XGROUP CREATE nogroup g 1-1").IsOk();
        Run("XDELEX nogroup ACKED IDS 3 1-1 1-2 9-9").IsIntegers(-1, 2, 2); // by the id alone
    }

    [Fact]
    public void Xackdel_of_a_pending_entry_that_was_deleted_acknowledges_it()
    {
        Deliver("g", "a", 3);
        Run("XDEL s 1-1 2-1").IsInteger(2);
        Run("XACKDEL s g IDS 1 1-1").IsIntegers(1);
        Run("XACKDEL s g ACKED IDS 2 2-1 1-1").IsIntegers(1, -1);
        Assert.Equal("1", Pending("g"));
    }

    [Fact]
    public void Xackdel_acknowledges_in_one_group_and_deletes()
    {
        Deliver("g", "a", 4);
        Deliver("h", "a", 4);
        Run("XACKDEL s g KEEPREF IDS 2 1-1 9-9").IsIntegers(1, -1);
        Assert.Equal(("3", "4"), (Pending("g"), Pending("h")));
        Run("XACKDEL s g DELREF IDS 1 2-1").IsIntegers(1);
        Assert.Equal(("2", "3"), (Pending("g"), Pending("h")));
        Run("XACKDEL s g ACKED IDS 1 3-1").IsIntegers(2);
        Run("XACKDEL s h ACKED IDS 1 3-1").IsIntegers(1);
        Run("XACKDEL s g IDS 1 5-1").IsIntegers(-1); // not pending
        Run("XACKDEL s nosuch IDS 2 4-1 5-1").IsIntegers(-1, -1);
        Run("XACKDEL nosuch g IDS 1 4-1").IsIntegers(-1);
        Run("XLEN s").IsInteger(3);
    }

    [Theory]
    [InlineData("XDELEX s IDS 0 1-1", "ERR Number of IDs must be a positive integer")]
    [InlineData("XDELEX s IDS x 1-1", "ERR Number of IDs must be a positive integer")]
    [InlineData("XDELEX s IDS 2 1-1", "ERR The `numids` parameter must match the number of arguments")]
    [InlineData("XDELEX s IDS 1 x", "ERR Invalid stream ID specified as stream command argument")]
    [InlineData("XDELEX s IDS 1 1-1 2-1", "ERR syntax error")]
    [InlineData("XDELEX s KEEPREF ACKED IDS 1 1-1", "ERR syntax error")]
    [InlineData("XDELEX s KEEPREF 1 1-1", "ERR syntax error")]
    [InlineData("XDELEX t IDS 1 1-1", WrongType)]
    [InlineData("XACKDEL s g ACKED 1 1-1", "ERR syntax error")]
    [InlineData("XACKDEL t g IDS 1 1-1", WrongType)]
    [InlineData("XNACK s g NOSUCH IDS 1 1-1", "ERR syntax error")]
    [InlineData("XNACK s g FAIL IDS 1 1-1 RETRYCOUNT -1", "ERR Invalid RETRYCOUNT option argument for XNACK")]
    [InlineData("XNACK s g FAIL IDS 1 1-1 NOSUCH", "ERR syntax error")]
    [InlineData("XNACK s g FAIL FORCE RETRYCOUNT 1", "ERR syntax error")]
    [InlineData("XNACK s nosuch FAIL IDS 1 1-1", "NOGROUP No such key 's' or consumer group 'nosuch'")]
    [InlineData("XNACK t g FAIL IDS 1 1-1", WrongType)]
    [InlineData("XTRIM s MAXLEN 1 ACKED DELREF", "ERR syntax error")]
    [InlineData("XTRIM s ACKED LIMIT", "ERR syntax error")]
    [InlineData("XADD s KEEPREF KEEPREF * f v", "ERR Invalid stream ID specified as stream command argument")]
    [InlineData("XREADGROUP GROUP g a CLAIM x STREAMS s >", "ERR min-idle-time is not an integer or out of range")]
    [InlineData("XREADGROUP GROUP g a CLAIM -1 STREAMS s >", "ERR min-idle-time must be a positive integer")]
    [InlineData("XREAD CLAIM 1 STREAMS s 0", "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.")]
    public void Error_changes_nothing(string line, string error)
    {
        Run("SET t 1").IsOk();
        Run("XGROUP CREATE s g 0").IsOk();
        Run(line).IsError(error);
        Run("XLEN s").IsInteger(6);
    }

    [Fact]
    public void Trimming_removes_references_with_the_entries()
    {
        Deliver("g", "a", 4);
        Run("XTRIM s MAXLEN 4 KEEPREF").IsInteger(2);
        Assert.Equal("4", Pending("g"));
        Run("XTRIM s MINID 4-1 DELREF").IsInteger(1);
        Assert.Equal("3", Pending("g"));
        Run("XADD s DELREF MAXLEN 1 7-1 f v").IsBulk("7-1");
        Assert.Equal("2", Pending("g")); // of entries that were trimmed before
        Run("XLEN s").IsInteger(1);
    }

    [Fact]
    public void Trimming_of_acknowledged_entries_leaves_the_others()
    {
        Run("XTRIM s MAXLEN 5 ACKED").IsInteger(1); // without groups as ever
        Deliver("g", "a", 4); // 2-1 to 5-1
        Run("XACK s g 3-1 5-1").IsInteger(2);
        Run("XTRIM s MAXLEN 4 ACKED").IsInteger(1);
        Assert.Equal("2-1 4-1 5-1 6-1", Ids());
        Run("XTRIM s MAXLEN 0 ACKED").IsInteger(1);
        Assert.Equal("2-1 4-1 6-1", Ids());
        Run("XACK s g 2-1 4-1").IsInteger(2);
        Run("XTRIM s MINID 4-1 ACKED").IsInteger(1);
        Run("XADD s NOMKSTREAM ACKED MAXLEN ~ 1 LIMIT 2 7-1 f v").IsBulk("7-1");
        Assert.Equal("4-1 6-1 7-1", Ids()); // the node has more entries than the limit
        Run("XTRIM s MAXLEN ~ 1 LIMIT 3 ACKED").IsInteger(1);
        Assert.Equal("6-1 7-1", Ids());
        Assert.Equal("2", Pending("g", "lag"));
    }

    [Fact]
    public void Trimming_by_references_ends_with_the_node_that_would_stay_in_part()
    {
        Run("CONFIG SET stream-node-max-entries 4").IsOk();
        for (int i = 1; i <= 12; i++) Run($"XADD t {i}-0 f v");
        Run("XGROUP CREATE t g 0").IsOk();
        Run("XREADGROUP GROUP g a STREAMS t >");
        Run("XACK t g 1-0 5-0 9-0 10-0").IsInteger(4);
        Run("XTRIM t MAXLEN 10 ACKED").IsInteger(1);
        Run("XTRIM t MAXLEN ~ 3 LIMIT 4 ACKED").IsInteger(1); // of nodes with 3 and 4 entries
        Run("XTRIM t MAXLEN ~ 3 ACKED").IsInteger(2);
        Run("XTRIM t MAXLEN ~ 6 DELREF").IsInteger(2); // exact without a node to remove
        Run("XPENDING t g").Items[0].IsInteger(6);
    }

    [Fact]
    public void Many_acknowledged_entries_are_trimmed_in_portions()
    {
        for (int i = 0; i < 1_000; i++) Run($"XADD t {i + 1}-0 f v");
        Run("XGROUP CREATE t g 0").IsOk();
        Run("XREADGROUP GROUP g a COUNT 900 STREAMS t >");
        Run("XACK t g " + string.Join(' ', Enumerable.Range(0, 450).Select(i => $"{(i * 2) + 1}-0"))).IsInteger(450);
        Run("XTRIM t MAXLEN 700 ACKED").IsInteger(300);
        Run("XTRIM t MAXLEN 0 ACKED").IsInteger(150);
        Run("XLEN t").IsInteger(550);
        Run("XRANGE t - + COUNT 1").Items[0].Items[0].IsBulk("2-0");
        Run("XTRIM t MAXLEN 0 DELREF").IsInteger(550);
        Run("XPENDING t g").Items[0].IsInteger(0);
    }

    [Fact]
    public void Xnack_releases_entries_with_a_number_of_deliveries()
    {
        Deliver("g", "a", 5);
        Run("XNACK s g FAIL IDS 3 1-1 6-1 9-9").IsInteger(1);
        Run("XNACK s g SILENT IDS 1 2-1").IsInteger(1);
        Run("XNACK s g FATAL IDS 1 3-1").IsInteger(1);
        Run("XNACK s g FAIL IDS 1 4-1 RETRYCOUNT 5").IsInteger(1);
        Run("XNACK s g SILENT IDS 1 6-1 FORCE").IsInteger(1);
        Run("XNACK s g SILENT FORCE RETRYCOUNT 7 IDS 1 9-9").IsInteger(0); // no such entry
        string[] pending = [.. Run("XPENDING s g - + 10").Items.Select(entry => string.Join(' ', entry.Items.Select(part => part.Text)))];
        Assert.Equal(["1-1  -1 1", "2-1  -1 0", "3-1  -1 9223372036854775807", "4-1  -1 5", "5-1 a 0 1", "6-1  -1 0"], pending);
        Run("XCLAIM s g b 1000000000 3-1").Items[0].Items[0].IsBulk("3-1"); // idle for as long as one may ask
        Assert.Equal("9223372036854775807", Run("XPENDING s g 3-1 3-1 1").Items[0].Items[3].Text);
        Run("XAUTOCLAIM s g b 1000000000 0 COUNT 1 JUSTID").Items[1].IsArray("1-1");
    }

    [Fact]
    public void Read_claims_idle_entries_first_and_the_longest_idle_before_others()
    {
        Deliver("g", "a", 1);
        _transcript.Advance(1_000);
        Run("XREADGROUP GROUP g b COUNT 3 STREAMS s >");
        Run("XNACK s g FAIL IDS 1 4-1").IsInteger(1);
        _transcript.Advance(500);
        RespValue read = Run("XREADGROUP GROUP g c CLAIM 1500 COUNT 3 STREAMS s >").Items[0].Items[1];
        Assert.Equal(3, read.Items.Count);
        Assert.Equal("4-1 [f v4] " + _transcript.NowMs + " 1", Text(read.Items[0]));
        Assert.Equal("1-1 [f v1] 1500 1", Text(read.Items[1]));
        Assert.Equal("5-1 [f v5] 0 0", Text(read.Items[2]));
        Assert.Equal(["1-1 c 0 2", "2-1 b 500 1", "3-1 b 500 1", "4-1 c 0 2", "5-1 c 0 1"], [.. Run("XPENDING s g - + 10").Items.Select(entry => string.Join(' ', entry.Items.Select(part => part.Text)))]);

        Run("XDEL s 2-1").IsInteger(1);
        read = Run("XREADGROUP GROUP g c CLAIM 400 NOACK STREAMS s >").Items[0].Items[1];
        Assert.Equal(["3-1 [f v3] 500 1", "6-1 [f v6] 0 0"], read.Items.Select(Text));
        Run("XPENDING s g").Items[0].IsInteger(5); // 2-1 stays pending, and 6-1 needs no acknowledgement
        Assert.True(Run("XREADGROUP GROUP g c CLAIM 1 STREAMS s >").IsNull);
        Run("XREADGROUP GROUP g c CLAIM 0 STREAMS s 0").Items[0].Items[1].Items[0].Items[0].IsBulk("1-1"); // the history, without claims
    }

    [Fact]
    public void Deleted_entries_are_not_claimed_and_do_not_count()
    {
        Deliver("g", "a", 3);
        Run("XDEL s 1-1").IsInteger(1);
        _transcript.Advance(100);
        RespValue read = Run("XREADGROUP GROUP g b COUNT 1 CLAIM 50 STREAMS s >").Items[0].Items[1];
        Assert.Equal(["2-1 [f v2] 100 1"], read.Items.Select(Text));
        Run("XPENDING s g").Items[0].IsInteger(3);
        Run("XTRIM s MAXLEN 0").IsInteger(5);
        _transcript.Advance(100);
        Assert.True(Run("XREADGROUP GROUP g b CLAIM 50 STREAMS s >").IsNull);
        Run("XPENDING s g").Items[0].IsInteger(3);
    }

    [Fact]
    public void Read_of_the_same_stream_twice_claims_once()
    {
        Deliver("g", "a", 2);
        _transcript.Advance(100);
        RespValue read = Run("XREADGROUP GROUP g b COUNT 1 CLAIM 50 STREAMS s s > >");
        Assert.Equal(["1-1", "2-1"], read.Items.Select(stream => stream.Items[1].Items[0].Items[0].Text));
        Run("COMMAND GETKEYS XREADGROUP GROUP g b CLAIM 50 STREAMS s >").IsArray("s");
    }

    private static string Text(RespValue entry) =>
        string.Join(' ', entry.Items.Select(part => part.IsAggregate ? $"[{string.Join(' ', part.Items.Select(field => field.Text))}]" : part.Text));

    private void Deliver(string group, string consumer, int count)
    {
        Run($"XGROUP CREATE s {group} 0").IsOk();
        Run($"XREADGROUP GROUP {group} {consumer} COUNT {count} STREAMS s >");
    }

    private string Ids() => string.Join(' ', Run("XRANGE s - +").Items.Select(entry => entry.Items[0].Text));

    private string Pending(string group, string field = "pending") => Run("XINFO GROUPS s").Items.Single(info => info["name"]!.Text == group)[field]!.Text;

    private RespValue Run(string line) => _transcript.Run(line);
}
