using System.Text;

namespace RedKite.Scripting.Translation;

/// <summary>A replacement in a script's source: at a position, a number of characters by a text.</summary>
internal readonly record struct SourceEdit(int At, int Length, string Text)
{
    /// <summary>What the text's second line stands for: such a text has three lines. Null: the text has one line.</summary>
    internal OperatorMark? Mark { get; init; }

    /// <summary>Applies edits to a source. Those at one position are applied in the order of the list.</summary>
    /// <param name="source">The source.</param>
    /// <param name="edits">The edits.</param>
    /// <param name="marks">The marks with their lines in the result, in order.</param>
    internal static string Apply(string source, List<SourceEdit> edits, out List<(int Line, OperatorMark Mark)> marks)
    {
        marks = [];
        var result = new StringBuilder(source.Length + 256);
        int at = 0;
        int line = 1;
        int counted = 0; // line ends before this are in line
        foreach (SourceEdit edit in edits.OrderBy(edit => edit.At)) // stable
        {
            if (edit.Mark is { } mark)
            {
                line += LineEnds(source.AsSpan(counted, edit.At - counted));
                counted = edit.At;
                marks.Add((line + (2 * marks.Count) + 1, mark));
            }

            result.Append(source, at, edit.At - at).Append(edit.Text);
            at = edit.At + edit.Length;
        }

        return result.Append(source, at, source.Length - at).ToString();
    }

    // As Lua counts them: two different characters in a row are one.
    private static int LineEnds(ReadOnlySpan<char> text)
    {
        int count = 0;
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] is not ('\n' or '\r')) continue;
            if (i + 1 < text.Length && text[i + 1] is '\n' or '\r' && text[i + 1] != text[i]) i++;
            count++;
        }

        return count;
    }
}
