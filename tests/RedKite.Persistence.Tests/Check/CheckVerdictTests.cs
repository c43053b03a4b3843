using System.Diagnostics;
using RedKite.Persistence.Check;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Tests.Rdb;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Check;

/// <summary>
/// What <c>redkite check</c> is made of and Redis's own tools come to the same verdict about whole and damaged files.
/// </summary>
public sealed class CheckVerdictTests : IDisposable
{
    private static readonly int Files = TestScale.Of(gate: 25, full: 400);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void Damaged_snapshots_are_damaged_to_both()
    {
        string tool = Tool("redis-check-rdb");
        var random = new Random(TestScale.GivenSeed ?? 11);
        byte[] whole = Snapshot();
        Assert.True(IsWholeRdb(whole));
        Assert.True(Accepts(tool, whole));
        for (int i = 0; i < Files; i++)
        {
            byte[] damaged = Damage(whole, random);
            Assert.True(IsWholeRdb(damaged) == Accepts(tool, damaged), $"round {i}: {Convert.ToHexString(damaged)}");
        }
    }

    [Fact]
    public void Damaged_logs_are_damaged_to_both()
    {
        string tool = Tool("redis-check-aof");
        var random = new Random(TestScale.GivenSeed ?? 12);
        byte[] whole = [.. "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n#TS:1700000000\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n*1\r\n$7\r\nFLUSHDB\r\n"u8];
        Assert.True(IsWholeLog(whole));
        Assert.True(Accepts(tool, whole));
        int refused = 0;
        for (int i = 0; i < Files; i++)
        {
            byte[] damaged = Damage(whole, random);

            // Redis takes half an annotation at the end for a whole one.
            if (damaged[(damaged.AsSpan().LastIndexOf((byte)'\n') + 1)..] is [(byte)'#', ..]) continue;
            bool isWhole = IsWholeLog(damaged);
            if (!isWhole) refused++;
            Assert.True(isWhole == Accepts(tool, damaged), $"round {i}: {CommandLine.Format(damaged)}");
        }

        Assert.InRange(refused, Files / 4, Files - 1);
    }

    private static string Tool(string name)
    {
        Assert.SkipWhen(OracleProgram.Redis8Path is null, OracleProgram.Redis8Missing);
        string path = Path.Combine(Path.GetDirectoryName(OracleProgram.Redis8Path)!, name);
        Assert.SkipUnless(File.Exists(path), $"not compared: there is no {name} beside {OracleProgram.Redis8Path}");
        return path;
    }

    private static byte[] Snapshot()
    {
        using var bytes = new RdbBytes("REDIS0012");
        bytes.Raw(250).Text("redis-ver").Text("8.0.2").Raw(254, 0).Raw(251).Length(3).Length(1);
        return bytes.Key(0, "text").Text("value").Raw(252).Int64(4_000_000_000_000).Key(1, "list").Length(2).Text("a").Text("b").Key(2, "set").Length(1).Text("member").End();
    }

    // One or two changes; the checksum or the structure shows them.
    private static byte[] Damage(byte[] whole, Random random)
    {
        List<byte> bytes = [.. whole];
        for (int i = random.Next(1, 3); i > 0; i--)
        {
            int at = random.Next(9, bytes.Count);
            switch (random.Next(5))
            {
                case 0: bytes.RemoveRange(at, bytes.Count - at); break;
                case 1: bytes.RemoveAt(at); break;
                case 2: bytes.Insert(at, (byte)random.Next(256)); break;
                default: bytes[at] ^= (byte)(1 << random.Next(8)); break;
            }

            if (bytes.Count < 20) break;
        }

        return [.. bytes];
    }

    private bool Accepts(string tool, byte[] bytes)
    {
        string path = _folder.File("file");
        File.WriteAllBytes(path, bytes);
        using Process check = Process.Start(new ProcessStartInfo(tool, [path]) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        check.StandardError.ReadToEndAsync();
        check.StandardOutput.ReadToEnd();
        check.WaitForExit();
        return check.ExitCode == 0;
    }

    private bool IsWholeRdb(byte[] bytes)
    {
        using IOpenFile file = Open(bytes);
        try
        {
            return RdbSummary.Of(file, new RdbReadOptions(), nowMs: 0).End <= bytes.Length;
        }
        catch (RdbFileException)
        {
            return false;
        }
    }

    private bool IsWholeLog(byte[] bytes)
    {
        using IOpenFile file = Open(bytes);
        return AofSummary.Of(file, new RdbReadOptions(), nowMs: 0).Damage is null;
    }

    private IOpenFile Open(byte[] bytes)
    {
        string path = _folder.File("own");
        File.WriteAllBytes(path, bytes);
        return DiskFiles.Instance.OpenRead(path);
    }
}
