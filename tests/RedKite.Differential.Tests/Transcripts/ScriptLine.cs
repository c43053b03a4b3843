using System.Text.RegularExpressions;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// One client's step in a script of several clients:
/// <code>
/// A: RPUSH k x          sends a command and reads its reply
/// A waits: BLPOP k 0    sends a command, and the server has one more blocked client
/// A sends: PING         sends a command and reads nothing
/// A pipelines: GET k ; PING   sends several commands at once and reads nothing
/// A gets                reads a reply
/// A gets push           reads a message, which may be a push
/// A gets all            reads everything that has been sent so far
/// A gets any order      likewise, where Redis's order is that of a hash table
/// A gets nothing        no reply comes for a while
/// A closes              the connection ends, and the server has noticed
/// </code>
/// </summary>
/// <param name="Text">The whole line.</param>
/// <param name="Verb">What stands behind the client's name.</param>
/// <param name="Command">The command, or nothing.</param>
internal sealed partial record ScriptLine(string Text, string Client, string Verb, string Command)
{
    /// <exception cref="FormatException">A line is no step of a script.</exception>
    public static List<ScriptLine> Parse(string script) =>
        [.. script.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries).Select(ParseLine)];

    private static ScriptLine ParseLine(string line)
    {
        Match step = Step().Match(line);
        if (!step.Success) throw new FormatException($"This is no step of a script: {line}");
        return new ScriptLine(line, step.Groups["client"].Value, step.Groups["verb"].Value, step.Groups["command"].Value);
    }

    [GeneratedRegex("^(?<client>[A-Z])(?<verb>:| sends:| pipelines:| waits:| gets nothing| gets push| gets all| gets any order| gets| closes)(?: (?<command>.*))?$")]
    private static partial Regex Step();
}
