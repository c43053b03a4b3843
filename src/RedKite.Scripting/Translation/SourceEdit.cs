using System.Text;

namespace RedKite.Scripting.Translation;

/// <summary>A replacement in a script's source: at a position, a number of characters by a text.</summary>
internal readonly record struct SourceEdit(int At, int Length, string Text)
{
    /// <summary>Applies edits to a source. Those at one position are applied in the order of the list.</summary>
    internal static string Apply(string source, List<SourceEdit> edits)
    {
        var result = new StringBuilder(source.Length + 256);
        int at = 0;
        foreach (SourceEdit edit in edits.OrderBy(edit => edit.At)) // stable
        {
            result.Append(source, at, edit.At - at).Append(edit.Text);
            at = edit.At + edit.Length;
        }

        return result.Append(source, at, source.Length - at).ToString();
    }
}
