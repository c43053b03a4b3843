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
    [InlineData("EXPIRE hit 100")]
    [InlineData("TTL hit")]
    [InlineData("EXISTS hit miss")]
    [InlineData("HSET hash field other")]
    [InlineData("HSET table f7 other")]
    [InlineData("HGET hash field")]
    [InlineData("HGET table f7")]
    [InlineData("HMGET table f7 f8 nosuch")]
    [InlineData("HEXISTS table f7")]
    [InlineData("HINCRBY table count 1")]
    [InlineData("HINCRBYFLOAT hash float 0.25")]
    [InlineData("HDEL table nosuch")]
    [InlineData("HGETALL hash")]
    [InlineData("HRANDFIELD table 2")]
    [InlineData("HSCAN hash 0")]
    [InlineData("HEXPIRE table 100 FIELDS 1 f9")]
    [InlineData("HTTL table FIELDS 1 f9")]
    public void Ten_thousand_pipelined_commands_allocate_nothing(string line)
    {
        _transcript.Run("MSET hit value count 1000000 float 1.5 grows x").IsOk();
        _transcript.Run("HSET hash field value count 1").IsInteger(2);
        for (int i = 0; i < 600; i++) _transcript.Run($"HSET table f{i} value").IsInteger(1);
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
