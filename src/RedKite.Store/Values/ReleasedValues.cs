using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values;

/// <summary>
/// One stripe's values whose entries are gone. Small structures are freed at once, what is left of bigger ones waits
/// for the background sweep, which frees a slice at a time: no command waits for a million elements.
/// Used with the stripe's lock held.
/// </summary>
internal sealed unsafe class ReleasedValues(Arena arena)
{
    // About 10 microseconds under the lock.
    private const int BlocksPerSlice = 256;

    private readonly Queue<Released> _waiting = new();

    internal bool AreWaiting => _waiting.Count > 0;

    /// <summary>Takes over the structure of an entry whose block is about to be freed or filled anew.</summary>
    internal void Release(byte* entry)
    {
        var released = new Released { Type = EntryBlock.Type(entry), Encoding = EntryBlock.Encoding(entry), Root = EntryBlock.Root(entry) };
        if (!Free(ref released)) _waiting.Enqueue(released);
    }

    /// <summary>Frees a slice of one value.</summary>
    internal void FreeSlice()
    {
        if (!_waiting.TryDequeue(out Released released)) return;
        if (!Free(ref released)) _waiting.Enqueue(released);
    }

    // Whether all of it is freed.
    private bool Free(ref Released released) =>
        !ValueStructure.FreeSlice(arena, released.Type, released.Encoding, ref released.Root, BlocksPerSlice);

    private struct Released
    {
        public DataType Type;
        public ValueEncoding Encoding;
        public ValueRoot Root;
    }
}
