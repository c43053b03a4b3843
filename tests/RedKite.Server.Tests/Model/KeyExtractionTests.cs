using System.Text;
using RedKite.Protocol;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// Keys by every kind of specification, in rows modelled on Redis commands; the expected keys are the replies of COMMAND
/// GETKEYS of Redis 7.0 for these commands.
/// </summary>
public sealed class KeyExtractionTests : IAsyncLifetime
{
    private static readonly Command MultiSet = Row("MSET", new KeySpec(1, -1, 2, KeyFlags.Overwrite));
    private static readonly Command BlockingPop = Row("BLPOP", new KeySpec(1, -2, 1, KeyFlags.ReadWrite));
    private static readonly Command UnionStore = Row("ZUNIONSTORE", new(1, 1, 1, KeyFlags.Overwrite), new KeySpec(3, 0, 1, KeyFlags.ReadOnly, CountAt: 2));
    private static readonly Command StreamRead = Row("XREAD", new KeySpec(1, -1, 1, KeyFlags.ReadOnly) { Keyword = "STREAMS", StartFrom = 1, Limit = 2 });
    private static readonly Command Radius = Row(
        "GEORADIUS",
        new(1, 1, 1, KeyFlags.ReadOnly),
        new(1, 1, 1, KeyFlags.Overwrite) { Keyword = "STORE", StartFrom = 6 },
        new KeySpec(1, 1, 1, KeyFlags.Overwrite) { Keyword = "STOREDIST", StartFrom = 6 });

    private static readonly Command Migrate = Row("MIGRATE", new(3, 3, 1, KeyFlags.ReadWrite), new KeySpec(1, -1, 1, KeyFlags.ReadWrite) { Keyword = "KEYS", StartFrom = -2 });
    private static readonly Command Publish = Row("SPUBLISH", new KeySpec(1, 1, 1, KeyFlags.NotKey));
    private static readonly Command Sort = Row("SORT", new(1, 1, 1, KeyFlags.ReadOnly), new(0, 0, 1, KeyFlags.ReadOnly) { IsUnknown = true });

    private RedKiteServer _server = null!;

    public async ValueTask InitializeAsync() => _server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } });

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    [Fact]
    public void Ranges_have_steps_and_may_end_before_the_last_argument()
    {
        Assert.Equal("a c e", KeysOf(MultiSet, "MSET a b c d e f"));
        Assert.Equal("a c e", KeysOf(MultiSet, "MSET a b c d e"));
        Assert.Equal("a b", KeysOf(BlockingPop, "BLPOP a b 0"));
    }

    [Fact]
    public void Numkeys_determines_the_number_of_keys()
    {
        Assert.Equal("d a b", KeysOf(UnionStore, "ZUNIONSTORE d 2 a b WEIGHTS 1 2"));
        Assert.Equal("d a", KeysOf(UnionStore, "ZUNIONSTORE d 1 a"));
    }

    [Theory]
    [InlineData("ZUNIONSTORE d 3 a b")]
    [InlineData("ZUNIONSTORE d 0 a b")]
    [InlineData("ZUNIONSTORE d -1 a b")]
    [InlineData("ZUNIONSTORE d x a b")]
    [InlineData("ZUNIONSTORE d 99999999999 a b")]
    [InlineData("ZUNIONSTORE d")]
    public void Invalid_key_count_is_a_mismatch_and_other_keys_are_found(string request) => Assert.Equal("d (misfit)", KeysOf(UnionStore, request));

    [Fact]
    public void Keys_after_a_keyword_are_found_anywhere()
    {
        Assert.Equal("a b", KeysOf(StreamRead, "XREAD COUNT 1 streams a b 0 0"));
        Assert.Equal("(misfit)", KeysOf(StreamRead, "XREAD STREAMS a b 0"));
        Assert.Equal("(misfit)", KeysOf(StreamRead, "XREAD COUNT 1 STREAMS a"));
        Assert.Equal("", KeysOf(StreamRead, "XREAD COUNT 1 other"));
        Assert.Equal("k d e", KeysOf(Radius, "GEORADIUS k 1 1 1 m STORE d STOREDIST e"));
        Assert.Equal("k", KeysOf(Radius, "GEORADIUS k 1 1 1 m"));
        Assert.Equal("STORE d", KeysOf(Radius, "GEORADIUS STORE 1 1 1 m STORE d"));
    }

    [Fact]
    public void Keyword_can_be_searched_from_the_end() =>
        Assert.Equal("k b", KeysOf(Migrate, "MIGRATE h 1 k 0 KEYS KEYS b"));

    [Fact]
    public void Unknown_positions_are_omitted()
    {
        Assert.Equal("", KeysOf(Publish, "SPUBLISH channel message"));
        Assert.Equal("k", KeysOf(Sort, "SORT k BY other_*"));
    }

    private string KeysOf(Command command, string request)
    {
        // Once as a request and once as GETKEYS parses it: both must find the same.
        string alone = KeysOf(command, request, start: 0);
        Assert.Equal(alone, KeysOf(command, "COMMAND GETKEYS " + request, start: 2));
        return alone;
    }

    private string KeysOf(Command command, string request, int start)
    {
        byte[] input = Encoding.Latin1.GetBytes(request);
        var slices = new List<ArgumentSlice>();
        int position = 0;
        foreach (byte[] word in CommandLine.Split(request))
        {
            slices.Add(new ArgumentSlice(position, word.Length));
            position += word.Length + 1;
        }

        CommandExecutor executor = _server.Engine.NewExecutor();
        var cmd = new CommandContext(executor.Environment, _server.Engine.Clients.Add(null, 0, _server.Engine.Users.InProcess, authenticated: true), input, executor.Reply, database: 0);
        cmd.Begin(command, slices.ToArray(), 0);
        var keys = new KeyExtraction(command, start);
        var found = new List<string>();
        while (keys.MoveNext(cmd)) found.Add(cmd.Text(keys.Argument));
        if (keys.HasMisfit) found.Add("(misfit)");
        return string.Join(' ', found);
    }

    private static Command Row(string name, params KeySpec[] keys) =>
        new(name, -2, CommandFlags.None, keys, (ref CommandContext _) => { }, new CommandDoc("1.0.0", "O(1)", "Stands for a Redis command."));
}
