using RedKite.Figures.Names;

namespace RedKite.Figures.Tests;

/// <summary>The steps of name lookup find the same names; they differ only in speed.</summary>
public class NamesTests
{
    public static TheoryData<string> Steps => [.. LookupStep.NewSteps().Select(step => step.Name)];

    [Theory]
    [MemberData(nameof(Steps))]
    public void Every_casing_is_found_and_nothing_else(string name)
    {
        LookupStep step = LookupStep.NewSteps().Single(one => one.Name == name);
        for (int pass = 0; pass < 2; pass++) // The second finds what the first has learned.
        {
            for (int i = 0; i < NameSet.Names.Length; i++)
            {
                Assert.All(NameSet.Casings(NameSet.Names[i]), casing => Assert.Equal(i, step.Find(casing)));
            }

            Assert.All((string[])["", "use", "users", "usEr ", "no-such-name"], missing => Assert.Equal(-1, step.Find(missing)));
        }
    }

    [Fact]
    public void All_threads_calls_are_counted() =>
        Assert.InRange(LookupStep.NewSteps()[0].CountCalls(threads: 4, TimeSpan.FromMilliseconds(50)), NameSet.CallsOf(0).Length, double.MaxValue);
}
