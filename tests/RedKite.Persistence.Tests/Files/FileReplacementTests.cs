using RedKite.Persistence.Files;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Files;

/// <summary>
/// Replacing a file on a disk that fails at each call in turn and loses its power after each call: the name always refers to a whole file,
/// the new one once the commit has returned.
/// </summary>
public sealed class FileReplacementTests
{
    private static readonly byte[] Old = [.. Enumerable.Range(0, 3_000).Select(i => (byte)i)];
    private static readonly byte[] New = [.. Enumerable.Range(0, 9 * 1024 * 1024).Select(i => (byte)(i * 7))];

    private static readonly PowerLoss[] Losses = [PowerLoss.DropsAll, PowerLoss.KeepsAll, PowerLoss.Random, PowerLoss.Random, PowerLoss.Random];

    [Fact]
    public void Any_call_may_fail_or_be_the_last_before_a_power_loss()
    {
        var random = new Random(7);
        int calls = CallsOf(Disk());
        Assert.Equal(8, calls);
        foreach (int error in (int[])[FileFault.InputOutput, FileFault.NoSpace])
        {
            for (int at = 1; at <= calls; at++)
            {
                FaultyFiles disk = Disk();
                int first = disk.Calls;
                int failing = at;
                disk.Plan = call => call.Number == first + failing ? new FileFault(error, call.Bytes / 3) : null;
                FileFailure? failure = Record.Exception(() => Replace(disk)) as FileFailure;
                Assert.Equal(error, failure?.Error);
                foreach (PowerLoss loss in Losses) AssertWhole(disk.After(loss, random), isCommitted: false);
                disk.Plan = null;
                Assert.True(disk.Content("d/file").AsSpan().SequenceEqual(Old) || failure!.Operation == "sync folder");
                Assert.Equal(["file"], disk.List("d"));
            }
        }
    }

    [Fact]
    public void Committed_file_survives_a_power_loss()
    {
        var random = new Random(8);
        FaultyFiles disk = Disk();
        Replace(disk);
        foreach (PowerLoss loss in Losses) AssertWhole(disk.After(loss, random), isCommitted: true);
    }

    // Without the sync before the rename, the name would refer to a file without bytes.
    [Fact]
    public void Disk_of_the_tests_loses_what_is_not_synced()
    {
        FaultyFiles disk = Disk();
        using IOpenFile file = disk.Create("d/temporary");
        file.Write(0, New);
        disk.Rename("d/temporary", "d/file");
        disk.SyncFolder("d");
        Assert.Empty(disk.After(PowerLoss.DropsAll, new Random(1)).Content("d/file"));
        file.SyncData();
        Assert.Equal(New.Length, disk.After(PowerLoss.DropsAll, new Random(1)).Content("d/file").Length);
    }

    [Fact]
    public void Sync_that_failed_loses_its_writes_even_if_a_later_one_succeeds()
    {
        FaultyFiles disk = Disk();
        using IOpenFile file = disk.OpenWrite("d/file");
        file.Write(0, "lost"u8);
        int next = disk.Calls + 1;
        disk.Plan = call => call.Number == next ? new FileFault(FileFault.InputOutput) : null;
        Assert.Throws<FileFailure>(file.SyncData);
        file.SyncData();
        Assert.Equal(Old, disk.After(PowerLoss.KeepsAll, new Random(1)).Content("d/file"));
    }

    [Fact]
    public void Full_disk_takes_what_fits_and_fails()
    {
        FaultyFiles disk = Disk();
        disk.CapacityBytes = Old.Length + 100;
        using IOpenFile file = disk.Create("d/other");
        FileFailure failure = Assert.Throws<FileFailure>(() => file.Write(0, new byte[150]));
        Assert.True(failure.IsFull);
        Assert.Equal(100, file.Length);
    }

    private static FaultyFiles Disk()
    {
        var disk = new FaultyFiles();
        disk.CreateFolder("d");
        using (IOpenFile file = disk.Create("d/file"))
        {
            file.Write(0, Old);
            file.SyncData();
        }

        disk.SyncFolder("d");
        return disk;
    }

    private static void Replace(FaultyFiles disk)
    {
        using var replacement = new FileReplacement(disk, "d", "temporary", syncsWhileGrowing: true);
        for (int i = 0; i < New.Length; i += 3 * 1024 * 1024) replacement.Append(New.AsSpan(i, 3 * 1024 * 1024));
        replacement.Commit("file");
    }

    private static int CallsOf(FaultyFiles disk)
    {
        int before = disk.Calls;
        Replace(disk);
        Assert.Equal(["create", "write", "write", "sync", "write", "sync", "rename", "sync folder"], disk.History.Skip(before).Select(call => call.Operation));
        return disk.Calls - before;
    }

    private static void AssertWhole(FaultyFiles image, bool isCommitted)
    {
        byte[] content = image.Content("d/file");
        Assert.True((!isCommitted && content.AsSpan().SequenceEqual(Old)) || content.AsSpan().SequenceEqual(New), $"{content.Length} bytes");
    }
}
