using System.Globalization;
using System.Text;
using RedKite.Persistence.Files;

namespace RedKite.Persistence.Rdb;

/// <summary>A position in a stream of changes: the database that it has selected, its id and its offset.</summary>
internal sealed record RdbReplication(int Database, string Id, long Offset)
{
    /// <summary>The length of an id.</summary>
    internal const int IdLength = 40;

    /// <summary>The place that a file names in front of its data; null: none.</summary>
    /// <exception cref="RdbFileException">The file is damaged.</exception>
    internal static RdbReplication? In(IOpenFile file)
    {
        int database = 0;
        string id = "";
        long offset = -1;
        using RdbFileReader reader = RdbFileReader.Open(file, new RdbReadOptions { SkipsModules = true });
        using var batch = new RdbBatch();
        if (!reader.TryRead(batch)) return null;
        foreach (ref readonly RdbItem item in batch.Items)
        {
            if (item.Kind != RdbItemKind.Aux) continue;
            string text = Encoding.Latin1.GetString(batch.TextOf(item));
            ReadOnlySpan<byte> name = batch.NameOf(item);
            if (name.SequenceEqual("repl-id"u8)) id = text;
            else if (name.SequenceEqual("repl-offset"u8) && long.TryParse(text, CultureInfo.InvariantCulture, out long number)) offset = number;
            else if (name.SequenceEqual("repl-stream-db"u8) && int.TryParse(text, CultureInfo.InvariantCulture, out int selected)) database = selected;
        }

        return id.Length == IdLength && offset >= 0 ? new RdbReplication(database, id, offset) : null;
    }
}
