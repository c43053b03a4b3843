using System.Text.Json;

namespace RedKite.Aspire.Hosting;

/// <summary>How the program is started: a command, and the arguments in front of the server's.</summary>
/// <param name="Command">The program's path or name.</param>
/// <param name="Arguments">What comes first.</param>
/// <param name="IsFound">Whether it is known to exist.</param>
internal sealed record RedKiteProgram(string Command, IReadOnlyList<string> Arguments, bool IsFound)
{
    internal const string ToolPackage = "redkite.tool";

    private const string Name = "redkite";

    /// <summary>
    /// The program that a developer expects: the local tool of the repository, as <c>dotnet redkite</c> would run it; the first on PATH; the global tool.
    /// </summary>
    /// <param name="directory">Where to begin the search for a manifest of local tools.</param>
    /// <param name="path">The directories of PATH.</param>
    /// <param name="home">The user's home.</param>
    internal static RedKiteProgram Find(string directory, string? path, string? home)
    {
        if (HasLocalTool(directory)) return new("dotnet", ["tool", "run", Name, "--"], IsFound: true);
        IEnumerable<string> folders = (path ?? "").Split(Path.PathSeparator, StringSplitOptions.RemoveEmptyEntries);
        if (!string.IsNullOrEmpty(home)) folders = folders.Append(Path.Combine(home, ".dotnet", "tools"));
        string file = OperatingSystem.IsWindows() ? Name + ".exe" : Name;
        string? found = folders.Select(folder => Path.Combine(folder, file)).FirstOrDefault(File.Exists);
        return found is null ? new(Name, [], IsFound: false) : new(found, [], IsFound: true);
    }

    // The nearest manifest decides, unless it lets the search go on; one of its tools is the program.
    private static bool HasLocalTool(string directory)
    {
        for (DirectoryInfo? folder = new(directory); folder is not null; folder = folder.Parent)
        {
            foreach (string manifest in (string[])[Path.Combine(folder.FullName, ".config", "dotnet-tools.json"), Path.Combine(folder.FullName, "dotnet-tools.json")])
            {
                if (!File.Exists(manifest)) continue;
                try
                {
                    using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(manifest), new JsonDocumentOptions { CommentHandling = JsonCommentHandling.Skip, AllowTrailingCommas = true });
                    if (document.RootElement.TryGetProperty("tools", out JsonElement tools) && tools.ValueKind == JsonValueKind.Object
                        && tools.EnumerateObject().Any(tool => tool.Name.Equals(ToolPackage, StringComparison.OrdinalIgnoreCase))) return true;
                    if (document.RootElement.TryGetProperty("isRoot", out JsonElement isRoot) && isRoot.ValueKind == JsonValueKind.True) return false;
                }
                catch (Exception failure) when (failure is JsonException or IOException or UnauthorizedAccessException)
                {
                    // dotnet reports a broken manifest itself.
                }
            }
        }

        return false;
    }
}
