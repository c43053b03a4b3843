namespace RedKite.Repo.Tests;

/// <summary>The working tree that the rules check: all files except build output and installed packages.</summary>
internal static class Repository
{
    private static readonly string[] GeneratedFolders = [".git", ".vs", "artifacts", "bin", "node_modules", "obj"];

    internal static string Root { get; } = FindRoot();

    /// <summary>Files with one of these extensions below a folder, as root-relative paths with forward slashes.</summary>
    internal static IEnumerable<string> Files(string folder, params string[] extensions)
    {
        string start = Path.Combine(Root, folder);
        return Directory.Exists(start)
            ? Walk(start)
                .Where(path => extensions.Contains(Path.GetExtension(path)))
                .Select(path => Path.GetRelativePath(Root, path).Replace('\\', '/'))
                .Order(StringComparer.Ordinal)
            : [];
    }

    internal static IEnumerable<string> CSharpFiles => Files("", ".cs");

    internal static bool Exists(string path) => Path.Exists(Path.Combine(Root, path));

    internal static string Read(string path) => File.ReadAllText(Path.Combine(Root, path));

    /// <summary>Fails with one line per violation, so that a run lists all of them.</summary>
    internal static void AssertNone(IEnumerable<string> violations)
    {
        string[] found = [.. violations];
        Assert.True(found.Length == 0, $"{found.Length} violation(s):\n{string.Join('\n', found)}");
    }

    private static IEnumerable<string> Walk(string folder)
    {
        foreach (string file in Directory.EnumerateFiles(folder)) yield return file;

        foreach (string below in Directory.EnumerateDirectories(folder))
        {
            if (GeneratedFolders.Contains(Path.GetFileName(below))) continue;
            foreach (string file in Walk(below)) yield return file;
        }
    }

    private static string FindRoot()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, "RedKite.slnx")))
        {
            folder = folder.Parent;
        }

        return folder?.FullName ?? throw new InvalidOperationException("The tests run outside the repository.");
    }
}
