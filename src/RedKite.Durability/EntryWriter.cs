using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>Writes entries with their values for a snapshot, one after the other, at once or in slices. For one thread at a time.</summary>
/// <param name="settings">Which times of use are written.</param>
/// <param name="nowMs">The time of now.</param>
/// <param name="version">The version of the format.</param>
internal sealed class EntryWriter(Settings settings, Func<long> nowMs, int version = RdbFormat.Version) : IDisposable
{
    private readonly RdbScratch _scratch = new();
    private RdbValueSteps? _steps; // that are not done
    private RdbOpenString _open;

    /// <summary>
    /// Writes a key and its value. The key's stripe is locked. Expired keys and fields are written, too: as in Redis, loading leaves them out.
    /// </summary>
    /// <param name="output">Receives the bytes.</param>
    /// <param name="database">A database of the keyspace.</param>
    /// <param name="entry">The entry.</param>
    internal void Write(RdbOutput output, Database database, Entry entry)
    {
        if (!TryKey(output, database, entry, out RdbValueWriter value)) return;
        value.Write(output, _scratch);
        _scratch.Clear();
    }

    /// <summary>
    /// Begins to write a key and its value to a collector. Until the last slice the value must not change and none of its blocks may move. The key's stripe is
    /// locked, here and for the other slices.
    /// </summary>
    internal void Begin(RdbOutput collector, Database database, Entry entry)
    {
        if (!TryKey(collector, database, entry, out RdbValueWriter value)) return;
        _steps = value.IsOneString ? null : value.Steps(_scratch);
        if (_steps is null) value.Write(collector, _scratch);
        _open = collector.Suspend();
    }

    /// <summary>Writes the next slice, or all of a small value.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool WriteSlice(RdbOutput collector, SnapshotBounds bounds)
    {
        collector.Resume(_open);
        int end = collector.Written.Length + bounds.Bytes;
        for (int step = 0; step < bounds.Steps && collector.Written.Length < end; step++)
        {
            if (!Step(collector)) break;
        }

        _open = collector.Suspend();
        if (_steps is not null || _open.Rest.Length > 0) return true;
        _scratch.Clear();
        return false;
    }

    /// <summary>Writes all that is left, to the same collector or to another one.</summary>
    internal void WriteRest(RdbOutput collector)
    {
        collector.Resume(_open);
        while (Step(collector))
        {
        }

        Abandon();
    }

    /// <summary>Forgets what is left.</summary>
    internal void Abandon()
    {
        _steps = null;
        _open = default;
        _scratch.Clear();
    }

    public void Dispose() => _scratch.Dispose();

    private bool TryKey(RdbOutput output, Database database, Entry entry, out RdbValueWriter value)
    {
        if (!RdbValueWriter.TryOpenRemovingExpired(database, entry, ExpiryClock.Never, out value, version)) return false;
        if (entry.IsPinned) RdbFileWriter.Blessing(output);
        long idle = settings.SavesIdleTimes ? AccessClock.IdleSeconds(entry.AccessClock, nowMs()) : -1;
        int frequency = settings.CountsFrequency ? (int)(entry.AccessClock & 0xFF) : -1;
        RdbFileWriter.Key(output, value.Type, entry.Key, entry.Expires ? entry.ExpiryMs : -1, idle, frequency);
        return true;
    }

    // False: nothing is left.
    private bool Step(RdbOutput collector)
    {
        if (collector.ContinueString()) return true;
        if (_steps is null) return false;
        if (!_steps.Step(collector)) _steps = null;
        return true;
    }
}
