using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>The check of random replies finds every way in which one can be wrong.</summary>
public sealed class RandomSampleTests
{
    private static readonly RespValue Set = Array("a", "b", "c");
    private static readonly RespValue Hash = Array("a", "1", "b", "2", "c", "3");

    [Theory]
    [InlineData("SRANDMEMBER k 2", "a c")]
    [InlineData("SRANDMEMBER k 9", "c b a")]
    [InlineData("SRANDMEMBER k -4", "a a a b")]
    [InlineData("SPOP k 0", "")]
    [InlineData("HRANDFIELD k 2 WITHVALUES", "b 2 a 1")]
    public void Right_samples_pass(string command, string reply) => Assert.Null(Check(command, reply));

    [Theory]
    [InlineData("SRANDMEMBER k 2", "a d")]
    [InlineData("SRANDMEMBER k 2", "a a")]
    [InlineData("SRANDMEMBER k 2", "a")]
    [InlineData("SRANDMEMBER k 9", "a b")]
    [InlineData("SRANDMEMBER k -4", "a a a")]
    [InlineData("SPOP k 0", "a")]
    [InlineData("HRANDFIELD k 2 WITHVALUES", "b 2 a 3")]
    [InlineData("HRANDFIELD k 2", "b 2")]
    public void Wrong_samples_are_found(string command, string reply) => Assert.NotNull(Check(command, reply));

    [Fact]
    public void Members_popped_by_only_one_server_are_removed_from_the_other()
    {
        (byte[][]? onOracle, byte[][]? onSubject) = RandomSample.Settle(CommandLine.Split("SPOP k 2"), Array("a", "b"), Array("b", "c"));
        Assert.Equal("SREM k c", CommandLine.Format(onOracle!));
        Assert.Equal("SREM k a", CommandLine.Format(onSubject!));
    }

    private static string? Check(string command, string reply)
    {
        string[] words = reply.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        bool isHash = command.StartsWith('H');
        RespValue listed = isHash ? Hash : Set;
        Comparison listing = new(CommandLine.Split(isHash ? "HGETALL k" : "SMEMBERS k"), listed, listed);
        Comparison sample = new(CommandLine.Split(command), Array(words), Array(words));
        Assert.True(RandomSample.Follows(listing, sample));
        return RandomSample.Check(listing, sample);
    }

    private static RespValue Array(params string[] words) =>
        RespValue.Aggregate('*', [.. words.Select(word => RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(word)))]);
}
