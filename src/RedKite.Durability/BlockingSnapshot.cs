using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// Writes all data while every stripe is locked: SAVE, and the end of the server. Nothing else is executed meanwhile, as in Redis.
/// </summary>
internal static class BlockingSnapshot
{
    /// <summary>Writes what is no key, and the keys. The writer has begun, and is ended by the caller.</summary>
    internal static void Write(RdbFileWriter writer, Keyspace keyspace, EntryWriter values, IEnumerable<KeylessRecord> keyless)
    {
        KeylessData.Write(writer, keyless);
        var entries = new EntryList();
        foreach (Database database in keyspace.Databases)
        {
            long count = database.Count;
            if (count == 0) continue;
            writer.Database(database.Index, count, database.Expiring);
            for (int stripe = 0; stripe < keyspace.Stripes.Length; stripe++)
            {
                if (database.TableIn(stripe) is not { Count: > 0 } table) continue;
                uint prefix = 0;
                bool more = true;
                while (more)
                {
                    entries.Clear();
                    more = table.NextSegment(ref prefix, entries);
                    foreach (Entry entry in entries) values.Write(writer.Output, database, entry);
                }
            }
        }
    }
}
