using System.Globalization;
using System.Text.RegularExpressions;

namespace RedKite.Scripting;

/// <summary>How the function that raises an error was called.</summary>
internal enum LuaCaller
{
    Name,

    /// <summary>As a method: its first argument is its object.</summary>
    Method,

    /// <summary>By pcall or xpcall: Lua 5.1 has no name for it.</summary>
    Protected,
}

/// <summary>Messages of Lua 5.4 in the words of Lua 5.1.</summary>
internal static partial class LuaMessages
{
    /// <summary>Longer messages come from scripts.</summary>
    internal const int BytesMax = 4096;

    /// <summary>Translates a message; one that Lua 5.1 words the same way stays.</summary>
    /// <param name="message">The message.</param>
    /// <param name="position">The position that replaces a line of the prelude.</param>
    /// <param name="caller">How a function of a library was called.</param>
    /// <param name="called">The name by which it was called; empty: its own.</param>
    internal static string Translate(string message, string position, LuaCaller caller = LuaCaller.Name, string called = "")
    {
        bool isOwn = message.StartsWith("redkite:", StringComparison.Ordinal);
        if (isOwn) message = OwnLine().Replace(message, "");
        message = InOldWords(message);
        if (caller == LuaCaller.Protected) message = Function().Replace(message, "${head}${number}${to}?'");
        else if (caller == LuaCaller.Method && isOwn) message = Function().Replace(message, CountWithoutSelf);
        else if (isOwn && called.Length > 0 && !called.StartsWith("__", StringComparison.Ordinal)) message = Function().Replace(message, match => $"{match.Groups["head"].Value}{match.Groups["number"].Value}{match.Groups["to"].Value}{called}'");
        return isOwn ? position + message : message;
    }

    // Lua counts a method's arguments without its object.
    private static string CountWithoutSelf(Match match)
    {
        int number = int.Parse(match.Groups["number"].ValueSpan, CultureInfo.InvariantCulture);
        return number == 1 ? $"calling '{match.Groups["name"].Value}' on bad self" : $"{match.Groups["head"].Value}{number - 1}{match.Groups["to"].Value}{match.Groups["name"].Value}'";
    }

    private static string InOldWords(string message)
    {
        if (message.Contains("index is ", StringComparison.Ordinal)) message = Indexes().Replace(message, "$1table $2");
        if (message.Contains("bad ", StringComparison.Ordinal))
        {
            message = Loops().Replace(message, "'for' $1 must be a number").Replace("to 'char' (value out of range)", "to 'char' (invalid value)", StringComparison.Ordinal);
            message = NoArguments().Replace(message, "$1 (number expected, got no value)");
        }

        if (message.Contains('%', StringComparison.Ordinal))
        {
            message = Captures().Replace(message, "$1").Replace("malformed pattern (missing arguments to '%b')", "unbalanced pattern", StringComparison.Ordinal);
        }

        if (message.EndsWith("coroutine", StringComparison.Ordinal))
        {
            message = message.Replace("attempt to yield from outside a coroutine", "attempt to yield across metamethod/C-call boundary", StringComparison.Ordinal);
        }

        message = message.Replace(" (for iterator 'for iterator')", "", StringComparison.Ordinal);
        if (!message.Contains(" value (", StringComparison.Ordinal)) return message;
        return Named().Replace(message, match =>
        {
            string kind = match.Groups["kind"].Value;
            string name = match.Groups["name"].Value == "integer index" ? "?" : match.Groups["name"].Value;
            string named = kind == "constant" ? $"a {match.Groups["type"].Value} value" : $"{kind} '{name}' (a {match.Groups["type"].Value} value)";
            return match.Groups["head"].Value + named;
        });
    }

    [GeneratedRegex(@"^redkite:\d+: ")]
    private static partial Regex OwnLine();

    [GeneratedRegex(@"^(?<head>bad argument #)(?<number>\d+)(?<to> to ')(?<name>[^']*)'")]
    private static partial Regex Function();

    [GeneratedRegex(@"bad 'for' (initial value|limit|step) \(number expected, got \w+\)")]
    private static partial Regex Loops();

    [GeneratedRegex(@"(to '(?:max|min)') \(value expected\)")]
    private static partial Regex NoArguments();

    [GeneratedRegex(@"(invalid capture index) %\d+(?: in replacement string| in pattern)?")]
    private static partial Regex Captures();

    // attempt to index a nil value (local 'x')
    [GeneratedRegex(@"(?<head>attempt to (?:index|call|perform arithmetic on|get length of|concatenate) )a (?<type>\w+) value \((?<kind>global|local|method|field|upvalue|constant) '(?<name>[^']*)'\)")]
    private static partial Regex Named();

    [GeneratedRegex(@"(^|: )(index is (?:nil|NaN))$")]
    private static partial Regex Indexes();
}
