using System.Globalization;
using RedKite.Traces;

namespace RedKite.Profile;

/// <summary>
/// Stacks in the text format of flame graphs: one line per distinct stack, <c>thread;outermost;...;innermost count</c>.
/// </summary>
internal static class CollapsedStacks
{
    internal static void Write(TextWriter output, IEnumerable<StackSample> stacks)
    {
        var lines = new SortedDictionary<string, long>(StringComparer.Ordinal);
        foreach (StackSample stack in stacks)
        {
            string line = string.Join(';', [.. stack.Frames.Prepend(stack.Thread).Select(Clean)]);
            lines[line] = lines.GetValueOrDefault(line) + 1;
        }

        foreach ((string line, long count) in lines) output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{line} {count}"));
    }

    /// <summary>Reads the output of <see cref="Write"/> and of perf's collapsing scripts; a stack is repeated by its count.</summary>
    /// <exception cref="FormatException">A line does not end with a count.</exception>
    internal static IEnumerable<StackSample> Read(TextReader input)
    {
        while (input.ReadLine() is { } line)
        {
            if (line.Length == 0) continue;
            int space = line.LastIndexOf(' ');
            if (space < 0 || !long.TryParse(line.AsSpan(space + 1), NumberStyles.None, CultureInfo.InvariantCulture, out long count))
            {
                throw new FormatException($"not a collapsed stack: {line}");
            }

            string[] frames = line[..space].Split(';');
            var stack = new StackSample(frames[0], SampledState.Running, frames[1..]);
            for (long i = 0; i < count; i++) yield return stack;
        }
    }

    private static string Clean(string name) => name.Replace(';', ':');
}
