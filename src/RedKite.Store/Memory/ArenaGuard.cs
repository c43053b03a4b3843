using System.Collections.Concurrent;
using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// The guarded arena of the tests: every block comes from the system, between two red zones, is poisoned when it is freed, and
/// stays in quarantine for a while. Detects and throws writes outside a block, writes after free, double frees, frees with a wrong
/// size, and leaks.
/// </summary>
internal sealed unsafe class ArenaGuard : IDisposable
{
    private const int RedZoneBytes = 64;
    private const int OwnerBytes = 16; // before the first red zone: the id of the block's arena
    private const int BytesBefore = OwnerBytes + RedZoneBytes;
    private const byte RedZone = 0xA5;
    private const byte Fresh = 0xCD;
    private const byte Poison = 0xDD;
    private const int QuarantineBlocks = 1024;

    private readonly Dictionary<nint, long> _live = [];
    private readonly Queue<(nint Block, long Bytes)> _quarantine = new();
    private readonly ConcurrentQueue<(nint Block, long Bytes)> _returned = new();

    /// <summary>Blocks in use. For tests.</summary>
    internal int LiveBlocks => _live.Count;

    /// <summary>Whether other arenas have freed blocks of this one.</summary>
    internal bool HasReturned => !_returned.IsEmpty;

    internal byte* Allocate(long bytes, ref long usedBytes, int owner = 0)
    {
        long rounded = BlockSize.RoundUp(bytes);
        byte* whole = SystemMemory.Allocate((nuint)(BytesBefore + rounded + RedZoneBytes));
        byte* block = whole + BytesBefore;
        *(long*)whole = owner;
        new Span<byte>(whole + OwnerBytes, RedZoneBytes).Fill(RedZone);
        new Span<byte>(block + rounded, RedZoneBytes).Fill(RedZone);
        Fill(block, rounded, Fresh);
        _live.Add((nint)block, rounded);
        usedBytes += rounded;
        return block;
    }

    /// <summary>The id of a block's arena.</summary>
    /// <param name="block">The block, in use or freed.</param>
    /// <param name="id">The id of this guard's own arena.</param>
    internal int OwnerOf(byte* block, int id) => _live.ContainsKey((nint)block) ? id : (int)*(long*)(block - BytesBefore);

    /// <summary>Takes back a block that another arena has freed. Needs no lock.</summary>
    internal void Return(byte* block, long bytes) => _returned.Enqueue(((nint)block, bytes));

    internal bool TryTakeReturned(out nint block, out long bytes)
    {
        bool taken = _returned.TryDequeue(out (nint Block, long Bytes) returned);
        (block, bytes) = returned;
        return taken;
    }

    internal void Free(byte* block, long bytes, ref long usedBytes)
    {
        long rounded = BlockSize.RoundUp(bytes);
        if (!_live.Remove((nint)block, out long allocated)) throw new InvalidOperationException("A block was freed that is not in use.");
        if (allocated != rounded) throw new InvalidOperationException($"A block of {allocated} bytes was freed as one of {rounded}.");
        CheckRedZones(block, rounded);
        Fill(block, rounded, Poison);
        usedBytes -= rounded;
        _quarantine.Enqueue(((nint)block, rounded));
        if (_quarantine.Count > QuarantineBlocks) Release(_quarantine.Dequeue());
    }

    /// <summary>Checks every live block's red zones and every quarantined block's poison.</summary>
    internal void Check()
    {
        foreach ((nint block, long bytes) in _live) CheckRedZones((byte*)block, bytes);
        foreach ((nint block, long bytes) in _quarantine) CheckPoison((byte*)block, bytes);
    }

    /// <summary>Ends the arena; throws if a block is still in use.</summary>
    public void Dispose()
    {
        int leaked = _live.Count;
        foreach ((nint block, long bytes) in _live)
        {
            CheckRedZones((byte*)block, bytes);
            NativeMemory.Free((byte*)block - BytesBefore);
        }

        _live.Clear();
        while (_quarantine.TryDequeue(out (nint, long) freed)) Release(freed);
        if (leaked > 0) throw new InvalidOperationException($"{leaked} blocks were never freed.");
    }

    private static void Release((nint Block, long Bytes) freed)
    {
        CheckPoison((byte*)freed.Block, freed.Bytes);
        NativeMemory.Free((byte*)freed.Block - BytesBefore);
    }

    private static void CheckRedZones(byte* block, long bytes)
    {
        if (new ReadOnlySpan<byte>(block - RedZoneBytes, RedZoneBytes).ContainsAnyExcept(RedZone))
            throw new InvalidOperationException($"Something wrote before a block of {bytes} bytes.");
        if (new ReadOnlySpan<byte>(block + bytes, RedZoneBytes).ContainsAnyExcept(RedZone))
            throw new InvalidOperationException($"Something wrote behind a block of {bytes} bytes.");
    }

    private static void CheckPoison(byte* block, long bytes)
    {
        CheckRedZones(block, bytes);
        for (long i = 0; i < bytes; i++)
        {
            if (block[i] != Poison) throw new InvalidOperationException($"Something wrote to a freed block of {bytes} bytes, at {i}.");
        }
    }

    private static void Fill(byte* block, long bytes, byte value) => NativeMemory.Fill(block, (nuint)bytes, value);
}
