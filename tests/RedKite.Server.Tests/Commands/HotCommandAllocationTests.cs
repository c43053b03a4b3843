using System.Buffers;
using RedKite.Testing;

namespace RedKite.Server.Tests.Commands;

/// <summary>Hot commands allocate nothing on the managed heap once buffers and code are warm.</summary>
public sealed class HotCommandAllocationTests : IAsyncLifetime
{
    private const int Commands = 10_000;
    private const int WarmingRounds = 4;

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("GET hit")]
    [InlineData("GET miss")]
    [InlineData("SET hit other")]
    [InlineData("SET hit other EX 100")]
    [InlineData("SET hit other NX GET")]
    [InlineData("SETEX hit 100 other")]
    [InlineData("SETNX hit other")]
    [InlineData("GETEX hit PX 100000")]
    [InlineData("GETDEL miss")]
    [InlineData("GETSET hit other")]
    [InlineData("INCR count")]
    [InlineData("DECRBY count 3")]
    [InlineData("INCRBYFLOAT float 0.25")]
    [InlineData("MGET hit miss count")]
    [InlineData("MSET hit one count 2")]
    [InlineData("MSETNX hit one count 2")]
    [InlineData("APPEND grows x")]
    [InlineData("STRLEN hit")]
    [InlineData("SETRANGE hit 2 x")]
    [InlineData("GETRANGE hit 1 2")]
    public void Ten_thousand_pipelined_commands_allocate_nothing(string line)
    {
        _transcript.Run("MSET hit value count 1000000 float 1.5 grows x").IsOk();
        byte[] one = CommandLine.Encode(CommandLine.Split(line));
        byte[] pipeline = new byte[one.Length * Commands];
        for (int i = 0; i < Commands; i++) one.CopyTo(pipeline, i * one.Length);
        var replies = new ArrayBufferWriter<byte>(4 * 1024 * 1024);

        // The least of all rounds: a collection that other tests cause counts the rest of a thread's room as allocated.
        long allocated = long.MaxValue;
        for (int round = 0; round <= WarmingRounds; round++)
        {
            replies.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            int executed = _transcript.Client.Execute(pipeline, replies);
            allocated = Math.Min(allocated, GC.GetAllocatedBytesForCurrentThread() - before);
            Assert.Equal(pipeline.Length, executed);
        }

        Assert.Equal(0, allocated);
    }
}
