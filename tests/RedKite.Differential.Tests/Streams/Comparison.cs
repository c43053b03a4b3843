using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>A command and both servers' replies.</summary>
internal sealed record Comparison(byte[][] Command, RespValue Oracle, RespValue Subject)
{
    public string Name => Word(0);

    /// <summary>A word of the command in upper case, empty if there is none.</summary>
    public string Word(int index) => index < Command.Length ? Encoding.Latin1.GetString(Command[index]).ToUpperInvariant() : "";
}

/// <summary>A difference between the two servers.</summary>
/// <param name="StepIndex">The index of the step, or the stream's length if the keyspaces differed at the end.</param>
internal sealed record Difference(int StepIndex, byte[][] Command, string Oracle, string Subject)
{
    // Replies can be whole command tables, so reports show an excerpt around the first difference.
    private const int ShownMax = 1_500;
    private const int ShownBefore = 200;

    public static Difference Of(int step, Comparison comparison) =>
        new(step, comparison.Command, comparison.Oracle.ToString(), comparison.Subject.ToString());

    public override string ToString() =>
        $"  command: {Excerpt(CommandLine.Format(Command), 0)}\n  oracle:  {Excerpt(Oracle, PartAt)}\n  subject: {Excerpt(Subject, PartAt)}\n";

    private int PartAt => Oracle.AsSpan().CommonPrefixLength(Subject);

    private static string Excerpt(string text, int around)
    {
        if (text.Length <= ShownMax) return text;
        int from = Math.Clamp(around - ShownBefore, 0, text.Length - ShownMax);
        return $"(from character {from} of {text.Length}) {text.AsSpan(from, ShownMax)}";
    }
}
