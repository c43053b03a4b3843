namespace RedKite.Figures.Tests;

/// <summary>The scenarios of a command line.</summary>
public class OptionsTests
{
    private static readonly string[] Scenarios = ["cpu", "memory", "types"];

    [Fact]
    public void Hour_of_churn_is_measured_only_when_it_is_named()
    {
        string[] known = [.. Scenarios, "churn"];
        Assert.Equal(Scenarios, Options.Parse(["all"], known).Scenarios);
        Options named = Options.Parse(["churn", "--minutes", "2"], known);
        Assert.Equal(["churn"], named.Scenarios);
        Assert.Equal(2, named.Minutes);
    }

    [Fact]
    public void Default_is_every_scenario_with_types_in_quick_form()
    {
        Assert.Equal(Scenarios, Parse().Scenarios);
        Assert.Equal(Scenarios, Parse("all").Scenarios);
        Assert.True(Parse("all").Quick);
    }

    [Fact]
    public void Named_scenario_runs_alone_and_in_full()
    {
        Assert.Equal(["types"], Parse("types").Scenarios);
        Assert.False(Parse("types").Quick);
    }

    [Fact]
    public void Rows_are_separated_by_commas()
    {
        Options options = Parse("types", "--only", "zadd,hashes", "--quick");
        Assert.Equal(["zadd", "hashes"], options.Only);
        Assert.True(options.Quick);
        Assert.Empty(Parse("types").Only);
    }

    private static Options Parse(params string[] arguments) => Options.Parse(arguments, Scenarios);
}
