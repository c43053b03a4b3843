using System.Text;
using System.Text.RegularExpressions;
using RedKite.Server.Commands.Arrays;

namespace RedKite.Server.Tests.Commands.Arrays;

/// <summary>Regular expressions of ARGREP: against those of .NET, and in steps.</summary>
public sealed class ArrayExpressionTests
{
    private static readonly string[] Parts =
    [
        "a", "b", "c", ".", "\\d", "\\w", "\\s", "\\W", "[ab]", "[^a]", "[a-c\\d]", "[]a]", "[^]b]", "[-a]", "[a-]", "\\.", "\\x61", "\\u0062", "\\t", "(a|b)", "(?:ab|c)", "()", "(a*)",
        "(|a)", "^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "|", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,1}", "{1,}", "{2,3}", "{0}", "{", "}", "{,2}", "{a", "(", ")", "]", "\u00e9", "\n", "1", "_", " ", "\\",
        "((a|b)*c)+", "(a?){3}", "[\\x00-\\x20]", "[^\\s]", "[a\\-c]", "[b", "[c-a]", "\\q", "\\1", "**", "{2}{3}", "A", "[A-C]",
    ];

    [Fact]
    public void Agrees_with_the_expressions_of_dotnet()
    {
        var random = new Random(20261122);
        int valid = 0;
        for (int i = 0; i < 2_000; i++)
        {
            string pattern = string.Concat(Enumerable.Range(0, random.Next(1, 7)).Select(_ => Parts[random.Next(Parts.Length)]));
            bool ignoresCase = random.Next(3) == 0;
            Regex? expected = DotNet(pattern, ignoresCase);
            bool isValid = ArrayExpression.TryCompile(pattern, ignoresCase, out ArrayExpression? expression);
            if (expected is null || !isValid)
            {
                Assert.True(expected is null == !isValid, $"{pattern}: valid {isValid}");
                continue;
            }

            valid++;
            var match = new ArrayExpressionMatch(expression!);
            for (int j = 0; j < 12; j++)
            {
                string text = new([.. Enumerable.Range(0, random.Next(9)).Select(_ => "aabbcABC1_ \n\t.\u00e9\u00c9{}]-"[random.Next(20)])]);
                byte[] bytes = Encoding.Latin1.GetBytes(text);
                bool? found = null;
                while (found is null)
                {
                    long steps = random.Next(1, 6);
                    found = match.IsIn(bytes, ref steps);
                }

                Assert.True(expected.IsMatch(text) == found, $"{pattern} in {text}: {found}, {ignoresCase}");
            }
        }

        Assert.InRange(valid, 700, 2_000);
    }

    // What took .NET's automata seconds.
    [Theory]
    [InlineData("(.*a|.*b|.*ab){300}c")]
    [InlineData("(.*a){300}c")]
    [InlineData("([ab]*[ac]*[ad]*){300}z")]
    [InlineData("(x+x+)+y")]
    [InlineData("((a?){30}){30}a{30}")]
    public void Steps_are_counted_and_bounded_by_the_program_times_the_text(string pattern)
    {
        Assert.True(ArrayExpression.TryCompile(pattern, ignoresCase: false, out ArrayExpression? expression));
        var match = new ArrayExpressionMatch(expression);
        byte[] text = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("abxdab", 50)));
        const long Slice = 10_000;
        long ofByte = 3L * ArrayExpressionMatch.InstructionSteps * expression.Program.Length; // it is read in all states
        long total = 0;
        bool? found = null;
        while (found is null)
        {
            long steps = Slice;
            found = match.IsIn(text, ref steps);
            total += Slice - steps;
            Assert.InRange(Slice - steps, 0, Slice + ofByte);
        }

        Assert.InRange(total, 1, ofByte * (text.Length + 1));
    }

    [Theory]
    [InlineData("((a{900}){900}){900}")]
    [InlineData("(((a{90}){90}){90}){90}")]
    [InlineData("a{99999999999999999999}")]
    [InlineData("(a|b|c){2000}")]
    public void Larger_programs_are_refused(string pattern) => Assert.False(ArrayExpression.TryCompile(pattern, ignoresCase: false, out _));

    [Fact]
    public void Nested_groups_need_no_stack()
    {
        const int Groups = 1000;
        Assert.True(ArrayExpression.TryCompile(new string('(', Groups) + "a" + new string(')', Groups), ignoresCase: false, out _));
        Assert.True(ArrayExpression.TryCompile(string.Concat(Enumerable.Repeat("(a|", Groups / 2)) + "b" + new string(')', Groups / 2), ignoresCase: false, out _));
    }

    private static Regex? DotNet(string pattern, bool ignoresCase)
    {
        try
        {
            return new Regex(pattern, RegexOptions.NonBacktracking | RegexOptions.CultureInvariant | (ignoresCase ? RegexOptions.IgnoreCase : RegexOptions.None));
        }
        catch (Exception failure) when (failure is ArgumentException or NotSupportedException)
        {
            return null;
        }
    }
}
