using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// Loads files into the keyspace: at the start, while no client uses keys, and again for DEBUG RELOAD and DEBUG LOADAOF, whose caller has locked
/// every stripe.
/// </summary>
internal sealed class DataLoader(ServerCore core, IFiles files, AofFolder folder, LoadProgress progress)
{
    private readonly Settings _settings = core.Settings;
    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly ServerClock _clock = core.Clock;
    private readonly ServerLog _log = core.Log;

    /// <summary>Begins to load.</summary>
    /// <param name="loadKeyless">Loads what is no key, and returns what is wrong with it.</param>
    internal LoadedData Begin(Func<KeylessRecord, string?> loadKeyless) => new(_keyspace, _settings, core.Keyless, () => _clock.NowMs, loadKeyless) { Told = text => _log.Warning(LogEvents.ValueCorrected, text) };

    /// <summary>Loads an RDB file. Keys that have expired are left out, unless the server follows a primary, which removes them.</summary>
    /// <param name="file">The file.</param>
    /// <param name="data">Where the data goes.</param>
    /// <param name="expiry">Says what has expired; asked once loading is shown, so it may read the file.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <param name="isOfReplication">Whether a primary sent it.</param>
    /// <exception cref="IOException">It is damaged or cannot be read.</exception>
    internal void LoadDump(IOpenFile file, LoadedData data, Func<ExpiryClock> expiry, CancellationToken cancellation, bool isOfReplication = false)
    {
        var arriving = file as ArrivingFile;
        progress.Begin(file.Path, arriving is null ? file.Length : arriving.KnownLength, _clock.NowMs, () => data.Keys, isOfReplication);
        try
        {
            LoadRdb(file, data, expiry(), 0, cancellation);
            arriving?.Drain();
        }
        finally
        {
            progress.End(_clock.NowMs, data.Keys, data.Expired);
        }

        progress.Announce();
        double seconds = Math.Max(0.001, progress.Elapsed(_clock.NowMs).TotalSeconds);
        _log.Notice(LogEvents.DataLoaded, FormattableString.Invariant($"DB loaded from {(arriving is null ? "disk" : "the primary's connection")}: {data.Keys} keys, {data.Expired} expired, {file.Length / 1048576.0:0.0} MB in {seconds:0.000} seconds ({data.Keys / seconds:0} keys/s)"));
    }

    /// <summary>Loads the files of the append-only file. At the start, an unfinished command at their end is cut off if the settings allow it.</summary>
    /// <returns>The position in a stream that the log ends with; null: it does not.</returns>
    /// <exception cref="IOException">A file is damaged or cannot be read.</exception>
    internal RdbReplication? LoadLog(AofManifest manifest, LoadedData data, LogReplay replay, CancellationToken cancellation)
    {
        AofFile[] all = [.. manifest.Files];
        progress.Begin(folder.FolderPath, all.Sum(file => LengthOf(folder.PathOf(file.Name))), _clock.NowMs, () => data.Keys);
        long before = 0;
        RdbReplication? position = null;
        try
        {
            foreach (AofFile named in all)
            {
                string path = folder.PathOf(named.Name);
                using IOpenFile file = files.OpenRead(path);
                long start = AofReader.BeginsWithRdb(file) ? LoadRdb(file, data, ExpiryClock.Never, before, cancellation) : 0;
                using var reader = new AofReader(file, start);
                long done = before;
                AofRead end;
                try
                {
                    end = replay.Execute(file, reader, position => progress.LoadedBytes = done + position, cancellation, (at, what) => _log.Warning(LogEvents.LogFrameIgnored, $"{path}: at byte {at}: {what}; it is ignored. What was before it may be missing: redkite check {path}"));
                }
                catch (AofException damage)
                {
                    throw AofException.AtByte(path, damage.Offset, damage.Reason + Remedy(path, isLast: named == all[^1], damage.Offset, reader));
                }

                if (end == AofRead.Truncated) CutOrThrow(path, isLast: named == all[^1] && !data.IsLocked, reader);
                before += file.Length;
                position = end == AofRead.End ? reader.EndPosition : null;
            }
        }
        finally
        {
            progress.End(_clock.NowMs, data.Keys, data.Expired);
        }

        progress.Announce();
        double seconds = Math.Max(0.001, progress.Elapsed(_clock.NowMs).TotalSeconds);
        _log.Notice(LogEvents.DataLoaded, FormattableString.Invariant($"DB loaded from append only file: {data.Keys} keys of the base and {replay.Commands} commands, {before / 1048576.0:0.0} MB in {seconds:0.000} seconds"));
        return position;
    }

    private long LoadRdb(IOpenFile file, LoadedData data, ExpiryClock expiry, long before, CancellationToken cancellation)
    {
        using RdbFileReader reader = RdbFileReader.Open(file, new RdbReadOptions { ChecksSum = _settings.RdbChecksum, Databases = _settings.Databases });
        using var loader = new RdbLoader(data) { Arriving = file as ArrivingFile };
        if (data.IsLocked) loader.LoadHere(reader, expiry);
        else LoadObserved();
        if (data.Corrected > 0) _log.Warning(LogEvents.ValueCorrected, FormattableString.Invariant($"{file.Path}: {data.Corrected} values stated something wrongly that follows from their elements. Their elements are loaded; redkite check says which values they are"));
        return reader.Position;

        // Observers of values see the data as a whole, whatever there is of it after a failure. Data beside the clients' is observed when it replaces that.
        void LoadObserved()
        {
            try
            {
                loader.Load(reader, expiry, position => progress.LoadedBytes = before + position, cancellation);
            }
            finally
            {
                if (!data.IsShadow) core.Changes.NoteReplaced();
            }
        }
    }

    private void CutOrThrow(string path, bool isLast, AofReader reader)
    {
        if (!isLast || !_settings.AofLoadTruncated)
        {
            throw AofException.AtByte(path, reader.UnitEnd, $"the file ends within a command or transaction; {(isLast ? $"set aof-load-truncated yes, or cut it with redkite check --fix {path}: its last {reader.Length - reader.UnitEnd} bytes would be lost" : $"only the last file may: redkite check {path} says what is whole")}");
        }

        _log.Warning(LogEvents.LogCutOff, $"{path} ends within a command or transaction: its last {reader.Length - reader.UnitEnd} bytes are cut off at byte {reader.UnitEnd}");
        using IOpenFile file = files.OpenWrite(path);
        file.SetLength(reader.UnitEnd);
        file.SyncData();
    }

    // What can be done about a damaged file, and what that would cost.
    private static string Remedy(string path, bool isLast, long offset, AofReader reader) => isLast
        ? FormattableString.Invariant($". redkite check {path} says what is whole, and with --fix it cuts the file where that ends. The server has read it up to byte {Math.Min(offset, reader.UnitEnd)} of {reader.Length}: what follows would be lost. Copy the file first")
        : $". Later files follow, so it cannot be cut: redkite check {path} says what is whole. Use a copy of the folder, a replica's data, or a backup";

    private long LengthOf(string path)
    {
        using IOpenFile file = files.OpenRead(path);
        return file.Length;
    }
}
