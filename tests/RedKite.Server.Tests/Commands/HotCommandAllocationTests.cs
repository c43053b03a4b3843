using System.Buffers;
using RedKite.Testing;

namespace RedKite.Server.Tests.Commands;

/// <summary>Hot commands allocate nothing on the managed heap once buffers and code are warm.</summary>
public sealed class HotCommandAllocationTests : IAsyncLifetime
{
    private const int Commands = 10_000;
    private const int WarmingRounds = 3;
    private const int MeasuredRounds = 5;

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
    [InlineData("SETBIT hit 30 1")]
    [InlineData("GETBIT hit 30")]
    [InlineData("BITCOUNT hit 0 -1 BIT")]
    [InlineData("BITPOS hit 1 0 -1 BIT")]
    [InlineData("BITOP XOR grows grows hit")]
    [InlineData("BITOP AND other hit grows miss")]
    [InlineData("BITFIELD hit OVERFLOW SAT INCRBY i13 5 7 GET u9 #1")]
    [InlineData("PFADD distinct a b c")]
    [InlineData("PFCOUNT distinct")]
    [InlineData("SADD members a b 3")]
    [InlineData("SREM members nothing")]
    [InlineData("SISMEMBER members a")]
    [InlineData("SMEMBERS members")]
    [InlineData("SRANDMEMBER members 2")]
    [InlineData("SRANDMEMBER members -5")]
    [InlineData("SMOVE members others b")]
    [InlineData("SINTER members others")]
    [InlineData("SUNION members others")]
    [InlineData("SINTERSTORE result members others")]
    [InlineData("SUNIONSTORE result members others")]
    [InlineData("EXPIRE hit 100")]
    [InlineData("TTL hit")]
    [InlineData("EXISTS hit miss")]
    public void Ten_thousand_pipelined_commands_allocate_nothing(string line)
    {
        _transcript.Run("MSET hit value count 1000000 float 1.5 grows x").IsOk();
        _transcript.Run("SADD others a b c 1 2 3").IsInteger(6);
        byte[] one = CommandLine.Encode(CommandLine.Split(line));
        byte[] pipeline = new byte[one.Length * Commands];
        for (int i = 0; i < Commands; i++) one.CopyTo(pipeline, i * one.Length);
        var replies = new ArrayBufferWriter<byte>(4 * 1024 * 1024);

        // The least of several rounds: a collection that another test causes makes this thread give up the rest of its
        // allocation buffer, which is counted as if it had been allocated. What a command allocates is there in every round.
        long allocated = long.MaxValue;
        for (int round = 0; round < WarmingRounds + MeasuredRounds; round++)
        {
            replies.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            int executed = _transcript.Client.Execute(pipeline, replies);
            long inRound = GC.GetAllocatedBytesForCurrentThread() - before;
            Assert.Equal(pipeline.Length, executed);
            if (round >= WarmingRounds) allocated = Math.Min(allocated, inRound);
        }

        Assert.Equal(0, allocated);
    }
}
