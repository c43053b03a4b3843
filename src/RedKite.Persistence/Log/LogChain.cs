using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Persistence.Log;

/// <summary>
/// The log in memory: a stream of records in the protocol's form, in segments of a fixed size, from the oldest byte that a reader still
/// needs to the end. Executors append on their own threads. The append-only file has one, which its writer reads; replicas read another.
/// </summary>
/// <remarks>
/// <para>A record takes its place with one atomic operation while its stripes are locked (<see cref="Begin"/>), so that the order of
/// the log is the order of execution for every key. Its bytes follow. A record becomes visible when all before it are complete: each
/// appender publishes a lower bound of its unfinished record, and <see cref="Visible"/> is the lowest of them. Every value that
/// <see cref="Visible"/> returns is a boundary between records.</para>
/// <para>The word that is changed atomically holds the end of the log in its upper 56 bits and the database of the last record in the
/// lower 8, because the record that changes the database is preceded by SELECT. A database beyond 254 is never remembered, so its
/// records are always preceded by one. 2^55 bytes last for a year at a gigabyte a second.</para>
/// </remarks>
internal sealed class LogChain
{
    internal const int SegmentBytes = 1 << SegmentShift;
    private const int SegmentShift = 18;

    /// <summary>The most bytes between the oldest that is kept and the end: 16 GiB, far beyond every limit on what waits.</summary>
    internal const long KeptBytesMax = (long)SlotCount << SegmentShift;

    private const int SlotCount = 1 << 16;
    private const int AppenderCount = 64; // records that can be incomplete at a time; a further thread waits for one of them
    private const int FreeMax = 64; // 16 MiB, which a burst reuses without allocation
    private const int DatabaseBits = 8;
    private const int UnknownDatabase = 255;

    private readonly byte[]?[] _segments = new byte[]?[SlotCount];
    private readonly Stack<byte[]> _free = new();
    private readonly LogAppender[] _appenders = new LogAppender[AppenderCount];
    private PaddedWord _end; // position << DatabaseBits | database
    private long _released;
    private int _segmentCount;

    /// <param name="position">The position of the first byte.</param>
    internal LogChain(long position = 0)
    {
        _end.Value = (position << DatabaseBits) | UnknownDatabase;
        _released = position;
        for (int i = 0; i < _appenders.Length; i++) _appenders[i] = new LogAppender(this);
    }

    /// <summary>The end of the log: all records that have taken their place.</summary>
    internal long Reserved => Volatile.Read(ref _end.Value) >> DatabaseBits;

    /// <summary>The oldest byte that is kept.</summary>
    internal long Released => Volatile.Read(ref _released);

    /// <summary>Memory of the segments, free ones included.</summary>
    internal long MemoryBytes => (long)Volatile.Read(ref _segmentCount) << SegmentShift;

    /// <summary>The end of the records that are complete, together with all before them.</summary>
    internal long Visible
    {
        get
        {
            long visible = Reserved;

            // After the end was read: an appender whose record lies before it has published its lower bound before taking its place.
            Interlocked.MemoryBarrier();
            foreach (LogAppender appender in _appenders) visible = Math.Min(visible, appender.UnfinishedFrom);
            return visible;
        }
    }

    /// <summary>
    /// Takes a record's place, and selects its database if the record before it was for another one. Its stripes are locked. Exactly its
    /// bytes are appended next, and then it is ended.
    /// </summary>
    /// <param name="bytes">The record's length.</param>
    /// <param name="first">The database of its first command.</param>
    /// <param name="last">The database that is selected at its end.</param>
    internal LogAppender Begin(long bytes, int first, int last)
    {
        LogAppender appender = Take();
        appender.Begin(bytes, first, last);
        return appender;
    }

    /// <summary>As <see cref="Begin"/>, with all bytes of a record of one database.</summary>
    /// <returns>The position behind it.</returns>
    internal long Append(int database, ReadOnlySpan<byte> record)
    {
        LogAppender appender = Begin(record.Length, database, database);
        appender.Append(record);
        return appender.End();
    }

    /// <summary>Appends bytes that are for no database, or select it themselves: SELECT does not precede them.</summary>
    /// <returns>The position behind them.</returns>
    internal long AppendUnchanged(ReadOnlySpan<byte> bytes)
    {
        LogAppender appender = Take();
        appender.Begin(bytes.Length);
        appender.Append(bytes);
        return appender.End();
    }

    /// <summary>
    /// Forgets the database of the last record, so that SELECT precedes the next one: a file begins there.
    /// </summary>
    /// <returns>The end of the log at that moment.</returns>
    internal long ForgetDatabase()
    {
        while (true)
        {
            long end = Volatile.Read(ref _end.Value);
            if (Interlocked.CompareExchange(ref _end.Value, end | UnknownDatabase, end) == end) return end >> DatabaseBits;
        }
    }

    /// <summary>
    /// The bytes from a position on, as far as one segment holds them. They are visible, and are not released before the caller has done with them: a
    /// released segment is used again.
    /// </summary>
    /// <exception cref="InvalidOperationException">They are released, or were never written.</exception>
    internal ReadOnlyMemory<byte> Read(long position, long bytesMax)
    {
        byte[]? segment = position < Released ? null : Volatile.Read(ref _segments[(position >> SegmentShift) & (SlotCount - 1)]);
        if (segment is null) throw new InvalidOperationException(FormattableString.Invariant($"position {position} of a log is not kept: it begins at {Released} and ends at {Reserved}"));
        int offset = (int)(position & (SegmentBytes - 1));
        return segment.AsMemory(offset, (int)Math.Min(bytesMax, SegmentBytes - offset));
    }

    /// <summary>Releases the bytes before a position. From one thread at a time.</summary>
    internal void Release(long position)
    {
        long first = _released >> SegmentShift, end = position >> SegmentShift;
        for (long index = first; index < end; index++)
        {
            byte[]? segment = Interlocked.Exchange(ref _segments[index & (SlotCount - 1)], null);
            if (segment is null) continue;
            lock (_free)
            {
                if (_free.Count < FreeMax) _free.Push(segment);
                else Interlocked.Decrement(ref _segmentCount);
            }
        }

        Volatile.Write(ref _released, position);
    }

    /// <summary>Takes a record's place.</summary>
    /// <param name="bytes">The record's length without a SELECT in front.</param>
    /// <param name="first">The database of its first command.</param>
    /// <param name="last">The database that is selected at its end.</param>
    /// <param name="select">Whether it must begin with SELECT, whose length is then included.</param>
    /// <returns>Its position.</returns>
    internal long Reserve(long bytes, int first, int last, out bool select)
    {
        int remembered = last < UnknownDatabase ? last : UnknownDatabase;
        while (true)
        {
            long end = Volatile.Read(ref _end.Value);
            select = (end & UnknownDatabase) != first || first >= UnknownDatabase;
            long position = end >> DatabaseBits;
            long next = position + bytes + (select ? SelectCommand.Length(first) : 0);
            if (Interlocked.CompareExchange(ref _end.Value, (next << DatabaseBits) | (uint)remembered, end) == end) return position;
        }
    }

    /// <summary>Takes the place of bytes that are for no database.</summary>
    internal long Reserve(long bytes) => (Interlocked.Add(ref _end.Value, bytes << DatabaseBits) >> DatabaseBits) - bytes;

    internal void Write(long position, ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            int offset = (int)(position & (SegmentBytes - 1));
            int length = Math.Min(bytes.Length, SegmentBytes - offset);
            bytes[..length].CopyTo(Segment(position).AsSpan(offset));
            bytes = bytes[length..];
            position += length;
        }
    }

    private LogAppender Take()
    {
        for (int i = Environment.CurrentManagedThreadId; ; i++)
        {
            LogAppender appender = _appenders[i & (AppenderCount - 1)];
            if (appender.TryTake()) return appender;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte[] Segment(long position)
    {
        ref byte[]? slot = ref _segments[(position >> SegmentShift) & (SlotCount - 1)];
        return Volatile.Read(ref slot) ?? Add(ref slot);
    }

    // The first appender that reaches a new segment adds it.
    private byte[] Add(ref byte[]? slot)
    {
        byte[]? segment;
        lock (_free) _free.TryPop(out segment);
        if (segment is null)
        {
            segment = GC.AllocateUninitializedArray<byte>(SegmentBytes, pinned: true);
            Interlocked.Increment(ref _segmentCount);
        }

        if (Interlocked.CompareExchange(ref slot, segment, null) is not { } added) return segment;
        lock (_free) _free.Push(segment);
        return added;
    }

    // A cache line of its own: every append changes it.
    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct PaddedWord
    {
        [FieldOffset(64)]
        internal long Value;
    }
}
