using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Keyspace;

/// <summary>
/// Entries that a walk over a table has collected. They are valid while their stripe's lock is held and no key of it is added, written or
/// removed.
/// </summary>
internal sealed unsafe class EntryList
{
    private readonly List<nint> _blocks = [];

    internal int Count => _blocks.Count;

    /// <summary>The entries' blocks, for the store itself.</summary>
    internal IReadOnlyList<nint> Blocks => _blocks;

    internal Entry this[int index] => Entry.FromBlock(_blocks[index]);

    internal void Add(byte* block) => _blocks.Add((nint)block);

    internal void Clear() => _blocks.Clear();

    /// <summary>Prefetches the heads of all entries, which are then read one after the other.</summary>
    internal void Prefetch()
    {
        if (!Sse.IsSupported) return;
        foreach (nint block in _blocks) Sse.Prefetch0((byte*)block);
    }

    public Enumerator GetEnumerator() => new(this);

    internal ref struct Enumerator(EntryList list)
    {
        private int _index = -1;

        public readonly Entry Current => list[_index];

        public bool MoveNext() => ++_index < list.Count;
    }
}
