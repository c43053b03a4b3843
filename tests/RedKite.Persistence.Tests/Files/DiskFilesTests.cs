using RedKite.Persistence.Files;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Files;

/// <summary>The real file system: what calls do, and that their errors name the call, the path and the reason.</summary>
public sealed class DiskFilesTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    private static DiskFiles Files => DiskFiles.Instance;

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void File_is_written_read_cut_renamed_listed_and_deleted()
    {
        string path = _folder.File("b");
        using (IOpenFile file = Files.Create(path))
        {
            file.Write(0, "hello"u8);
            file.Write(7, "!"u8);
            file.SyncData();
            Assert.Equal(8, file.Length);
            byte[] read = new byte[20];
            Assert.Equal(8, file.Read(0, read));
            Assert.Equal("hello\0\0!"u8.ToArray(), read[..8]);
            Assert.Equal(1, file.Read(7, read));
            Assert.Equal(0, file.Read(8, read));
            file.SetLength(4);
            Assert.Equal(4, file.Length);
        }

        using (IOpenFile file = Files.OpenWrite(_folder.File("a"))) Assert.Equal(0, file.Length);
        Assert.Equal(["a", "b"], Files.List(_folder.Path));
        Files.Rename(path, _folder.File("a"));
        Files.SyncFolder(_folder.Path);
        Assert.Equal(["a"], Files.List(_folder.Path));
        using (IOpenFile file = Files.OpenWrite(_folder.File("a"))) Assert.Equal(4, file.Length);
        Files.Delete(_folder.File("a"));
        Files.Delete(_folder.File("a"));
        Assert.False(Files.FileExists(_folder.File("a")));
        Files.CreateFolder(_folder.File("folder"));
        Files.CreateFolder(_folder.File("folder"));
        Assert.True(Files.FolderExists(_folder.File("folder")));
    }

    [Fact]
    public void Failures_have_the_call_the_path_and_the_reason()
    {
        string missing = _folder.File("missing");
        AssertFails("open", missing, 2, () => Files.OpenRead(missing).Dispose());
        AssertFails("create", missing + "/file", 2, () => Files.Create(missing + "/file").Dispose());
        AssertFails("rename", missing, 2, () => Files.Rename(missing, _folder.File("other")));
        AssertFails("list", missing, 2, () => Files.List(missing));
        if (OperatingSystem.IsWindows()) return;
        AssertFails("sync folder", missing, 2, () => Files.SyncFolder(missing));
        AssertFails("open", _folder.Path, 21, () => Files.OpenWrite(_folder.Path).Dispose(), orError: 13);
    }

    [Fact]
    public void Full_disk_is_recognised()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "/dev/full");
        using IOpenFile file = Files.OpenWrite("/dev/full");
        FileFailure failure = Assert.Throws<FileFailure>(() => file.Write(0, "x"u8));
        Assert.True(failure.IsFull);
        Assert.Equal("/dev/full: write failed: No space left on device", failure.Message);
    }

    private static void AssertFails(string operation, string path, int error, Action call, int orError = 0)
    {
        FileFailure failure = Assert.Throws<FileFailure>(call);
        Assert.Equal(operation, failure.Operation);
        Assert.Equal(path, failure.Path);
        if (!OperatingSystem.IsWindows()) Assert.True(failure.Error == error || failure.Error == orError, failure.Message);
    }
}
