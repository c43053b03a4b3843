using RedKite.Traces;

namespace RedKite.Profile.Tests;

/// <summary>Sums over known stacks.</summary>
public class HotMethodsTests
{
    [Fact]
    public void Innermost_method_is_exclusive_and_callers_are_inclusive()
    {
        HotMethods hot = HotMethods.Of([Stack("Main", "Run", "Parse"), Stack("Main", "Run", "Parse"), Stack("Main", "Run", "Send"), Stack("Main", "Run")]);

        Assert.Equal(4, hot.Samples);
        Assert.Equal(
            [new HotMethod("Parse", 2, 2), new HotMethod("Run", 1, 4), new HotMethod("Send", 1, 1), new HotMethod("Main", 0, 4)],
            hot.Methods);
    }

    [Fact]
    public void Recursive_method_counts_once()
    {
        HotMethods hot = HotMethods.Of([Stack("Main", "Walk", "Walk", "Walk"), Stack("Main", "Walk", "Look", "Walk")]);

        Assert.Equal(new HotMethod("Walk", 2, 2), hot.Methods[0]);
        Assert.Equal(new HotMethod("Main", 0, 2), hot.Methods[1]);
        Assert.Equal(new HotMethod("Look", 0, 1), hot.Methods[2]);
    }

    [Fact]
    public void Stacks_without_frames_are_skipped()
    {
        HotMethods hot = HotMethods.Of([Stack(), Stack("Main")]);

        Assert.Equal(1, hot.Samples);
        Assert.Equal([new HotMethod("Main", 1, 1)], hot.Methods);
    }

    [Fact]
    public void Table_shows_percent_and_samples_in_both_orders()
    {
        string table = MethodTable.Write("all", HotMethods.Of([Stack("Main", "Parse"), Stack("Main", "Parse"), Stack("Main", "Send"), Stack("Main", "Send", "Copy")]));
        string[] lines = table.Split(Environment.NewLine);

        string[] exclusive = Rows(lines, "exclusive)");
        Assert.Equal(["50.00 2 50.00 2 Parse", "25.00 1 50.00 2 Send", "25.00 1 25.00 1 Copy"], exclusive);
        string[] inclusive = Rows(lines, "inclusive)");
        Assert.Equal("0.00 0 100.00 4 Main", inclusive[0]);
        Assert.Equal(4, inclusive.Length);
    }

    // The rows of the table whose title ends like this, with single spaces.
    private static string[] Rows(string[] lines, string titleEnd)
    {
        int title = Array.FindIndex(lines, line => line.EndsWith(titleEnd, StringComparison.Ordinal));
        Assert.True(title >= 0);
        return [.. lines.Skip(title + 2).TakeWhile(line => line.Length > 0).Select(line => string.Join(' ', line.Split(' ', StringSplitOptions.RemoveEmptyEntries)))];
    }

    private static StackSample Stack(params string[] frames) => new("loop-0 1", SampledState.Running, frames);
}
