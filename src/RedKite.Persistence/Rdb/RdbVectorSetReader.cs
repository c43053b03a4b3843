using RedKite.Store.Memory;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads a vector set with its graph, in the form of <see cref="RdbVectorSetSteps"/>. Links that are not mutual, or more than a node has room
/// for, or of levels above <see cref="VectorSetLimits.LevelMax"/>, are dropped: searches rely on nothing else. Anything else that is wrong makes the value invalid.
/// </summary>
internal static class RdbVectorSetReader
{
    // Redis has at most 16 levels. The links of a few more are read.
    private const int LevelMax = 31;

    // More are not written, whatever the form says.
    private const int LinksMax = 2 * VectorSetLimits.LinksMax;

    // The nodes of a client's payload have at most half of the process's memory: a few bytes of it are room for thousands of links.
    private const int ClientMemory = 8; // times that of a command

    // Redis 8.0.6 and later add it to a node's level: each level's links are followed by the distance and the index of its worst link, which are not needed here.
    private const ulong HasWorstLinks = 1 << 24;

    internal static bool TryRead(ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        using var vector = new NativeBuffer();
        if (!TryForm(ref input, out VectorSetForm form, out long count, out bool hasAttributes, out bool isProjected)) return false;
        VectorSetValue set = VectorSetValue.Create(target.Database, target.Key, target.Hash, target.AccessClock, form);
        if (isProjected && !TryProjection(ref input, set, vector)) return false;
        using var graph = new VectorGraphReader(count, target.IsOfClient);
        long bytes = 0;
        for (; count > 0; count--)
        {
            if (!RdbModule.TryString(ref input, scratch.First, out ReadOnlySpan<byte> name)) return false;
            if (!TryAttributes(ref input, hasAttributes, scratch.Second, out ReadOnlySpan<byte> attributes)) return false;
            if (!RdbModule.TryString(ref input, vector, out ReadOnlySpan<byte> stored) || stored.Length != set.VectorBytes) return false;
            if (!TryElement(ref input, set, graph, name, attributes, stored, ref bytes)) return false;
            if (target.IsOfClient && bytes > ClientMemory * ScratchMemory.BytesMax) return false;
        }

        graph.Link(set);
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
        set.SetProjection((int)from, matrix);
        return true;
    }

    private static bool TryAttributes(ref RdbInput input, bool hasAttributes, NativeBuffer scratch, out ReadOnlySpan<byte> attributes)
    {
        attributes = default;
        return !hasAttributes || RdbModule.TryString(ref input, scratch, out attributes);
    }

    private static bool TryElement(ref RdbInput input, scoped VectorSetValue set, VectorGraphReader graph, scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> attributes, scoped ReadOnlySpan<byte> stored, ref long bytes)
    {
        if (!RdbModule.TryUnsigned(ref input, out ulong parameters) || parameters < 3 || parameters > (ulong)input.Left) return false;
        if (!RdbModule.TryUnsigned(ref input, out ulong id) || !RdbModule.TryUnsigned(ref input, out ulong level)) return false;
        ulong perLevel = (level & HasWorstLinks) != 0 ? 3UL : 2;
        level &= ~HasWorstLinks;
        if (level > LevelMax) return false;
        parameters -= 3;
        int kept = Math.Min((int)level, VectorSetLimits.LevelMax);
        if (!set.TryAddUnlinked(name, kept, attributes, out VectorElement element) || !graph.TryAdd(id, element)) return false;
        bytes += (kept + 2L) * set.Form.Links * sizeof(int);
        for (int i = 0; i <= (int)level; i++)
        {
            if (parameters < perLevel || !RdbModule.TryUnsigned(ref input, out ulong links) || !RdbModule.TryUnsigned(ref input, out _)) return false;
            parameters -= perLevel;
            if (links > parameters || links > LinksMax) return false;
            parameters -= links;
            graph.BeginLinks(set, element, i);
            for (; links > 0; links--)
            {
                if (!RdbModule.TryUnsigned(ref input, out ulong other) || !graph.TryAddLink(other)) return false;
            }

            if (perLevel == 3 && !RdbModule.TryUnsigned(ref input, out _)) return false;
        }

        if (parameters != 0 || !RdbModule.TryUnsigned(ref input, out ulong sizes)) return false;
        element.SetStored(stored, BitConverter.UInt32BitsToSingle((uint)sizes), BitConverter.UInt32BitsToSingle((uint)(sizes >> 32)));
        return true;
    }
}
