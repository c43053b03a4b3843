using System.Diagnostics;
using System.Text;
using RedKite.Protocol;

namespace RedKite.Server.Tests.Commands;

public class GlobPatternTests
{
    [Theory]
    [InlineData("", "", true)]
    [InlineData("", "a", false)]
    [InlineData("*", "", true)]
    [InlineData("*", "anything", true)]
    [InlineData("h?llo", "hello", true)]
    [InlineData("h?llo", "hllo", false)]
    [InlineData("h*llo", "heeello", true)]
    [InlineData("h*llo", "hllo", true)]
    [InlineData("h[ae]llo", "hallo", true)]
    [InlineData("h[ae]llo", "hillo", false)]
    [InlineData("h[^e]llo", "hallo", true)]
    [InlineData("h[^e]llo", "hello", false)]
    [InlineData("h[a-b]llo", "hbllo", true)]
    [InlineData("h[b-a]llo", "hallo", true)]
    [InlineData(@"h\*llo", "h*llo", true)]
    [InlineData(@"h\*llo", "hxllo", false)]
    [InlineData(@"\", @"\", true)]
    [InlineData("[abc", "c", true)]
    [InlineData("[]", "]", false)]
    [InlineData("[^]", "x", true)]
    [InlineData("a*b*c", "aXbXbXc", true)]
    [InlineData("a*b*c", "aXbXbX", false)]
    [InlineData("**a**", "a", true)]
    [InlineData("*\0*", "x\0y", true)]
    public void Patterns_match_as_documented(string pattern, string text, bool matches) =>
        Assert.Equal(matches, GlobPattern.IsMatch(Bytes(pattern), Bytes(text)));

    [Theory]
    [InlineData("FOO*", "foobar", true)]
    [InlineData("[A-C]oo", "boo", true)]
    [InlineData(@"[\B]oo", "boo", false)]
    public void Case_is_ignored_on_request(string pattern, string text, bool matches) =>
        Assert.Equal(matches, GlobPattern.IsMatch(Bytes(pattern), Bytes(text), ignoreCase: true));

    [Fact]
    public void Many_stars_do_not_take_exponential_time()
    {
        byte[] pattern = Bytes(string.Concat(Enumerable.Repeat("a*", 200)) + "b");
        byte[] text = Bytes(new string('a', 5000));

        long started = Stopwatch.GetTimestamp();
        Assert.False(GlobPattern.IsMatch(pattern, text));
        Assert.True(Stopwatch.GetElapsedTime(started) < TimeSpan.FromSeconds(60)); // exponential time would not end
    }

    [Fact]
    public void Random_patterns_match_the_same_keys_as_in_redis()
    {
        const int Seed = 7319;
        Random random = new(Seed);
        using Oracle oracle = new("--save", "");
        List<string> keys = [.. Enumerable.Range(0, 400).Select(_ => Letters(random, "abcAB-]^[\\*?\0\x7f\x80\xff", 6)).Distinct()];
        foreach (string key in keys)
        {
            Assert.Equal("OK", oracle.RunText("SET", key, "1"));
        }

        int matching = 0;
        for (int i = 0; i < 4000; i++)
        {
            string pattern = Letters(random, "aabbc*?[]^-\\\0\x80\xff[]", 9);
            List<string> expected = oracle.RunList("KEYS", pattern);
            List<string> actual = keys.FindAll(key => GlobPattern.IsMatch(Bytes(pattern), Bytes(key)));

            expected.Sort(StringComparer.Ordinal);
            actual.Sort(StringComparer.Ordinal);
            Assert.True(expected.SequenceEqual(actual), $"seed {Seed}, pattern {Convert.ToHexString(Bytes(pattern))}");
            if (actual.Count > 0) matching++;
        }

        Assert.True(matching > 400, $"only {matching} patterns matched anything: the test is no longer meaningful");
    }

    [Theory]
    [InlineData("[T-t]imeout")]
    [InlineData("[Z-a]imeout")]
    [InlineData("TIMEOU[t]")]
    [InlineData(@"TIMEOU[\T]")]
    [InlineData(@"TIMEOU[\t]")]
    [InlineData(@"\TIMEOU?")]
    [InlineData("[^T]imeout*")]
    public void Case_insensitive_patterns_match_as_in_redis(string pattern)
    {
        using Oracle oracle = new("--save", "");
        bool expected = oracle.RunList("CONFIG", "GET", pattern).Contains("timeout");
        Assert.Equal(expected, GlobPattern.IsMatch(Bytes(pattern), "timeout"u8, ignoreCase: true));
    }

    private static string Letters(Random random, string alphabet, int lengthMax) =>
        new(random.GetItems<char>(alphabet, random.Next(lengthMax + 1)));

    private static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);
}
