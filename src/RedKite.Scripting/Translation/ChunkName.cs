namespace RedKite.Scripting.Translation;

/// <summary>A chunk's name as messages show it.</summary>
internal static class ChunkName
{
    private const int ShownMax = 45; // of a chunk's text

    internal static string Show(string name)
    {
        if (name.Length > 0 && name[0] is '=' or '@') return name[1..];
        int end = name.AsSpan().IndexOfAny('\n', '\r');
        string line = end < 0 ? name : name[..end];
        bool isCut = end >= 0 || line.Length > ShownMax;
        if (line.Length > ShownMax) line = line[..ShownMax];
        return $"[string \"{line}{(isCut ? "..." : "")}\"]";
    }
}
