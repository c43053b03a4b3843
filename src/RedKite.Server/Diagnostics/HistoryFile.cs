using System.Buffers.Binary;
using System.IO.Compression;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Persistence.Rdb;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Keeps the minutes of the metric history over a restart, in one small file. It is written beside the old one and renamed, so
/// that a crash leaves the old one.
/// </summary>
/// <remarks>
/// Layout: the magic, then compressed: the number of metrics, their names, then for each minute its number since 1970, the means
/// and the maxima; -1 ends the minutes. Behind it the CRC-64 of everything before, as in a snapshot. Metrics are found by name, so
/// that a version with other metrics can read the file.
/// </remarks>
internal static class HistoryFile
{
    private static readonly byte[] Magic = "RKHIST01"u8.ToArray();

    /// <exception cref="IOException">The file cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The file must not be written.</exception>
    internal static void Save(string path, MetricHistory history, IReadOnlyList<Metric> metrics)
    {
        string temporary = path + ".tmp";
        File.WriteAllBytes(temporary, Write(history, metrics));
        File.Move(temporary, path, overwrite: true);
    }

    /// <summary>The bytes of the file.</summary>
    internal static byte[] Write(MetricHistory history, IReadOnlyList<Metric> metrics)
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
        }

        Span<byte> checksum = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(checksum, Crc64.Append(0, bytes.GetBuffer().AsSpan(0, (int)bytes.Length)));
        bytes.Write(checksum);
        return bytes.ToArray();
    }

    /// <summary>Reads the bytes of a file into a history without minutes.</summary>
    /// <exception cref="InvalidDataException">They are damaged.</exception>
    internal static void Read(byte[] bytes, MetricHistory history, IReadOnlyList<Metric> metrics)
    {
        if (!IsWhole(bytes)) throw new InvalidDataException("the checksum of the metric history is wrong");
        ReadMinutes(bytes, history, metrics);
    }

    /// <summary>Reads the file into an empty history, if there is one.</summary>
    /// <returns>Null, or one line about a file that cannot be used: it was renamed to <c>*.damaged</c>.</returns>
    internal static string? Load(string path, MetricHistory history, IReadOnlyList<Metric> metrics)
    {
        try
        {
            if (!File.Exists(path)) return null;
            byte[] bytes = File.ReadAllBytes(path);
            if (!IsWhole(bytes)) return SetAside(path, "its checksum is wrong");
            ReadMinutes(bytes, history, metrics);
            return null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return $"The metric history {path} cannot be read: {failure.Message}";
        }
        catch (Exception failure) when (failure is InvalidDataException or FormatException or ArgumentException or InvalidOperationException)
        {
            return SetAside(path, failure.Message);
        }
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

    private static void ReadMinutes(byte[] bytes, MetricHistory history, IReadOnlyList<Metric> metrics)
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
        while (reader.ReadInt64() is >= 0 and var minute)
        {
            ReadRow(means);
            ReadRow(maxima);
            history.RestoreMinute(minute, means, maxima);
        }

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
