namespace RedKite.Protocol.Tests;

/// <summary>What the patterns of one command take together: what is not linear ends, and the number of texts has no bound.</summary>
public sealed class GlobBudgetTests
{
    // 20 keys of a megabyte took a second each.
    [Fact]
    public void Long_patterns_over_many_long_texts_end()
    {
        byte[] pattern = [(byte)'*', .. Enumerable.Repeat((byte)'a', 500), (byte)'b'];
        byte[] text = [.. Enumerable.Repeat((byte)'a', 1 << 10), .. pattern[1..]];
        var budget = new GlobBudget(1 << 20);
        Assert.True(budget.IsMatch(pattern, text));
        int matches = 1;
        while (matches < 10 && budget.IsMatch(pattern, text)) matches++;
        Assert.InRange(matches, 2, 3);
        Assert.True(budget.IsUsedUp);
        Assert.True(budget.IsMatch("a*"u8, text)); // short ones go on
        budget.Begin();
        Assert.False(budget.IsUsedUp);
        Assert.True(budget.IsMatch(pattern, text));
    }

    // A millisecond for each key, however short.
    [Fact]
    public void Long_class_is_not_free_for_each_text()
    {
        byte[] pattern = [(byte)'[', .. Enumerable.Repeat((byte)'x', 10_000), (byte)']'];
        var budget = new GlobBudget(1 << 20);
        int matches = 0;
        while (matches < 1000 && !budget.IsUsedUp)
        {
            budget.IsMatch(pattern, "a"u8);
            matches++;
        }

        Assert.InRange(matches, 90, 110);
    }

    [Fact]
    public void Texts_that_take_time_in_proportion_are_free()
    {
        byte[] pattern = [.. "*"u8, .. Enumerable.Repeat((byte)'x', 200), .. "*y"u8];
        byte[] text = [.. Enumerable.Repeat((byte)'x', 250), (byte)'y'];
        byte[] unique = [.. "session:"u8, .. Enumerable.Repeat("[0-9a-f]"u8.ToArray(), 32).SelectMany(part => part)];
        byte[] id = [.. "session:"u8, .. Enumerable.Repeat((byte)'7', 32)];
        var budget = new GlobBudget();
        for (int i = 0; i < 100_000; i++)
        {
            Assert.True(budget.IsMatch(pattern, text));
            Assert.True(budget.IsMatch(unique, id));
        }

        Assert.False(budget.IsUsedUp);
    }
}
