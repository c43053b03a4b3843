namespace RedKite.Repo.Tests;

public class CSharpTextTests
{
    [Theory]
    [InlineData("a(); // unsafe", "a();")]
    [InlineData("a(/* unsafe */1);", "a( 1);")]
    [InlineData("a(\"unsafe \\\" unsafe\", b);", "a( , b);")]
    [InlineData("a(@\"unsafe \\\", b);", "a( , b);")]
    [InlineData("a(\"\"\"un\"safe\"\"\", b);", "a( , b);")]
    [InlineData("a('\"', b, '\\'', c);", "a( , b, , c);")]
    [InlineData("a($\"unsafe {b(\"unsafe\")} {{unsafe}}\", c);", "a( {b( )} , c);")]
    [InlineData("a(\"//\"); b();", "a( ); b();")]
    public void Only_code_remains(string source, string expected)
    {
        Assert.Equal(expected, Collapse(CSharpText.CodeOnly(source)));
    }

    [Fact]
    public void Line_numbers_are_kept()
    {
        const string source = "/* one\ntwo */\nthree();\nstring four = \"\"\"\n  five\n  \"\"\";\nsix();";
        string[] lines = CSharpText.CodeOnly(source).Split('\n');
        Assert.Equal("three();", lines[2]);
        Assert.Equal("six();", lines[6]);
    }

    private static string Collapse(string code)
    {
        return string.Join(' ', code.Split(' ', StringSplitOptions.RemoveEmptyEntries));
    }
}
