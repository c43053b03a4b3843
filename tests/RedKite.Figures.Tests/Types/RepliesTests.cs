using System.Text;
using RedKite.Figures.Types;

namespace RedKite.Figures.Tests.Types;

/// <summary>The ends of replies.</summary>
public class RepliesTests
{
    [Theory]
    [InlineData("+OK\r\n")]
    [InlineData(":1000\r\n")]
    [InlineData("$-1\r\n")]
    [InlineData("$0\r\n\r\n")]
    [InlineData("$5\r\na\r\nbc\r\n")]
    [InlineData("*0\r\n")]
    [InlineData("*-1\r\n")]
    [InlineData("*2\r\n*1\r\n:1\r\n$1\r\nx\r\n")]
    public void Reply_is_complete_with_its_last_byte_and_not_before(string reply)
    {
        byte[] received = Encoding.ASCII.GetBytes(reply + "+next\r\n");
        Assert.True(Replies.TryMeasure(received, out int bytes));
        Assert.Equal(reply.Length, bytes);
        for (int cut = 0; cut < reply.Length; cut++) Assert.False(Replies.TryMeasure(received.AsSpan(0, cut), out _));
    }

    [Fact]
    public void Error_reply_is_reported()
    {
        var error = Assert.Throws<CannotMeasureException>(() => Replies.TryMeasure("*2\r\n:1\r\n-ERR no\r\n"u8, out _));
        Assert.Contains("ERR no", error.Message, StringComparison.Ordinal);
        Assert.Throws<CannotMeasureException>(() => Replies.TryMeasure("HTTP/1.1 400\r\n"u8, out _));
        Assert.Throws<CannotMeasureException>(() => Replies.TryMeasure("$x\r\n"u8, out _));
    }
}
