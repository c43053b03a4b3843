namespace RedKite.Compare.Tests;

/// <summary>A folder that is deleted with its contents when the test ends.</summary>
internal sealed class TemporaryFolder : IDisposable
{
    internal string Path { get; } = Directory.CreateTempSubdirectory("redkite-compare-tests-").FullName;

    internal string File(string name) => System.IO.Path.Combine(Path, name);

    public void Dispose() => Directory.Delete(Path, recursive: true);
}
