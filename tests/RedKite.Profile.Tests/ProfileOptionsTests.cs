namespace RedKite.Profile.Tests;

/// <summary>The command line of the profile.</summary>
public class ProfileOptionsTests
{
    [Fact]
    public void Scenario_has_its_own_defaults()
    {
        ProfileOptions options = ProfileOptions.Parse(["get-p64"]);

        Assert.Equal(64, options.Scenario.Pipeline);
        Assert.Equal(options.Scenario.Keys, options.Keys);
        Assert.Equal((5, 1, true), (options.Seconds, options.Loops, options.Build));
        Assert.Null(options.OutputFolder);
    }

    [Fact]
    public void Options_override_the_scenario()
    {
        ProfileOptions options = ProfileOptions.Parse(["mixed", "--seconds", "2", "--loops", "3", "--keys", "1000", "--out", "there", "--no-build"]);
        Assert.Equal((2, 3, 1000, "there", false), (options.Seconds, options.Loops, options.Keys, options.OutputFolder, options.Build));
    }

    [Theory]
    [InlineData("the scenario is missing: one of")]
    [InlineData("get-p2 is not one of get-p1", "get-p2")]
    [InlineData("--seconds needs a value", "get-p1", "--seconds")]
    [InlineData("--seconds: 0 is not an integer from 1 to 120", "get-p1", "--seconds", "0")]
    [InlineData("--seconds: 121 is not", "get-p1", "--seconds", "121")]
    [InlineData("--loops: two is not", "get-p1", "--loops", "two")]
    [InlineData("--fast is not an option", "get-p1", "--fast")]
    public void Invalid_argument_is_one_line_of_error(string message, params string[] arguments)
    {
        var failure = Assert.Throws<FormatException>(() => ProfileOptions.Parse(arguments));
        Assert.StartsWith(message, failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    [Fact]
    public void Manual_lists_every_scenario()
    {
        Assert.All(ProfileScenario.All, scenario => Assert.Contains($"  {scenario.Name} ", ProfileOptions.Usage, StringComparison.Ordinal));
    }
}
