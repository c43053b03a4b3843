using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A stripe's lock: one word on a cache line of its own, taken by compare-and-swap. It is held for one command, or for
/// one slice of background work, so waiting means spinning, then yielding; never sleeping. Not reentrant.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 192)]
internal struct StripeLock
{
    [FieldOffset(64)]
    private int _held;

    [FieldOffset(128)]
    private long _contended;

    /// <summary>How often somebody had to wait.</summary>
    internal readonly long Contended => _contended;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Enter()
    {
        if (Interlocked.CompareExchange(ref _held, 1, 0) != 0) Wait();
    }

    /// <summary>Enters if nobody else is in.</summary>
    internal bool TryEnter() => Volatile.Read(ref _held) == 0 && Interlocked.CompareExchange(ref _held, 1, 0) == 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Exit() => Volatile.Write(ref _held, 0);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Wait()
    {
        var spinner = default(SpinWait);
        do
        {
            spinner.SpinOnce(sleep1Threshold: -1);
        }
        while (Volatile.Read(ref _held) != 0 || Interlocked.CompareExchange(ref _held, 1, 0) != 0);

        _contended++;
    }
}
