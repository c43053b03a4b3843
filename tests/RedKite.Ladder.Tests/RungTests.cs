namespace RedKite.Ladder.Tests;

public class RungTests
{
    [Theory]
    [InlineData("1", "1")]
    [InlineData("3", "3-1,3-2,3-4,3-10")]
    [InlineData("3-10,1", "1,3-10")]
    [InlineData("5", "5-busy,5-waits")]
    [InlineData("6b,6", "6a,6b,6c")]
    [InlineData("7-1", "7-1")]
    public void List_selects_stages_or_single_rungs(string list, string expected) =>
        Assert.Equal(expected, string.Join(',', Rung.Select(list).Select(rung => rung.Name)));

    [Theory]
    [InlineData("8")]
    [InlineData("")]
    [InlineData("1,,2")]
    [InlineData("3-3")]
    public void Unknown_stage_is_refused(string list) => Assert.Throws<FormatException>(() => Rung.Select(list));

    [Fact]
    public void Every_stage_is_a_rung() =>
        Assert.Equal("1234567", string.Concat(Rung.All.Select(rung => rung.Name[0]).Distinct()));

    [Fact]
    public void Serve_arguments_of_every_rung_are_valid()
    {
        foreach (Rung rung in Rung.All.Where(rung => rung.ServeArguments is not null))
        {
            Assert.Equal(rung.Name[..1], $"{StageOptions.Parse(rung.ServeArguments!).Stage}");
        }
    }

    [Theory]
    [InlineData("--stage", "7")]
    [InlineData("--stage", "0")]
    [InlineData("--stage")]
    [InlineData("--stage", "3", "--shards", "1000")]
    [InlineData("--stage", "1", "--port", "70000")]
    [InlineData("--stage", "6", "--values", "numbers")]
    [InlineData("--stage", "1", "--fast")]
    public void Serve_refuses_unknown_options(params string[] arguments) => Assert.Throws<FormatException>(() => StageOptions.Parse(arguments));
}
