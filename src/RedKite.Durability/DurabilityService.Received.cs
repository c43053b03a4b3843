using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// Loads what a primary sends to this server, which is its replica: in place of the old data, or beside it. Nothing is saved meanwhile; afterwards the append-only file is
/// rewritten, and the data is saved if there are save points.
/// </summary>
internal sealed partial class DurabilityService
{
    /// <summary>Replaces the data. No other client uses keys meanwhile.</summary>
    /// <param name="file">What was received, or arrives.</param>
    /// <param name="removeAll">Removes the old data.</param>
    /// <param name="loadKeyless">Loads what is no key, and returns what is wrong with it.</param>
    /// <param name="emptiesAfterFailure">Whether nothing of the data stays if loading fails.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <returns>The position in a stream that the data names; null: none.</returns>
    /// <exception cref="IOException">The data is damaged or cannot be read.</exception>
    public RdbReplication? LoadReceived(IOpenFile file, Action removeAll, Func<KeylessRecord, string?> loadKeyless, bool emptiesAfterFailure, CancellationToken cancellation)
    {
        RdbReplication? position = null;
        WithoutSaving(
            () =>
            {
                try
                {
                    removeAll();
                    LoadTo(_loader.Begin(loadKeyless), file, out position, cancellation);
                }
                catch (Exception failure) when (emptiesAfterFailure && failure is IOException or OperationCanceledException)
                {
                    removeAll(); // as a part of receiving: the dump file stays what it is
                    throw;
                }
            },
            mayLeaveOtherData: true,
            cancellation);
        return position;
    }

    /// <summary>Loads beside the old data, which clients go on using, and then replaces it.</summary>
    /// <param name="file">The data.</param>
    /// <param name="shadow">Receives it.</param>
    /// <param name="replaceAll">Exchanges the data at the end, together with what is no key.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <exception cref="IOException">The data is damaged or cannot be read: the old data is unchanged.</exception>
    public void LoadBeside(ArrivingFile file, Database[] shadow, Action<List<KeylessRecord>, RdbReplication?> replaceAll, CancellationToken cancellation)
    {
        List<KeylessRecord> keyless = [];
        WithoutSaving(
            () =>
            {
                LoadTo(_loader.Begin(Gather).Into(shadow), file, out RdbReplication? position, cancellation);
                replaceAll(keyless, position);
            },
            mayLeaveOtherData: false,
            cancellation);

        string? Gather(KeylessRecord record)
        {
            keyless.Add(record);
            return null;
        }
    }

    private void LoadTo(LoadedData data, IOpenFile file, out RdbReplication? position, CancellationToken cancellation)
    {
        RdbReplication? found = null;
        _loader.LoadDump(file, data, Expiry, cancellation, isOfReplication: true);
        position = found;

        ExpiryClock Expiry()
        {
            found = RdbReplication.In(file);
            return ExpiryClock.Never;
        }
    }

    // One snapshot in progress ends, because what it writes would soon be old.
    private void WithoutSaving(Action load, bool mayLeaveOtherData, CancellationToken cancellation)
    {
        bool isLoaded = false;
        _running?.Abort();
        EnterSaving(cancellation);
        try
        {
            _locks.Dumping.Wait(cancellation);
            try
            {
                _isReceiving = true;
                load();
                Saves.NoteLoaded(_clock.NowMs, _host.Changes);
                isLoaded = true;
            }
            finally
            {
                _isReceiving = false;
                if (isLoaded || mayLeaveOtherData) NoteOtherData(); // before a rewrite can begin, whose base has the data; also of a load that failed within it
                _locks.Dumping.Release();
            }
        }
        finally
        {
            ReleaseSaving();
        }

        _saveIsScheduled |= _settings.SavePoints.Length > 0;
    }
}
