using RedKite.Protocol;
using RedKite.Server.Commands.Sets;
using RedKite.Server.Commands.Strings;
using RedKite.Server.Model;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>What commands take whose arguments no data bounds: keys that are missing, names that come again and again, patterns of users and subscribers.</summary>
public sealed class WorkTests : TranscriptTests
{
    private const int Missing = 5_000;

    // Each block of the result looked up each source once more: 20,000 missing ones took 83 seconds with 100 MB.
    [Theory]
    [InlineData("AND")]
    [InlineData("OR")]
    [InlineData("XOR")]
    [InlineData("ONE")]
    [InlineData("DIFF")]
    [InlineData("DIFF1")]
    [InlineData("ANDOR")]
    public void Bitop_takes_no_more_than_its_sources_have(string operation)
    {
        const int Bytes = 1 << 20;
        Server.Execute("SETRANGE", "large", $"{Bytes - 1}", "x");
        Server.Execute("SET", "short", "abc");
        string[] sources = [.. Enumerable.Range(0, Missing).Select(i => $"missing{i}"), "short", "large"];
        foreach (string[] request in (string[][])[["BITOP", operation, "d", "large", .. sources], ["BITOP", operation, "d", .. sources], ["BITOP", operation, "large", "large", .. sources]])
        {
            BitmapCommands.CombinedBytes = 0;
            Assert.Equal(Bytes, Server.Execute(request).Integer);
            Assert.InRange(BitmapCommands.CombinedBytes, 1, (3 * Bytes) + (2 * Missing));
        }
    }

    [Fact]
    public void Bitop_combines_sources_of_any_lengths()
    {
        using RedKiteSession client = Server.CreateSession();
        var random = new Random(7);
        int[] lengths = [0, 1, 3, 100, 16_384, 16_385, 40_000];
        foreach (string operation in (string[])["AND", "OR", "XOR", "ONE", "DIFF", "DIFF1", "ANDOR"])
        {
            for (int round = 0; round < 30; round++)
            {
                byte[][] sources = [.. Enumerable.Range(0, 2 + random.Next(5)).Select(_ => Bytes(random, lengths[random.Next(lengths.Length)]))];
                for (int i = 0; i < sources.Length; i++)
                {
                    Server.Execute("DEL", $"k{i}");
                    if (sources[i].Length > 0) client.Execute((ReadOnlyMemory<byte>[])[Utf8("SET"), Utf8($"k{i}"), sources[i]]);
                }

                string destination = random.Next(2) == 0 ? "d" : "k0";
                Server.Execute(["BITOP", operation, destination, .. Enumerable.Range(0, sources.Length).Select(i => $"k{i}")]);
                byte[] expected = Combined(operation, sources);
                Assert.Equal(expected, expected.Length == 0 && Server.Execute("EXISTS", destination).Integer == 0 ? [] : Server.Execute("GET", destination).Bytes.ToArray());
            }
        }
    }

    [Fact]
    public void Many_small_sets_are_united_before_they_are_subtracted()
    {
        Assert.True(SetSources.Unites(members: 1_000_000, others: 1_000, subtracted: 1_000));
        Assert.False(SetSources.Unites(members: 1_000_000, others: 4, subtracted: 4));
        Assert.False(SetSources.Unites(members: 1_000, others: 1_000, subtracted: 1_000_000));
        Server.Execute(["SADD", "s", .. Enumerable.Range(0, 1_000).Select(i => $"{i}"), "text", "other"]);
        Server.Execute(["ZADD", "z", .. Enumerable.Range(0, 1_000).SelectMany(i => (string[])[$"{i}", $"{i}"]), "1", "text", "2", "other"]);
        for (int i = 0; i < 30; i++)
        {
            Server.Execute("SADD", $"s{i}", $"{i * 3}", i == 5 ? "text" : "1");
            Server.Execute("ZADD", $"z{i}", "1", $"{i * 3}", "1", i == 5 ? "text" : "1");
        }

        string[] sets = [.. Enumerable.Range(0, 30).Select(i => $"s{i}"), .. Enumerable.Range(0, 100).Select(i => $"missing{i}")];
        string[] sorted = [.. Enumerable.Range(0, 30).Select(i => i % 2 == 0 ? $"z{i}" : $"s{i}"), .. Enumerable.Range(0, 100).Select(i => $"missing{i}")];
        HashSet<string> expected = [.. Enumerable.Range(0, 1_000).Where(i => i != 1 && (i % 3 != 0 || i >= 90)).Select(i => $"{i}"), "other"];
        Assert.Equal(expected, Server.Execute(["SDIFF", "s", .. sets]).Items.Select(item => item.Text!).ToHashSet());
        Assert.Equal(expected.Count, Server.Execute(["SDIFFSTORE", "d", "s", .. sets]).Integer);
        Assert.Equal(expected, Server.Execute("SMEMBERS", "d").Items.Select(item => item.Text!).ToHashSet());
        Assert.Equal(expected.Count, Server.Execute(["SDIFFCARD", $"{sets.Length + 1}", "s", .. sets]).Integer);
        Assert.Equal(expected, Server.Execute(["ZDIFF", $"{sorted.Length + 1}", "z", .. sorted]).Items.Select(item => item.Text!).ToHashSet());
        Assert.Equal(expected.Count, Server.Execute(["ZDIFFSTORE", "d", $"{sorted.Length + 1}", "z", .. sorted]).Integer);
    }

    // Each time that a stream is named, all that is pending is looked at.
    [Fact]
    public void Claims_of_the_same_stream_again_and_again_are_refused()
    {
        const int Entries = 3_000;
        Server.Execute("XGROUP", "CREATE", "x", "g", "0", "MKSTREAM");
        for (int i = 0; i < Entries; i++) Server.Execute("XADD", "x", "*", "f", "v");
        Server.Execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">");
        const int Times = 1_500;
        Assert.Equal("ERR the command would read more than 16777216 elements again, because it names the same keys",
            Server.Execute(["XREADGROUP", "GROUP", "g", "d", "COUNT", "1", "CLAIM", "0", "STREAMS", .. Enumerable.Repeat("x", Times), .. Enumerable.Repeat(">", Times)]).Text);
        Assert.Equal(2, Server.Execute("XREADGROUP", "GROUP", "g", "d", "COUNT", "1", "CLAIM", "0", "STREAMS", "x", "x", ">", ">").Items.Count);
    }

    [Fact]
    public void Names_that_are_short_and_have_long_replies_are_limited()
    {
        Assert.Equal("ERR more than 1024 names of commands", Server.Execute(["LATENCY", "HISTOGRAM", .. Enumerable.Repeat("set", 1_025)]).Text);
        Assert.Equal("ERR CONFIG GET failed - more than 1024 patterns", Server.Execute(["CONFIG", "GET", .. Enumerable.Repeat("*", 1_025)]).Text);
    }

    [Fact]
    public async Task Client_that_is_named_again_and_again_is_listed_once()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        long id = server.Run("CLIENT ID").Number;
        foreach ((int times, int lines) in ((int, int)[])[(1_000, 1_000), (2_000, 1)])
        {
            Assert.Equal(lines, server.Run($"CLIENT LIST ID {string.Join(' ', Enumerable.Repeat(id, times))}").Text.AsSpan().Count('\n'));
        }
    }

    // A user's patterns and a request's keys: both may be any number. An allowed prefix stays allowed.
    [Fact]
    public void Patterns_of_a_user_take_so_many_steps_for_a_request_and_no_more()
    {
        const int Keys = 200;
        using RedKiteSession client = Server.CreateSession();
        client.Execute(["ACL", "SETUSER", "u", "on", "+@all", .. Enumerable.Range(0, 500).Select(i => $"~*a*a*a*a*{i}b"), "~*c", "~aaaa*"]);
        string text = new('a', 200);
        Assert.Equal("OK", client.Execute(["ACL", "DRYRUN", "u", "MGET", .. Enumerable.Repeat(text, Keys)]).Text);
        long usual = AccessPattern.RequestStepsMax - client.UnitWork.AccessLeft;
        Assert.InRange(usual, 1, AccessPattern.RequestStepsMax / 100 * Keys);
        Assert.Equal("OK", client.Execute(["ACL", "DRYRUN", "u", "MGET", .. Enumerable.Repeat(text, 100 * Keys)]).Text);
        Assert.InRange(client.UnitWork.AccessLeft, -LongestMatch, 0);
        Assert.StartsWith("User u has no permissions", client.Execute(["ACL", "DRYRUN", "u", "MGET", .. Enumerable.Repeat(text, 100 * Keys), "xc"]).Text, StringComparison.Ordinal);
        Assert.Equal("OK", client.Execute("ACL", "DRYRUN", "u", "GET", "xc").Text);

        // The commands of a transaction together.
        client.Execute("MULTI");
        for (int i = 0; i < 3; i++) client.Execute(["ACL", "DRYRUN", "u", "MGET", .. Enumerable.Repeat(text, 50 * Keys)]);
        Assert.All(client.Execute("EXEC").Items, item => Assert.Equal("OK", item.Text));
        Assert.InRange(client.UnitWork.AccessLeft, -LongestMatch, 0);
    }

    // Ordinary patterns of any number of keys are free.
    [Fact]
    public void Ordinary_patterns_of_a_user_are_free()
    {
        using RedKiteSession client = Server.CreateSession();
        client.Execute("ACL", "SETUSER", "u", "on", "+@all", "~*:a:*", "~*:b:*", "~user:*:c", "~user:?:*");
        Assert.Equal("OK", client.Execute(["ACL", "DRYRUN", "u", "MGET", .. Enumerable.Range(0, 10_000).Select(i => $"user:{i}:some:b:{i}")]).Text);
        Assert.Equal(AccessPattern.RequestStepsMax, client.UnitWork.AccessLeft);
    }

    // For each of many messages, a subscriber's patterns took as much as for one.
    [Fact]
    public async Task Patterns_of_subscribers_take_so_many_steps_for_all_messages_of_a_command_or_transaction()
    {
        const int Steps = 1 << 20;
        const int Messages = 20;
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("CONFIG SET notify-keyspace-events KEA");
        server.Run("PSUBSCRIBE *" + string.Concat(Enumerable.Repeat("[a]", 200)) + "b");
        using RespConnection other = RespConnection.Connect(server.Server.Port);
        other.Run("PSUBSCRIBE ch*");
        using RedKiteSession client = server.Server.CreateSession();
        client.UnitWork.MessagePatterns.Granted = Steps;
        string text = new('a', 20_000);
        long taken = client.UnitWork.MessagePatterns.Taken;
        client.Execute(["MSET", .. Enumerable.Range(0, Messages).SelectMany(i => (string[])[text + i, "v"])]);
        Assert.InRange(client.UnitWork.MessagePatterns.Taken - taken, Steps, Steps + (Messages * GlobBudget.FreeForEachText));
        client.Execute("MULTI");
        for (int i = 0; i < Messages; i++) client.Execute("PUBLISH", text, "m");
        client.Execute("PUBLISH", "channel", "m");
        taken = client.UnitWork.MessagePatterns.Taken;
        Assert.Equal(1, client.Execute("EXEC").Items[^1].Integer);
        Assert.InRange(client.UnitWork.MessagePatterns.Taken - taken, Steps, Steps + (Messages * GlobBudget.FreeForEachText));
        Assert.Equal(1, client.Execute("PUBLISH", "channel", "m").Integer);
    }

    private const long LongestMatch = 1 << 16;

    private static ReadOnlyMemory<byte> Utf8(string text) => System.Text.Encoding.UTF8.GetBytes(text);

    private static byte[] Bytes(Random random, int length)
    {
        byte[] bytes = new byte[length];
        random.NextBytes(bytes);
        return bytes;
    }

    private static byte[] Combined(string operation, byte[][] sources)
    {
        byte[] result = new byte[sources.Max(source => source.Length)];
        for (int i = 0; i < result.Length; i++)
        {
            byte[] all = [.. sources.Select(source => i < source.Length ? source[i] : (byte)0)];
            int first = all[0];
            int others = all[1..].Aggregate(0, (a, b) => a | b);
            int once = 0, twice = 0;
            foreach (byte b in all) (once, twice) = (once | b, twice | (once & b));
            result[i] = (byte)(operation switch
            {
                "AND" => all.Aggregate(255, (a, b) => a & b),
                "OR" => first | others,
                "XOR" => all.Aggregate(0, (a, b) => a ^ b),
                "ONE" => once & ~twice,
                "DIFF" => first & ~others,
                "DIFF1" => others & ~first,
                _ => first & others,
            });
        }

        return result;
    }
}
