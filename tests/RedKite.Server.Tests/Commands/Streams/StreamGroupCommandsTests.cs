namespace RedKite.Server.Tests.Commands;

/// <summary>Transcripts of groups, consumers and pending entries.</summary>
public class StreamGroupCommandsTests : TranscriptTests
{
    [Fact]
    public void Group_can_be_set_to_either_end_but_not_without_the_stream()
    {
        Run("XADD s 5-1 a b").IsText("5-1");
        Run("XGROUP CREATE s g 5").IsOk();
        foreach (string end in (string[])["-", "+"]) Run($"XGROUP CREATE s other {end}").IsError("ERR Invalid stream ID specified as stream command argument");
        Run("XGROUP SETID s g +").IsOk();
        Run("XREADGROUP GROUP g c STREAMS s >").IsNil();
        Run("XGROUP SETID s g -").IsOk();
        Run("XREADGROUP GROUP g c STREAMS s >").Shows("[[s [[5-1 [a b]]]]]");
        Run("XGROUP SETID s g >").IsError("ERR Invalid stream ID specified as stream command argument");
    }

    [Fact]
    public void Xgroup_create_requires_the_key_or_MKSTREAM()
    {
        Run("XGROUP CREATE s g 0").IsError("ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.");
        Run("XGROUP CREATE s g x MKSTREAM").IsError("ERR Invalid stream ID specified as stream command argument");
        Run("EXISTS s").IsInteger(0);
        Run("XGROUP CREATE s g $ MKSTREAM").IsOk();
        Run("XGROUP CREATE s g $").IsError("BUSYGROUP Consumer Group name already exists");
        Run("XGROUP CREATE s h 0 FOO").IsError("ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP.");
        Run("XGROUP CREATE s h 0 ENTRIESREAD -2").IsError("ERR value for ENTRIESREAD must be positive or -1");
        Run("XGROUP SETID s nog 0").IsError("NOGROUP No such consumer group 'nog' for key name 's'");
        Run("XGROUP DESTROY s nog").IsInteger(0);
        Run("XGROUP DESTROY s g").IsInteger(1);
        Run("XGROUP FOO s").IsError("ERR unknown subcommand 'FOO'. Try XGROUP HELP.");
        Assert.Equal(17, Run("XGROUP HELP").Items.Count);
    }

    [Fact]
    public void Group_reads_each_entry_once_and_a_consumer_rereads_its_history()
    {
        for (int i = 1; i <= 4; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 2 STREAMS s >").Shows("[[s [[1-0 [a 1]] [2-0 [a 2]]]]]");
        Run("XREADGROUP GROUP g d STREAMS s >").Shows("[[s [[3-0 [a 3]] [4-0 [a 4]]]]]");
        Run("XREADGROUP GROUP g d STREAMS s >").IsNil();
        Run("XDEL s 1").IsInteger(1);
        Run("XREADGROUP GROUP g c STREAMS s 0").Shows("[[s [[1-0 nil] [2-0 [a 2]]]]]");
        Run("XREADGROUP GROUP g c STREAMS s 1").Shows("[[s [[2-0 [a 2]]]]]");
        Run("XPENDING s g - + 10").Shows("[[1-0 c 0 1] [2-0 c 0 3] [3-0 d 0 1] [4-0 d 0 1]]");
        Run("XACK s g 2 3 9").IsInteger(2);
        Run("XPENDING s g").Shows("[2 1-0 4-0 [[c 1] [d 1]]]");
        Run("XGROUP DELCONSUMER s g c").IsInteger(1);
        Run("XPENDING s g").Shows("[1 4-0 4-0 [[d 1]]]");
        Run("XGROUP SETID s g 0").IsOk();
        Run("XREADGROUP GROUP g e STREAMS s >").Shows("[[s [[2-0 [a 2]] [3-0 [a 3]] [4-0 [a 4]]]]]");
        Run("XPENDING s g").Shows("[3 2-0 4-0 [[e 3]]]");
    }

    [Fact]
    public void Noack_leaves_nothing_pending()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c NOACK STREAMS s >").Shows("[[s [[1-0 [a 1]]]]]");
        Run("XPENDING s g").Shows("[0 nil nil nil]");
        Run("XREADGROUP GROUP g c STREAMS s 0").Shows("[[s []]]");
    }

    [Fact]
    public void Group_and_consumer_may_be_named_streams()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XGROUP CREATE s STREAMS 0").IsOk();
        Run("XREADGROUP COUNT 1 GROUP STREAMS c STREAMS s >").Shows("[[s [[1-0 [a 1]]]]]");

        Run("COMMAND GETKEYS XREADGROUP GROUP STREAMS c STREAMS s t > >").Shows("[s t]");
        Run("COMMAND GETKEYS XREADGROUP COUNT 1 GROUP STREAMS c STREAMS s t > >").Shows("[s t]");
    }

    [Fact]
    public void Consumer_is_created_on_first_use_and_has_its_active_time()
    {
        Run("XGROUP CREATE s g 0 MKSTREAM").IsOk();
        Run("XREADGROUP GROUP g c STREAMS s >").IsNil();
        Clock.Advance(50);
        Run("XINFO CONSUMERS s g").Shows("[[name c pending 0 idle 50 inactive -1]]");
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XREADGROUP GROUP g c STREAMS s >");
        Clock.Advance(20);
        Run("XREADGROUP GROUP g c STREAMS s >").IsNil();
        Run("XINFO CONSUMERS s g").Shows("[[name c pending 1 idle 0 inactive 20]]");
        Run("XGROUP CREATECONSUMER s g c").IsInteger(0);
        Run("XGROUP CREATECONSUMER s g b").IsInteger(1);
        Run("XINFO CONSUMERS s g").Shows("[[name b pending 0 idle 0 inactive -1] [name c pending 1 idle 0 inactive 20]]");
    }

    [Fact]
    public void Xpending_filters_by_range_idle_time_and_consumer()
    {
        for (int i = 1; i <= 3; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 1 STREAMS s >");
        Clock.Advance(100);
        Run("XREADGROUP GROUP g d STREAMS s >");
        Run("XPENDING s g IDLE 100 - + 10").Shows("[[1-0 c 100 1]]");
        Run("XPENDING s g (1 + 1").Shows("[[2-0 d 0 1]]");
        Run("XPENDING s g - + 10 d").Shows("[[2-0 d 0 1] [3-0 d 0 1]]");
        Run("XPENDING s g - + 10 nobody").Shows("[]");
        Run("XPENDING s g - + -1").Shows("[]");
        Run("XPENDING s g - +").IsError("ERR syntax error");
        Run("XPENDING s g IDLE 0 - +").IsError("ERR syntax error");
        Run("XPENDING s g IDLE x - + 1").IsError("ERR value is not an integer or out of range");
        Run("XPENDING s nog").IsError("NOGROUP No such key 's' or consumer group 'nog'");
        Run("XPENDING none g - + 1").IsError("NOGROUP No such key 'none' or consumer group 'g'");
    }

    [Fact]
    public void Xclaim_claims_idle_entries_and_drops_deleted_ones()
    {
        for (int i = 1; i <= 3; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 2 STREAMS s >");
        Run("XCLAIM s g d 10 1").Shows("[]");
        Clock.Advance(10);
        Run("XCLAIM s g d 10 1 3").Shows("[[1-0 [a 1]]]");
        Run("XCLAIM s g d 0 3 FORCE JUSTID RETRYCOUNT 7 IDLE 1000").Shows("[3-0]");
        Run("XPENDING s g - + 10").Shows("[[1-0 d 0 2] [2-0 c 10 1] [3-0 d 1000 7]]");
        Run("XDEL s 2").IsInteger(1);
        Run("XCLAIM s g d 0 2").Shows("[]");
        Run("XPENDING s g").Shows("[2 1-0 3-0 [[d 2]]]");
        Run("XCLAIM s g d 0 1 TIME 99999999999999 LASTID 9-9 JUSTID").Shows("[1-0]");
        Run("XINFO GROUPS s").Items[0].Items[7].IsText("9-9");
        Run("XCLAIM s g d x 1").IsError("ERR Invalid min-idle-time argument for XCLAIM");
        Run("XCLAIM s g d 0 1 IDLE x").IsError("ERR Invalid IDLE option argument for XCLAIM");
        Run("XCLAIM s g d 0 1 FOO").IsError("ERR Unrecognized XCLAIM option 'FOO'");
        Run("XCLAIM s nog d 0 1").IsError("NOGROUP No such key 's' or consumer group 'nog'");
    }

    [Fact]
    public void Xautoclaim_continues_from_its_cursor_and_lists_deleted_entries()
    {
        for (int i = 1; i <= 5; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c STREAMS s >");
        Run("XDEL s 2").IsInteger(1);
        Run("XAUTOCLAIM s g d 0 - COUNT 2").Shows("[3-0 [[1-0 [a 1]]] [2-0]]");
        Run("XAUTOCLAIM s g d 0 3-0 COUNT 2 JUSTID").Shows("[5-0 [3-0 4-0] []]");
        Run("XAUTOCLAIM s g d 0 5-0").Shows("[0-0 [[5-0 [a 5]]] []]");
        Run("XAUTOCLAIM s g d 1000 0").Shows("[0-0 [] []]");
        Run("XPENDING s g - + 10").Shows("[[1-0 d 0 2] [3-0 d 0 1] [4-0 d 0 1] [5-0 d 0 2]]");
        Run("XAUTOCLAIM s g d 0 0 COUNT 0").IsError("ERR COUNT must be > 0");
        Run("XAUTOCLAIM s g d 0 0 COUNT 9223372036854775807").IsError("ERR COUNT must be > 0");
        Run("XAUTOCLAIM s g d x 0").IsError("ERR Invalid min-idle-time argument for XAUTOCLAIM");
        Run("XAUTOCLAIM s g d 0 0 FOO").IsError("ERR syntax error");
        Assert.Equal(3, Run("XAUTOCLAIM s g d 0 0 COUNT 100000000000000").Items.Count);
    }

    [Fact]
    public void Xinfo_stream_full_lists_groups()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XADD s 2 a 2").IsText("2-0");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 1 STREAMS s >");
        Run("XINFO STREAM s").Shows(
            "[length 2 radix-tree-keys 1 radix-tree-nodes 2 last-generated-id 2-0 max-deleted-entry-id 0-0 entries-added 2 recorded-first-entry-id 1-0 idmp-duration 100 idmp-maxsize 100 pids-tracked 0 iids-tracked 0 iids-added 0 iids-duplicates 0 groups 1 first-entry [1-0 [a 1]] last-entry [2-0 [a 2]]]");
        string consumer = $"[name c seen-time {Clock.NowMs} active-time {Clock.NowMs} pel-count 1 pending [[1-0 {Clock.NowMs} 1]]]";
        Run("XINFO STREAM s FULL COUNT 1").Shows(
            "[length 2 radix-tree-keys 1 radix-tree-nodes 2 last-generated-id 2-0 max-deleted-entry-id 0-0 entries-added 2 recorded-first-entry-id 1-0 idmp-duration 100 idmp-maxsize 100 pids-tracked 0 iids-tracked 0 iids-added 0 iids-duplicates 0 entries [[1-0 [a 1]]] "
            + $"groups [[name g last-delivered-id 1-0 entries-read 1 lag 1 pel-count 1 pending [[1-0 c {Clock.NowMs} 1]] consumers [{consumer}]]]]");
        Run("XDEL s 1 2").IsInteger(2);
        Run("XINFO STREAM s").Items[^1].IsNil();
        Run("XINFO STREAM none FOO").IsError("ERR no such key");
        Run("XINFO STREAM s FOO").IsError("ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP.");
        Run("XINFO STREAM s FULL COUNT x").IsError("ERR value is not an integer or out of range");
        Run("XINFO STREAM s FULL COUNT x y").IsError("ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP.");
        Run("XINFO CONSUMERS s nog").IsError("NOGROUP No such consumer group 'nog' for key name 's'");
    }

    [Fact]
    public void Lag_is_the_number_of_unread_entries_or_null()
    {
        for (int i = 1; i <= 4; i++) Run($"XADD s 0-{i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Progress("nil", "4");
        Run("XREADGROUP GROUP g c COUNT 2 STREAMS s >");
        Progress("2", "2");
        Run("XDEL s 0-3").IsInteger(1);
        Progress("2", "nil");
        Run("XREADGROUP GROUP g c COUNT 5 STREAMS s >");
        Progress("4", "0");
        Run("XTRIM s MAXLEN 0").IsInteger(3);
        Progress("4", "0");
    }

    [Fact]
    public void Group_has_read_no_more_entries_than_were_added()
    {
        for (int i = 1; i <= 6; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 3-0 ENTRIESREAD 10").IsOk();
        Progress("6", "0");
        Run("XGROUP SETID s g 4-0 ENTRIESREAD 5").IsOk();
        Progress("5", "1");
        Run("XGROUP SETID s g 4-0 ENTRIESREAD 7").IsOk();
        Progress("6", "0");
        Run("XGROUP CREATE new g 0 MKSTREAM ENTRIESREAD 10").IsOk();
        Assert.Equal("0", Run("XINFO GROUPS new").Items[0].Items[9].Text);
    }

    [Theory]
    [InlineData("CREATE s h 0 MKSTREAM MKSTREAM MKSTREAM", true)]
    [InlineData("CREATE s h 0 MKSTREAM MKSTREAM MKSTREAM MKSTREAM", false)]
    [InlineData("CREATE s h 0 ENTRIESREAD 1 ENTRIESREAD 1", false)]
    [InlineData("SETID s g 0 ENTRIESREAD 1", true)]
    [InlineData("SETID s g 0 ENTRIESREAD 1 ENTRIESREAD 1", false)]
    public void Options_may_be_repeated_within_the_words_of_all(string arguments, bool isOk)
    {
        Run("XGROUP CREATE s g 0 MKSTREAM").IsOk();
        if (isOk) Run("XGROUP " + arguments).IsOk();
        else Run("XGROUP " + arguments).IsError($"ERR unknown subcommand or wrong number of arguments for '{arguments.Split(' ')[0]}'. Try XGROUP HELP.");
    }

    [Fact]
    public void Emptied_stream_has_no_lag()
    {
        for (int i = 1; i <= 7; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 4 STREAMS s >");
        Run("XTRIM s MAXLEN 0").IsInteger(7);
        Progress("4", "0");
    }

    [Fact]
    public void Lag_is_known_when_all_deletions_precede_the_group()
    {
        Run("XGROUP CREATE s g $ MKSTREAM").IsOk();
        Run("XADD s 0-1 a 1").IsText("0-1");
        Run("XADD s 0-2 a 1").IsText("0-2");
        Run("XREADGROUP GROUP g c STREAMS s >");
        Run("XADD s 0-3 a 1").IsText("0-3");
        Run("XADD s 0-4 a 1").IsText("0-4");
        for (int i = 1; i <= 3; i++) Run($"XDEL s 0-{i}").IsInteger(1);
        Progress("2", "1");
    }

    [Fact]
    public void Group_overtaken_by_trimming_corrects_entries_read()
    {
        for (int i = 1; i <= 5; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 1 STREAMS s >");
        Run("XTRIM s MAXLEN 1").IsInteger(4);
        Progress("1", "1");
        Run("XREADGROUP GROUP g c COUNT 1 STREAMS s >");
        Progress("5", "0");
    }

    [Fact]
    public void Stream_named_twice_continues_where_the_first_read_ended()
    {
        for (int i = 1; i <= 3; i++) Run($"XADD s {i}-1 a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 2 STREAMS s s s > > 0").Shows("[[s [[1-1 [a 1]] [2-1 [a 2]]]] [s [[3-1 [a 3]]]] [s [[1-1 [a 1]] [2-1 [a 2]]]]]");
        Run("XPENDING s g").Shows("[3 1-1 3-1 [[c 3]]]");
    }

    private void Progress(string entriesRead, string lag)
    {
        IReadOnlyList<RedKiteReply> group = Run("XINFO GROUPS s").Items[0].Items;
        Assert.Equal((entriesRead, lag), (group[9].Text ?? "nil", group[11].Text ?? "nil"));
    }
}
