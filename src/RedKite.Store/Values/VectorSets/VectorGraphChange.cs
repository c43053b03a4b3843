
using System.Numerics;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// Adds nodes to the graph of a vector set and removes them. All links are mutual, so the nodes that lose a link by a removal are those that
/// the removed one links to; they are linked with each other at once.
/// </summary>
/// <remarks>
/// A node takes the nearest nodes that lie in different directions (the heuristic of the paper's algorithm 4), then the nearest of the others.
/// Where one of those has no link left, it gives up its farthest link to a node that it also reaches through a nearer one. A node is not left
/// with less than half of its links that way, or what is far from everything could not be found any more.
///
/// A change reads at most <see cref="VectorSetLimits.ChangeBytesMax"/> of vectors, and a few more for its last step. Beyond that it links what it has
/// found already, or what has room, without comparing it, and gives up no other links.
///
/// Rejected: links in one direction, where the others of a removed node can only be found by reading all nodes.
/// </remarks>
internal readonly unsafe ref struct VectorGraphChange(VectorGraph graph)
{
    // Of a removed node's neighbours, so many are linked with each other: the work grows with the square.
    private const int RepairedMax = 64;

    // Links are chosen from so many times as many of the nearest nodes: each is compared with all that are chosen.
    private const int ChosenFromForEach = 16;

    private readonly VectorGraph _graph = graph;

    // A full node gives up one of at least so many links, however little the change may still read.
    private const int ComparedMin = 8;

    private VectorSetData* Data => _graph.Data;

    private VectorScratch Scratch => _graph.Scratch;

    /// <summary>Begins a change, which may read so many bytes.</summary>
    internal static VectorGraphChange Begin(VectorGraph graph)
    {
        graph.Scratch.ChangeWork = VectorSetLimits.ChangeBytesMax;
        return new VectorGraphChange(graph);
    }

    /// <summary>Draws the level of a new node.</summary>
    internal static int DrawLevel(VectorSetData* data)
    {
        ulong state = data->RandomState;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data->RandomState = state;
        double uniform = ((state >> 11) + 1) * (1.0 / (1L << 53));
        return (int)Math.Min(-Math.Log(uniform) / Math.Log(data->Links), VectorSetLimits.LevelMax);
    }

    private float Distance(byte* first, byte* second)
    {
        Scratch.ChangeWork -= Data->VectorBytes;
        return _graph.Distance(first, second);
    }

    private ReadOnlySpan<ulong> SearchLevel(byte* query, int from, int level, int effort)
    {
        long work = Scratch.ChangeWork - Data->VectorBytes; // of the first node
        ReadOnlySpan<ulong> found = _graph.SearchLevel(query, from, level, effort, ref work);
        Scratch.ChangeWork = work;
        return found;
    }

    /// <summary>Removes a node from what a search has found.</summary>
    internal static Span<ulong> Without(Span<ulong> near, int number)
    {
        int count = 0;
        foreach (ulong key in near)
        {
            if (DistanceKey.Number(key) != number) near[count++] = key;
        }

        return near[..count];
    }

    /// <summary>Links a node that has its vector and no links.</summary>
    /// <param name="near">What is near it on the lowest level; if nothing is, it is searched.</param>
    internal void Add(byte* node, int effort, ReadOnlySpan<ulong> near)
    {
        VectorSetData* data = Data;
        int number = VectorNode.Head(node).Number;
        int level = VectorNode.Head(node).Level;
        if (data->Entry == VectorSetData.NoNode)
        {
            data->Entry = number;
            return;
        }

        if (!near.IsEmpty) Link(node, 0, near);
        int lowest = near.IsEmpty ? 0 : 1;
        if (level < lowest) return;
        int top = data->TopLevel;
        int from = data->Entry;
        for (int above = top; above > level; above--) from = DistanceKey.Number(SearchLevel(node, from, above, effort: 1)[0]);
        for (int at = Math.Min(level, top); at >= lowest; at--)
        {
            ReadOnlySpan<ulong> found = SearchLevel(node, from, at, effort);
            from = DistanceKey.Number(found[0]);
            Link(node, at, found);
        }

        if (level > top) data->Entry = number;
    }

    /// <summary>Takes a node out of the graph and links its neighbours with each other.</summary>
    internal void Remove(byte* node)
    {
        VectorSetData* data = Data;
        int number = VectorNode.Head(node).Number;
        if (data->Entry == number) data->Entry = OtherEntry(node);
        for (int level = VectorNode.Head(node).Level; level >= 0; level--)
        {
            int* links = data->LinksOf(node, level);
            int count = links[0];
            for (int i = 1; i <= count; i++) Unlink(data->LinksOf(data->Node(links[i]), level), number);
            links[0] = 0;
            Repair(new ReadOnlySpan<int>(links + 1, count), level);
        }
    }

    /// <summary>Links two nodes both ways, as far as both have room; false if one has not.</summary>
    internal static bool TryLink(VectorSetData* data, byte* first, byte* second, int level)
    {
        int* a = data->LinksOf(first, level);
        int* b = data->LinksOf(second, level);
        int max = data->LinksMaxAt(level);
        if (a[0] >= max || b[0] >= max) return false;
        a[++a[0]] = VectorNode.Head(second).Number;
        b[++b[0]] = VectorNode.Head(first).Number;
        return true;
    }

    private void Link(byte* node, int level, ReadOnlySpan<ulong> near)
    {
        VectorSetData* data = Data;
        int max = data->LinksMaxAt(level);
        int least = max / 2;
        near = near[..Math.Min(near.Length, ChosenFromForEach * max)];
        Span<int> chosen = Scratch.Numbers(max);
        int count = Choose(near, chosen);
        int* links = data->LinksOf(node, level);
        foreach (int number in chosen[..count])
        {
            byte* other = data->Node(number);
            if (TryLink(data, node, other, level)) continue;
            if (Scratch.ChangeWork > 0 && MakeRoom(other, node, level, least, isWanted: links[0] < least)) TryLink(data, node, other, level);
        }

        // All neighbours are full, and so are theirs: the nearest one gives up its farthest link.
        if (links[0] > 0) return;
        byte* nearest = data->Node(chosen[0]);
        MakeRoom(nearest, node, level, least: 1, isWanted: true);
        if (TryLink(data, node, nearest, level)) return;

        // None of its neighbours has another link: they have room.
        int* others = data->LinksOf(nearest, level);
        for (int i = 1; i <= others[0] && links[0] == 0; i++) TryLink(data, node, data->Node(others[i]), level);
    }

    // The nearest nodes, without those that are nearer to a chosen one than to the node; then the nearest of those.
    private int Choose(ReadOnlySpan<ulong> near, Span<int> chosen)
    {
        int count = 0;
        int passedOver = 0;
        Span<int> others = Scratch.MoreNumbers(chosen.Length);
        foreach (ulong key in near)
        {
            if (count == chosen.Length) return count;
            int number = DistanceKey.Number(key);
            if (IsBehind(number, DistanceKey.Distance(key), chosen[..count]))
            {
                if (passedOver < others.Length) others[passedOver++] = number;
                continue;
            }

            chosen[count++] = number;
        }

        for (int i = 0; i < passedOver && count < chosen.Length; i++) chosen[count++] = others[i];
        return count;
    }

    private bool IsBehind(int number, float distance, ReadOnlySpan<int> chosen)
    {
        byte* node = Data->Node(number);
        foreach (int other in chosen)
        {
            if (Scratch.ChangeWork <= 0) return false;
            if (Distance(node, Data->Node(other)) < distance) return true;
        }

        return false;
    }

    // Removes a link of a full node, so that it can link to a new one.
    // isWanted: whether the new node needs the link more than any other node.
    private bool MakeRoom(byte* node, byte* added, int level, int least, bool isWanted)
    {
        VectorSetData* data = Data;
        int* links = data->LinksOf(node, level);
        int number = VectorNode.Head(node).Number;
        float addedDistance = Distance(node, added);
        int count = (int)Math.Min(links[0], Math.Max(ComparedMin, Scratch.ChangeWork / data->VectorBytes)); // the first links
        Span<ulong> keys = Scratch.Keys(count + 1);
        for (int i = 0; i < count; i++) keys[i] = DistanceKey.Of(Distance(node, data->Node(links[i + 1])), links[i + 1]);
        keys[count] = DistanceKey.Of(addedDistance, VectorNode.Head(added).Number);
        keys.Sort();

        int farthest = VectorSetData.NoNode;
        for (int i = count; i >= 0; i--)
        {
            int candidate = DistanceKey.Number(keys[i]);
            byte* other = candidate == VectorNode.Head(added).Number ? added : data->Node(candidate);
            if (other == added ? isWanted : data->LinksOf(other, level)[0] <= least) continue;
            if (farthest == VectorSetData.NoNode) farthest = candidate;

            // Of the farthest, the second, the fourth and so on. Among random vectors none is reachable, and looking at each took half of the distances
            // of an addition (docs/vector-sets.md); among clusters one of the first is, and without looking they lose their links to each other.
            if (!BitOperations.IsPow2(count - i + 1) || !IsReachable(other, DistanceKey.Distance(keys[i]), keys[..i], added)) continue;
            farthest = candidate;
            break;
        }

        if (farthest == VectorSetData.NoNode || farthest == VectorNode.Head(added).Number) return false;
        Unlink(links, farthest);
        Unlink(data->LinksOf(data->Node(farthest), level), number);
        return true;
    }

    // Whether a nearer neighbour is nearer to it.
    private bool IsReachable(byte* node, float distance, ReadOnlySpan<ulong> nearer, byte* added)
    {
        foreach (ulong key in nearer)
        {
            if (Scratch.ChangeWork <= 0) return true;
            int number = DistanceKey.Number(key);
            byte* other = number == VectorNode.Head(added).Number ? added : Data->Node(number);
            if (Distance(node, other) < distance) return true;
        }

        return false;
    }

    // Each of the nodes has lost a link: the nearest pairs that are not linked yet get one, and no node more than two unless that connects what is not connected otherwise.
    private void Repair(ReadOnlySpan<int> nodes, int level)
    {
        VectorSetData* data = Data;
        int count = Math.Min(nodes.Length, RepairedMax);
        if (count > 1)
        {
            Span<byte> part = stackalloc byte[RepairedMax]; // of a node: a number for all that are linked with it
            for (int i = 0; i < count; i++) part[i] = (byte)i;
            Span<ulong> pairs = Scratch.Keys(count * (count - 1) / 2);
            int pairCount = 0;
            for (int i = 0; i < count; i++)
            {
                byte* node = data->Node(nodes[i]);
                var links = new ReadOnlySpan<int>(data->LinksOf(node, level) + 1, data->LinksOf(node, level)[0]);
                for (int j = i + 1; j < count && Scratch.ChangeWork > 0; j++)
                {
                    if (links.Contains(nodes[j])) Join(part, i, j);
                    else pairs[pairCount++] = DistanceKey.Of(Distance(node, data->Node(nodes[j])), (i << 16) | j);
                }
            }

            pairs = pairs[..pairCount];
            pairs.Sort();
            Span<byte> added = stackalloc byte[RepairedMax];
            foreach (ulong pair in pairs)
            {
                int i = DistanceKey.Number(pair) >> 16;
                int j = DistanceKey.Number(pair) & 0xFFFF;
                if (part[i] == part[j] && (added[i] >= 2 || added[j] >= 2)) continue;
                if (!TryLink(data, data->Node(nodes[i]), data->Node(nodes[j]), level)) continue;
                added[i]++;
                added[j]++;
                Join(part, i, j);
            }
        }

        // Where searches begin comes first, because the others are linked with what a search finds.
        int next = 0;
        int entry = nodes.IndexOf(data->Entry);
        if (entry >= 0 && data->LinksOf(data->Node(data->Entry), level)[0] == 0) TryLinkToOther(data->Node(data->Entry), nodes, level, ref next);

        // What has lost its last link gets others by a search; beyond what the change may read, one of the others that have room now. So does what has few links and
        // was not compared: together with those that it still has, it might not be found any more.
        for (int i = 0; i < nodes.Length; i++)
        {
            byte* node = data->Node(nodes[i]);
            int* links = data->LinksOf(node, level);
            if (links[0] == 0 && Scratch.ChangeWork > 0) Reconnect(node, level);
            bool isNeeded = links[0] == 0;
            bool isWanted = isNeeded || (i >= count && links[0] < data->LinksMaxAt(level) / 2);
            if (isWanted && !TryLinkToOther(node, nodes, level, ref next) && isNeeded) Reconnect(node, level);
        }
    }

    private static void Join(Span<byte> part, int first, int second) => part.Replace(part[second], part[first]);

    // Links a node with the next one of some that has links, and room.
    private bool TryLinkToOther(byte* node, ReadOnlySpan<int> nodes, int level, ref int next)
    {
        VectorSetData* data = Data;
        for (int tried = 0; tried < nodes.Length; tried++)
        {
            byte* other = data->Node(nodes[next]);
            int* links = data->LinksOf(other, level);
            bool isUseful = other != node && links[0] > 0 && !new ReadOnlySpan<int>(links + 1, links[0]).Contains(VectorNode.Head(node).Number);
            if (isUseful && TryLink(data, node, other, level)) return true;
            next = next + 1 < nodes.Length ? next + 1 : 0;
        }

        return false;
    }

    // A node that has lost its last link.
    private void Reconnect(byte* node, int level)
    {
        VectorSetData* data = Data;
        int number = VectorNode.Head(node).Number;
        int from = data->Entry;
        if (from == number || from == VectorSetData.NoNode || data->TopLevel < level) return;
        for (int above = data->TopLevel; above > level; above--)
        {
            ReadOnlySpan<ulong> nearest = SearchLevel(node, from, above, effort: 2);
            from = DistanceKey.Number(nearest[0]);
            if (from == number && nearest.Length > 1) from = DistanceKey.Number(nearest[1]); // it is still linked there
        }

        if (from == number) return;
        ReadOnlySpan<ulong> near = SearchLevel(node, from, level, VectorSetLimits.AddingEffortDefault);
        Link(node, level, near);
    }

    // The neighbour with the highest level; without neighbours, the node with the highest level of all.
    private int OtherEntry(byte* node)
    {
        VectorSetData* data = Data;
        for (int level = VectorNode.Head(node).Level; level >= 0; level--)
        {
            int* links = data->LinksOf(node, level);
            int highest = VectorSetData.NoNode;
            for (int i = 1; i <= links[0]; i++) highest = Higher(highest, links[i]);
            if (highest != VectorSetData.NoNode) return highest;
        }

        int other = VectorSetData.NoNode;
        for (int number = 0; number < data->Used; number++)
        {
            byte* candidate = data->NodeOrNull(number);
            if (candidate != null && candidate != node) other = Higher(other, number);
        }

        return other;
    }

    private int Higher(int first, int second) =>
        first == VectorSetData.NoNode || VectorNode.Head(Data->Node(second)).Level > VectorNode.Head(Data->Node(first)).Level ? second : first;

    private static void Unlink(int* links, int number)
    {
        int at = new Span<int>(links + 1, links[0]).IndexOf(number);
        links[at + 1] = links[links[0]--];
    }
}
