namespace RedKite.TestSupport;

/// <summary>Finds the repository that a test program was built from, so that tests need no absolute paths.</summary>
public static class RepositoryRoot
{
    /// <summary>The folder with RedKite.slnx.</summary>
    public static string Path { get; } = Find();

    /// <summary>"release" or "debug": the configuration of the running test program, and of its server.</summary>
    public static string Configuration { get; } =
        System.IO.Path.GetFileName(AppContext.BaseDirectory.TrimEnd(System.IO.Path.DirectorySeparatorChar));

    private static string Find()
    {
        for (DirectoryInfo? folder = new(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(System.IO.Path.Combine(folder.FullName, "RedKite.slnx"))) return folder.FullName;
        }

        throw new InvalidOperationException($"No RedKite.slnx above {AppContext.BaseDirectory}.");
    }
}
