namespace RedKite.Figures.Tests;

/// <summary>The scenarios of a command line.</summary>
public class OptionsTests
{
    private static readonly string[] Scenarios = ["cpu", "memory", "types"];

    [Fact]
    public void Default_is_every_scenario_but_opt_in_ones()
    {
        Assert.Equal(["cpu", "memory"], Parse().Scenarios);
        Assert.Equal(["cpu", "memory"], Parse("all").Scenarios);
    }

    [Fact]
    public void Opt_in_scenario_runs_when_named()
    {
        Assert.Equal(["types"], Parse("types").Scenarios);
        Assert.Equal(["cpu", "memory", "types"], Parse("types", "all").Scenarios);
    }

    [Fact]
    public void Rows_are_separated_by_commas()
    {
        Options options = Parse("types", "--only", "zadd,hashes", "--quick");
        Assert.Equal(["zadd", "hashes"], options.Only);
        Assert.True(options.Quick);
        Assert.Empty(Parse("types").Only);
    }

    private static Options Parse(params string[] arguments) => Options.Parse(arguments, Scenarios, "types");
}
