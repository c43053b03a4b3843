using System.Text.RegularExpressions;
using RedKite.Server.Commands.Arrays;

namespace RedKite.Server.Tests.Commands.Arrays;

public class PosixClassesTests
{
    [Theory]
    [InlineData("[[:digit:]]", "[0-9]")]
    [InlineData("[^[:digit:]x]", "[^0-9x]")]
    [InlineData("[[:alpha:][:digit:]_]+$", "[a-zA-Z0-9_]+$")]
    [InlineData("[:digit:]", "[:digit:]")]
    [InlineData(@"\[[:digit:]", @"\[[:digit:]")]
    [InlineData(@"[\][:digit:]]", @"[\]0-9]")]
    [InlineData("[][:digit:]]", "[]0-9]")]
    [InlineData("[^][:digit:]]", "[^]0-9]")]
    [InlineData("[[:digit:]][[:upper:]", "[0-9][A-Z")]
    [InlineData("[[:nosuch:]]", "[[:nosuch:]]")]
    [InlineData(@"a[[:digit:]\", @"a[0-9\")]
    [InlineData("[", "[")]
    [InlineData("plain", "plain")]
    public void Classes_are_written_out(string pattern, string replaced) => Assert.Equal(replaced, PosixClasses.Replace(pattern));

    // By what the C library's functions of the same names say of ASCII.
    [Fact]
    public void Classes_have_the_members_that_their_names_say()
    {
        (string Name, Func<char, bool> Has)[] classes =
        [
            ("alnum", char.IsAsciiLetterOrDigit), ("alpha", char.IsAsciiLetter), ("blank", c => c is ' ' or '\t'), ("cntrl", c => c < ' ' || c == 127), ("digit", char.IsAsciiDigit),
            ("graph", c => c is > ' ' and < (char)127), ("lower", char.IsAsciiLetterLower), ("print", c => c is >= ' ' and < (char)127),
            ("punct", c => c is > ' ' and < (char)127 && !char.IsAsciiLetterOrDigit(c)), ("space", c => c is ' ' or (>= '\t' and <= '\r')), ("upper", char.IsAsciiLetterUpper), ("xdigit", char.IsAsciiHexDigit),
        ];
        foreach ((string name, Func<char, bool> has) in classes)
        {
            var expression = new Regex(PosixClasses.Replace($"^[[:{name}:]]\\z"), RegexOptions.NonBacktracking | RegexOptions.CultureInvariant);
            for (char c = '\0'; c < 256; c++) Assert.True(has(c) == expression.IsMatch(c.ToString()), $"{name} {(int)c}");
        }
    }
}
