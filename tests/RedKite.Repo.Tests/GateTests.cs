using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>Tests of durations are not in the gate: a busy machine would fail it.</summary>
public class GateTests
{
    // A member of a class: its attributes and its declaration.
    private static readonly Regex Declaration = new(@"(?<attributes>(?:^    \[.*\n)*)^    (?:public|private|internal|protected) .*", RegexOptions.Multiline);

    [Fact]
    public void Tests_of_durations_are_left_to_long_runs() =>
        Repository.AssertNone(Repository.Files("tests/", ".cs").Where(path => !path.StartsWith("tests/RedKite.Repo.Tests/", StringComparison.Ordinal)).SelectMany(path => Violations(path, Repository.Read(path))));

    [Theory]
    [InlineData("public class T\n{\n    [Fact]\n    public void A()\n    {\n        QuietMachine.Try(() => { });\n    }\n}\n", 1)]
    [InlineData("public class T\n{\n    [Fact]\n    [Alone]\n    public void A()\n    {\n        QuietMachine.Try(() => { });\n    }\n\n    [Fact]\n    public void B() => QuietMachine.Try(() => { });\n}\n", 1)]
    [InlineData("public class T\n{\n    [Fact]\n    [Alone]\n    public void A()\n    {\n        QuietMachine.Try(() => { });\n    }\n}\n", 0)]
    [InlineData("[Alone]\npublic class T\n{\n    [Fact]\n    public void A() => QuietMachine.Try(() => { });\n}\n", 0)]
    [InlineData("public class T\n{\n    [Fact]\n    public void A() => B(TestScale.IsLong ? QuietMachine.Try : Once);\n}\n", 0)]
    public void Test_of_durations_in_the_gate_is_reported(string text, int count) => Assert.Equal(count, Violations("file", text).Count());

    // A use belongs to the last declaration before it.
    private static IEnumerable<string> Violations(string path, string text)
    {
        if (Regex.IsMatch(text, @"^\[Alone\]", RegexOptions.Multiline)) yield break;
        foreach (Match use in Regex.Matches(text, @"QuietMachine\."))
        {
            if (Declaration.Matches(text).LastOrDefault(match => match.Index < use.Index) is not { } member) continue;
            if (member.Groups["attributes"].Value.Contains("[Alone]", StringComparison.Ordinal)) continue;
            if (text[member.Index..use.Index].Contains("TestScale.IsLong", StringComparison.Ordinal)) continue;
            yield return $"{path}: a test of durations in the gate: {member.Value.Split('\n')[^1].Trim()}";
        }
    }
}
