using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// Expected replies are those of https://redis.io/commands (xadd, xcfgset, xidmprecord, xinfo-stream) and of
/// https://redis.io/docs/latest/develop/data-types/streams/idempotency; they do not give the texts of errors about ids.
/// </summary>
public sealed class StreamProducerCommandsTests : IAsyncLifetime
{
    private const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

    private readonly CommandTranscript _transcript = new();

    private long Now => _transcript.NowMs;

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        _transcript.StopSweeping();
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Repeated_entry_replies_the_first_id()
    {
        string first = Run("XADD s IDMP p 1 * f v").Text;
        Assert.Equal($"{Now}-0", first);
        _transcript.Advance(5_000);
        Run("XADD s IDMP p 1 * f other").IsBulk(first);
        Run("XADD s IDMP q 1 * f v").IsBulk($"{Now}-0"); // producers are independent
        Run("XADD s IDMP p 2 * f v").IsBulk($"{Now}-1");
        Run("XDEL s " + first).IsInteger(1);
        Run("XADD s IDMP p 1 * f v").IsBulk(first);
        Run("XLEN s").IsInteger(2);
        Assert.Equal("100 100 2 3 3 2", Producers("s"));
    }

    [Fact]
    public void Content_is_an_id_of_its_own()
    {
        string first = Run("XADD s IDMPAUTO p * a 1 b 2").Text;
        Run("XADD s IDMPAUTO p * a 1 b 2").IsBulk(first);
        Run("XADD s IDMPAUTO p * b 2 a 1").IsBulk(first); // in any order
        Run("XADD s IDMPAUTO p MAXLEN 10 * a 1 b 3").IsBulk($"{Now}-1");
        Run("XADD s IDMPAUTO p * a 1b 2 2").IsBulk($"{Now}-2");
        Run("XADD s IDMPAUTO q * a 1 b 2").IsBulk($"{Now}-3");
        Assert.Equal("100 100 2 4 4 2", Producers("s"));
    }

    [Fact]
    public void Id_is_forgotten_after_the_duration()
    {
        Run("XADD s IDMP p 1 * f v");
        string first = Run("XADD s IDMP q 1 * f v").Text;
        _transcript.Advance(99_999);
        Run("XADD s IDMP q 1 * f v").IsBulk(first);
        _transcript.Advance(1);
        Assert.Equal("100 100 0 0 2 1", Producers("s"));
        Run("XADD s IDMP q 1 * f v").IsBulk($"{Now}-0");
        Assert.Equal("100 100 1 1 3 1", Producers("s"));
        Run("CONFIG SET stream-idmp-duration 5").IsOk();
        Run("CONFIG SET stream-idmp-maxsize 2").IsOk();
        Run("XADD t IDMP p 1 * f v");
        _transcript.Advance(5_000);
        Assert.Equal("5 2 0 0 1 0", Producers("t"));
        Assert.Equal("100 100 1 1 3 1", Producers("s")); // the settings are those of its first id
    }

    [Fact]
    public void Oldest_ids_of_a_producer_are_forgotten_beyond_the_size()
    {
        Run("XADD s * f v");
        Run("XCFGSET s IDMP-MAXSIZE 3").IsOk();
        for (int i = 0; i < 5; i++) Run($"XADD s IDMP p {i} * f v").IsBulk($"{Now}-{i + 1}");
        Assert.Equal("100 3 1 3 5 0", Producers("s"));
        Run("XADD s IDMP p 2 * f v").IsBulk($"{Now}-3");
        Run("XADD s IDMP p 1 * f v").IsBulk($"{Now}-6");
    }

    [Fact]
    public void Configuration_that_changes_forgets_all_ids()
    {
        string first = Run("XADD s IDMP p 1 * f v").Text;
        Run("XCFGSET s IDMP-DURATION 100 IDMP-MAXSIZE 100").IsOk(); // as it is
        Run("XADD s IDMP p 1 * f v").IsBulk(first);
        Run("XCFGSET s IDMP-DURATION 300").IsOk();
        Assert.Equal("300 100 0 0 1 1", Producers("s"));
        Run("XADD s IDMP p 1 * f v").IsBulk($"{Now}-1");
        Run("XCFGSET s IDMP-DURATION 86400 IDMP-MAXSIZE 10000").IsOk();
        Assert.Equal("86400 10000 0 0 2 1", Producers("s"));
    }

    [Fact]
    public void Info_of_a_stream_that_remembers_nothing_has_the_settings()
    {
        Run("XADD s * f v");
        Assert.Equal("100 100 0 0 0 0", Producers("s"));
        Run("CONFIG SET stream-idmp-duration 5").IsOk();
        Assert.Equal("5 100 0 0 0 0", Producers("s"));
        Run("XADD s IDMP p 1 * f v");
        Assert.Equal(32, Run("XINFO STREAM s").Items.Count);
        Assert.Equal(30, Run("XINFO STREAM s FULL").Items.Count);
        Assert.Equal("idmp-duration", Run("XINFO STREAM s FULL").Items[14].Text);
    }

    [Fact]
    public void Recorded_id_belongs_to_an_entry_of_the_stream()
    {
        Run("XADD s 5-1 f v").IsBulk("5-1");
        Run("XADD s 6-1 f v").IsBulk("6-1");
        Run("XIDMPRECORD s p 1 5-1").IsOk();
        Run("XIDMPRECORD s p 1 5-1").IsOk();
        Run("XIDMPRECORD s p 1 6-1").IsError("ERR IID already exists for this producer with a different stream ID");
        Run("XIDMPRECORD s p 2 7-1").IsError("ERR No such message in stream");
        Run("XIDMPRECORD s p 2 x").IsError("ERR Invalid stream ID specified as stream command argument");
        Run($"XADD s {Now}-1 f v").IsBulk($"{Now}-1");
        Run($"XIDMPRECORD s p 2 {Now}-1").IsOk();
        Run("XADD s IDMP p 2 * f v").IsBulk($"{Now}-1");
    }

    [Theory]
    [InlineData("XADD s IDMP p 1 5-1 f v", "ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")]
    [InlineData("XADD s IDMPAUTO p 5-* f v", "ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")]
    [InlineData("XADD s IDMP p 1 IDMPAUTO p * f v", "ERR syntax error, IDMP/IDMPAUTO specified multiple times")]
    [InlineData("XADD s IDMP p '' * f v", "ERR syntax error, IDMP requires a non-empty idempotent ID")]
    [InlineData("XADD s IDMPAUTO '' * f v", "ERR syntax error, IDMPAUTO requires a non-empty producer ID")]
    [InlineData("XADD s IDMPAUTO p * f", "ERR wrong number of arguments for 'xadd' command")]
    [InlineData("XADD t IDMPAUTO p * f v", WrongType)]
    [InlineData("XCFGSET s", "ERR At least one parameter must be specified")]
    [InlineData("XCFGSET s IDMP-DURATION", "ERR syntax error")]
    [InlineData("XCFGSET s NOSUCH 1", "ERR syntax error")]
    [InlineData("XCFGSET s IDMP-DURATION 0", "ERR IDMP-DURATION must be between 1 and 86400 seconds")]
    [InlineData("XCFGSET s IDMP-DURATION 86401", "ERR IDMP-DURATION must be between 1 and 86400 seconds")]
    [InlineData("XCFGSET s IDMP-DURATION x", "ERR value is not an integer or out of range")]
    [InlineData("XCFGSET s IDMP-MAXSIZE 0", "ERR IDMP-MAXSIZE must be between 1 and 10000 entries")]
    [InlineData("XCFGSET s IDMP-MAXSIZE 10001", "ERR IDMP-MAXSIZE must be between 1 and 10000 entries")]
    [InlineData("XCFGSET nosuch IDMP-MAXSIZE 1", "ERR no such key")]
    [InlineData("XCFGSET t IDMP-MAXSIZE 1", WrongType)]
    [InlineData("XIDMPRECORD nosuch p 1 1-1", "ERR no such key")]
    [InlineData("XIDMPRECORD t p 1 1-1", WrongType)]
    [InlineData("XIDMPRECORD s '' 1 1-1", "ERR producer ID must be non-empty")]
    public void Error_changes_nothing(string line, string error)
    {
        Run("SET t 1").IsOk();
        Run("XADD s 1-1 f v").IsBulk("1-1");
        Run(line).IsError(error);
        Assert.Equal(32, Run("XINFO STREAM s").Items.Count);
        Run("XLEN s").IsInteger(1);
    }

    [Fact]
    public void Missing_stream_is_not_made_on_request()
    {
        Assert.True(Run("XADD s NOMKSTREAM IDMP p 1 * f v").IsNull);
        Run("EXISTS s").IsInteger(0);
    }

    [Fact]
    public void Copies_dumps_and_reloads_keep_what_is_remembered()
    {
        for (int i = 0; i < 40; i++) Run($"XADD s IDMP p{i % 3} {i} * f v");
        Run("XADD s IDMP p1 1 * f v");
        const string Remembered = "100 100 3 40 40 1";
        Run("COPY s copy").IsInteger(1);
        Run("RENAME copy renamed").IsOk();
        Assert.Equal(Remembered, Producers("renamed"));
        byte[] dump = Run("DUMP s").Payload!;
        Run([.. CommandLine.Split("RESTORE restored 0"), dump]).IsOk();
        Assert.Equal(Remembered, Producers("restored"));
        Run("DEBUG RELOAD").IsOk();
        foreach (string key in (string[])["s", "renamed", "restored"])
        {
            Assert.Equal(Remembered, Producers(key));
            Run($"XADD {key} IDMP p1 1 * f v").IsBulk($"{Now}-1");
        }
    }

    [Fact]
    public void Memory_of_forgotten_ids_is_freed_by_the_sweep_and_by_others_additions()
    {
        const int Ids = 3_000;
        Run("XADD s 1-1 f v");
        Run("XADD t 1-1 f v");
        Run("XCFGSET s IDMP-DURATION 10 IDMP-MAXSIZE 100").IsOk();
        Run("XCFGSET t IDMP-DURATION 10 IDMP-MAXSIZE 100").IsOk();
        long before = Usage("s");
        foreach (string key in (string[])["s", "t"])
        {
            for (int i = 0; i < Ids; i++) Run($"XADD {key} IDMP producer{i % 1000} {i} MAXLEN 1 * f v");
        }

        Assert.True(Usage("s") > before + (Ids * 60), $"{before} to {Usage("s")}");
        _transcript.Advance(10_000);
        for (int i = 0; i < 500; i++) Run($"XADD s IDMP p {i} MAXLEN 1 * f v"); // each looks at two producers
        Assert.InRange(Usage("s"), before, before + 20_000);
        long large = Usage("t");
        new BackgroundSweep(_transcript.Keyspace, 0, 1).Run(Now, long.MaxValue, expire: true);
        Assert.InRange(Usage("t"), 0, large / 100);
        Assert.Equal("10 100 0 0 3000 0", Producers("t"));
        Run("DEL s t").IsInteger(2);
    }

    [Fact]
    public void Sweep_that_forgets_ids_is_no_change_of_the_key()
    {
        Run("XADD s IDMP p 1 * f v");
        Run("WATCH s").IsOk();
        _transcript.Advance(200_000);
        new BackgroundSweep(_transcript.Keyspace, 0, 1).Run(Now, long.MaxValue, expire: true);
        Run("MULTI").IsOk();
        Run("PING");
        Assert.Single(Run("EXEC").Items);
    }

    private long Usage(string key) => Run($"MEMORY USAGE {key} SAMPLES 0").Number;

    // duration, size, producers, ids, added, duplicates
    private string Producers(string key)
    {
        RespValue info = Run($"XINFO STREAM {key}");
        return string.Join(' ', Enumerable.Range(0, 6).Select(field => info.Items[15 + (2 * field)].Text));
    }

    private RespValue Run(string line) => _transcript.Run(line);

    private RespValue Run(IReadOnlyList<byte[]> arguments) => _transcript.Run(arguments);
}
