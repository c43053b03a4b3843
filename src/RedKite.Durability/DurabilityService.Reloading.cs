using RedKite.Persistence.Files;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <content>DEBUG RELOAD and DEBUG LOADAOF: saving and loading as a part of a command, while nothing else is executed.</content>
internal sealed partial class DurabilityService
{
    /// <summary>
    /// Saves all data to the dump file, as a part of another command: it does not count as a save. The caller holds the script mutex and every
    /// stripe.
    /// </summary>
    /// <returns>What failed; null: nothing.</returns>
    internal FileFailure? SaveLocked()
    {
        try
        {
            using var file = new DumpFile(Files, _settings.DirectoryPath, Options, "temp-reload");
            using var values = new EntryWriter(_settings, () => _clock.NowMs);
            file.Writer.Begin(NewInfo(isLogBase: false));
            BlockingSnapshot.Write(file.Writer, _keyspace, values, _keyless.Records);
            file.End();
            lock (_committing)
            {
                _reloads++; // what was cut before does not replace this file, which is about to be loaded
                Unloaded.Keep(CountKeys());
                file.Commit(_settings.DumpFileName);
            }

            return null;
        }
        catch (FileFailure failure)
        {
            _log.Warning(LogEvents.SaveFailed, $"The data could not be saved: {failure.Message}");
            return failure;
        }
    }

    /// <summary>Loads an open dump file while the server runs. The caller holds the script mutex and every stripe, and has removed what the file replaces.</summary>
    /// <param name="file">The file.</param>
    /// <param name="loadKeyless">Loads what is no key, and returns what is wrong with it.</param>
    /// <param name="merges">Whether keys of the file replace others; otherwise a key that exists is an error.</param>
    /// <exception cref="IOException">It is damaged or cannot be read.</exception>
    internal void ReloadDump(IOpenFile file, Func<KeylessRecord, string?> loadKeyless, bool merges)
    {
        _loader.LoadDump(file, _loader.Begin(loadKeyless).WithLockedStripes(merges), () => ExpiryClock.RemovingAt(_clock.NowMs), CancellationToken.None);
        Saves.NoteLoaded(_clock.NowMs, _host.Changes);
    }

    /// <summary>
    /// Loads the append-only file while the server runs, which goes on with it afterwards. The caller holds the script mutex and every stripe,
    /// and the manifest (<see cref="LogKeeper.HoldFiles"/>).
    /// </summary>
    /// <inheritdoc cref="Load"/>
    internal void ReloadLog(RequestReplay replay, Func<KeylessRecord, string?> loadKeyless, CommandTable commands)
    {
        _loader.LoadLog(Log.CurrentManifest(), _loader.Begin(loadKeyless).WithLockedStripes(merges: false), new LogReplay(replay, commands), CancellationToken.None);
        Saves.NoteLoaded(_clock.NowMs, _host.Changes);
    }
}
