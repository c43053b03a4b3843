using RedKite.Net.Tls;

namespace RedKite.Net.Tests;

public sealed class HandshakeQueueTests
{
    private readonly HandshakeQueue<string> _queue = new();

    [Fact]
    public void Oldest_of_the_source_with_most_is_given_up_first()
    {
        _queue.Add("good", "good 1");
        for (int i = 0; i < 4; i++) _queue.Add("bad", $"bad {i}");
        _queue.Add("good", "good 2");
        Assert.Equal("bad 0", _queue.TakeOldestOfMost());
        Assert.Equal("bad 1", _queue.TakeOldestOfMost());
        Assert.True(_queue.Remove("bad 2"));
        Assert.False(_queue.Remove("bad 2"));
        Assert.Equal("good 1", _queue.TakeOldestOfMost());
        Assert.Equal(2, _queue.Count);
    }

    [Fact]
    public void Sources_without_handshakes_are_forgotten()
    {
        for (int i = 0; i < 1000; i++)
        {
            _queue.Add($"{i}", $"item {i}");
            Assert.True(_queue.Remove($"item {i}"));
        }

        Assert.Equal(0, _queue.Count);
        _queue.Add("0", "again");
        Assert.Equal("again", _queue.TakeOldestOfMost());
    }
}
