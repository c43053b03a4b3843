using RedKite.Figures.Scenarios;
using RedKite.Figures.Types;

namespace RedKite.Figures.Tests.Types;

/// <summary>The rows of the types' tables, and the choice among them.</summary>
public class RowsTests
{
    [Fact]
    public void Every_row_has_a_name_of_its_own() => Assert.Equal(TypesScenario.Names.Count, TypesScenario.Names.Distinct().Count());

    [Fact]
    public void Without_a_choice_all_rows_are_measured()
    {
        Assert.Equal(TypeOperations.All, Choose());
        Assert.Equal(TypeOperations.All, Choose("cpu-rows", "one-set"));
    }

    [Fact]
    public void Chosen_rows_keep_their_order() => Assert.Equal(["sadd", "zadd"], Choose("zadd", "hashes", "sadd").Select(row => row.Name));

    [Fact]
    public void A_name_that_there_is_not_is_told()
    {
        var error = Assert.Throws<FormatException>(() => RowSelection.Check(["zadd", "zaad"], TypesScenario.Names));
        Assert.StartsWith("--only: zaad is none of cpu-rows, ", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_sample_has_twelve_digits_in_place_of_every_random_number()
    {
        var row = new TypeOperation("zadd", "ZADD zset __rand_int__ element:__rand_int__");
        Assert.Equal(["ZADD", "zset", "000000000042", "element:000000000042"], row.Sample(42));
    }

    [Fact]
    public void What_a_round_uses_up_is_supplied_to_keys_that_it_finds_fresh() =>
        Assert.All(TypeOperations.All, row => Assert.True(row.Supply is null || row.Fresh is not null, row.Name));

    private static IReadOnlyList<TypeOperation> Choose(params string[] wanted) =>
        RowSelection.Of(TypeOperations.All, static row => row.Name, "cpu-rows", wanted);
}
