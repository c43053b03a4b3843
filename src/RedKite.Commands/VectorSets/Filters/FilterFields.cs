using RedKite.Server.Model;

namespace RedKite.Server.Commands.VectorSets.Filters;

/// <summary>The distinct fields that a filter names. Each is read once from an element's attributes, however often the filter names it.</summary>
internal sealed class FilterFields
{
    // So many names are compared one after the other, which is faster than hashing.
    private const int ComparedMax = 8;

    private readonly List<byte[]> _names = [];
    private readonly Dictionary<byte[], int> _numbers = new(NameComparer.Instance);
    private readonly Dictionary<byte[], int>.AlternateLookup<ReadOnlySpan<byte>> _byName;

    internal FilterFields() => _byName = _numbers.GetAlternateLookup<ReadOnlySpan<byte>>();

    internal int Count => _names.Count;

    /// <summary>Adds a field, unless it is there.</summary>
    /// <returns>Its number.</returns>
    internal int Add(ReadOnlySpan<byte> name)
    {
        if (_byName.TryGetValue(name, out int number)) return number;
        byte[] added = name.ToArray();
        _numbers.Add(added, _names.Count);
        _names.Add(added);
        return _names.Count - 1;
    }

    /// <summary>A field's number; -1: the filter does not name it. A field without a name is never found.</summary>
    internal int Find(ReadOnlySpan<byte> name)
    {
        if (name.IsEmpty) return -1;
        if (_names.Count > ComparedMax) return _byName.TryGetValue(name, out int number) ? number : -1;
        for (int i = 0; i < _names.Count; i++)
        {
            if (name.SequenceEqual(_names[i])) return i;
        }

        return -1;
    }
}
