using System.Diagnostics;
using RedKite.Net;
using RedKite.Server.Config;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Loops;

/// <summary>
/// One loop's replies that wait for replicas, in the order in which their commands were executed, which is that of their offsets. A connection whose replies
/// wait keeps everything behind them; other connections do not wait.
/// </summary>
/// <remarks>
/// On the loop's thread, but for <see cref="Awaited"/> and the figures. A batch is what one connection was sent at once: connections with replies that wait
/// are found by it, and its time decides when they become errors.
/// </remarks>
internal sealed class LoopAcks(EventLoop loop, ReplicaAcks acks, Settings settings, Func<long> steadyMs, Action<long> tickIn) : IWaitingReplies, IUnackedReplies
{
    private const int SweepCountMin = 1024;

    private readonly List<Connection> _prefixed = []; // with output in front of the first reply that waits
    private Queue<Batch> _batches = new();
    private Action? _release;
    private int _sweepCount = SweepCountMin;
    private long _awaited; // the lowest offset that is waited for; 0: none
    private AckTerm? _lastTerm;
    private long _last; // the largest in that term
    private long _asked;
    private long _replies;
    private long _waits;
    private long _waitTicks; // of 100 ns
    private long _oldestMs; // when the first batch was executed, steady; 0: nothing waits

    /// <summary>The lowest offset for which a reply waits; 0: none. From any thread.</summary>
    public long Awaited => Volatile.Read(ref _awaited);

    /// <summary>Replies that wait. A moment old when another thread reads it.</summary>
    public long Replies => Volatile.Read(ref _replies);

    /// <summary>Since when the oldest of them waits, by the steady clock; 0: none does. A moment old when another thread reads it.</summary>
    public long OldestMs => Volatile.Read(ref _oldestMs);

    public (long Count, long Microseconds) Waits => (Volatile.Read(ref _waits), Volatile.Read(ref _waitTicks) / TimeSpan.TicksPerMicrosecond);

    /// <summary>What is remembered of connections. For tests.</summary>
    internal int Batches => _batches.Count;

    /// <summary>Makes replies wait that the connection is sent next.</summary>
    public void Add(Connection connection, AckTerm term, ReadOnlySpan<WriteReply> replies)
    {
        if (connection.IsClosing || replies.IsEmpty) return;
        if (replies[0].Start > 0) _prefixed.Add(connection);
        connection.AwaitAcks(replies);
        if (_batches.Count >= _sweepCount) Sweep();
        int count = 0;
        long offset = 0; // one that was left without a reply may be the largest
        foreach (WriteReply reply in replies)
        {
            count += reply.Bytes > 0 ? 1 : 0;
            offset = Math.Max(offset, reply.Offset);
        }

        if (term != _lastTerm) (_lastTerm, _last) = (term, 0);
        _last = Math.Max(_last, offset);
        _batches.Enqueue(new Batch(connection, term, offset, count, steadyMs(), Stopwatch.GetTimestamp()));
        Volatile.Write(ref _replies, _replies + count);
        if (_batches.Count == 1 && settings.ReplicaAcksTimeoutMs is > 0 and int timeoutMs) tickIn(timeoutMs);
    }

    /// <summary>At the end of an iteration: asks for the acknowledgement of what was executed in it, and looks whether that has come already.</summary>
    internal void EndIteration()
    {
        // Also if nothing waits any more: a connection must not stay listed when it moves.
        foreach (Connection connection in _prefixed) connection.Acknowledge(0);
        _prefixed.Clear();
        if (_batches.Count == 0) return;
        Interlocked.Exchange(ref _awaited, _batches.Peek().Offset); // an acknowledgement sees this, or the look below sees the acknowledgement
        if (_last != _asked) acks.Ask(_asked = _last);
        Release();
    }

    /// <summary>Lets replies leave as far as they are acknowledged; those fail whose term was lost.</summary>
    internal void Release()
    {
        while (_batches.TryPeek(out Batch batch) && batch.Term.StateOf(batch.Offset) is not AckState.Waits and var state)
        {
            Remove(batch);
            if (state == AckState.Leaves) batch.Connection.Acknowledge(batch.Offset);
            else Fail(batch, batch.Term.Error);
        }

        NoteFirst();
        if (loop.HasGatingOutput) loop.Post(static () => { }); // for the log's gate, which needs the end of another iteration
    }

    /// <summary>As <see cref="Release"/>, and makes errors of replies that have waited for too long.</summary>
    /// <param name="nowMs">The steady time.</param>
    /// <param name="restMs">The longest time that the loop would rest.</param>
    /// <returns>How long it may rest.</returns>
    internal int EndOverdue(long nowMs, int restMs)
    {
        if (_batches.Count == 0) return restMs;
        Release();
        long timeoutMs = settings.ReplicaAcksTimeoutMs;
        while (timeoutMs > 0 && _batches.TryPeek(out Batch batch))
        {
            long rest = batch.SinceMs + timeoutMs - nowMs;
            if (rest > 0)
            {
                restMs = (int)Math.Min(rest, restMs);
                break;
            }

            Remove(batch);
            Fail(batch, ReplicaAcks.TimeoutError);
        }

        NoteFirst();
        return restMs;
    }

    /// <summary>Closes the connections whose replies wait, because the log may never have what they tell of. On the loop's thread.</summary>
    internal void CloseAll()
    {
        foreach (Batch batch in _batches)
        {
            if (!batch.Connection.IsClosing) batch.Connection.Close();
        }
    }

    /// <summary>Has the loop look at its replies. From any thread.</summary>
    public void ReleaseSoon()
    {
        if (!loop.IsCurrent) loop.Post(_release ??= Release); // otherwise the end of the iteration looks
    }

    private void Remove(in Batch batch)
    {
        _batches.Dequeue();
        Volatile.Write(ref _replies, _replies - batch.Replies);
        Volatile.Write(ref _waits, _waits + 1);
        Volatile.Write(ref _waitTicks, _waitTicks + Stopwatch.GetElapsedTime(batch.Since).Ticks);
    }

    private void Fail(in Batch batch, ReadOnlySpan<byte> error)
    {
        int failed = batch.Connection.FailUnacked(batch.Offset, batch.Term.Position, error);
        if (failed > 0) acks.NoteFailed(failed);
    }

    private void NoteFirst()
    {
        bool waits = _batches.TryPeek(out Batch first);
        Volatile.Write(ref _awaited, waits ? first.Offset : 0);
        Volatile.Write(ref _oldestMs, waits ? first.SinceMs : 0);
    }

    // Without replicas and without a timeout, clients that come and go would leave more and more behind.
    private void Sweep()
    {
        var left = new Queue<Batch>(_batches.Count);
        foreach (Batch batch in _batches)
        {
            if (!batch.Connection.IsClosing) left.Enqueue(batch);
            else Volatile.Write(ref _replies, _replies - batch.Replies);
        }

        _batches = left;
        _sweepCount = Math.Max(SweepCountMin, 2 * left.Count);
    }

    /// <summary>What a connection was sent at once.</summary>
    /// <param name="Connection">The connection.</param>
    /// <param name="Term">The term in which it was written.</param>
    /// <param name="Offset">The offset of the last reply that waits.</param>
    /// <param name="Replies">How many wait.</param>
    /// <param name="SinceMs">Since when, steady.</param>
    /// <param name="Since">The same as a timestamp.</param>
    private readonly record struct Batch(Connection Connection, AckTerm Term, long Offset, int Replies, long SinceMs, long Since);
}
