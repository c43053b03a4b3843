namespace RedKite.Figures;

/// <summary>Locates the repository and builds the programs that are measured.</summary>
internal static class Repository
{
    internal static string Root { get; } = FindRoot(AppContext.BaseDirectory) ?? FindRoot(Directory.GetCurrentDirectory())
        ?? throw new CannotMeasureException("no folder above this program or the current folder holds RedKite.slnx");

    internal static string HostProgram => HostProgramOf(Root);

    internal static string Results { get; } = Path.Combine(Root, "bench", "Results");

    internal static string FiguresPage => Path.Combine(Root, "docs", "reference", "figures.md");

    /// <summary>The server's path in a worktree of the repository, once built.</summary>
    internal static string HostProgramOf(string root) => Path.Combine(root, "artifacts", "bin", "RedKite.Host", "release", "redkite");

    internal static void BuildHost()
    {
        Console.Error.WriteLine("building RedKite.Host");
        ExternalProgram.Run("dotnet", ["build", Path.Combine(Root, "src", "RedKite.Host"), "-c", "Release", "--nologo", "-v", "quiet"]);
    }

    /// <summary>Compiles the floor server next to this program. Returns null if the machine has no C compiler.</summary>
    internal static string? BuildFloor()
    {
        if (ExternalProgram.Find("cc") is not { } compiler) return null;
        string program = Path.Combine(AppContext.BaseDirectory, "floor_server");
        ExternalProgram.Run(compiler, ["-O2", "-o", program, Path.Combine(Root, "bench", "Figures", "floor", "floor_server.c")]);
        return program;
    }

    private static string? FindRoot(string folder)
    {
        for (DirectoryInfo? at = new(folder); at is not null; at = at.Parent)
        {
            if (File.Exists(Path.Combine(at.FullName, "RedKite.slnx"))) return at.FullName;
        }

        return null;
    }
}
