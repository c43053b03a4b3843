using RedKite.Server.Model;

namespace RedKite.Server.Tests.Limits;

/// <summary>What becomes text in the managed heap is bounded before it is allocated: by constants, and by what the process may use.</summary>
public sealed class ManagedTextTests : TranscriptTests
{
    private const long SmallProcess = 256L * 1024 * 1024;

    // No run of one character, of which a search would compare all at each position.
    private static readonly string Long = string.Concat(Enumerable.Range(0, ArgumentReading.TextBytesMax).Select(i => $"{i:x5}"))[..(ArgumentReading.TextBytesMax + 100)];

    [Theory]
    [InlineData("ACL CAT {0}")]
    [InlineData("ACL DRYRUN {0} GET k")]
    [InlineData("ACL DRYRUN default {0}")]
    [InlineData("CLIENT KILL TYPE {0}")]
    [InlineData("CLIENT KILL USER {0}")]
    [InlineData("LATENCY GRAPH {0}")]
    [InlineData("XPENDING {0} {0}")]
    [InlineData("EXPIRE k 1 {0}")]
    public void Errors_show_the_beginning_of_an_argument(string command)
    {
        RedKiteReply reply = Server.Execute(string.Format(System.Globalization.CultureInfo.InvariantCulture, command, Long).Split(' '));
        Assert.True(reply.IsError);
        string text = reply.Text ?? "";
        Assert.InRange(text.Length, ArgumentReading.TextBytesMax, (2 * ArgumentReading.TextBytesMax) + 200);
        Assert.DoesNotContain(Long, text, StringComparison.Ordinal);
    }

    [Fact]
    public void Long_names_are_refused_where_they_would_be_kept()
    {
        Server.Execute("CONFIG", "SET", "max-acl-rule-bytes-per-user", "100mb");
        Server.Execute("CONFIG", "SET", "max-client-name-bytes", "100000000");
        string error = $"ERR a user's name or rule has more than {ArgumentReading.TextBytesMax} bytes";
        Assert.Equal(error, Server.Execute("ACL", "SETUSER", Long).Text);
        Assert.Equal(error, Server.Execute("ACL", "SETUSER", "u", "~" + Long).Text);
        Assert.True(Server.Execute("CLIENT", "SETNAME", Long).IsError);
        Assert.Equal($"ERR the host, user or password has more than {ArgumentReading.TextBytesMax} bytes", Server.Execute("MIGRATE", Long, "1", "k", "0", "10").Text);
    }

    [Fact]
    public void A_scripts_first_line_is_bounded()
    {
        string line = "#!lua name=" + new string('x', 70_000) + "\n";
        Assert.Equal("ERR the script's first line has more than 65536 bytes", Server.Execute("SCRIPT", "LOAD", line).Text);
        Assert.Equal("ERR the script's first line has more than 65536 bytes", Server.Execute("FUNCTION", "LOAD", line).Text);
    }

    [Fact]
    public void A_small_process_takes_small_texts()
    {
        Assert.Equal(SmallProcess / 16, ManagedText.BytesMaxOf(SmallProcess));
        Assert.Equal(64L * 1024 * 1024, ManagedText.BytesMaxOf(1L << 40));
        Assert.False(ManagedText.HasRoom(ManagedText.BytesMax + 1, 1));
        Assert.False(ManagedText.HasRoom(0, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 4));
    }
}
