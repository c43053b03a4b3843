using System.Text.RegularExpressions;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Logging;

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
    [InlineData("* -::*", "enable-debug-command is yes, bind * -::*")]
    [InlineData("127.0.0.1 10.0.0.1", "enable-debug-command is yes, bind 10.0.0.1")]
    [InlineData("127.0.0.1 -::1", null)]
    [InlineData("localhost", null)]
    public void Debug_is_open_to_the_network_only_on_its_addresses(string bind, string? evidence)
    {
        FindingCause cause = new(FindingSeverity.Notice) { Settings = { ["enable-debug-command"] = "yes", ["bind"] = bind } };
        Assert.Equal(evidence, RuleOf("debug-enabled").Check(cause.View(seconds: 1))?.Evidence);
    }

    // An open finding has the figures of now, not of its start.
    [Fact]
    public void Open_finding_shows_what_is_free_now()
    {
        var tracker = new FindingTracker([RuleOf("disk-nearly-full")], new ServerLog(new Settings(), _ => { }));
        foreach ((double mebibytes, string title, string evidence) in (ReadOnlySpan<(double, string, string)>)[(100, "The data folder's disk is nearly full", "100 MiB are free"), (40, "The data folder's disk is nearly full", "40 MiB are free"), (0, "The data folder's disk is full", "0 bytes are free")])
        {
            tracker.Evaluate(new FindingCause(FindingSeverity.Critical, (MetricTable.DiskFree, mebibytes * (1 << 20))).View(seconds: 1), FindingCause.Now * 1000);
            Assert.Equal((title, evidence), (Assert.Single(tracker.Current).Diagnosis.Title, tracker.Current[0].Diagnosis.Evidence));
        }
    }

    // The rate is told from the first seconds on, although a claim about a minute would need the minute.
    [Theory]
    [InlineData(5)]
    [InlineData(60)]
    public void Loop_of_synchronizations_tells_how_fast_the_stream_grows(int seconds)
    {
        FindingCause cause = new(FindingSeverity.Warning, (MetricTable.SyncsFailedInARow, 2), (MetricTable.ReplicationBytes, 8 << 20));
        Assert.Equal("2 in a row; the stream grows by 8 MiB a second", RuleOf("replica-sync-loops").Check(cause.View(seconds: seconds))!.Evidence);
    }

    private static FindingRule RuleOf(string name) => FindingTable.Rules.Single(rule => rule.Name == name);

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
            [QuantityText.Times(0, "key"), QuantityText.Times(1, "key"), QuantityText.Times(1.4, "key"), QuantityText.Times(1.6, "key"), QuantityText.Times(2, "entry"), QuantityText.Times(1, "entry"), QuantityText.Times(1.5, "CPU", "0.##"), QuantityText.Times(1, "CPU", "0.##"), QuantityText.Times(1000, "member", "N0")]);
        Assert.Equal(["0 bytes", "1 byte", "1 KiB", "1.5 MiB"], [QuantityText.Bytes(0), QuantityText.Bytes(1), QuantityText.Bytes(1024), QuantityText.Bytes(1.5 * (1 << 20))]);
        Assert.Equal(["about 1 second", "about 89 seconds", "about 2 minutes", "about 2 hours", "about 2 days"], [QuantityText.About(1), QuantityText.About(89), QuantityText.About(100), QuantityText.About(5400), QuantityText.About(129_600)]);
    }
}
