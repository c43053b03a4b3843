namespace RedKite.Server.Model;

/// <summary>The lists of field names that a client has prepared with HIMPORT, by name.</summary>
internal sealed class ClientFieldSets
{
    private const int FieldBytes = 40; // the array of a name, and its place in the list's

    private readonly Dictionary<byte[], byte[][]> _sets = new(NameComparer.Instance);

    /// <summary>The number of lists.</summary>
    internal int Count => _sets.Count;

    /// <summary>Bytes of the names, roughly. A moment old when another thread reads it.</summary>
    internal long Bytes { get; private set; }

    internal byte[][]? Find(ReadOnlySpan<byte> name) => _sets.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(name, out byte[][]? fields) ? fields : null;

    /// <summary>Adds a list, or replaces the one of its name.</summary>
    internal void Set(ReadOnlySpan<byte> name, byte[][] fields)
    {
        Remove(name);
        byte[] own = name.ToArray();
        _sets.Add(own, fields);
        Bytes += BytesOf(own, fields);
    }

    /// <summary>Removes a list; false if there is none.</summary>
    internal bool Remove(ReadOnlySpan<byte> name)
    {
        if (!_sets.GetAlternateLookup<ReadOnlySpan<byte>>().Remove(name, out byte[]? own, out byte[][]? fields)) return false;
        Bytes -= BytesOf(own, fields);
        return true;
    }

    private static long BytesOf(byte[] name, byte[][] fields) => name.Length + Session.NameOverhead + fields.Sum(field => (long)field.Length + FieldBytes);
}
