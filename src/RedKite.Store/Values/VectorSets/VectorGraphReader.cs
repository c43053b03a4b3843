namespace RedKite.Store.Values.VectorSets;

/// <summary>The links of a set that is read, by the ids of its elements, until all of them are there.</summary>
internal sealed unsafe class VectorGraphReader
{
    private readonly Dictionary<ulong, int> _numbers = [];
    private readonly List<ulong> _links = []; // of each level of each node a count and so many ids, in the order of the numbers

    private ulong LastId { get; set; }

    internal bool TryAdd(ulong id, int number)
    {
        LastId = Math.Max(LastId, id);
        return _numbers.TryAdd(id, number);
    }

    internal void BeginLinks(ulong count) => _links.Add(count);

    internal void AddLink(ulong id) => _links.Add(id);

    internal void Link(VectorSetValue set)
    {
        VectorSetData* data = set.Data;
        data->LastId = LastId;
        int at = 0;
        for (int number = 0; number < data->Used; number++)
        {
            byte* node = data->Node(number);
            if (data->Entry == VectorSetData.NoNode || VectorNode.Head(node).Level > data->TopLevel) data->Entry = number;
            for (int level = 0; level <= VectorNode.Head(node).Level; level++) Resolve(data, node, level, ref at);
        }

        for (int number = 0; number < data->Used; number++)
        {
            byte* node = data->Node(number);
            for (int level = 0; level <= VectorNode.Head(node).Level; level++) KeepMutual(data, node, level);
        }
    }

    private void Resolve(VectorSetData* data, byte* node, int level, ref int at)
    {
        int* links = data->LinksOf(node, level);
        int max = data->LinksMaxAt(level);
        int count = 0;
        for (ulong left = _links[at++]; left > 0; left--)
        {
            bool isLink = _numbers.TryGetValue(_links[at++], out int other) && other != VectorNode.Head(node).Number && VectorNode.Head(data->Node(other)).Level >= level;
            if (isLink && count < max) links[++count] = other;
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
