using RedKite.Figures.Scenarios;
using RedKite.Figures.Types;

namespace RedKite.Figures.Tests.Types;

/// <summary>The rows of the types scenario's tables, and their selection.</summary>
public class RowsTests
{
    [Fact]
    public void Row_names_are_unique() => Assert.Equal(TypesScenario.Names.Count, TypesScenario.Names.Distinct().Count());

    [Fact]
    public void All_rows_are_measured_by_default()
    {
        Assert.Equal(TypeOperations.All, Choose());
        Assert.Equal(TypeOperations.All, Choose("cpu-rows", "one-set"));
    }

    [Fact]
    public void Selected_rows_keep_their_order() => Assert.Equal(["sadd", "zadd"], Choose("zadd", "hashes", "sadd").Select(row => row.Name));

    [Fact]
    public void Unknown_row_is_reported()
    {
        var error = Assert.Throws<FormatException>(() => RowSelection.Check(["zadd", "zaad"], TypesScenario.Names));
        Assert.StartsWith("--only: zaad is not one of cpu-rows, ", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Sample_replaces_every_random_number_with_twelve_digits()
    {
        var row = new TypeOperation("zadd", "ZADD zset __rand_int__ element:__rand_int__");
        Assert.Equal(["ZADD", "zset", "000000000042", "element:000000000042"], row.Sample(42));
    }

    [Fact]
    public void Consuming_operations_get_fresh_data_each_round() =>
        Assert.All(TypeOperations.All, row => Assert.True(row.Supply is null || row.Fresh is not null, row.Name));

    private static IReadOnlyList<TypeOperation> Choose(params string[] wanted) =>
        RowSelection.Of(TypeOperations.All, static row => row.Name, "cpu-rows", wanted);
}
