using System.Text;
using RedKite.Protocol;
using RedKite.Server.PubSub;

namespace RedKite.Server.Tests.PubSub;

/// <summary>The index of patterns finds the same ones as trying them all.</summary>
public sealed class PatternIndexTests
{
    private static readonly string[] Pieces = ["a", "b", "ab", "news", "*", "?", "[ab]", "[^a]", "\\*", "\\a", ".", "x1", "**", "[", "]", "-", "\\"];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Finds_the_same_matches_as_trying_every_pattern(int seed)
    {
        var random = new Random(seed);
        var index = new PatternIndex();
        var patterns = new List<SubscribedPattern>();
        var found = new List<SubscribedPattern>();
        int matches = 0;
        for (int round = 0; round < 3000; round++)
        {
            if (patterns.Count == 0 || random.Next(5) > 1)
            {
                patterns.Add(new SubscribedPattern(Encoding.ASCII.GetBytes(Text(random, 6))));
                index.Add(patterns[^1]);
            }
            else
            {
                int removed = random.Next(patterns.Count);
                index.Remove(patterns[removed]);
                patterns.RemoveAt(removed);
            }

            byte[] channel = Encoding.ASCII.GetBytes(Text(random, 8).Replace("*", "a", StringComparison.Ordinal));
            found.Clear();
            index.FindMatches(channel, found, new GlobBudget());
            SubscribedPattern[] expected = [.. patterns.Where(pattern => GlobPattern.IsMatch(pattern.Text, channel))];
            Assert.Equal(expected.ToHashSet(), found.ToHashSet());
            Assert.Equal(expected.Length, found.Count);
            matches += found.Count;
        }

        Assert.InRange(matches, 1000, int.MaxValue);
    }

    [Fact]
    public void Long_beginnings_and_ends_are_found()
    {
        var index = new PatternIndex();
        string text = string.Concat(Enumerable.Range(0, 40).Select(i => $"{i:d3}"));
        var beginning = new SubscribedPattern(Encoding.ASCII.GetBytes(text + "*"));
        var end = new SubscribedPattern(Encoding.ASCII.GetBytes("*" + text));
        var other = new SubscribedPattern(Encoding.ASCII.GetBytes(text[..100] + "*x"));
        foreach (SubscribedPattern pattern in (SubscribedPattern[])[beginning, end, other]) index.Add(pattern);
        var found = new List<SubscribedPattern>();
        index.FindMatches(Encoding.ASCII.GetBytes(text), found, new GlobBudget());
        Assert.Equal([beginning, end], found);
    }

    private static string Text(Random random, int pieces) =>
        string.Concat(Enumerable.Range(0, random.Next(pieces)).Select(_ => Pieces[random.Next(Pieces.Length)]));
}
