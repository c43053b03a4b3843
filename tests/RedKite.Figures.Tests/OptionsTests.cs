namespace RedKite.Figures.Tests;

/// <summary>Which scenarios a command line runs.</summary>
public class OptionsTests
{
    private static readonly string[] Scenarios = ["cpu", "memory", "types"];

    [Fact]
    public void Without_a_name_everything_runs_but_what_has_to_be_named()
    {
        Assert.Equal(["cpu", "memory"], Parse().Scenarios);
        Assert.Equal(["cpu", "memory"], Parse("all").Scenarios);
    }

    [Fact]
    public void A_scenario_that_has_to_be_named_runs_when_it_is()
    {
        Assert.Equal(["types"], Parse("types").Scenarios);
        Assert.Equal(["cpu", "memory", "types"], Parse("types", "all").Scenarios);
    }

    [Fact]
    public void Rows_are_named_with_commas()
    {
        Options options = Parse("types", "--only", "zadd,hashes", "--quick");
        Assert.Equal(["zadd", "hashes"], options.Only);
        Assert.True(options.Quick);
        Assert.Empty(Parse("types").Only);
    }

    private static Options Parse(params string[] arguments) => Options.Parse(arguments, Scenarios, "types");
}
