using System.Text;

namespace RedKite.Differential.Tests.Streams;

/// <summary>Limits of mutation: a stream with undefined results would fail for some seeds without a defect.</summary>
public sealed class StreamGeneratorTests
{
    private const int Draws = 20_000;

    [Fact]
    public void Mutation_replaces_arguments()
    {
        List<string[]> damaged = Damaged("SET", "k", "v");
        Assert.Contains(damaged, words => words is ["SET", "k"]);
        Assert.Contains(damaged, words => words is ["SET", "-1", "v"]);
        Assert.Contains(damaged, words => words is ["SET", "k", "v", "NX"]);
        Assert.Contains(damaged, words => words is ["sEt", "k", "v"]);
    }

    [Fact]
    public void Mutation_never_blocks_forever() =>
        Assert.DoesNotContain(Damaged("XREAD", "bLOCK", "1", "STREAMS", "s", "5-1"), words => words.SkipWhile(word => word != "bLOCK").Skip(1).FirstOrDefault() == "0");

    [Fact]
    public void Mutation_keeps_equal_scores_for_ranges_by_member() =>
        Assert.All(Damaged("ZADD", "zl1", "0", "a", "0", "b"), words => Assert.All(words.Skip(2).Where((_, i) => i % 2 == 0).Take(2), score => Assert.Equal("0", score)));

    [Theory]
    [InlineData("ZRANGEBYLEX", "zl1", "-", "+")]
    [InlineData("ZLEXCOUNT", "zl2", "[a", "[c")]
    [InlineData("ZRANGE", "zl2", "-", "+", "BYLEX")]
    public void Mutation_keeps_the_keys_of_ranges_by_member(params string[] command) =>
        Assert.All(Damaged(command).Where(words => words.Length > 1), words => Assert.Equal(command[1], words[1]));

    [Fact]
    public void Mutation_gives_no_two_elements_one_vector()
    {
        string[] vector = ["0.749352", "-0.882553", "0.675453"]; // of e0, as generated
        Assert.All(Damaged(["VADD", "v1", "VALUES", "3", .. vector, "e0", "NOQUANT"]).Where(words => words.Length > 7 && words[2] == "VALUES" && words[3] == "3"), words => Assert.NotEqual("e0x", words[7]));
        Assert.All(Damaged("VADD", "v1", "FP32", "abcd", "e0"), words => Assert.Equal("e0", words.Length > 4 ? words[4] : "e0"));
    }

    private static List<string[]> Damaged(params string[] command)
    {
        RandomSource random = new(1);
        Episode episode = Episode.Of([.. command.Select(word => (Argument)word)]);
        return [.. Enumerable.Range(0, Draws).Select(_ => (string[])[.. StreamGenerator.Damage(episode, random).Commands[0].Select(word => Encoding.Latin1.GetString(word))])];
    }
}
