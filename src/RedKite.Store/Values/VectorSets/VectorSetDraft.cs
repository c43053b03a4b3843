using RedKite.Store.Keyspace;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// A set that no key has yet, while its projection is made in slices. It is in the arena of its key's stripe, so every call is made with that stripe
/// locked.
/// </summary>
internal sealed unsafe class VectorSetDraft(Database database, ulong hash, VectorSetForm form)
{
    private VectorSetData* _data;

    /// <summary>Keeps a draft (<see cref="VectorSetValue.IsDraft"/>).</summary>
    internal static VectorSetDraft Of(Database database, ulong hash, VectorSetValue set) => new(database, hash, set.Form) { _data = set.Data };

    /// <summary>The set; after <see cref="Discard"/> another one, of which nothing is made.</summary>
    internal VectorSetValue Open()
    {
        if (_data != null) return VectorSetValue.OfDraft(database, hash, _data);
        VectorSetValue set = VectorSetValue.Draft(database, hash, form);
        _data = set.Data;
        return set;
    }

    /// <summary>The set, which the caller attaches to its key.</summary>
    internal VectorSetValue Take()
    {
        VectorSetValue set = Open();
        _data = null;
        return set;
    }

    /// <summary>Frees the set, unless it was taken.</summary>
    internal void Discard()
    {
        if (_data != null) VectorSetValue.OfDraft(database, hash, _data).Discard();
        _data = null;
    }
}
