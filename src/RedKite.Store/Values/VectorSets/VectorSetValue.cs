using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.VectorSets;

/// <summary>What all vectors of a set have in common.</summary>
/// <param name="Dimensions">Of the vectors as they are stored.</param>
/// <param name="ProjectedFrom">The dimensions of the vectors as they are given, if they are projected; otherwise 0.</param>
/// <param name="Links">M.</param>
internal readonly record struct VectorSetForm(int Dimensions, int ProjectedFrom, int Links, VectorQuantization Quantization);

/// <summary>
/// A key's vector set as handlers see it: elements with a vector and attributes, found by name or by their vectors. It stays valid as long
/// as the stripe is locked and the set is not removed. The set of a missing key does not exist.
/// </summary>
internal readonly unsafe ref struct VectorSetValue
{
    private readonly Database _database;
    private readonly Entry _entry;
    private readonly Arena _arena;
    private readonly VectorSetData* _data;

    private VectorSetValue(Database database, Entry entry, Arena arena, VectorSetData* data)
    {
        _database = database;
        _entry = entry;
        _arena = arena;
        _data = data;
    }

    /// <summary>The set of an entry; an entry that is missing has none.</summary>
    internal static VectorSetValue Of(Database database, Entry entry) =>
        entry.Exists ? new(database, entry, database.ArenaOf(entry), (VectorSetData*)entry.Root.Structure) : default;

    /// <summary>Creates an empty set at a missing key. The caller adds an element at once.</summary>
    internal static VectorSetValue Create(Database database, ReadOnlySpan<byte> key, ulong hash, uint accessClock, VectorSetForm form) =>
        Draft(database, hash, form).Attach(key, hash, accessClock);

    /// <summary>An empty set that no key has until <see cref="Attach"/>. What its first vector is projected by is made with that.</summary>
    internal static VectorSetValue Draft(Database database, ulong hash, VectorSetForm form)
    {
        Arena arena = database.ArenaOf(hash);
        VectorSetData* data = VectorSetData.Create(arena, form.Dimensions, form.Links, form.Quantization);
        if (form.ProjectedFrom > 0) VectorProjection.Allocate(data, arena, form.ProjectedFrom);
        return OfDraft(database, hash, data);
    }

    internal static VectorSetValue OfDraft(Database database, ulong hash, VectorSetData* data) => new(database, default, database.ArenaOf(hash), data);

    /// <summary>Gives a draft to a missing key. The caller adds an element at once.</summary>
    internal VectorSetValue Attach(ReadOnlySpan<byte> key, ulong hash, uint accessClock)
    {
        Entry entry = _database.WriteValue(key, hash, default, new ValueHeader(DataType.VectorSet, ValueEncoding.VectorSet, accessClock), ValueRoot.Bytes, Database.NoExpiry);
        entry.Root = new ValueRoot { Structure = (byte*)_data };
        return new VectorSetValue(_database, entry, _arena, _data);
    }

    /// <summary>Frees a draft.</summary>
    internal void Discard()
    {
        while (VectorSetData.FreeSlice(_data, _arena, int.MaxValue))
        {
        }
    }

    internal bool Exists => _data != null;

    /// <summary>Whether no key has the set yet.</summary>
    internal bool IsDraft => _data != null && !_entry.Exists;

    internal VectorSetData* Data => _data;

    internal Arena Arena => _arena;

    /// <summary>Elements.</summary>
    internal long Count => _data == null ? 0 : Table.Count;

    internal VectorSetForm Form => new(_data->Dimensions, _data->ProjectedFrom, _data->Links, _data->Quantization);

    internal int TopLevel => _data->TopLevel;

    /// <summary>Bytes of a vector as it is stored.</summary>
    internal int VectorBytes => _data->VectorBytes;

    /// <summary>The projection's floats.</summary>
    internal ReadOnlySpan<byte> Projection => new(_data->Projection, (int)_data->ProjectionBytes);

    /// <summary>Gives a set that is read its projection.</summary>
    internal void SetProjection(int projectedFrom, ReadOnlySpan<byte> floats)
    {
        floats.CopyTo(new Span<byte>(VectorProjection.Allocate(_data, _arena, projectedFrom), floats.Length));
        _data->ProjectionMade = floats.Length / sizeof(float);
    }

    /// <summary>Elements that have attributes.</summary>
    internal long WithAttributes => _data->WithAttributes;

    /// <summary>The set's number in the order of creation.</summary>
    internal long Id => _data->Id;

    /// <summary>How often an element was added.</summary>
    internal ulong Additions => _data->LastId;

    private MemberTable<VectorNode> Table => new(_arena, _database.Hasher, _data->Table);

    private VectorGraph Graph => new(_data, VectorSearch.Scratch);

    /// <summary>The element with a name; one that does not exist if there is none.</summary>
    internal VectorElement Find(ReadOnlySpan<byte> name) =>
        _data == null ? default : new VectorElement(_data, Table.Find(name, _database.Hasher.Hash(name)));

    /// <summary>An element by its number, which a link or a key of a search contains.</summary>
    internal VectorElement At(int number) => new(_data, _data->Node(number));

    /// <summary>Numbers that an element may have; some are free.</summary>
    internal int Numbers => _data == null ? 0 : _data->Used;

    /// <summary>The element with a number; one that does not exist if the number is free.</summary>
    internal VectorElement AtOrNone(int number) => new(_data, _data->NodeOrNull(number));

    /// <summary>An element at random.</summary>
    internal VectorElement Pick(Random random) => new(_data, Table.Pick(random));

    /// <summary>Whether there is memory for <see cref="Draw"/> of so many elements.</summary>
    internal static bool HasRoomToDraw(long count) => NativeList<nint>.HasRoom(count * (1 + MemberTable<VectorNode>.SlotsOfDrawn));

    /// <summary>Different elements at random: as many blocks as the span has room for, at most all.</summary>
    internal void Draw(Random random, Span<nint> blocks) => Table.DrawDistinct(random, blocks);

    /// <summary>The name of a drawn element.</summary>
    internal static ReadOnlySpan<byte> NameOf(nint block) => VectorNode.Member((byte*)block);

    /// <summary>Adds an element, or replaces the vector of the one with its name.</summary>
    /// <param name="name">The element's name.</param>
    /// <param name="vector">As it is given; overwritten.</param>
    /// <param name="effort">EF.</param>
    /// <param name="attributes">The element's attributes; empty: none.</param>
    /// <param name="keepsAttributes">Whether an element that exists keeps those that it has.</param>
    /// <returns>Whether it is new.</returns>
    internal bool Add(ReadOnlySpan<byte> name, Span<float> vector, int effort, ReadOnlySpan<byte> attributes, bool keepsAttributes)
    {
        VectorSearch neighbours = BeginAdding(vector, effort);
        neighbours.Run(this, long.MaxValue);
        return Add(name, neighbours, effort, attributes, keepsAttributes);
    }

    /// <summary>Prepares the search for what a vector's neighbours will be.</summary>
    /// <param name="vector">As it is given; overwritten.</param>
    internal VectorSearch BeginAdding(Span<float> vector, int effort) => Query(vector).Begin(new VectorSearchBounds(effort, effort));

    /// <summary>Adds an element with the vector and the neighbours of a complete search.</summary>
    internal bool Add(ReadOnlySpan<byte> name, VectorSearch neighbours, int effort, ReadOnlySpan<byte> attributes, bool keepsAttributes)
    {
        // Copied, because what follows searches, too; and before any number is taken or freed.
        Span<ulong> near = _data->Entry == VectorSetData.NoNode ? [] : VectorSearch.Scratch.Near(neighbours.Results(this));
        MemberTable<VectorNode> table = Table;
        ulong hash = table.Hash(name);
        bool isNew = !table.TryFind(name, hash, out MemberPosition position);
        byte* replaced = isNew ? null : table.Remove(position);
        if (!isNew) near = VectorGraphChange.Without(near, VectorNode.Head(replaced).Number);
        var change = VectorGraphChange.Begin(Graph);
        if (!isNew) change.Remove(replaced);

        byte* node = VectorSetData.AddNode(_data, _arena, name, VectorGraphChange.DrawLevel(_data));
        neighbours.CopyVector(node, _data->VectorBytes);
        ReadOnlySpan<byte> kept = keepsAttributes && !isNew ? VectorNode.Attributes(replaced) : attributes;
        if (!kept.IsEmpty) VectorSetData.SetAttributes(_data, _arena, node, kept);
        if (!isNew) VectorSetData.FreeNode(_data, _arena, replaced);
        table.Add(hash, node);
        change.Add(node, effort, near);
        _data->LastId++;
        _data->Changes++;
        return isNew;
    }

    /// <summary>Adds an element of a set that is read, without links and with a vector that the caller sets; false if there is one of its name.</summary>
    internal bool TryAddUnlinked(ReadOnlySpan<byte> name, int level, ReadOnlySpan<byte> attributes, out VectorElement element)
    {
        MemberTable<VectorNode> table = Table;
        ulong hash = table.Hash(name);
        element = default;
        if (table.Find(name, hash) != null) return false;
        byte* node = VectorSetData.AddNode(_data, _arena, name, level);
        table.Add(hash, node);
        if (!attributes.IsEmpty) VectorSetData.SetAttributes(_data, _arena, node, attributes);
        element = new VectorElement(_data, node);
        return true;
    }

    /// <summary>Removes an element. A set that has none left is removed with its key.</summary>
    internal bool Remove(ReadOnlySpan<byte> name)
    {
        MemberTable<VectorNode> table = Table;
        if (!table.TryFind(name, table.Hash(name), out MemberPosition position)) return false;
        byte* node = table.Remove(position);
        VectorGraphChange.Begin(Graph).Remove(node);
        VectorSetData.FreeNode(_data, _arena, node);
        _data->Changes++;
        if (table.Count == 0) _database.Unlink(_entry, UnlinkReason.Emptied);
        return true;
    }

    internal void SetAttributes(VectorElement element, ReadOnlySpan<byte> attributes) => VectorSetData.SetAttributes(_data, _arena, element.Node, attributes);

    /// <summary>Prepares a search for what is near a vector, of as many dimensions as the set's vectors are given or stored with.</summary>
    /// <param name="vector">Overwritten. One that is projected first may be long: the search does that.</param>
    internal VectorQuery Query(Span<float> vector)
    {
        if (vector.Length == _data->ProjectedFrom) VectorSearch.Current.Project(vector);
        else VectorSearch.Current.SetQuery(this, vector);
        return new VectorQuery(this, VectorSearch.Current);
    }

    /// <summary>Prepares a search for what is near an element.</summary>
    internal VectorQuery Query(VectorElement element)
    {
        Span<float> vector = VectorSearch.Scratch.Floats(_data->Dimensions);
        VectorCodec.Decode(_data->Quantization, element.Node, vector);
        VectorSearch.Current.SetQuery(this, vector);
        return new VectorQuery(this, VectorSearch.Current);
    }
}
