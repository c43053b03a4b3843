using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Logging;

namespace RedKite.Server.Durability;

/// <summary>
/// A dump file with keys that this server has neither loaded nor written: a dump beside which a server with `appendonly yes` and no log yet began empty, or one that was
/// copied into the folder of an empty server. A save would replace it, so it is renamed first.
/// </summary>
/// <remarks>Redis replaces it. Guarded by what guards the dump file (<see cref="DurabilityService"/>); <see cref="Path"/> is read without.</remarks>
internal sealed class UnloadedDump(IFiles files, ServerLog log, KeylessData keyless, Func<string> path)
{
    internal const string Suffix = ".unloaded";

    private volatile string? _path;
    private bool _isKnown;

    /// <summary>Where it is, or where it was renamed to; null: there is none.</summary>
    internal string? Path => _path;

    /// <summary>The dump file has what this server had, or its host has decided that it is replaced.</summary>
    internal void NoteKnown() => _isKnown = true;

    /// <summary>At a start that loads the log although there is none: the dump file stays where it is until something is saved.</summary>
    internal void NoteIgnored()
    {
        if (!HasKeys()) return;
        _path = path();
        log.Warning(LogEvents.DataNotLoaded, $"The keys of {_path} are not loaded: with `appendonly yes` the server loads the append-only file, and there is none yet, so it begins empty. To use them, SHUTDOWN NOSAVE, start with `appendonly no`, then CONFIG SET appendonly yes. The first save renames the file to {_path}{Suffix}.");
    }

    /// <summary>Before the dump file is replaced.</summary>
    /// <param name="keys">How many keys the new one has.</param>
    /// <exception cref="FileFailure">The old one cannot be renamed.</exception>
    internal void Keep(long keys)
    {
        if (!_isKnown && (_path is not null || keys == 0) && HasKeys())
        {
            string kept = path() + Suffix;
            if (files.FileExists(kept)) kept += "-" + DateTimeOffset.UtcNow.ToUnixTimeSeconds().ToString(System.Globalization.CultureInfo.InvariantCulture);
            files.Rename(path(), kept);
            _path = kept;
            log.Warning(LogEvents.DataNotLoaded, $"{path()} has keys that this server has not loaded, and was renamed to {kept} before the data of the server was saved.");
        }

        _isKnown = true;
    }

    // A file that cannot be read may have some.
    private bool HasKeys()
    {
        if (!files.FileExists(path())) return false;
        try
        {
            using IOpenFile file = files.OpenRead(path());
            if (file.Length == 0) return false;
            using RdbFileReader reader = RdbFileReader.Open(file, new RdbReadOptions());
            using var batch = new RdbBatch();
            while (reader.TryRead(batch))
            {
                foreach (RdbItem item in batch.Items)
                {
                    if (item.Kind is not (RdbItemKind.Aux or RdbItemKind.Size) || keyless.RecordOf(batch, item) is not null) return true;
                }
            }

            return false;
        }
        catch (Exception failure) when (failure is RdbFileException or FileFailure)
        {
            return true;
        }
    }
}
