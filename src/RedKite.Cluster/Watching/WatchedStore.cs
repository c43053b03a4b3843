using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Cluster.Watching;

/// <summary>A store whose requests are counted: how many, how long they took, and which failed. Thread-safe.</summary>
internal sealed class WatchedStore(IClusterStore store) : IClusterStore
{
    private long _requests;
    private long _errors;
    private long _microseconds;
    private long _renewals;
    private long _renewalMicroseconds;
    private long _lastRenewalMicroseconds = -1;
    private long _failingSince; // the timestamp of the first failure behind the last answer; 0: the last request was answered
    private volatile string _lastError = "";

    internal long Requests => Volatile.Read(ref _requests);

    internal long Errors => Volatile.Read(ref _errors);

    internal long Microseconds => Volatile.Read(ref _microseconds);

    internal long Renewals => Volatile.Read(ref _renewals);

    internal long RenewalMicroseconds => Volatile.Read(ref _renewalMicroseconds);

    /// <summary>-1: there was none.</summary>
    internal long LastRenewalMicroseconds => Volatile.Read(ref _lastRenewalMicroseconds);

    /// <summary>How long nothing was answered; 0: the last request was.</summary>
    internal double AwaySeconds => Volatile.Read(ref _failingSince) is var since && since != 0 ? Stopwatch.GetElapsedTime(since).TotalSeconds : 0;

    internal string LastError => _lastError;

    public Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation) => Count(() => store.Read(keysFrom, cancellation));

    public Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation) => Count(() => store.TryCommit(conditions, puts, cancellation));

    public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => Count(() => store.Grant(time, cancellation));

    public Task Revoke(long lease, CancellationToken cancellation) => Count(async () =>
    {
        await store.Revoke(lease, cancellation);
        return true;
    });

    public async Task<TimeSpan?> Renew(long lease, CancellationToken cancellation)
    {
        long sent = Stopwatch.GetTimestamp();
        TimeSpan? valid = await Count(() => store.Renew(lease, cancellation));
        long took = (long)Stopwatch.GetElapsedTime(sent).TotalMicroseconds;
        Interlocked.Increment(ref _renewals);
        Interlocked.Add(ref _renewalMicroseconds, took);
        Volatile.Write(ref _lastRenewalMicroseconds, took);
        return valid;
    }

    public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
    {
        await using IAsyncEnumerator<StoreEvent> events = store.Watch(keysFrom, behindRevision, cancellation).GetAsyncEnumerator(cancellation);
        while (true)
        {
            try
            {
                if (!await events.MoveNextAsync()) yield break;
            }
            catch (StoreException failure)
            {
                NoteFailure(failure);
                throw;
            }

            yield return events.Current;
        }
    }

    public ValueTask DisposeAsync() => store.DisposeAsync();

    private async Task<T> Count<T>(Func<Task<T>> request)
    {
        long sent = Stopwatch.GetTimestamp();
        Interlocked.Increment(ref _requests);
        try
        {
            T answer = await request();
            Volatile.Write(ref _failingSince, 0);
            return answer;
        }
        catch (StoreException failure)
        {
            NoteFailure(failure);
            throw;
        }
        finally
        {
            Interlocked.Add(ref _microseconds, (long)Stopwatch.GetElapsedTime(sent).TotalMicroseconds);
        }
    }

    private void NoteFailure(StoreException failure)
    {
        Interlocked.Increment(ref _errors);
        _lastError = failure.Message;
        Interlocked.CompareExchange(ref _failingSince, Stopwatch.GetTimestamp(), 0);
    }
}
