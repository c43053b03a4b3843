using System.Buffers.Binary;
using System.IO.Compression;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Keeps the minutes of the histories of metrics, commands and loops over a restart, in one small file. It is written beside the old one
/// and renamed, so that a crash leaves the old one.
/// </summary>
/// <remarks>
/// <para>Layout: the magic, then compressed: the number of metrics, their names, then for each minute its number since 1970, the means
/// and the maxima; -1 ends the minutes. Then the ranked histories (<see cref="RankedHistorySection"/>). Behind it the CRC-64 of everything
/// before, as in a snapshot. Metrics are found by name, so that a version with other metrics can read the file.</para>
/// <para>The magic has no new number for the ranked histories: a version that does not know them stops reading before them, and the
/// file of such a version ends there.</para>
/// </remarks>
internal static class HistoryFile
{
    private static readonly byte[] Magic = "RKHIST01"u8.ToArray();

    /// <summary>The latest time that a file or a debug package may have: the year 9999.</summary>
    internal static readonly long SecondMax = DateTimeOffset.MaxValue.ToUnixTimeSeconds();

    /// <exception cref="IOException">The file cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The file must not be written.</exception>
    internal static void Save(string path, MetricHistory history, IReadOnlyList<Metric> metrics, params IReadOnlyList<RankedHistory> ranked)
    {
        string temporary = path + ".tmp";
        File.WriteAllBytes(temporary, Write(history, metrics, ranked));
        File.Move(temporary, path, overwrite: true);
    }

    /// <summary>The bytes of the file.</summary>
    internal static byte[] Write(MetricHistory history, IReadOnlyList<Metric> metrics, params IReadOnlyList<RankedHistory> ranked)
    {
        var bytes = new MemoryStream();
        bytes.Write(Magic);
        using (var brotli = new BrotliStream(bytes, CompressionLevel.Fastest, leaveOpen: true))
        using (var writer = new BinaryWriter(brotli, Encoding.UTF8))
        {
            writer.Write(metrics.Count);
            foreach (Metric metric in metrics) writer.Write(metric.Name);
            history.ForEachMinute((minute, means, maxima) =>
            {
                writer.Write(minute);
                writer.Write(MemoryMarshal.AsBytes(means));
                writer.Write(MemoryMarshal.AsBytes(maxima));
            });
            writer.Write(-1L);
            RankedHistorySection.Write(writer, ranked);
        }

        Span<byte> checksum = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(checksum, Crc64.Append(0, bytes.GetBuffer().AsSpan(0, (int)bytes.Length)));
        bytes.Write(checksum);
        return bytes.ToArray();
    }

    /// <summary>Reads the bytes of a file into histories without minutes.</summary>
    /// <exception cref="InvalidDataException">They are damaged.</exception>
    internal static void Read(byte[] bytes, MetricHistory history, IReadOnlyList<Metric> metrics, params IReadOnlyList<RankedHistory> ranked)
    {
        if (!IsWhole(bytes)) throw new InvalidDataException("the checksum of the metric history is wrong");
        ReadMinutes(bytes, history, metrics, ranked);
    }

    /// <summary>Reads the file into empty histories, if there is one.</summary>
    /// <returns>Null, or one line about a file that cannot be used: it was renamed to <c>*.damaged</c>.</returns>
    internal static string? Load(string path, MetricHistory history, IReadOnlyList<Metric> metrics, params IReadOnlyList<RankedHistory> ranked)
    {
        try
        {
            if (!File.Exists(path)) return null;
            byte[] bytes = File.ReadAllBytes(path);
            string? damage = IsWhole(bytes) ? TryReadMinutes(bytes, history, metrics, ranked) : "its checksum is wrong";
            return damage is null ? null : SetAside(path, damage);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return $"The metric history {path} cannot be read: {FileFailure.ReasonOf(failure)}";
        }
    }

    /// <summary>Reads the number of a minute; -1: there are no more.</summary>
    internal static long ReadMinute(BinaryReader reader)
    {
        long minute = reader.ReadInt64();
        return minute <= SecondMax / 60 ? minute : throw new InvalidDataException("it has an impossible time");
    }

    private static bool IsWhole(byte[] bytes) =>
        bytes.Length > Magic.Length + sizeof(ulong)
        && bytes.AsSpan().StartsWith(Magic)
        && BinaryPrimitives.ReadUInt64LittleEndian(bytes.AsSpan(bytes.Length - sizeof(ulong))) == Crc64.Append(0, bytes.AsSpan(0, bytes.Length - sizeof(ulong)));

    private static string SetAside(string path, string reason)
    {
        string aside = path + ".damaged";
        File.Move(path, aside, overwrite: true);
        return $"The metric history {path} is damaged ({reason}). It was renamed to {aside}; the history starts empty.";
    }

    // Returns null, or what is wrong: the bytes end too early, or they are not what this version or one before has written.
    private static string? TryReadMinutes(byte[] bytes, MetricHistory history, IReadOnlyList<Metric> metrics, IReadOnlyList<RankedHistory> ranked)
    {
        try
        {
            ReadMinutes(bytes, history, metrics, ranked);
            return null;
        }
        catch (Exception failure) when (failure is IOException or InvalidDataException or FormatException or ArgumentException or InvalidOperationException)
        {
            return failure.Message;
        }
    }

    private static void ReadMinutes(byte[] bytes, MetricHistory history, IReadOnlyList<Metric> metrics, IReadOnlyList<RankedHistory> ranked)
    {
        using var brotli = new BrotliStream(new MemoryStream(bytes, Magic.Length, bytes.Length - Magic.Length - sizeof(ulong)), CompressionMode.Decompress);
        using var reader = new BinaryReader(brotli, Encoding.UTF8);
        int count = reader.ReadInt32();
        if (count is < 0 or > 10_000) throw new InvalidDataException("it names an impossible number of metrics");
        var targets = new int[count];
        for (int i = 0; i < count; i++)
        {
            string name = reader.ReadString();
            targets[i] = metrics.FirstOrDefault(metric => metric.Name == name)?.Index ?? -1;
        }

        var row = new float[count];
        var means = new float[history.MetricCount];
        var maxima = new float[history.MetricCount];
        while (ReadMinute(reader) is >= 0 and var minute)
        {
            ReadRow(means);
            ReadRow(maxima);
            history.RestoreMinute(minute, means, maxima);
        }

        RankedHistorySection.Read(reader, ranked);

        void ReadRow(float[] target)
        {
            reader.BaseStream.ReadExactly(MemoryMarshal.AsBytes(row.AsSpan()));
            Array.Fill(target, float.NaN);
            for (int i = 0; i < count; i++)
            {
                if (targets[i] >= 0) target[targets[i]] = row[i];
            }
        }
    }
}
