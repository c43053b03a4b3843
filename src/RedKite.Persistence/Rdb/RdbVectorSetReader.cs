using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads a vector set with its graph, in the form of <see cref="RdbVectorSetSteps"/>. Links that are not mutual, or more than a node has room
/// for, are dropped: searches rely on nothing else. Anything else that is wrong makes the value invalid.
/// </summary>
internal static unsafe class RdbVectorSetReader
{
    // Redis has at most 16 levels; a few more do no harm.
    private const int LevelMax = 31;

    internal static bool TryRead(ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        if (!input.TryLength(out ulong id) || id != RdbModule.VectorSet) return false;
        using var vector = new NativeBuffer();
        if (!TryForm(ref input, out VectorSetForm form, out long count, out bool hasAttributes, out bool isProjected)) return false;
        VectorSetValue set = VectorSetValue.Create(target.Database, target.Key, target.Hash, target.AccessClock, form);
        if (isProjected && !TryProjection(ref input, set, vector)) return false;
        var graph = new Graph();
        for (; count > 0; count--)
        {
            if (!RdbModule.TryString(ref input, scratch.First, out ReadOnlySpan<byte> name)) return false;
            if (!TryAttributes(ref input, hasAttributes, scratch.Second, out ReadOnlySpan<byte> attributes)) return false;
            if (!RdbModule.TryString(ref input, vector, out ReadOnlySpan<byte> stored) || stored.Length != set.Data->VectorBytes) return false;
            if (!TryElement(ref input, set, graph, name, attributes, stored)) return false;
        }

        graph.Link(set.Data);
        set.Data->LastId = graph.LastId;
        return RdbModule.TryEnd(ref input);
    }

    private static bool TryForm(ref RdbInput input, out VectorSetForm form, out long count, out bool hasAttributes, out bool isProjected)
    {
        form = default;
        count = 0;
        hasAttributes = isProjected = false;
        if (!RdbModule.TryUnsigned(ref input, out ulong dimensions) || dimensions is 0 or > VectorSetLimits.DimensionsMax) return false;
        if (!RdbModule.TryUnsigned(ref input, out ulong elements) || elements is 0 or > VectorSetLimits.ElementsMax || elements > (ulong)input.Left) return false;
        if (!RdbModule.TryUnsigned(ref input, out ulong mixed) || !RdbModule.TryUnsigned(ref input, out ulong flags)) return false;
        ulong links = mixed >> 8;
        ulong quantization = mixed & 0xFF;
        if (links is < VectorSetLimits.LinksMin or > VectorSetLimits.LinksMax || quantization > (ulong)VectorQuantization.Binary) return false;
        if (flags > (RdbVectorSetSteps.IsProjected | RdbVectorSetSteps.HasAttributes)) return false;
        form = new VectorSetForm((int)dimensions, 0, (int)links, (VectorQuantization)quantization);
        count = (long)elements;
        isProjected = (flags & RdbVectorSetSteps.IsProjected) != 0;
        hasAttributes = (flags & RdbVectorSetSteps.HasAttributes) != 0;
        return true;
    }

    private static bool TryProjection(ref RdbInput input, scoped VectorSetValue set, NativeBuffer scratch)
    {
        if (!RdbModule.TryUnsigned(ref input, out ulong from) || from is 0 or > VectorSetLimits.DimensionsMax) return false;
        long bytes = set.Form.Dimensions * (long)from * sizeof(float);
        if (bytes > VectorSetLimits.ProjectionFloatsMax * sizeof(float)) return false;
        if (!RdbModule.TryString(ref input, scratch, out ReadOnlySpan<byte> matrix) || matrix.Length != bytes) return false;
        float* projection = VectorProjection.Allocate(set.Data, set.Arena, (int)from);
        matrix.CopyTo(new Span<byte>(projection, matrix.Length));
        return true;
    }

    private static bool TryAttributes(ref RdbInput input, bool hasAttributes, NativeBuffer scratch, out ReadOnlySpan<byte> attributes)
    {
        attributes = default;
        return !hasAttributes || RdbModule.TryString(ref input, scratch, out attributes);
    }

    private static bool TryElement(ref RdbInput input, scoped VectorSetValue set, Graph graph, scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> attributes, scoped ReadOnlySpan<byte> stored)
    {
        if (!RdbModule.TryUnsigned(ref input, out ulong parameters) || parameters < 3 || parameters > (ulong)input.Left) return false;
        if (!RdbModule.TryUnsigned(ref input, out ulong id) || !RdbModule.TryUnsigned(ref input, out ulong level) || level > LevelMax) return false;
        parameters -= 3;
        if (!set.TryAddUnlinked(name, (int)level, attributes, out VectorElement element) || !graph.TryAdd(id, element.Number)) return false;
        for (int i = 0; i <= (int)level; i++)
        {
            if (parameters < 2 || !RdbModule.TryUnsigned(ref input, out ulong links) || !RdbModule.TryUnsigned(ref input, out _)) return false;
            parameters -= 2;
            if (links > parameters) return false;
            parameters -= links;
            graph.BeginLinks(links);
            for (; links > 0; links--)
            {
                if (!RdbModule.TryUnsigned(ref input, out ulong other)) return false;
                graph.AddLink(other);
            }
        }

        if (parameters != 0 || !RdbModule.TryUnsigned(ref input, out ulong sizes)) return false;
        SetVector(set.Form.Quantization, element, stored, BitConverter.UInt32BitsToSingle((uint)sizes), BitConverter.UInt32BitsToSingle((uint)(sizes >> 32)));
        return true;
    }

    // Components that are not finite, which Redis stores, would give distances that are not numbers.
    private static void SetVector(VectorQuantization quantization, VectorElement element, ReadOnlySpan<byte> stored, float norm, float range)
    {
        ref VectorNode.Header head = ref VectorNode.Head(element.Node);
        head.Norm = norm;
        head.Range = quantization == VectorQuantization.Int8 && float.IsFinite(range) ? range : 0;
        var target = new Span<byte>(VectorNode.Vector(element.Node), stored.Length);
        stored.CopyTo(target);
        if (quantization != VectorQuantization.None) return;
        foreach (float component in MemoryMarshal.Cast<byte, float>(target))
        {
            if (float.IsFinite(component)) continue;
            target.Clear();
            return;
        }
    }

    // The links by ids, until all nodes are there.
    private sealed class Graph
    {
        private readonly Dictionary<ulong, int> _numbers = [];
        private readonly List<ulong> _links = []; // of each level of each node a count and so many ids, in the order of the numbers

        internal ulong LastId { get; private set; }

        internal bool TryAdd(ulong id, int number)
        {
            LastId = Math.Max(LastId, id);
            return _numbers.TryAdd(id, number);
        }

        internal void BeginLinks(ulong count) => _links.Add(count);

        internal void AddLink(ulong id) => _links.Add(id);

        internal void Link(VectorSetData* data)
        {
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
}
