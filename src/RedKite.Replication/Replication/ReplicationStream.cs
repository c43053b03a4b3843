using RedKite.Persistence.Log;
using RedKite.Server.Changes;

namespace RedKite.Server.Replication;

/// <summary>Who reads the stream. Both members may be called on any thread, perhaps with stripes locked, and must be quick.</summary>
internal interface IStreamReaders
{
    /// <summary>Something was appended, by the current thread.</summary>
    void Appended();

    /// <summary>A position was abandoned: its replica is closed.</summary>
    void Abandoned(ReplicaPosition position);
}

/// <summary>
/// The bytes that replicas receive, of which the last ones are kept as the backlog. A position in it is a replication offset: the number of
/// bytes before it. On a primary, executors append the effects of what they execute; on a replica, its link appends what the primary sent.
/// </summary>
/// <remarks>
/// <para>It has a chain of its own beside the append-only log's: messages, PING and REPLCONF GETACK are in this one only. See docs/adr/0011.</para>
/// <para>Without a chain (<see cref="HasBacklog"/>) nothing is appended, and the offset stands still.</para>
/// <para>Who reads pins a position (<see cref="ReplicaPosition"/>): nothing behind it is released.</para>
/// </remarks>
internal sealed class ReplicationStream : IEffectConsumer, IStreamOffset
{
    private readonly Func<long> _backlogBytes; // the setting
    private readonly Lock _readers = new(); // the list, the chain's change and its release
    private ReplicaPosition[] _positions = [];
    private volatile LogChain? _chain;
    private long _offset; // without a chain

    /// <summary>
    /// What a replica may be behind at all: half of what a chain can keep. Who appends looks at this, as the loop that looks at the limits of
    /// replicas may be the one that executes for long.
    /// </summary>
    internal const long BehindBytesMax = LogChain.KeptBytesMax / 2;

    /// <param name="backlogBytes">How many bytes are kept.</param>
    /// <param name="readers">Receives what happens; may be null.</param>
    internal ReplicationStream(Func<long> backlogBytes, IStreamReaders? readers = null)
    {
        _backlogBytes = backlogBytes;
        Readers = readers;
    }

    /// <summary>The bound in use: tests have a smaller one.</summary>
    internal long BehindBytes { get; set; } = BehindBytesMax;

    /// <summary>Who is told what happens; null: nobody.</summary>
    internal IStreamReaders? Readers { get; private set; }

    /// <summary>Sets the receiver of what happens from now on; null removes it.</summary>
    internal void Tell(IStreamReaders? readers) => Readers = readers;

    public bool HasBacklog => _chain is not null;

    /// <summary>The replication offset: the end of what was appended.</summary>
    public long Offset => _chain?.Reserved ?? Volatile.Read(ref _offset);

    /// <summary>The end of what can be read: everything before it is complete.</summary>
    internal long Visible => _chain?.Visible ?? Volatile.Read(ref _offset);

    /// <summary>The end of what can be read, and of which chain.</summary>
    internal StreamEnd End
    {
        get
        {
            LogChain? chain = _chain;
            return new StreamEnd(chain, chain?.Visible ?? 0);
        }
    }

    /// <summary>The position of the oldest byte of the backlog.</summary>
    internal long BacklogStart => _chain is { } chain ? Math.Max(chain.Released, FirstKept(chain, chain.Reserved)) : Offset;

    /// <summary>The number of bytes that are kept, for the backlog or for replicas that are behind.</summary>
    internal long KeptBytes => _chain is { } chain ? chain.Reserved - chain.Released : 0;

    /// <summary>Memory of the segments.</summary>
    internal long MemoryBytes => _chain?.MemoryBytes ?? 0;

    /// <summary>Memory of the segments that hold the backlog.</summary>
    internal long BacklogMemoryBytes => HasBacklog ? Math.Min(MemoryBytes, (Offset - BacklogStart + LogChain.SegmentBytes - 1) / LogChain.SegmentBytes * LogChain.SegmentBytes) : 0;

    public bool TakesRequests => true;

    /// <summary>Begins to keep a backlog, at the offset of now. On a primary with all stripes locked, and the stream is then made a consumer of effects.</summary>
    internal void Begin()
    {
        lock (_readers) _chain ??= new LogChain(Volatile.Read(ref _offset));
    }

    /// <summary>Ends the backlog. The stream is no consumer any more. Replicas that read it are closed first.</summary>
    internal void Release()
    {
        lock (_readers)
        {
            Volatile.Write(ref _offset, Offset);
            _chain = null;
        }
    }

    /// <summary>Goes on at another offset, with an empty backlog: the data is another. Nothing is appended meanwhile.</summary>
    internal void Reset(long offset)
    {
        lock (_readers)
        {
            Volatile.Write(ref _offset, offset);
            _chain = new LogChain(offset);
        }
    }

    /// <summary>Appends bytes unchanged: those of a primary's stream, on a replica from one thread; or what is for no database.</summary>
    /// <returns>The offset behind them.</returns>
    internal long Append(ReadOnlySpan<byte> bytes)
    {
        if (_chain is not { } chain) return Offset;
        long end = chain.AppendUnchanged(bytes);
        NoteAppended(chain, end, bytes.Length);
        return end;
    }

    public void PublishedRequests(int database, int slot, ReadOnlySpan<byte> requests)
    {
        if (_chain is not { } chain) return;
        NoteAppended(chain, chain.Append(database, requests), requests.Length);
    }

    public void Published(scoped in EffectRecord record)
    {
        if (_chain is not { } chain) return;
        long end = record.AppendTo(chain, EffectTargets.Replicas, out long bytes);
        if (bytes > 0) NoteAppended(chain, end, bytes);
    }

    /// <summary>SELECT precedes the next record: a replica begins there. With all stripes locked.</summary>
    /// <returns>The offset of that moment.</returns>
    internal long ForgetDatabase() => _chain!.ForgetDatabase();

    /// <summary>Begins to read at a position, if the bytes from there on are kept.</summary>
    /// <returns>Null: they are not.</returns>
    internal ReplicaPosition? TryPin(long offset)
    {
        lock (_readers)
        {
            if (_chain is not { } chain || !Resumption.IsKept(offset, chain.Released, chain.Reserved)) return null;
            var position = new ReplicaPosition(chain, offset);
            _positions = [.. _positions, position];
            return position;
        }
    }

    /// <summary>Passes on the bytes between two positions, if they are kept. Nothing is appended meanwhile.</summary>
    internal bool TryRead(long from, long to, Action<ReadOnlySpan<byte>> read)
    {
        if (TryPin(from) is not { } position) return false;
        try
        {
            while (position.Offset < to && Send(position, End, (int)Math.Min(LogChain.SegmentBytes, to - position.Offset), bytes => read(bytes)) > 0)
            {
            }

            return position.Offset == to;
        }
        finally
        {
            Unpin(position);
        }
    }

    internal void Unpin(ReplicaPosition position)
    {
        lock (_readers) _positions = [.. _positions.Where(other => other != position)];
        Trim();
    }

    /// <summary>Passes on the bytes from a pinned position on, as far as one segment holds them, and advances the position.</summary>
    /// <param name="position">The position.</param>
    /// <param name="end">How far the stream can be read. Of another chain: there is nothing to read, as both count in bytes of different histories.</param>
    /// <param name="bytesMax">The most bytes.</param>
    /// <param name="send">Takes the bytes before it returns.</param>
    /// <returns>How many bytes there were.</returns>
    internal static int Send(ReplicaPosition position, StreamEnd end, int bytesMax, StreamSink send)
    {
        long offset = position.Offset;
        if (position.Chain != end.Chain || end.Position <= offset || !position.TryBeginSending()) return 0;
        ReadOnlyMemory<byte> bytes = position.Chain.Read(offset, Math.Min(bytesMax, end.Position - offset));
        send(bytes.Span);
        position.EndSending(bytes.Length); // from here on any thread may release their segment, and an appender use it again
        return bytes.Length;
    }

    /// <summary>Releases what neither the backlog nor a replica needs, and abandons replicas that are too far behind.</summary>
    internal void Trim()
    {
        if (!_readers.TryEnter()) return;
        ReplicaPosition[] abandoned = [];
        try
        {
            if (_chain is not { } chain) return;
            long end = chain.Visible, kept = FirstKept(chain, end);
            foreach (ReplicaPosition position in _positions)
            {
                if (position.Chain != chain) continue;
                if (end - position.Offset > BehindBytes && position.TryAbandon()) abandoned = [.. abandoned, position];
                else kept = Math.Min(kept, position.Offset);
            }

            if (abandoned.Length > 0) _positions = [.. _positions.Except(abandoned)];
            if (kept > chain.Released) chain.Release(kept);
        }
        finally
        {
            _readers.Exit();
        }

        foreach (ReplicaPosition position in abandoned) Readers?.Abandoned(position);
    }

    private long FirstKept(LogChain chain, long end) => Math.Max(chain.Released, end - _backlogBytes());

    // Once for each segment, so that a burst is trimmed while it lasts.
    private void NoteAppended(LogChain chain, long end, long bytes)
    {
        if (end / LogChain.SegmentBytes != (end - bytes) / LogChain.SegmentBytes && chain.Reserved - chain.Released > _backlogBytes()) Trim();
        Readers?.Appended();
    }
}

/// <summary>Takes bytes of the stream, which are another record's when it has returned.</summary>
internal delegate void StreamSink(ReadOnlySpan<byte> bytes);

/// <summary>How far a chain of the stream can be read.</summary>
/// <param name="Chain">The chain; null: there is none.</param>
/// <param name="Position">The end of its complete records.</param>
internal readonly record struct StreamEnd(LogChain? Chain, long Position);

/// <summary>How far a replica has been sent the stream. Its loop advances it.</summary>
/// <remarks>
/// Its bytes are kept until it is unpinned or abandoned. A thread that would abandon it while its loop sends them leaves it alone, and an
/// abandoned one is sent nothing more: one atomic word decides.
/// </remarks>
internal sealed class ReplicaPosition(LogChain chain, long offset)
{
    private const int Idle = 0;
    private const int Sending = 1;
    private const int IsAbandoned = 2;

    private long _offset = offset;
    private int _state;

    /// <summary>What it reads; if the stream has another one, there is nothing more to read.</summary>
    internal LogChain Chain => chain;

    internal long Offset => Volatile.Read(ref _offset);

    /// <summary>Keeps the bytes behind the position until <see cref="EndSending"/>. On the replica's loop.</summary>
    /// <returns>False: they are not kept any more.</returns>
    internal bool TryBeginSending() => Interlocked.CompareExchange(ref _state, Sending, Idle) == Idle;

    internal void EndSending(long bytes)
    {
        Advance(bytes);
        Volatile.Write(ref _state, Idle);
    }

    internal void Advance(long bytes) => Volatile.Write(ref _offset, _offset + bytes);

    /// <summary>Gives up what the position keeps, unless it is being sent. From any thread.</summary>
    internal bool TryAbandon() => Interlocked.CompareExchange(ref _state, IsAbandoned, Idle) == Idle;
}
