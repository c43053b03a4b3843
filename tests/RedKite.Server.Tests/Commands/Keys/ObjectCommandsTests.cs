namespace RedKite.Server.Tests.Commands;

public class ObjectCommandsTests : TranscriptTests
{
    [Fact]
    public void Encoding_distinguishes_integers_short_and_long_strings()
    {
        Run("SET a 12345").IsOk();
        Run("OBJECT ENCODING a").IsText("int");
        Run("SET a 012345").IsOk();
        Run("OBJECT ENCODING a").IsText("embstr");
        Run("SET a " + new string('v', 44)).IsOk();
        Run("OBJECT encoding a").IsText("embstr");
        Run("SET a " + new string('v', 45)).IsOk();
        Run("OBJECT ENCODING a").IsText("raw");
        Run("RENAME a b").IsOk();
        Run("OBJECT ENCODING b").IsText("raw");
        Run("OBJECT ENCODING a").IsNil();
    }

    [Fact]
    public void Refcount_of_a_small_integer_is_that_of_a_shared_object()
    {
        Run("SET a 9999").IsOk();
        Run("OBJECT REFCOUNT a").IsInteger(int.MaxValue);
        Run("SET a 10000").IsOk();
        Run("OBJECT REFCOUNT a").IsInteger(1);
        Run("SET a -1").IsOk();
        Run("OBJECT REFCOUNT a").IsInteger(1);
        Run("OBJECT REFCOUNT nope").IsNil();
    }

    [Fact]
    public void Idletime_counts_from_the_last_access_but_not_from_inspection()
    {
        Run("SET a 1").IsOk();
        Clock.Advance(30_000);
        Run("TYPE a").IsStatus("string");
        Run("TTL a").IsInteger(-1);
        Run("EXISTS a").IsInteger(1);
        Run("OBJECT IDLETIME a").IsInteger(30);
        Run("TOUCH a").IsInteger(1);
        Run("OBJECT IDLETIME a").IsInteger(0);
        Clock.Advance(5_000);
        Run("COPY a b").IsInteger(1);
        Clock.Advance(5_000);
        Run("OBJECT IDLETIME b").IsInteger(5);
        Run("OBJECT IDLETIME nope").IsNil();
    }

    [Fact]
    public void Freq_is_refused_without_an_LFU_policy()
    {
        Run("SET a 1").IsOk();
        Run("OBJECT FREQ a").IsError("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.");
        Run("OBJECT FREQ nope").IsNil();
    }

    [Fact]
    public async Task Freq_counts_and_decays_and_idletime_is_refused_under_an_LFU_policy()
    {
        var options = new RedKiteOptions { Port = 0, TimeProvider = Clock };
        options.Settings["maxmemory-policy"] = "allkeys-lfu";
        options.Settings["loops"] = "1";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        server.Execute("SET", "a", "1").IsOk();
        server.Execute("OBJECT", "FREQ", "a").IsInteger(5);
        server.Execute("TOUCH", "a").IsInteger(1);
        server.Execute("OBJECT", "FREQ", "a").IsInteger(6);
        Clock.Advance(2 * 60_000);
        server.Execute("OBJECT", "FREQ", "a").IsInteger(4);
        server.Execute("OBJECT", "IDLETIME", "a").IsError("ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.");
    }

    [Fact]
    public void Unknown_subcommands_are_refused()
    {
        Run("OBJECT").IsError("ERR wrong number of arguments for 'object' command");
        Run("OBJECT foo").IsError("ERR unknown subcommand 'foo'. Try OBJECT HELP.");
        Run("OBJECT freq").IsError("ERR wrong number of arguments for 'object|freq' command");
        Assert.Equal(11, Run("OBJECT HELP").Items.Count);
    }
}
