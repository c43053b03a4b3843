using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

public sealed class MachineReaderTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-machine-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // The kernel's counters of a disk are of all programs: they grow at least by what is written here.
    [Fact]
    public void Writes_to_the_data_folders_disk_are_counted_with_their_latency()
    {
        using var reader = new MachineReader(_folder);
        double written = reader.Read(0).DiskWrittenBytes;
        if (double.IsNaN(written)) Assert.Skip("the folder is on no disk that is known");
        MachineFigures figures = default!;
        for (int i = 0; i < 200; i++)
        {
            using (FileStream file = File.Create(Path.Combine(_folder, $"file{i}")))
            {
                file.Write(new byte[256 * 1024]);
                file.Flush(flushToDisk: true);
            }

            figures = reader.Read(0);
            if (figures.DiskWrittenBytes > written && figures.DiskWriteMicroseconds >= 0) return;
        }

        Assert.Fail($"{figures.DiskWrittenBytes - written} bytes were written, in {figures.DiskWriteMicroseconds} us each");
    }
}
