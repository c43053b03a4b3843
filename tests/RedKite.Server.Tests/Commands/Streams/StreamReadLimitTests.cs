using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>MAXCOUNT and MAXSIZE as on https://redis.io/commands (xread, xreadgroup): limits of the reply to all streams together.</summary>
public sealed class StreamReadLimitTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        foreach (string key in (string[])["a", "b", "c"])
        {
            for (int i = 1; i <= 3; i++) Run($"XADD {key} {i}-1 f {new string('v', 100)}");
        }
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("MAXCOUNT 5", "a1 a2 a3 b1 b2")]
    [InlineData("MAXCOUNT 3", "a1 a2 a3")]
    [InlineData("COUNT 2 MAXCOUNT 3", "a1 a2 b1")]
    [InlineData("MAXCOUNT 100", "a1 a2 a3 b1 b2 b3 c1 c2 c3")]
    [InlineData("MAXSIZE 1", "a1")]
    [InlineData("MAXSIZE 300", "a1 a2")]
    [InlineData("COUNT 1 MAXSIZE 330", "a1 b1")]
    [InlineData("MAXSIZE 100000", "a1 a2 a3 b1 b2 b3 c1 c2 c3")]
    [InlineData("MAXSIZE 9223372036854775807 MAXCOUNT 9223372036854775807", "a1 a2 a3 b1 b2 b3 c1 c2 c3")]
    [InlineData("MAXSIZE 500 MAXCOUNT 2", "a1 a2")]
    public void Limits_hold_for_all_streams_in_order(string limits, string entries)
    {
        Assert.Equal(entries, Entries(Run($"XREAD {limits} STREAMS a b c 0 0 0")));
        foreach (string key in (string[])["a", "b", "c"]) Run($"XGROUP CREATE {key} g 0").IsOk();
        Assert.Equal(entries, Entries(Run($"XREADGROUP GROUP g x {limits} STREAMS a b c > > >")));
        Assert.Equal(entries, Entries(Run($"XREADGROUP GROUP g x {limits} STREAMS a b c 0 0 0")), ignoreCase: true);
        int count = entries.Split(' ').Length;
        Assert.Equal(count, new[] { "a", "b", "c" }.Sum(key => Run($"XPENDING {key} g").Items[0].Number));
        _transcript.Advance(1_000);
        Assert.Equal(entries, Entries(Run($"XREADGROUP GROUP g y {limits} CLAIM 500 STREAMS a b c > > >")));
    }

    [Fact]
    public void Reply_is_no_longer_than_the_size()
    {
        for (int size = 200; size < 1_500; size += 7)
        {
            RespValue reply = Run($"XREAD MAXSIZE {size} STREAMS a b c 0 0 0");
            int entries = reply.Items.Sum(stream => stream.Items[1].Items.Count);
            Assert.All(reply.Items, stream => Assert.NotEmpty(stream.Items[1].Items));
            int bytes = (entries * 132) + (reply.Items.Count * 15);
            if (entries < 9) Assert.InRange(bytes, size - 160, size + 4);
        }
    }

    [Theory]
    [InlineData("MAXCOUNT 0", "ERR MAXCOUNT must be a positive integer")]
    [InlineData("MAXCOUNT x", "ERR MAXCOUNT must be a positive integer")]
    [InlineData("MAXSIZE -1", "ERR MAXSIZE must be a positive integer")]
    [InlineData("COUNT 3 MAXCOUNT 2", "ERR MAXCOUNT must not be less than COUNT")]
    public void Limit_must_be_positive_and_not_below_the_count(string limits, string error)
    {
        Run($"XREAD {limits} STREAMS a 0").IsError(error);
        Run("COMMAND GETKEYS XREAD MAXCOUNT 2 MAXSIZE 3 STREAMS a 0").IsArray("a");
    }

    private static string Entries(RespValue reply) =>
        string.Join(' ', reply.Items.SelectMany(stream => stream.Items[1].Items.Select(entry => stream.Items[0].Text + entry.Items[0].Text[..1])));

    private RespValue Run(string line) => _transcript.Run(line);
}
