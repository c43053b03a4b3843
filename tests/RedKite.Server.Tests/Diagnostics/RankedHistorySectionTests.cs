using System.Buffers.Binary;
using System.IO.Compression;
using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Server.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>The histories of commands and loops in the history's file: restarts, versions before and after, damage.</summary>
public sealed class RankedHistorySectionTests : IDisposable
{
    private const long Minute = 30_000_000;

    private static readonly Metric[] One = [new(0, "a", MetricKind.Gauge, MetricUnit.Count, "", _ => 0)];

    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-history-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void Minutes_are_kept_over_a_restart_by_name()
    {
        RankedHistory commands = Commands("get", "set"), loops = Loops();
        for (int i = 0; i < 180; i++)
        {
            commands.Add((Minute * 60) + i, i < 60 ? [] : [new RankedRecord(0, [50, 5, 1, 7, 9]), new RankedRecord(1, [100, 10, 0, 11, float.NaN])]);
            loops.Add((Minute * 60) + i, [new RankedRecord(0, [25, 300, 2])]);
        }

        HistoryFile.Save(Path, new MetricHistory(metrics: 1), One, commands, loops);
        RankedHistory nextCommands = Commands("new", "set", "get"), nextLoops = Loops(); // other indexes
        Assert.Null(HistoryFile.Load(Path, new MetricHistory(metrics: 1), One, nextCommands, nextLoops));
        Assert.Equal([0f, 5f], Values(nextCommands, "get", "command_calls"));
        Assert.Equal([0f, 10f], Values(nextCommands, "set", "command_calls"));
        Assert.Equal([float.NaN, 9f], Values(nextCommands, "get", "command_max"));
        Assert.Equal([float.NaN, float.NaN], Values(nextCommands, "set", "command_max"));
        Assert.Equal([0f, 0f], Values(nextCommands, "new", "command_calls"));
        Assert.Equal([25f, 25f], Values(nextLoops, "0", "loop_busy_percent"));
        foreach (RankedSeries series in RankedTable.Commands.Series)
        {
            int at = RankedTable.Commands.Find(series.Name);
            Assert.Equal(commands.Minutes(0, at, 0, long.MaxValue), nextCommands.Minutes(2, at, 0, long.MaxValue));
        }
    }

    [Fact]
    public void Command_that_is_not_known_any_more_is_left_out()
    {
        RankedHistory commands = Commands("gone", "get");
        for (int i = 0; i < 120; i++) commands.Add((Minute * 60) + i, [new RankedRecord(0, [50, 5, 0, 7, 9]), new RankedRecord(1, [40, 4, 0, 7, 9])]);
        byte[] bytes = HistoryFile.Write(new MetricHistory(metrics: 1), One, commands);
        RankedHistory next = Commands("get");
        HistoryFile.Read(bytes, new MetricHistory(metrics: 1), One, next);
        Assert.Equal([4f], Values(next, "get", "command_calls"));
        Assert.Equal(["get"], next.Names);

        RankedHistory package = new(RankedTable.Commands, names: null); // takes all names
        HistoryFile.Read(bytes, new MetricHistory(metrics: 1), One, package);
        Assert.Equal([5f], Values(package, "gone", "command_calls"));
    }

    [Fact]
    public void File_of_the_version_before_has_its_metrics_and_no_commands()
    {
        File.WriteAllBytes(Path, FileOf(Metrics));
        var history = new MetricHistory(metrics: 1);
        RankedHistory commands = Commands("get");
        Assert.Null(HistoryFile.Load(Path, history, One, commands, Loops()));
        Assert.Equal([(Minute * 60, 2f, 3f)], history.Minutes(0, 0, long.MaxValue).Select(point => (point.UnixSeconds, point.Value, point.Max)));
        Assert.Empty(commands.Minutes(0, 0, 0, long.MaxValue));
    }

    // As the version before does: it stops after the metrics.
    [Fact]
    public void Version_before_finds_its_metrics_in_a_new_file()
    {
        var history = new MetricHistory(metrics: 1);
        history.RestoreMinute(Minute, [2], [3]);
        RankedHistory commands = Commands("get");
        commands.RestoreMinute(Minute, [0], [1, 2, 3, 4, 5]);
        byte[] with = Content(HistoryFile.Write(history, One, commands)), without = Content(FileOf(Metrics));
        Assert.Equal(without, with[..without.Length]);
        Assert.True(with.Length > without.Length);
    }

    [Fact]
    public void Kinds_and_series_of_a_later_version_are_skipped()
    {
        byte[] bytes = FileOf(writer =>
        {
            Metrics(writer);
            writer.Write((byte)2);
            WriteHead(writer, "clients", ["client_calls"], ["ann"]);
            WriteMinute(writer, [0], [5]);
            writer.Write(-1L);
            WriteHead(writer, "commands", ["command_of_tomorrow", "command_calls"], ["get"]);
            WriteMinute(writer, [0], [1, 5]);
            writer.Write(-1L);
        });
        RankedHistory commands = Commands("get");
        HistoryFile.Read(bytes, new MetricHistory(metrics: 1), One, commands);
        Assert.Equal([5f], Values(commands, "get", "command_calls"));
        Assert.Equal([float.NaN], Values(commands, "get", "command_microseconds"));
    }

    [Theory]
    [InlineData("histories")]
    [InlineData("series")]
    [InlineData("names")]
    [InlineData("negative names")]
    [InlineData("records")]
    [InlineData("negative records")]
    [InlineData("id")]
    [InlineData("time")]
    public void Impossible_counts_are_refused_and_the_file_is_set_aside(string wrong)
    {
        byte[] bytes = FileOf(writer =>
        {
            Metrics(writer);
            writer.Write((byte)(wrong == "histories" ? 200 : 1));
            writer.Write("commands");
            writer.Write(wrong == "series" ? 65 : 1);
            writer.Write("command_calls");
            writer.Write(wrong switch { "names" => 10_001, "negative names" => -1, _ => 1 });
            writer.Write("get");
            writer.Write(wrong == "time" ? long.MaxValue : Minute);
            writer.Write(wrong switch { "records" => 1025, "negative records" => -1, _ => 1 });
            writer.Write((ushort)(wrong == "id" ? 1 : 0));
            writer.Write(5f);
            writer.Write(-1L);
        });
        Assert.Throws<InvalidDataException>(() => HistoryFile.Read(bytes, new MetricHistory(metrics: 1), One, Commands("get")));
        File.WriteAllBytes(Path, bytes);
        Assert.Contains("is damaged (it has", HistoryFile.Load(Path, new MetricHistory(metrics: 1), One, Commands("get")), StringComparison.Ordinal);
        Assert.Equal((false, true), (File.Exists(Path), File.Exists(Path + ".damaged")));
    }

    // With a right checksum, as a program could write it.
    [Fact]
    public void Any_damage_inside_is_refused_or_read_and_never_fails_otherwise()
    {
        RankedHistory commands = Commands("get", "set");
        for (int i = 0; i < 600; i++) commands.Add((Minute * 60) + i, [new RankedRecord(i % 2, [i, 5, 0, 7, 9])]);
        byte[] content = Content(HistoryFile.Write(new MetricHistory(metrics: 1), One, commands, Loops()));
        var random = new Random(20261122);
        int refused = 0, damages = TestScale.Of(gate: 400, full: 2000);
        for (int i = 0; i < damages; i++)
        {
            byte[] damaged = i % 4 == 0 ? content[..random.Next(content.Length)] : [.. content];
            if (damaged.Length > 0) damaged[random.Next(damaged.Length)] = (byte)random.Next(256);
            File.WriteAllBytes(Path, FileOf(writer => writer.Write(damaged)));
            if (HistoryFile.Load(Path, new MetricHistory(metrics: 1), One, Commands("get"), Loops()) is { } problem)
            {
                Assert.Contains("is damaged (", problem, StringComparison.Ordinal);
                refused++;
            }
        }

        Assert.InRange(refused, damages / 4, damages - 1);
    }

    private string Path => System.IO.Path.Combine(_folder, "metrics.history");

    private static RankedHistory Commands(params string[] names) => new(RankedTable.Commands, names);

    private static RankedHistory Loops() => new(RankedTable.Loops, ["0"]);

    private static IEnumerable<float> Values(RankedHistory history, string name, string series) => history.Minutes(history.Find(name), history.Kind.Find(series), 0, long.MaxValue).Select(point => point.Value);

    // What the version before wrote of one metric and one minute.
    private static void Metrics(BinaryWriter writer)
    {
        writer.Write(1);
        writer.Write("a");
        writer.Write(Minute);
        writer.Write(2f);
        writer.Write(3f);
        writer.Write(-1L);
    }

    private static void WriteHead(BinaryWriter writer, string kind, string[] series, string[] names)
    {
        writer.Write(kind);
        foreach (string[] list in (string[][])[series, names])
        {
            writer.Write(list.Length);
            foreach (string name in list) writer.Write(name);
        }
    }

    private static void WriteMinute(BinaryWriter writer, ushort[] ids, float[] values)
    {
        writer.Write(Minute);
        writer.Write(ids.Length);
        foreach (ushort id in ids) writer.Write(id);
        foreach (float value in values) writer.Write(value);
    }

    private static byte[] FileOf(Action<BinaryWriter> write)
    {
        var bytes = new MemoryStream();
        bytes.Write("RKHIST01"u8);
        using (var brotli = new BrotliStream(bytes, CompressionLevel.Fastest, leaveOpen: true))
        using (var writer = new BinaryWriter(brotli, Encoding.UTF8))
        {
            write(writer);
        }

        var checksum = new byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(checksum, Crc64.Append(0, bytes.ToArray()));
        return [.. bytes.ToArray(), .. checksum];
    }

    private static byte[] Content(byte[] file)
    {
        var content = new MemoryStream();
        using var brotli = new BrotliStream(new MemoryStream(file[8..^8]), CompressionMode.Decompress);
        brotli.CopyTo(content);
        return content.ToArray();
    }
}
