using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>Writes entries with their values for a snapshot. For one thread at a time.</summary>
internal sealed class EntryWriter(Settings settings, Func<long> nowMs) : IDisposable
{
    private readonly RdbScratch _scratch = new();

    /// <summary>
    /// Writes a key and its value. The key's stripe is locked. Expired keys and fields are written, too: as in Redis, loading leaves them out.
    /// </summary>
    /// <param name="output">Receives the bytes.</param>
    /// <param name="database">A database of the keyspace.</param>
    /// <param name="entry">The entry.</param>
    internal void Write(RdbOutput output, Database database, Entry entry)
    {
        if (!RdbValueWriter.TryOpenRemovingExpired(database, entry, ExpiryClock.Never, out RdbValueWriter value)) return;
        long idle = settings.SavesIdleTimes ? AccessClock.IdleSeconds(entry.AccessClock, nowMs()) : -1;
        int frequency = settings.CountsFrequency ? (int)(entry.AccessClock & 0xFF) : -1;
        RdbFileWriter.Key(output, value.Type, entry.Key, entry.Expires ? entry.ExpiryMs : -1, idle, frequency);
        value.Write(output, _scratch);
        _scratch.Clear();
    }

    public void Dispose() => _scratch.Dispose();
}
