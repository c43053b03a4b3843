namespace RedKite.Server.Tests.Commands;

/// <summary>Transcripts of the commands on a stream's entries. The clock stands still unless a test advances it.</summary>
public class StreamCommandsTests : TranscriptTests
{
    private const string InvalidId = "ERR Invalid stream ID specified as stream command argument";
    private const string NotGreater = "ERR The ID specified in XADD is equal or smaller than the target stream top item";

    [Fact]
    public void Xadd_generates_ids_from_the_clock()
    {
        Run("XADD s * a 1").IsText($"{Clock.NowMs}-0");
        Run("XADD s * a 2").IsText($"{Clock.NowMs}-1");
        Clock.Advance(5);
        Run("XADD s * a 3").IsText($"{Clock.NowMs}-0");
        Clock.Advance(-3);
        Run("XADD s * a 4").IsText($"{Clock.NowMs + 3}-1");
        Run("TYPE s").IsStatus("stream");
        Run("OBJECT ENCODING s").IsText("stream");
    }

    [Fact]
    public void Xadd_parses_full_and_partial_ids_as_C_numbers()
    {
        Run("XADD s 0-* a 1").IsText("0-1");
        Run("XADD s 5 a 1").IsText("5-0");
        Run("XADD s 5-* a 1").IsText("5-1");
        Run("XADD s 4-* a 1").IsError(NotGreater);
        Run("XADD s 5-1 a 1").IsError(NotGreater);
        Run("XADD s 007-1 a 1").IsText("7-1");
        Run("XADD s +8-+1 a 1").IsText("8-1");
        Run("XADD s 8--1 a 1").IsError(InvalidId);
        Run("XADD s 0-0 a 1").IsError("ERR The ID specified in XADD must be greater than 0-0");
        Run("XADD s - a 1").IsError(InvalidId);
        Run("XADD s foo a 1").IsError(InvalidId);
        Run("XADD s 9-18446744073709551615 a 1").IsText("9-18446744073709551615");
        Run("XADD s 9-* a 1").IsError(NotGreater);
        Run("XADD s 18446744073709551615-18446744073709551615 a 1").IsText("18446744073709551615-18446744073709551615");
        Run("XADD s * a 1").IsError("ERR The stream has exhausted the last possible ID, unable to add more items");
    }

    [Fact]
    public void Xadd_refuses_conflicting_options()
    {
        Run("XADD s * a").IsError("ERR wrong number of arguments for 'xadd' command");
        Run("XADD s * a 1 b").IsError("ERR wrong number of arguments for 'xadd' command");
        Run("XADD s LIMIT 5 * a 1").IsError("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
        Run("XADD s MAXLEN = 5 LIMIT 5 * a 1").IsError("ERR syntax error, LIMIT cannot be used without the special ~ option");
        Run("XADD s MAXLEN 5 MINID 6 * a 1").IsError("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
        Run("XADD s MAXLEN ~ 5 LIMIT -1 * a 1").IsError("ERR The LIMIT argument must be >= 0.");
        Run("XADD s MAXLEN -1 * a 1").IsError("ERR The MAXLEN argument must be >= 0.");
        Run("XADD s MINID x * a 1").IsError(InvalidId);
        Run("XADD s NOMKSTREAM * a 1").IsNil();
        Run("EXISTS s").IsInteger(0);
        Run("SET str x").IsOk();
        Run("XADD str * a 1").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
    }

    [Fact]
    public void Fields_read_back_in_every_encoding()
    {
        string large = new('x', 5_000);
        Run("XADD s 1 a 12 b -0 c 12.50 d hello").IsText("1-0");
        Run("XADD s 2 a 12 b 007 c '' d hello").IsText("2-0");
        Run($"XADD s 3 a {large} b 9223372036854775807 c 9223372036854775808 d user_1-2").IsText("3-0");
        Run("XADD s 4 other 1 a 2").IsText("4-0");
        Run("XRANGE s - +").Shows(
            $"[[1-0 [a 12 b -0 c 12.50 d hello]] [2-0 [a 12 b 007 c  d hello]] [3-0 [a {large} b 9223372036854775807 c 9223372036854775808 d user_1-2]] [4-0 [other 1 a 2]]]");
    }

    [Fact]
    public void Xrange_and_xrevrange_return_entries_between_two_ids()
    {
        for (int i = 1; i <= 4; i++) Run($"XADD s {i}-{i} a {i}").IsText($"{i}-{i}");
        Run("XRANGE s 2 3").Shows("[[2-2 [a 2]] [3-3 [a 3]]]");
        Run("XRANGE s (2-2 (4-4").Shows("[[3-3 [a 3]]]");
        Run("XREVRANGE s + - COUNT 2").Shows("[[4-4 [a 4]] [3-3 [a 3]]]");
        Run("XREVRANGE s 3 2").Shows("[[3-3 [a 3]] [2-2 [a 2]]]");
        Run("XRANGE s 3 2").Shows("[]");
        Run("XRANGE s - + COUNT 0").IsNil();
        Run("XRANGE none - + COUNT 0").Shows("[]");
        Run("XRANGE s - + COUNT x").IsError("ERR value is not an integer or out of range");
        Run("XRANGE s - + FOO 1").IsError("ERR syntax error");
        Run("XRANGE s (- +").IsError(InvalidId);
        Run("XRANGE s (18446744073709551615-18446744073709551615 +").IsError("ERR invalid start ID for the interval");
        Run("XRANGE s - (0-0").IsError("ERR invalid end ID for the interval");
    }

    [Fact]
    public void Long_reverse_iteration_returns_every_entry_once()
    {
        Run("CONFIG SET stream-node-max-entries 70").IsOk();
        for (int i = 1; i <= 500; i++) Run($"XADD s {i} a {i}");
        for (int i = 3; i <= 500; i += 3) Run($"XDEL s {i}").IsInteger(1);
        IEnumerable<int> left = Enumerable.Range(1, 500).Where(i => i % 3 != 0);
        Run("XREVRANGE s + -").Shows("[" + string.Join(' ', left.Reverse().Select(i => $"[{i}-0 [a {i}]]")) + "]");
        Run("XRANGE s - +").Shows("[" + string.Join(' ', left.Select(i => $"[{i}-0 [a {i}]]")) + "]");
    }

    [Fact]
    public void Xdel_deletes_entries_and_keeps_the_stream()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XADD s 2 a 1").IsText("2-0");
        Run("XDEL s 1 1 9").IsInteger(1);
        Run("XDEL s 2 x").IsError(InvalidId);
        Run("XLEN s").IsInteger(1);
        Run("XDEL s 2").IsInteger(1);
        Run("EXISTS s").IsInteger(1);
        Run("XADD s 2 a 1").IsError(NotGreater);
        Run("XADD s 2-* a 1").IsText("2-1");
        Run("XDEL none x").IsInteger(0);
    }

    [Fact]
    public void Xtrim_removes_whole_nodes_unless_exact()
    {
        Run("CONFIG SET stream-node-max-entries 10").IsOk();
        for (int i = 1; i <= 100; i++) Run($"XADD s {i} a {i}");
        Run("XTRIM s MAXLEN ~ 55").IsInteger(40);
        Run("XTRIM s MAXLEN 55").IsInteger(5);
        Run("XTRIM s MINID ~ 60 LIMIT 8").IsInteger(5);
        Run("XTRIM s MINID ~ 69").IsInteger(10);
        Run("XTRIM s MINID ~ 70").IsInteger(0);
        Run("XTRIM s MINID ~ 71").IsInteger(10);
        Run("XTRIM s MINID = 75").IsInteger(4);
        Run("XADD s MAXLEN ~ 5 101 a 1").IsText("101-0");
        Run("XLEN s").IsInteger(11);
        Run("XADD s MAXLEN 0 102 a 1").IsText("102-0");
        Run("XLEN s").IsInteger(0);
        Run("EXISTS s").IsInteger(1);
    }

    [Fact]
    public void Xtrim_refuses_conflicting_options()
    {
        Run("XTRIM s MAXLEN 1 LIMIT 5").IsError("ERR syntax error, LIMIT cannot be used without the special ~ option");
        Run("XTRIM s MAXLEN ~").IsError("ERR value is not an integer or out of range");
        Run("XTRIM s FOO 5 5").IsError("ERR syntax error");
        Run("XTRIM s LIMIT 5 5").IsError("ERR syntax error");
        Run("XTRIM s MINID -").IsError(InvalidId);
        Run("XTRIM none MINID 5").IsInteger(0);
    }

    [Fact]
    public void Xread_returns_entries_after_an_id_per_stream()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XADD s 2 a 2").IsText("2-0");
        Run("XADD t 5 b 1").IsText("5-0");
        Run("XREAD STREAMS s t 1 0").Shows("[[s [[2-0 [a 2]]]] [t [[5-0 [b 1]]]]]");
        Run("XREAD COUNT 1 STREAMS s t none 0 5 0").Shows("[[s [[1-0 [a 1]]]]]");
        Run("XREAD STREAMS s $").IsNil();
        Run("XREAD BLOCK 0 COUNT 1 STREAMS s 0").Shows("[[s [[1-0 [a 1]]]]]");
    }

    [Fact]
    public void Xread_plus_returns_the_last_entry()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        Run("XADD s 2 a 2").IsText("2-0");
        Run("XREAD STREAMS s +").Shows("[[s [[2-0 [a 2]]]]]");
        Run("XDEL s 2").IsInteger(1);
        Run("XREAD COUNT 5 STREAMS s +").Shows("[[s [[1-0 [a 1]]]]]");
        Run("XDEL s 1").IsInteger(1);
        Run("XREAD STREAMS s none + +").IsNil();
    }

    [Fact]
    public void Xread_refuses_conflicting_options()
    {
        Run("XREAD STREAMS s s 0").IsError("ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified.");
        Run("XREADGROUP GROUP g c STREAMS s s 0").IsError("ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified.");
        Run("XREAD BLOCK x STREAMS s 0").IsError("ERR timeout is not an integer or out of range");
        Run("XREAD BLOCK -1 STREAMS s 0").IsError("ERR timeout is negative");
        Run("XREAD BLOCK 9223372036854775807 STREAMS s 0").IsError("ERR timeout is out of range");
        Run("XREAD GROUP g c STREAMS s 0").IsError("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
        Run("XREAD NOACK STREAMS s 0").IsError("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
        Run("XREAD STREAMS s >").IsError("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.");
        Run("XREAD COUNT 1 s 0").IsError("ERR syntax error");
        Run("XREADGROUP COUNT 1 BLOCK 5 NOACK STREAMS s >").IsError("ERR Missing GROUP option for XREADGROUP");
    }

    [Fact]
    public void Xsetid_sets_the_last_id_but_not_below_an_entry()
    {
        Run("XADD s 1-1 a 1").IsText("1-1");
        Run("XADD s 30-1 a 1").IsText("30-1");
        Run("XDEL s 30-1").IsInteger(1);
        Run("XSETID s 3").IsError("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
        Run("XSETID s 30-1 ENTRIESADDED 2 MAXDELETEDID 2-2").IsOk();
        Run("XSETID s 3").IsOk();
        Run("XADD s 4-* a 2").IsText("4-0");
        Run("XRANGE s 4 30").Shows("[[4-0 [a 2]]]");
        Run("XSETID s 3").IsError("ERR The ID specified in XSETID is smaller than the target stream top item");
        Run("XSETID s 5 ENTRIESADDED 1").IsError("ERR The entries_added specified in XSETID is smaller than the target stream length");
        Run("XSETID s 5 ENTRIESADDED -1").IsError("ERR entries_added must be positive");
        Run("XSETID s 5 MAXDELETEDID 6").IsError("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
        Run("XSETID s 5 ENTRIESADDED").IsError("ERR syntax error");
        Run("XSETID none 5").IsError("ERR no such key");
        Run("XSETID s 9 ENTRIESADDED 100 MAXDELETEDID 2-2").IsOk();
        Run("XADD s 9-* a 2").IsText("9-1");
    }

    [Fact]
    public void Empty_nodes_after_trimming_keep_ids_in_order_when_xsetid_lowers_them()
    {
        for (int i = 1; i <= 3; i++) Run($"XADD s {i} a {i}");
        Run("XDEL s 3").IsInteger(1);
        Run("XTRIM s MINID 3").IsInteger(2);
        Run("XSETID s 3-0 ENTRIESADDED 3 MAXDELETEDID 0-1").IsOk();
        Run("XSETID s 0-5").IsOk();
        for (int i = 0; i < 300; i++) Run("XADD s 0-* a 1").IsText($"0-{i + 6}");
        Run("XLEN s").IsInteger(300);
        Assert.Equal(300, Run("XRANGE s - +").Items.Count);
        Run("XDEL s 0-200").IsInteger(1);
    }

    [Fact]
    public void Streams_are_copied_renamed_and_overwritten_completely()
    {
        for (int i = 1; i <= 250; i++) Run($"XADD s {i} a {i}");
        Run("XGROUP CREATE s g 0").IsOk();
        Run("XREADGROUP GROUP g c COUNT 3 STREAMS s >");
        Run("COPY s t").IsInteger(1);
        Run("RENAME s u").IsOk();
        Run("DEL u").IsInteger(1);
        Run("XADD t 251 a 251").IsText("251-0");
        Assert.Equal(251, Run("XRANGE t - +").Items.Count);
        Run("XPENDING t g").Shows("[3 1-0 3-0 [[c 3]]]");
        Run("SET t x").IsOk();
        Run("GET t").IsText("x");
    }

    [Fact]
    public void Memory_usage_counts_the_nodes()
    {
        Run("XADD s 1 a 1").IsText("1-0");
        long one = Run("MEMORY USAGE s").Integer;
        for (int i = 2; i <= 1_000; i++) Run($"XADD s {i} a some-value-of-{i}");
        Assert.InRange(one, 100, 500);
        Assert.InRange(Run("MEMORY USAGE s").Integer, 10_000, 40_000);
    }
}
