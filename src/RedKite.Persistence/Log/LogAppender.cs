using System.Runtime.InteropServices;

namespace RedKite.Persistence.Log;

/// <summary>Writes one record of a <see cref="LogChain"/> at a time, for the thread that has taken it.</summary>
internal sealed class LogAppender
{
    private readonly LogChain _chain;
    private PaddedPosition _unfinished = new() { Value = long.MaxValue };
    private int _taken;
    private long _next;

    internal LogAppender(LogChain chain) => _chain = chain;

    /// <summary>No later than the beginning of the record that is not complete; <see cref="long.MaxValue"/>: there is none.</summary>
    internal long UnfinishedFrom => Volatile.Read(ref _unfinished.Value);

    internal bool TryTake() => Volatile.Read(ref _taken) == 0 && Interlocked.Exchange(ref _taken, 1) == 0;

    /// <inheritdoc cref="LogChain.Begin"/>
    internal void Begin(long bytes, int first, int last)
    {
        Volatile.Write(ref _unfinished.Value, _chain.Reserved); // the reservation is a full barrier behind it
        _next = _chain.Reserve(bytes, first, last, out bool select);
        if (!select) return;
        Span<byte> command = stackalloc byte[SelectCommand.LengthMax];
        Append(command[..SelectCommand.Format(first, command)]);
    }

    /// <summary>Begins a record that is for no database.</summary>
    internal void Begin(long bytes)
    {
        Volatile.Write(ref _unfinished.Value, _chain.Reserved);
        _next = _chain.Reserve(bytes);
    }

    internal void Append(ReadOnlySpan<byte> bytes)
    {
        _chain.Write(_next, bytes);
        _next += bytes.Length;
    }

    /// <summary>Completes the record: exactly its bytes were appended. Another thread may take the appender now.</summary>
    /// <returns>The position behind it.</returns>
    internal long End()
    {
        long end = _next;
        Volatile.Write(ref _unfinished.Value, long.MaxValue);
        Volatile.Write(ref _taken, 0);
        return end;
    }

    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct PaddedPosition
    {
        [FieldOffset(64)]
        internal long Value;
    }
}
