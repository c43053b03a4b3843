using System.Text.RegularExpressions;
using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>How findings say what they say.</summary>
public class FindingTextTests
{
    private static readonly Regex One = new(@"(?<![\d.,])1 [A-Za-z]");

    // But "1 is" and the units s and ms.
    private static readonly Regex OneOfMany = new(@"(?<![\d.,])1 (?:full )?(?!(?:is|was|has|s|ms)\b)[A-Za-z]+s\b");

    // Each cause with counts that are shown as 1, within a second or within the time that the rule speaks of, and so with all other values.
    [Fact]
    public void Of_one_thing_findings_speak_in_the_singular()
    {
        List<string> ones = [], wrong = [];
        foreach (FindingRule rule in FindingTable.Rules)
        {
            FindingCause cause = FindingCauses.All[rule.Name];
            foreach (double one in (double[])[1, 1.0 / 10, 1.0 / 30, 1.0 / 60, 1.0 / 600])
            {
                Note(rule, cause, one);
                foreach ((Metric metric, double value) in cause.Values) Note(rule, cause with { Values = [.. cause.Values, (metric, one)] }, one);
            }
        }

        Assert.Equal("", string.Join("\n", wrong.Distinct().Take(10)));
        Assert.InRange(ones.Distinct().Count(), 20, int.MaxValue);

        void Note(FindingRule rule, FindingCause cause, double others)
        {
            cause.Settings["min-replicas-max-lag"] = "1";
            if (rule.Check(cause.View(others, cause.Seconds)) is not { } diagnosis) return;
            string text = $"{rule.Name}: {diagnosis.Title}: {diagnosis.Evidence}";
            if (One.IsMatch(text)) ones.Add(text);
            if (OneOfMany.IsMatch(text)) wrong.Add(text);
        }
    }

    [Theory]
    [InlineData("1 clients", true)]
    [InlineData("limit 1 CPUs", true)]
    [InlineData("1 full collections", true)]
    [InlineData("11 clients, 0.1 seconds, 1,001 keys", false)]
    [InlineData("1 client for 1 s, and 1 is enough", false)]
    public void A_wrong_plural_is_found(string text, bool isWrong) => Assert.Equal(isWrong, OneOfMany.IsMatch(text));

    [Fact]
    public void Counts_have_their_noun()
    {
        Assert.Equal(["0 keys", "1 key", "1 key", "2 keys", "2 entries", "1 entry", "1.5 CPUs", "1 CPU", "1,000 members"],
            [FindingTable.Times(0, "key"), FindingTable.Times(1, "key"), FindingTable.Times(1.4, "key"), FindingTable.Times(1.6, "key"), FindingTable.Times(2, "entry"), FindingTable.Times(1, "entry"), FindingTable.Times(1.5, "CPU", "0.##"), FindingTable.Times(1, "CPU", "0.##"), FindingTable.Times(1000, "member", "N0")]);
        Assert.Equal(["0 bytes", "1 byte", "1 KiB", "1.5 MiB"], [FindingTable.Bytes(0), FindingTable.Bytes(1), FindingTable.Bytes(1024), FindingTable.Bytes(1.5 * (1 << 20))]);
        Assert.Equal(["about 1 second", "about 89 seconds", "about 2 minutes", "about 2 hours", "about 2 days"], [FindingTable.About(1), FindingTable.About(89), FindingTable.About(100), FindingTable.About(5400), FindingTable.About(129_600)]);
    }
}
