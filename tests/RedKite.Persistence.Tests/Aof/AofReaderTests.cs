using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Check;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Tests.Rdb;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Aof;

/// <summary>Commands of append-only files, whole, truncated at every byte, and damaged.</summary>
public sealed class AofReaderTests
{
    private const string Text = "#TS:1700000000\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n# a note\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n"
        + "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nexec\r\n#TS:1700000009\r\n*1\r\n$7\r\nFLUSHDB\r\n";

    [Fact]
    public void Commands_units_and_times_are_read()
    {
        List<string> read = [];
        using var log = new LogFile(Text);
        AofReader reader = log.Reader;
        for (AofRead kind; (kind = reader.Read()) != AofRead.End;)
        {
            if (kind == AofRead.Timestamp) read.Add($"at {reader.TimestampSeconds}");
            else read.Add(string.Join(' ', Enumerable.Range(0, reader.Count).Select(i => Encoding.Latin1.GetString(reader[i]))) + (reader.InUnit ? " in unit" : ""));
        }

        Assert.Equal(["at 1700000000", "SELECT 0", "SET k \r\n", "MULTI in unit", "INCR n in unit", "exec", "at 1700000009", "FLUSHDB"], read);
        Assert.Equal(Text.Length, reader.UnitEnd);
    }

    [Fact]
    public void Truncated_file_is_cut_behind_its_last_whole_unit()
    {
        int[] ends = [0, After("$1\r\n0\r\n"), After("\r\n\r\n\r\n"), After("exec\r\n"), Text.Length];
        for (int length = 0; length <= Text.Length; length++)
        {
            using var log = new LogFile(Text[..length]);
            AofRead last = log.ReadAll();
            Assert.Equal(ends.Last(end => end <= length), log.Reader.UnitEnd);

            // An annotation may be the last that was written.
            int unitEnd = (int)log.Reader.UnitEnd;
            string rest = Text[unitEnd..length];
            bool isWhole = rest.Length == 0 || (rest.EndsWith('\n') && rest.Split('\n', StringSplitOptions.RemoveEmptyEntries).All(line => line[0] == '#'));
            Assert.Equal(isWhole ? AofRead.End : AofRead.Truncated, last);
        }
    }

    [Theory]
    [InlineData("*1\r\n$4\r\nPING\r\nPING\r\n", 14, "begins with '*'")]
    [InlineData("*0\r\n", 4, "number of arguments")]
    [InlineData("*-1\r\n", 5, "number of arguments")]
    [InlineData("*x\r\n", 0, "no number")]
    [InlineData("*1\n$4\r\nPING\r\n", 0, "no number")]
    [InlineData("*1\r\n:4\r\n1234567\r\n", 4, "expected '$'")]
    [InlineData("*1\r\n$-1\r\n1234567\r\n", 9, "length of an argument")]
    [InlineData("*1\r\n$3\r\nPING\r\n", 8, "does not end")]
    [InlineData("*11111111111111111111111111111111111111\r\n", 0, "no end")]
    public void Damaged_file_is_refused_with_the_place(string text, int offset, string reason)
    {
        using var log = new LogFile(text);
        AofException failure = Assert.Throws<AofException>(() => log.ReadAll());
        Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
        Assert.Equal(offset, failure.Offset);
        Assert.StartsWith("d/log: at byte ", failure.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("*1\r\n$4\r\nEXEC\r\n", 0, "EXEC without MULTI")]
    [InlineData("*1\r\n$4\r\nPING\r\n*1\r\n$5\r\nMULTI\r\n*1\r\n$5\r\nmulti\r\n", 29, "MULTI within a transaction")]
    public void Frame_without_its_other_is_reported_with_its_place(string text, int offset, string what)
    {
        var disk = new FaultyFiles();
        disk.CreateFolder("d");
        Write(disk, "d/log", text);
        AofSummary summary = AofSummary.Of(disk.OpenRead("d/log"), new RdbReadOptions(), nowMs: 0);
        Assert.Equal($"{what} at byte {offset}: a server ignores it; what was before it may be missing", summary.Damage);
        Assert.Equal(offset == 0 ? 0 : 14, summary.UnitEnd);
    }

    // More than the file has is truncation, and no memory is reserved for it.
    [Theory]
    [InlineData("*100000000\r\n$4\r\nPING\r\n")]
    [InlineData("*1\r\n$2000000000\r\nPING\r\n")]
    public void Size_beyond_the_file_is_truncation(string text)
    {
        using var log = new LogFile(text);
        Assert.Equal(AofRead.Truncated, log.ReadAll());
        Assert.Equal(0, log.Reader.UnitEnd);
    }

    [Fact]
    public void Many_annotations_and_large_arguments_are_read()
    {
        string large = new('x', 1_500_000);
        using var log = new LogFile(string.Concat(Enumerable.Repeat("#note\r\n", 100_000)) + $"*2\r\n$4\r\nECHO\r\n${large.Length}\r\n{large}\r\n" + Text);
        Assert.Equal(AofRead.Timestamp, SkipTo(log, AofRead.Command, out int length));
        Assert.Equal(large.Length, length);
    }

    [Fact]
    public void Rdb_data_precedes_the_commands()
    {
        var disk = new FaultyFiles();
        disk.CreateFolder("d");
        using var world = new FileWorld();
        world.Save(disk, "d", "log");
        using IOpenFile file = disk.OpenWrite("d/log");
        file.Write(file.Length, Encoding.Latin1.GetBytes(Text));
        Assert.True(AofReader.BeginsWithRdb(file));
        using RdbFileReader rdb = RdbFileReader.Open(file, new RdbReadOptions());
        using var batch = new RdbBatch();
        while (rdb.TryRead(batch)) Assert.All(batch.Items.ToArray(), item => Assert.Equal(RdbItemKind.Aux, item.Kind));
        Assert.Equal(file.Length - Text.Length, rdb.Position);
        using var reader = new AofReader(file, rdb.Position);
        Assert.Equal(AofRead.Timestamp, reader.Read());
        Assert.Equal(rdb.Position, reader.Start);
    }

    [Fact]
    public void Old_single_file_is_taken_over_although_any_call_fails_or_is_the_last()
    {
        var random = new Random(5);
        for (int at = 1; ; at++)
        {
            var disk = new FaultyFiles();
            disk.CreateFolder("d");
            Write(disk, "d/a.aof", Text);
            disk.SyncFolder("d");
            int first = disk.Calls;
            int failing = at;
            disk.Plan = call => call.Number == first + failing ? new FileFault(FileFault.InputOutput) : null;
            bool failed = Record.Exception(() => TakeOver(disk)) is FileFailure;
            disk.Plan = null;
            foreach (PowerLoss loss in (PowerLoss[])[PowerLoss.DropsAll, PowerLoss.KeepsAll, PowerLoss.Random, PowerLoss.Random])
            {
                FaultyFiles image = disk.After(loss, random);
                AofManifest manifest = TakeOver(image);
                Assert.Equal("a.aof", manifest.Base!.Name);
                Assert.Equal(Text, Encoding.Latin1.GetString(image.Content("d/append/a.aof")));
            }

            if (!failed) break;
        }
    }

    private static AofManifest TakeOver(FaultyFiles disk)
    {
        var folder = new AofFolder(disk, "d", "append", "a.aof");
        AofManifest manifest = folder.ReadManifest();
        return folder.HasOldFile(manifest) ? folder.TakeOverOldFile() : manifest;
    }

    private static int After(string text) => Text.IndexOf(text, StringComparison.Ordinal) + text.Length;

    private static AofRead SkipTo(LogFile log, AofRead kind, out int length)
    {
        while (log.Reader.Read() != kind)
        {
        }

        length = log.Reader[1].Length;
        return log.Reader.Read();
    }

    private static void Write(FaultyFiles disk, string path, string text)
    {
        using IOpenFile file = disk.Create(path);
        file.Write(0, Encoding.Latin1.GetBytes(text));
        file.SyncData();
    }

    private sealed class LogFile : IDisposable
    {
        internal LogFile(string text)
        {
            var disk = new FaultyFiles();
            disk.CreateFolder("d");
            Write(disk, "d/log", text);
            Reader = new AofReader(disk.OpenRead("d/log"));
        }

        internal AofReader Reader { get; }

        internal AofRead ReadAll()
        {
            AofRead read;
            do read = Reader.Read();
            while (read is AofRead.Command or AofRead.Timestamp);
            return read;
        }

        public void Dispose() => Reader.Dispose();
    }
}
