using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// The links of a set that is read. They are kept in the nodes, as indexes of ids, until all elements are there: a link may come before the element that it
/// names. What is remembered of ids is outside the managed heap, and there are no more of them than elements.
/// </summary>
internal sealed unsafe class VectorGraphReader : IDisposable
{
    private const int FirstSlots = 64;
    private const int NoNumber = -1;

    private readonly long _idsMax;
    private readonly bool _asks;
    private readonly KeyHasher _hasher = new(); // keyed, so that a payload cannot choose ids that collide
    private NativeList<int> _slots; // a power of two; 0, or an index and 1
    private NativeList<ulong> _ids; // by index
    private NativeList<int> _numbers; // by index: the node of an id, once it is there
    private VectorSetData* _data;
    private int* _links; // of the node and level that are read; null: they are dropped
    private int _linksMax;

    /// <param name="elements">How many elements follow.</param>
    /// <param name="asks">Whether there may be no more memory than a command may have (<see cref="ScratchMemory"/>).</param>
    internal VectorGraphReader(long elements, bool asks)
    {
        _idsMax = elements;
        _asks = asks;
    }

    private ulong LastId { get; set; }

    /// <summary>Adds an element that has no links; false if its id is another one's, or there is no memory for it.</summary>
    internal bool TryAdd(ulong id, VectorElement element)
    {
        LastId = Math.Max(LastId, id);
        if (!TryIndexOf(id, out int index) || _numbers.Items[index] != NoNumber) return false;
        _numbers.Items[index] = element.Number;
        return true;
    }

    /// <summary>Begins an element's links of a level, which may be one that it does not have here.</summary>
    internal void BeginLinks(VectorSetValue set, VectorElement element, int level)
    {
        _data = set.Data;
        _links = level > VectorNode.Head(element.Node).Level ? null : _data->LinksOf(element.Node, level);
        _linksMax = _data->LinksMaxAt(level);
    }

    /// <summary>Adds a link; false if there are more ids than elements, or no memory for them.</summary>
    internal bool TryAddLink(ulong id)
    {
        if (_links == null || _links[0] == _linksMax) return true;
        if (!TryIndexOf(id, out int index)) return false;
        _links[++_links[0]] = index;
        return true;
    }

    internal void Link(VectorSetValue set)
    {
        VectorSetData* data = set.Data;
        data->LastId = LastId;
        for (int number = 0; number < data->Used; number++)
        {
            byte* node = data->Node(number);
            if (data->Entry == VectorSetData.NoNode || VectorNode.Head(node).Level > data->TopLevel) data->Entry = number;
            for (int level = 0; level <= VectorNode.Head(node).Level; level++) Resolve(data, node, level);
        }

        for (int number = 0; number < data->Used; number++)
        {
            byte* node = data->Node(number);
            for (int level = 0; level <= VectorNode.Head(node).Level; level++) KeepMutual(data, node, level);
        }
    }

    public void Dispose()
    {
        _slots.Dispose();
        _ids.Dispose();
        _numbers.Dispose();
    }

    private bool TryIndexOf(ulong id, out int index)
    {
        index = 0;
        if (2 * (_ids.Count + 1) > _slots.Count && !TryGrow()) return false;
        int slot = SlotOf(id);
        index = _slots.Items[slot] - 1;
        if (index >= 0) return true;
        index = _ids.Count;
        if (index == _idsMax) return false;
        _ids.Add(id);
        _numbers.Add(NoNumber);
        _slots.Items[slot] = index + 1;
        return true;
    }

    // The slot of an id, or the empty one where it belongs.
    private int SlotOf(ulong id)
    {
        ReadOnlySpan<int> slots = _slots.Items;
        int mask = slots.Length - 1;
        int slot = (int)_hasher.Hash(MemoryMarshal.AsBytes(new ReadOnlySpan<ulong>(in id))) & mask;
        while (slots[slot] != 0 && _ids.Items[slots[slot] - 1] != id) slot = (slot + 1) & mask;
        return slot;
    }

    private bool TryGrow()
    {
        int slots = Math.Max(FirstSlots, 2 * _slots.Count);
        if (_asks && !ScratchMemory.HasRoom(slots * ((2L * sizeof(int)) + sizeof(ulong)))) return false;
        _slots.Dispose();
        _slots = new NativeList<int>(slots);
        _slots.Items.Clear();
        for (int i = 0; i < _ids.Count; i++) _slots.Items[SlotOf(_ids.Items[i])] = i + 1;
        return true;
    }

    private void Resolve(VectorSetData* data, byte* node, int level)
    {
        int* links = data->LinksOf(node, level);
        int count = 0;
        for (int i = 1; i <= links[0]; i++)
        {
            int other = _numbers.Items[links[i]];
            if (other != VectorNode.Head(node).Number && VectorNode.Head(data->Node(other)).Level >= level) links[++count] = other;
        }

        // In order, so that what is mutual is found by halving.
        var numbers = new Span<int>(links + 1, count);
        numbers.Sort();
        links[0] = 0;
        for (int i = 0; i < count; i++)
        {
            if (i == 0 || numbers[i] != numbers[i - 1]) links[++links[0]] = numbers[i];
        }
    }

    private static void KeepMutual(VectorSetData* data, byte* node, int level)
    {
        int* links = data->LinksOf(node, level);
        int kept = 0;
        for (int i = 1; i <= links[0]; i++)
        {
            int* others = data->LinksOf(data->Node(links[i]), level);
            if (new Span<int>(others + 1, others[0]).BinarySearch(VectorNode.Head(node).Number) >= 0) links[++kept] = links[i];
        }

        links[0] = kept;
    }
}
