using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Sets;

namespace RedKite.Store.Values.Copying;

/// <summary>
/// The copy of a value's structure in steps of about a microsecond, whatever its type. The source must not change between
/// the first step and the last. After any step, the copied part can be freed as a value of that type.
/// </summary>
internal unsafe struct StructureCopy
{
    private readonly DataType _type;
    private MemberTableCopy<SetMember> _set;
    private MemberTableCopy<HashField> _hash;
    private SortedSetCopy _sortedSet;
    private ListCopy _list;
    private StreamCopy _stream;
    private ArrayCopy _array;

    /// <param name="source">An entry with a structure.</param>
    /// <param name="arena">The arena of the copy's stripe.</param>
    /// <param name="hasher">The keyspace's hasher.</param>
    internal StructureCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        ref ValueRoot root = ref source.Root;
        Root = root; // with the word, if the type has one
        _type = source.Type;
        switch (_type)
        {
            case DataType.Set:
                _set = new MemberTableCopy<SetMember>((nint)root.Structure, arena);
                Root.Structure = (byte*)_set.Root;
                break;
            case DataType.Hash:
                _hash = new MemberTableCopy<HashField>((nint)root.Structure, arena);
                Root.Structure = (byte*)_hash.Root;
                break;
            case DataType.SortedSet:
                _sortedSet = new SortedSetCopy(root, arena, hasher);
                Root = _sortedSet.Root;
                break;
            case DataType.List:
                _list = new ListCopy(root.Structure, arena);
                Root.Structure = _list.Root;
                break;
            case DataType.Stream:
                _stream = new StreamCopy(root.Structure, arena);
                Root.Structure = _stream.Root;
                break;
            case DataType.Array:
                _array = new ArrayCopy(root.Structure, arena);
                Root.Structure = _array.Root;
                break;
            default:
                throw new InvalidOperationException($"A value of type {_type} has no structure.");
        }
    }

    /// <summary>The copy's root, for good from the start.</summary>
    internal ValueRoot Root;

    /// <summary>Copies the next part.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool Step() => _type switch
    {
        DataType.Set => _set.Step(),
        DataType.Hash => _hash.Step(),
        DataType.SortedSet => _sortedSet.Step(),
        DataType.List => _list.Step(),
        DataType.Array => _array.Step(),
        _ => _stream.Step(),
    };

    /// <summary>Frees the parts that do not belong to the structure yet; the rest is freed as a value.</summary>
    internal void DiscardOpenBlock()
    {
        _set.DiscardOpenBlock();
        _hash.DiscardOpenBlock();
        _sortedSet.DiscardOpenBlock();
        _list.DiscardOpenBlock();
        _stream.DiscardOpenBlock();
        _array.DiscardOpenBlock();
    }
}
