using System.Runtime.InteropServices;

namespace RedKite.Server.Diagnostics;

/// <summary>The histories of commands and loops in the history's file.</summary>
/// <remarks>
/// Layout: the number of histories. Each has its kind's name, the names of its series, the names of its ids, then for each minute its number since
/// 1970, the number of records, their ids, and each record's values; -1 ends the minutes. What a version does not know is skipped: kinds,
/// series, commands. A file without this section ends before the number of histories.
/// </remarks>
internal static class RankedHistorySection
{
    // Far more than there are; a hostile file ends here.
    private const int HistoriesMax = 16;
    private const int SeriesMax = 64;
    private const int RecordsMax = 1024;
    private const int NamesMax = 10_000;

    internal static void Write(BinaryWriter writer, IReadOnlyList<RankedHistory> histories)
    {
        writer.Write((byte)histories.Count);
        foreach (RankedHistory history in histories)
        {
            writer.Write(history.Kind.Name);
            WriteNames(writer, [.. history.Kind.Series.Select(series => series.Name)]);
            WriteNames(writer, history.Names);
            history.ForEachMinute((minute, ids, values) =>
            {
                writer.Write(minute);
                writer.Write(ids.Length);
                writer.Write(MemoryMarshal.AsBytes(ids));
                writer.Write(MemoryMarshal.AsBytes(values));
            });
            writer.Write(-1L);
        }
    }

    /// <exception cref="InvalidDataException">It is damaged.</exception>
    internal static void Read(BinaryReader reader, IReadOnlyList<RankedHistory> histories)
    {
        int count = reader.BaseStream.ReadByte(); // -1: the version that wrote the file had none
        if (count > HistoriesMax) throw new InvalidDataException("it has an impossible number of histories");
        for (int i = 0; i < count; i++)
        {
            string kind = reader.ReadString();
            ReadHistory(reader, histories.FirstOrDefault(history => history.Kind.Name == kind));
        }
    }

    private static void WriteNames(BinaryWriter writer, IReadOnlyList<string> names)
    {
        writer.Write(names.Count);
        foreach (string name in names) writer.Write(name);
    }

    private static string[] ReadNames(BinaryReader reader, int max)
    {
        var names = new string[Count(reader, max)];
        for (int i = 0; i < names.Length; i++) names[i] = reader.ReadString();
        return names;
    }

    private static int Count(BinaryReader reader, int max) =>
        reader.ReadInt32() is >= 0 and var count && count <= max ? count : throw new InvalidDataException("it has an impossible number of names or records");

    // Null: of a kind that is not known here.
    private static void ReadHistory(BinaryReader reader, RankedHistory? history)
    {
        int[] columns = [.. ReadNames(reader, SeriesMax).Select(name => history?.Kind.Find(name) ?? -1)];
        int[] idOf = [.. ReadNames(reader, NamesMax).Select(name => history?.IdOf(name) ?? -1)];
        int width = history?.Kind.Series.Length ?? 0;
        while (HistoryFile.ReadMinute(reader) is >= 0 and var minute)
        {
            var ids = new ushort[Count(reader, RecordsMax)];
            var read = new float[ids.Length * columns.Length];
            reader.BaseStream.ReadExactly(MemoryMarshal.AsBytes(ids.AsSpan()));
            reader.BaseStream.ReadExactly(MemoryMarshal.AsBytes(read.AsSpan()));
            var values = new float[ids.Length * width];
            Array.Fill(values, float.NaN);
            int kept = 0;
            for (int i = 0; i < ids.Length; i++)
            {
                if (ids[i] >= idOf.Length) throw new InvalidDataException("it has a record without a name");
                if (idOf[ids[i]] < 0) continue;
                for (int j = 0; j < columns.Length; j++)
                {
                    if (columns[j] >= 0) values[(kept * width) + columns[j]] = read[(i * columns.Length) + j];
                }

                ids[kept++] = (ushort)idOf[ids[i]];
            }

            history?.RestoreMinute(minute, ids.AsSpan(0, kept), values.AsSpan(0, kept * width));
        }
    }
}
