using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.PubSub;

/// <summary>Notifications that Redis 8.0.2 does not have: overwritten and type_changed of 8.2, and those of fields of 8.8.</summary>
public class NewerNotificationTests
{
    [Fact]
    public async Task Commands_that_replace_a_value_report_overwritten_and_type_changed()
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", "Eocg$lsz");
        server.Run("RPUSH source 3 1 2");
        server.Run("SADD members a b");
        server.Run("ZADD scores 1 a");
        server.Run("GEOADD places 1 1 a");
        Assert.Equal(["set k"], Events(server, "SET k v"));
        Assert.Equal(["overwritten k", "set k"], Events(server, "SET k w"));
        Assert.Equal(["overwritten k", "set k"], Events(server, "GETSET k x"));
        Assert.Equal(["overwritten k", "set k", "expire k"], Events(server, "SETEX k 100 w"));
        Assert.Equal(["append k"], Events(server, "APPEND k v"));
        Assert.Equal(["setrange k"], Events(server, "SETRANGE k 0 longer-than-it-was"));
        Assert.Equal(["overwritten k", "set k", "set other"], Events(server, "MSET k 1 other 1"));
        Assert.Equal(["incrby k"], Events(server, "INCR k"));
        Assert.Equal(["overwritten k", "type_changed k", "sortstore k"], Events(server, "SORT source STORE k"));
        Assert.Equal(["overwritten k", "type_changed k", "sunionstore k"], Events(server, "SUNIONSTORE k members"));
        Assert.Equal(["overwritten k", "sinterstore k"], Events(server, "SINTERSTORE k members"));
        Assert.Equal(["overwritten k", "type_changed k", "zunionstore k"], Events(server, "ZUNIONSTORE k 1 scores"));
        Assert.Equal(["overwritten k", "zrangestore k"], Events(server, "ZRANGESTORE k scores 0 -1"));
        Assert.Equal(["overwritten k", "geosearchstore k"], Events(server, "GEOSEARCHSTORE k places FROMLONLAT 1 1 BYRADIUS 1 km"));
        Assert.Equal(["overwritten k", "type_changed k", "set k"], Events(server, "BITOP NOT k other"));
        Assert.Equal(["overwritten k", "set k"], Events(server, "BITOP AND k k other"));
        Assert.Equal(["copy_to k", "overwritten k", "type_changed k"], Events(server, "COPY source k REPLACE"));
        Assert.Equal(["rename_from other", "rename_to k", "overwritten k", "type_changed k"], Events(server, "RENAME other k"));
        Assert.Equal(["overwritten k", "expire k", "set k"], Events(server, "MSETEX 1 k v EX 100"));
        Assert.Equal(["overwritten k", "type_changed k", "set k"], Events(server, "RPUSH k a", "DEL k", "SADD k a", "SET k v")[^3..]);
        Assert.Equal(["del k"], Events(server, "SDIFFSTORE k members members"));
    }

    [Fact]
    public async Task Restore_reports_overwritten_and_type_changed()
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", "Eocg");
        server.Run("RPUSH source 3 1 2");
        server.Run("SET k v");
        byte[] payload = server.Run("DUMP source").Payload!;
        using RespConnection subscriber = Subscribed(server);
        server.Client.Run("RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), payload, "REPLACE"u8.ToArray()).IsOk();
        Assert.Equal(["restore k", "overwritten k", "type_changed k"], Until(subscriber, server));
    }

    [Fact]
    public async Task All_classes_together_hide_the_newer_ones_and_are_not_theirs()
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", "EA");
        Assert.Equal(["set k", "set k"], Events(server, "SET k v", "SET k w"));
        foreach ((string given, string shown) in ((string, string)[])[("KEoc", "ocKE"), ("cnomVITSEK$", "$nocKEmSTIV"), ("AKEnoc", "AKE"), ("hS", "hS"), ("ST", "ST"), ("g$lshzxetdoK", "AK"), ("", "")])
        {
            server.Client.Run("CONFIG"u8.ToArray(), "SET"u8.ToArray(), "notify-keyspace-events"u8.ToArray(), System.Text.Encoding.ASCII.GetBytes(given)).IsOk();
            Assert.Equal(shown, server.Run("CONFIG GET notify-keyspace-events").Items[1].Text);
        }

        server.Run("CONFIG SET notify-keyspace-events AKEnoc").IsOk();
        Assert.Equal(["overwritten k", "set k"], Events(server, "SET k w").Where(text => !text.StartsWith("__", StringComparison.Ordinal)));
        server.Run("CONFIG SET notify-keyspace-events AKEn").IsOk(); // shown as before
        Assert.Equal(["set k", "new l", "lpush l"], Events(server, "SET k w", "LPUSH l x").Where(text => !text.StartsWith("__", StringComparison.Ordinal)));
        server.Run("CONFIG SET notify-keyspace-events KEq").IsError("ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class character. Use 'Ag$lshzxeKEtmdnocSTIV'.");
    }

    [Theory]
    [InlineData("S", "__subkeyspace@0__:h|hset|1:a,2:bb", "__subkeyspace@0__:h|hdel|2:bb")]
    [InlineData("Th", "__subkeyevent@0__:hset|1:h|1:a,2:bb", "__subkeyevent@0__:hdel|1:h|2:bb")]
    [InlineData("IA", "__subkeyspaceitem@0__:h\na|hset", "__subkeyspaceitem@0__:h\nbb|hset", "__subkeyspaceitem@0__:h\nbb|hdel")]
    [InlineData("V", "__subkeyspaceevent@0__:hset|h|1:a,2:bb", "__subkeyspaceevent@0__:hdel|h|2:bb")]
    [InlineData("Vg")] // only generic events
    [InlineData("E")]
    public async Task Fields_are_published_to_the_selected_channels(string letters, params string[] expected)
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", letters);
        Assert.Equal(expected, FieldEvents(server, "HSET h a 1 bb 2", "HDEL h bb nosuch", "SET k v", "HGET h a"));
    }

    [Fact]
    public async Task Each_hash_command_names_the_fields_that_it_changes()
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", "S");
        Assert.Equal(["hset|1:a,1:a"], Changes("HSET h a 1 a 2"));
        Assert.Equal(["hset|1:b"], Changes("HMSET h b 1"));
        Assert.Equal([], Changes("HSETNX h b 2"));
        Assert.Equal(["hset|1:c"], Changes("HSETNX h c 2"));
        Assert.Equal(["hincrby|1:c"], Changes("HINCRBY h c 2"));
        Assert.Equal(["hincrbyfloat|1:d"], Changes("HINCRBYFLOAT h d 2"));
        Assert.Equal(["hexpire|1:a,1:b"], Changes("HEXPIRE h 1000 FIELDS 3 a nosuch b"));
        Assert.Equal(["hpersist|1:b"], Changes("HPERSIST h FIELDS 2 b c"));
        Assert.Equal(["hexpire|1:c"], Changes("HGETEX h EX 1000 FIELDS 1 c"));
        Assert.Equal(["hpersist|1:c"], Changes("HGETEX h PERSIST FIELDS 2 c d"));
        Assert.Equal([], Changes("HGETEX h FIELDS 1 c"));
        Assert.Equal(["hset|1:e,1:f", "hexpire|1:e,1:f"], Changes("HSETEX h EX 1000 FIELDS 2 e 1 f 2"));
        Assert.Equal(["hdel|1:e"], Changes("HGETDEL h FIELDS 2 e nosuch"));
        Assert.Equal(["hdel|1:f"], Changes("HEXPIRE h 0 FIELDS 1 f"));
        Assert.Equal(["hset|1:x,1:y"], Changes("HIMPORT PREPARE fs x y", "HIMPORT SET imported fs 1 2"));

        string[] Changes(params string[] commands) => [.. FieldEvents(server, commands).Select(text => text[(text.IndexOf('|') + 1)..])];
    }

    [Fact]
    public async Task Fields_that_expire_together_are_one_message()
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", "STh");
        server.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        server.Run("HSET h a 1 b 2 c 3");
        using RespConnection subscriber = Subscribed(server);
        server.Run("HPEXPIRE h 1 FIELDS 2 a c");
        Assert.True(SpinWait.SpinUntil(() => server.Run("HMGET h a b c").Items[0].IsNull, TimeSpan.FromSeconds(60)), "they expire");
        Assert.Equal(
            ["__subkeyspace@0__:h|hexpired|1:a,1:c", "__subkeyevent@0__:hexpired|1:h|1:a,1:c"],
            Until(subscriber, server, whole: true).Where(text => text.Contains("hexpired", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task Keys_and_fields_of_any_bytes_are_published()
    {
        await using LiveServer server = await LiveServer.StartAsync("notify-keyspace-events", "STIV");
        byte[] key = [(byte)'|', (byte)'\n'];
        byte[] field = [(byte)',', (byte)':'];
        using RespConnection subscriber = Subscribed(server);
        server.Client.Run("HSET"u8.ToArray(), key, field, "v"u8.ToArray()).IsInteger(1);
        Assert.Equal(["__subkeyspace@0__:|\n|hset|2:,:", "__subkeyevent@0__:hset|2:|\n|2:,:", "__subkeyspaceevent@0__:hset||\n|2:,:"], Until(subscriber, server, whole: true)); // none for each field
    }

    private static string[] Events(LiveServer server, params string[] commands)
    {
        using RespConnection subscriber = Subscribed(server);
        foreach (string command in commands) server.Run(command);
        return Until(subscriber, server);
    }

    private static string[] FieldEvents(LiveServer server, params string[] commands)
    {
        using RespConnection subscriber = Subscribed(server);
        foreach (string command in commands) server.Run(command);
        return [.. Until(subscriber, server, whole: true).Where(text => text.StartsWith("__subkey", StringComparison.Ordinal))];
    }

    private static RespConnection Subscribed(LiveServer server)
    {
        RespConnection subscriber = RespConnection.Connect(server.Server.Port);
        subscriber.Run("PSUBSCRIBE *");
        return subscriber;
    }

    // The messages up to one that is sent now: "set key" for the events of keys, otherwise channel and message.
    private static string[] Until(RespConnection subscriber, LiveServer server, bool whole = false)
    {
        server.Run("PUBLISH end end");
        var messages = new List<string>();
        while (true)
        {
            RespValue message = subscriber.ReadAny();
            string channel = message.Items[2].Text;
            if (channel == "end") return [.. messages];
            messages.Add(channel.StartsWith("__keyevent@0__:", StringComparison.Ordinal) && !whole ? $"{channel[15..]} {message.Items[3].Text}" : $"{channel}|{message.Items[3].Text}");
        }
    }
}
