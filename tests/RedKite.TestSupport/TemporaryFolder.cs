namespace RedKite.TestSupport;

/// <summary>A folder of its own for a test, deleted on disposal.</summary>
public sealed class TemporaryFolder : IDisposable
{
    public string Path { get; } = Directory.CreateTempSubdirectory("redkite-test-").FullName;

    /// <summary>The path of a file in the folder.</summary>
    public string File(string name) => System.IO.Path.Combine(Path, name);

    public void Dispose() => Directory.Delete(Path, recursive: true);
}
