using System.Collections.Concurrent;
using System.Runtime.ExceptionServices;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// Loads RDB data into an empty keyspace. The caller's thread reads and checks the file; others build the values, each on its key's
/// stripe. Batches that wait are bounded, so loading needs little more memory than the data.
/// </summary>
/// <remarks>
/// Memory is not limited meanwhile: what was saved loads in any case, and eviction begins afterwards. A stripe is locked while a value is
/// built, even where a large one is read from the file: usually no client uses keys before the end, and beside the old data of a replica (repl-diskless-load swapdb) those
/// of the same stripe wait.
/// </remarks>
internal sealed class RdbLoader(LoadedData data) : IDisposable
{
    private const int BatchesPerBuilder = 3;
    private const int WaitMs = 100;

    private readonly BlockingCollection<RdbBatch> _free = [];
    private readonly BlockingCollection<RdbBatch> _filled = [];
    private readonly CancellationTokenSource _failed = new();
    private readonly List<long> _unbuilt = []; // where the batches begin that are read and not built; a monitor, which the reader waits on
    private long _readUpTo;
    private ExceptionDispatchInfo? _failure;

    /// <summary>The data that the reader reads while it arrives, and of which this releases what is built; null: a file.</summary>
    internal ArrivingFile? Arriving { get; init; }

    /// <summary>Loads everything that a reader has.</summary>
    /// <param name="reader">At the file's beginning.</param>
    /// <param name="expiry">What has expired is left out; of a log's base nothing is.</param>
    /// <param name="progress">Receives the reader's position.</param>
    /// <param name="cancellation">Ends loading early.</param>
    /// <exception cref="RdbFileException">The file is damaged, or holds what cannot be loaded.</exception>
    internal void Load(RdbFileReader reader, ExpiryClock expiry, Action<long> progress, CancellationToken cancellation)
    {
        int builders = Math.Max(1, Environment.ProcessorCount);
        for (int i = 0; i < builders * BatchesPerBuilder; i++) _free.Add(new RdbBatch(), CancellationToken.None);
        var threads = new Thread[builders];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() => BuildAll(expiry)) { Name = $"redkite-load-{i}", IsBackground = true };
            threads[i].Start();
        }

        try
        {
            Read(reader, progress, cancellation);
        }
        finally
        {
            _filled.CompleteAdding();
            foreach (Thread thread in threads) thread.Join();
        }

        _failure?.Throw();
    }

    /// <summary>As <see cref="Load"/>, on the current thread alone, which has locked every stripe.</summary>
    internal void LoadHere(RdbFileReader reader, ExpiryClock expiry)
    {
        using var batch = new RdbBatch();
        using RdbScratch scratch = data.NewScratch();
        while (reader.TryRead(batch))
        {
            LoadKeyless(batch);
            data.Build(batch, expiry, scratch);
        }
    }

    public void Dispose()
    {
        while (_filled.TryTake(out RdbBatch? batch)) batch.Dispose();
        while (_free.TryTake(out RdbBatch? batch)) batch.Dispose();
        _free.Dispose();
        _filled.Dispose();
        _failed.Dispose();
    }

    private void Read(RdbFileReader reader, Action<long> progress, CancellationToken cancellation)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellation, _failed.Token);
        try
        {
            while (true)
            {
                RdbBatch batch = _free.Take(either.Token);
                WaitForBuilders(either.Token);
                if (!reader.TryRead(batch))
                {
                    batch.Dispose();
                    return;
                }

                NoteRead(batch, reader.Position);

                LoadKeyless(batch);
                progress(reader.Position);
                _filled.Add(batch, either.Token);
            }
        }
        catch (OperationCanceledException) when (_failure is not null)
        {
            // The builder's failure is thrown when all have ended.
        }
    }

    // What has arrived and is not built is kept in memory, so the reader does not run ahead of large values.
    private void WaitForBuilders(CancellationToken cancellation)
    {
        if (Arriving is not { } arriving) return;
        lock (_unbuilt)
        {
            while (_unbuilt.Count > 0 && arriving.KeptBytes > ArrivingFile.KeptBytesMax)
            {
                cancellation.ThrowIfCancellationRequested();
                Monitor.Wait(_unbuilt, WaitMs);
            }
        }
    }

    private void NoteRead(RdbBatch batch, long position)
    {
        if (Arriving is null) return;
        lock (_unbuilt)
        {
            _unbuilt.Add(batch.Start);
            _readUpTo = position;
        }
    }

    private void NoteBuilt(RdbBatch batch)
    {
        if (Arriving is not { } arriving) return;
        lock (_unbuilt)
        {
            _unbuilt.Remove(batch.Start);
            arriving.Release(_unbuilt.Count > 0 ? Math.Min(_unbuilt.Min(), _readUpTo) : _readUpTo);
            Monitor.PulseAll(_unbuilt);
        }
    }

    private void LoadKeyless(RdbBatch batch)
    {
        foreach (ref readonly RdbItem item in batch.Items)
        {
            if (data.LoadKeyless(batch, item) is not { } error) continue;
            string path = batch.File!.Path;
            batch.Dispose();
            throw new RdbFileException(path, item.Offset, error);
        }
    }

    private void BuildAll(ExpiryClock expiry)
    {
        using RdbScratch scratch = data.NewScratch();
        try
        {
            foreach (RdbBatch batch in _filled.GetConsumingEnumerable(_failed.Token))
            {
                data.Build(batch, expiry, scratch);
                NoteBuilt(batch);
                _free.Add(batch, CancellationToken.None);
            }
        }
        catch (OperationCanceledException)
        {
            // Another builder has failed.
        }
#pragma warning disable CA1031 // Whatever it is, it is thrown to the caller of Load.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            Interlocked.CompareExchange(ref _failure, ExceptionDispatchInfo.Capture(failure), null);
            _failed.Cancel();
        }
    }
}
