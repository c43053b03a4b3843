using System.Runtime.InteropServices;

namespace RedKite.Store.Values.VectorSets;

/// <summary>An element of a vector set. It is valid until the set changes.</summary>
internal readonly unsafe struct VectorElement
{
    private readonly byte* _node;
    private readonly VectorSetData* _data;

    internal VectorElement(VectorSetData* data, byte* node)
    {
        _data = data;
        _node = node;
    }

    internal bool Exists => _node != null;

    internal byte* Node => _node;

    /// <summary>Its address, for <see cref="VectorSetValue.NameOf"/>.</summary>
    internal nint Block => (nint)_node;

    internal ReadOnlySpan<byte> Name => VectorNode.Member(_node);

    /// <summary>Empty: it has none.</summary>
    internal ReadOnlySpan<byte> Attributes => VectorNode.Attributes(_node);

    internal int Number => VectorNode.Head(_node).Number;

    internal int Level => VectorNode.Head(_node).Level;

    /// <summary>The norm of the vector as it was given.</summary>
    internal float Norm => VectorNode.Head(_node).Norm;

    /// <summary>The component that 127 stands for; 0 where no bytes are stored.</summary>
    internal float Range => VectorNode.Head(_node).Range;

    /// <summary>The vector as it is stored.</summary>
    internal ReadOnlySpan<byte> Stored => new(VectorNode.Vector(_node), _data->VectorBytes);

    /// <summary>Sets the vector of an element that is read. Components that are not finite, which Redis stores, would give distances that are no numbers.</summary>
    internal void SetStored(ReadOnlySpan<byte> stored, float norm, float range)
    {
        ref VectorNode.Header head = ref VectorNode.Head(_node);
        head.Norm = norm;
        head.Range = _data->Quantization == VectorQuantization.Int8 && float.IsFinite(range) ? range : 0;
        var target = new Span<byte>(VectorNode.Vector(_node), stored.Length);
        stored.CopyTo(target);
        if (_data->Quantization != VectorQuantization.None) return;
        foreach (float component in MemoryMarshal.Cast<byte, float>(target))
        {
            if (float.IsFinite(component)) continue;
            target.Clear();
            return;
        }
    }

    /// <summary>The numbers of the elements that this one is linked with on a level.</summary>
    internal ReadOnlySpan<int> Links(int level)
    {
        int* links = _data->LinksOf(_node, level);
        return new ReadOnlySpan<int>(links + 1, links[0]);
    }

    /// <summary>Reads the vector as it was given, as exactly as it is stored. Of signs the norm is not part.</summary>
    internal void Read(Span<float> vector)
    {
        VectorCodec.Decode(_data->Quantization, _node, vector);
        if (_data->Quantization == VectorQuantization.Binary) return;
        foreach (ref float component in vector) component *= Norm;
    }

    internal float DistanceTo(VectorElement other) => VectorDistance.Between(_data->Quantization, _data->Dimensions, _node, other._node);
}
