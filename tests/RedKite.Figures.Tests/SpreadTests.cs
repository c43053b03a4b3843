using System.Text.Json.Nodes;

namespace RedKite.Figures.Tests;

/// <summary>Medians with their ranges, in tables and targets.</summary>
public class SpreadTests
{
    [Fact]
    public void Median_and_range_of_rounds()
    {
        var spread = new Spread([3, 1, 10]);
        Assert.Equal((3, 1, 10), (spread.Median, spread.Range.Lowest, spread.Range.Highest));
    }

    [Fact]
    public void Ratios_are_of_adjacent_rounds()
    {
        // The ratio of the medians would be 1: both sides had one slow round, but not the same one.
        Spread ratios = Spread.OfRatios([10, 20, 10], [10, 10, 20]);
        Assert.Equal([1, 2, 0.5], ratios.Values);
    }

    [Fact]
    public void Table_shows_the_range_in_the_columns_format()
    {
        var table = new Table("ratios", new("server"), new("ratio", "F2"), new("range", "F2"));
        table.Add("redkite", 2.0, new ValueRange(1.5, 2.504));
        Assert.Contains("| redkite | 2.00 | 1.50 to 2.50 |", table.ToMarkdown(), StringComparison.Ordinal);
        JsonNode row = table.ToJson()["rows"]![0]!;
        Assert.Equal("[1.5,2.504]", row["range"]!.ToJsonString());
    }

    [Fact]
    public void Target_is_met_by_the_median()
    {
        Assert.True(Target.AtLeast(2, "ratio", new Spread([1, 2, 3])).IsMet);
        Assert.False(Target.AtLeast(2, "ratio", new Spread([1, 1.9, 30])).IsMet);
        Assert.True(Target.AtMost(2, "ratio", 2).IsMet);
        Assert.False(Target.AtMost(2, "ratio", 2.001).IsMet);
    }
}
