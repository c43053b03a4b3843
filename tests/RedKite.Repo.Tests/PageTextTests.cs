using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>The dashboard shows every count with its noun by <c>counted</c> of format.js, so that one thing is not "1 things".</summary>
public sealed class PageTextTests
{
    // A value before a plural, or a plural that is made by hand.
    private static readonly Regex Plural = new(@"\$\{(?:[^{}]|\{[^{}]*\})*\} (?!(?:is|was|has|gets|pass|ms|s)\b)[a-z]+s\b|\? '' : 's'");

    [Fact]
    public void Counts_are_shown_by_one_function() => Repository.AssertNone([
        .. Repository.Files("src/RedKite.Dashboard/web", ".js").SelectMany(path => Of(Repository.Read(path)).Select(text => $"{Path.GetFileName(path)}: {text}; use format.counted(count, noun)")),
    ]);

    [Theory]
    [InlineData("`${keys.length} keys`", true)]
    [InlineData("`${row.size.toLocaleString('en')} elements`", true)]
    [InlineData("`${count} ${noun}${count === 1 ? '' : 's'}`", true)]
    [InlineData("`${format.counted(keys.length, 'key')} here`", false)]
    [InlineData("`Client ${row.id} was closed.`", false)]
    public void A_count_is_found(string text, bool isFound) => Assert.Equal(isFound, Of(text).Length > 0);

    // The function itself has its plural in another form.
    private static string[] Of(string script) => [.. Plural.Matches(script).Select(match => match.Value)];
}
