namespace RedKite.TestSupport;

/// <summary>A fenced block of a page: what a reader copies.</summary>
/// <param name="Page">The page's path from the root, with slashes.</param>
/// <param name="Line">The line of the block's first line, from 1.</param>
/// <param name="Language">What the fence says, empty for command lines and plain text.</param>
/// <param name="Lines">The lines without the fence's indentation.</param>
public sealed record DocumentationBlock(string Page, int Line, string Language, IReadOnlyList<string> Lines)
{
    /// <summary>The lines as one text.</summary>
    public string Text => string.Join('\n', Lines);

    public override string ToString() => $"{Page}:{Line}";
}

/// <summary>Reads the fenced blocks of the pages that readers see: the README, docs, and what packages and samples say of themselves.</summary>
public static class DocumentationBlocks
{
    /// <summary>The blocks of all pages, by page and line.</summary>
    public static IReadOnlyList<DocumentationBlock> All()
    {
        IEnumerable<string> folders = ((string[])["src", "samples"]).SelectMany(folder => Directory.GetFiles(Path.Combine(RepositoryRoot.Path, folder), "README.md", SearchOption.AllDirectories));
        IEnumerable<string> docs = Directory.GetFiles(Path.Combine(RepositoryRoot.Path, "docs"), "*.md", SearchOption.AllDirectories);
        return
        [
            .. Directory.GetFiles(RepositoryRoot.Path, "*.md").Concat(docs).Concat(folders)
                .Select(file => (Path: file, Page: Path.GetRelativePath(RepositoryRoot.Path, file).Replace('\\', '/')))
                .Where(static file => !file.Page.Contains("/node_modules/", StringComparison.Ordinal))
                .OrderBy(static file => file.Page, StringComparer.Ordinal)
                .SelectMany(static file => Read(file.Page, File.ReadAllLines(file.Path))),
        ];
    }

    /// <summary>The blocks of one page. A fence that is not closed is an error, because nothing after it would be read as its author meant.</summary>
    public static IEnumerable<DocumentationBlock> Read(string page, IReadOnlyList<string> lines)
    {
        for (int i = 0; i < lines.Count; i++)
        {
            string fence = lines[i].TrimStart();
            if (!fence.StartsWith("```", StringComparison.Ordinal)) continue;
            int indentation = lines[i].Length - fence.Length;
            int first = i + 1;
            int end = first;
            while (end < lines.Count && lines[end].Trim() != "```") end++;
            if (end == lines.Count) throw new InvalidDataException($"{page}:{first}: the block does not end");
            yield return new(page, first + 1, fence[3..].Trim(), [.. lines.Skip(first).Take(end - first).Select(line => line[Math.Min(indentation, line.Length - line.TrimStart().Length)..])]);
            i = end;
        }
    }
}
