using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Check;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Tests.Rdb;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Aof;

/// <summary>
/// Thousands of damaged append-only files: each is whole, or an error names its file and place, and what is whole up to a place is whole
/// when it is cut there. Memory stays in proportion to the file.
/// </summary>
public sealed class DamagedFolderTests
{
    private const string Path = "d/log";
    private const int AllocatedBytesMax = 1_000_000; // per file, which has some hundred bytes

    private static readonly int Rounds = TestScale.Of(gate: 1_500, full: 60_000);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Damaged_logs_are_refused_with_their_place_or_whole(bool hasBase)
    {
        var random = new Random(TestScale.GivenSeed ?? 21);
        var seen = new Dictionary<string, int>();
        byte[] whole = [.. hasBase ? Base() : [], .. Commands()];
        for (int i = 0; i < Rounds; i++)
        {
            byte[] damaged = Damage(whole, random);
            long before = GC.GetAllocatedBytesForCurrentThread();
            string verdict = Verdict(damaged, out long unitEnd);
            Assert.True(GC.GetAllocatedBytesForCurrentThread() - before < AllocatedBytesMax, $"round {i}");
            seen[verdict] = seen.GetValueOrDefault(verdict) + 1;
            if (verdict == "damaged") Assert.Equal("whole", Verdict(damaged[..(int)unitEnd], out _));
        }

        Assert.True(seen["damaged"] > Rounds / 10 && seen["whole"] > 10, string.Join(' ', seen));
        if (hasBase) Assert.True(seen["refused"] > Rounds / 20, string.Join(' ', seen));
    }

    [Fact]
    public void Damaged_manifests_are_refused_with_their_line_or_read()
    {
        var random = new Random(TestScale.GivenSeed ?? 22);
        AofManifest manifest = AofManifest.Empty.WithBase("my \"app\".aof", isRdb: true, firstKept: 1).WithIncrement("my \"app\".aof", 310).WithIncrement("my \"app\".aof", 700).WithEndOffset(900);
        byte[] whole = manifest.Format();
        int refused = 0;
        for (int i = 0; i < Rounds; i++)
        {
            try
            {
                AofManifest read = AofManifest.Parse(Damage(whole, random), "d/a.manifest");

                // What was understood is written in a form that is understood.
                Assert.Equal(read.Files.Select(file => file.Name), AofManifest.Parse(read.Format(), "d/a.manifest").Files.Select(file => file.Name));
            }
            catch (AofException failure)
            {
                Assert.StartsWith("d/a.manifest: line ", failure.Message, StringComparison.Ordinal);
                refused++;
            }
        }

        Assert.InRange(refused, Rounds / 4, Rounds - 1);
    }

    private static byte[] Base()
    {
        using var bytes = new RdbBytes("REDIS0012");
        bytes.Raw(250).Text("aof-base").Text("1").Raw(254, 0).Raw(251).Length(2).Length(1);
        return bytes.Key(0, "text").Text("value").Raw(252).Int64(4_000_000_000_000).Key(1, "list").Length(2).Text("a").Text("b").End();
    }

    private static byte[] Commands() => Encoding.Latin1.GetBytes("*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n#TS:1700000000\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n0123456789\r\n"
        + "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n#TS:1700000005\r\n*4\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$1\r\na\r\n$1\r\nb\r\n");

    private static string Verdict(byte[] bytes, out long unitEnd)
    {
        var disk = new FaultyFiles();
        disk.CreateFolder("d");
        using IOpenFile file = disk.Create(Path);
        file.Write(0, bytes);
        unitEnd = 0;
        try
        {
            AofSummary summary = AofSummary.Of(file, new RdbReadOptions(), nowMs: 0, untilSeconds: 1_700_000_001);
            unitEnd = summary.UnitEnd;
            Assert.InRange(unitEnd, 0, bytes.Length);
            Assert.InRange(summary.UntilOffset, -1, bytes.Length);
            return summary.Damage is null ? "whole" : "damaged";
        }
        catch (RdbFileException failure)
        {
            Assert.StartsWith($"{Path}: at byte ", failure.Message, StringComparison.Ordinal);
            return "refused";
        }
    }

    private static byte[] Damage(byte[] whole, Random random)
    {
        List<byte> bytes = [.. whole];
        for (int i = random.Next(1, 4); i > 0 && bytes.Count > 1; i--)
        {
            int at = random.Next(bytes.Count);
            switch (random.Next(8))
            {
                case 0: bytes.RemoveRange(at, bytes.Count - at); break;
                case 1: bytes.RemoveRange(at, Math.Min(random.Next(1, 20), bytes.Count - at)); break;
                case 2: bytes.Insert(at, (byte)random.Next(256)); break;
                case 3: bytes.InsertRange(at, Encoding.ASCII.GetBytes(random.Next(3) switch { 0 => "999999999", 1 => "-1", _ => "\r\n" })); break;
                case 4: bytes.InsertRange(at, bytes.Slice(0, Math.Min(random.Next(1, 60), bytes.Count))); break;
                default: bytes[at] ^= (byte)(1 << random.Next(8)); break;
            }
        }

        return [.. bytes];
    }
}
