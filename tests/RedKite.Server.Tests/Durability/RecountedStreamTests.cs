using RedKite.Persistence.Files;

namespace RedKite.Server.Tests.Durability;

/// <summary>Streams whose stored numbers contradict their entries load, as in redis-server 8.0.2; the entries count.</summary>
public class RecountedStreamTests
{
    private const int Alive = 0, Deleted = 2, Length = 45, LastMs = 46, FirstMs = 48, Added = 52; // places in the sample, from its node's first number on

    [Theory]
    [InlineData(Length, 5)]
    [InlineData(Length, 2)]
    [InlineData(Length, 0)]
    [InlineData(LastMs, 2)]
    [InlineData(FirstMs, 2, false)] // is not looked at
    [InlineData(Added, 1)]
    [InlineData(Alive, 4)]
    [InlineData(Alive, 2)]
    [InlineData(Deleted, 1)]
    public async Task Wrong_numbers_are_counted_again(int position, byte wrong, bool warns = true)
    {
        await using DiskServer disk = await DiskServer.StartAsync("rdbchecksum", "no", "rdbcompression", "no");
        for (int i = 1; i <= 3; i++) disk.Run($"XADD s {i}-0 f v");
        disk.Run("XGROUP CREATE s g 0");
        disk.Run("XREADGROUP GROUP g c COUNT 2 STREAMS s >");
        string expected = Describe(disk);
        Assert.Equal("OK", disk.Run("SAVE").Text);
        await disk.StopAsync();
        using (IOpenFile file = disk.Files.OpenWrite(Path.Combine(disk.Folder, "dump.rdb")))
        {
            byte[] bytes = new byte[file.Length];
            file.Read(0, bytes);
            int node = bytes.AsSpan().IndexOf((byte[])[3, 1, 0, 1, 1, 1, 0x81, (byte)'f']);
            Assert.True(node > 0, Convert.ToHexString(bytes));
            int numbers = bytes.AsSpan(node).IndexOf((byte[])[0xFF, 3, 3, 0, 1, 0, 0, 0, 3]);
            Assert.Equal(Length, numbers + 1);
            file.Write(node + position, [wrong]);
        }

        await disk.StartAsync();
        Assert.Equal(expected, Describe(disk));
        Assert.Equal(warns, disk.LogLines.Any(line => line.Contains("1 values stated something wrongly", StringComparison.Ordinal) && line.Contains("dump.rdb", StringComparison.Ordinal)));
        Assert.Equal("4-0", disk.Run("XADD s 4-0 f v").Text);
        Assert.Equal(4, disk.Run("XLEN s").Integer);
    }

    private static string Describe(DiskServer disk) => string.Join('\n', disk.Run("XINFO STREAM s FULL"), disk.Run("XLEN s"), disk.Run("XRANGE s - +"), disk.Run("XPENDING s g"));
}
