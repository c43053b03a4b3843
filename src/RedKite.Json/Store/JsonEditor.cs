using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// Changes a document: edits are collected while it is read, and made together in one pass over what they concern. Chunks without an edit stay as they are;
/// the others are written anew, and divided or joined if their size demands it. Each thread has one.
/// </summary>
/// <remarks>
/// An edit inside of a place that another one replaces or removes is dropped. Values of edits belong to the editor, with their blocks, until they are in the
/// document or dropped.
/// </remarks>
#pragma warning disable CA1001 // It lives as long as its thread; buffers free themselves.
internal sealed unsafe class JsonEditor
#pragma warning restore CA1001
{
    /// <summary>The most that a command writes to <see cref="Data"/> for all of its edits, whatever the memory: a buffer has 2 GiB, of which one edit may need a part for a while.</summary>
    internal const int DataMax = 1 << 30;

    // Lists that grew beyond this are not kept for the next command.
    private const int ItemsKept = 16 * 1024;

    [ThreadStatic]
    private static JsonEditor? _ofThread;

    private readonly Comparer _order;
    private readonly NativeBuffer _output = new();
    private NativeList<JsonEdit> _edits;
    private NativeList<int> _ordinals;
    private Arena _arena = null!;
    private bool _writesReferences;
    private JsonNames _names;
    private long _added;      // the text of all data
    private long _textChange; // of the edits that are made

    private JsonEditor() => _order = new Comparer(this);

    /// <summary>The current thread's editor.</summary>
    internal static JsonEditor OfThread => _ofThread ??= new JsonEditor();

    /// <summary>Where the values of edits are written, before the edit is added.</summary>
    internal NativeBuffer Data { get; } = new();

    /// <summary>The number of edits.</summary>
    internal int Count => _edits.Count;

    /// <summary>The size of the text that the edits add, what they replace and remove not subtracted (<see cref="JsonTextSize"/>).</summary>
    internal long Added => _added;

    /// <summary>Begins without edits of a document.</summary>
    internal void Begin(Arena arena, JsonDocument document)
    {
        _arena = arena;
        _names = document.Names;
        _added = 0;
        Data.Clear();
        _edits.Truncate(0);
        _ordinals.Truncate(0);
    }

    /// <summary>Adds an edit. What was written to <see cref="Data"/> from a start is its value or items.</summary>
    /// <param name="kind">What becomes of the place.</param>
    /// <param name="path">The way to it.</param>
    /// <param name="data">Where its data begins.</param>
    /// <param name="count">How many items there are in the data, or are removed.</param>
    /// <param name="isMember">Whether the data is members with their names.</param>
    /// <param name="replaced">The value that it replaces.</param>
    internal void Add(JsonEditKind kind, ReadOnlySpan<int> path, int data, int count = 1, bool isMember = false, JsonValue replaced = default)
    {
        int start = AddPath(path);
        AddEdit(new JsonEdit(kind, isMember, HasReferences(data, isMember), start, path.Length, data, Data.Length - data, count, _edits.Count) { Replaced = (nint)replaced.Address });
    }

    /// <summary>Adds an edit of the item with an ordinal in a container, without data.</summary>
    internal void AddAt(JsonEditKind kind, ReadOnlySpan<int> container, int ordinal, int count = 1)
    {
        int start = AddPath(container);
        _ordinals.Add(ordinal);
        _edits.Add(new JsonEdit(kind, false, false, start, container.Length + 1, Data.Length, 0, count, _edits.Count));
    }

    /// <summary>Adds items in front of the one with an ordinal in a container, or behind the last one.</summary>
    internal void AddInsertion(ReadOnlySpan<int> container, int ordinal, int data, int count, bool isMember = false)
    {
        int start = AddPath(container);
        _ordinals.Add(ordinal);
        AddEdit(new JsonEdit(JsonEditKind.Insert, isMember, HasReferences(data, isMember), start, container.Length + 1, data, Data.Length - data, count, _edits.Count));
    }

    /// <summary>Whether the text of an entry's document has room for what the edits add.</summary>
    /// <param name="entry">The entry.</param>
    /// <param name="textMax">The size that it may have (<see cref="JsonTextSize"/>).</param>
    internal bool HasRoom(Entry entry, long textMax)
    {
        if (!entry.HasStructure && _added <= textMax - JsonTextSize.PackedMax) return true;
        long text = JsonDocument.TextOf(entry);
        return text + _added <= textMax || Growth() <= Math.Max(0, textMax - text);
    }

    /// <summary>Appends the name of a member to the data.</summary>
    internal void AppendName(JsonNames names, ReadOnlySpan<byte> name)
    {
        int shared = names.Find(name);
        if (shared < 0) JsonStrings.AppendName(Data, name);
        else Data.Write([(byte)(JsonTag.SharedName + shared)]);
    }

    /// <summary>Appends a string of two parts to the data.</summary>
    internal void AppendString(ReadOnlySpan<byte> text, ReadOnlySpan<byte> rest) => JsonStrings.Append(Data, _arena, text, rest);

    /// <summary>The value of an edit.</summary>
    internal JsonValue DataOf(int edit) => new(Data.Start + _edits.Items[edit].Data);

    /// <summary>Drops all edits, and the data, which is one member.</summary>
    internal void DiscardMember()
    {
        JsonReferences.FreeAll(_arena, Data.Start, Data.Start + Data.Length, isObject: true);
        Discard();
    }

    /// <summary>Drops all edits, and data that has become none from a start.</summary>
    internal void Discard(int data = int.MaxValue)
    {
        for (int i = 0; i < _edits.Count; i++) Drop(i);
        if (data < Data.Length) JsonReferences.FreeAll(_arena, Data.Start + data, Data.Start + Data.Length, isObject: false);
        End();
    }

    /// <summary>Makes the edits. The document's key is open to write.</summary>
    /// <returns>The entry, whose block may have moved.</returns>
    internal Entry Apply(Database database, Entry entry)
    {
        if (_edits.Count == 0) return entry;
        if (_edits.Count > 1) _edits.Items.Sort(_order);
        var document = new JsonDocument(JsonDocument.Of(entry).Image);
        _output.Clear();
        _writesReferences = false;
        _textChange = 0;
        _output.Write(new ReadOnlySpan<byte>(document.Image, document.Names.Bytes));
        WriteValue(document.Root.Address, 0, 0, _edits.Count);
        entry = JsonDocument.Replace(database, entry, _output, _textChange);
        _output.Clear();
        End();
        return entry;
    }

    private int AddPath(ReadOnlySpan<int> path)
    {
        int start = _ordinals.Count;
        foreach (int ordinal in path) _ordinals.Add(ordinal);
        return start;
    }

    private void End()
    {
        Data.Clear();
        if (_edits.Count > ItemsKept) _edits.Dispose();
        if (_ordinals.Count > ItemsKept) _ordinals.Dispose();
        _edits.Truncate(0);
        _ordinals.Truncate(0);
    }

    private bool HasReferences(int data, bool isMember) => JsonReferences.Any(Data.Start + data, Data.Start + Data.Length, isMember);

    private void AddEdit(in JsonEdit edit)
    {
        byte* data = Data.Start + edit.Data;
        long text = JsonTextSize.Of(_names, data, data + edit.DataBytes, edit.IsMember);
        _added += text;
        _edits.Add(edit with { Text = text });
    }

    // By how much the text becomes longer, where nothing is removed: edits inside of what others replace are not made.
    private long Growth()
    {
        long growth = _added;
        using NativeList<JsonEdit> sorted = new(_edits.Count);
        _edits.Items.CopyTo(sorted.Items);
        sorted.Items.Sort(_order);
        ReadOnlySpan<int> ordinals = _ordinals.Items;
        ReadOnlySpan<int> replaced = default;
        bool isInside = false;
        foreach (JsonEdit edit in sorted.Items)
        {
            ReadOnlySpan<int> path = ordinals.Slice(edit.Path, edit.Depth);
            if (isInside && path.StartsWith(replaced))
            {
                growth -= edit.Text;
            }
            else if (edit.Replaced != 0)
            {
                growth -= JsonTextSize.OfItem(_names, (byte*)edit.Replaced);
                replaced = path;
                isInside = true;
            }
        }

        return growth;
    }

    private int OrdinalOf(int edit, int depth)
    {
        Span<JsonEdit> edits = _edits.Items;
        return _ordinals.Items[edits[edit].Path + depth];
    }

    private int Compare(in JsonEdit left, in JsonEdit right)
    {
        ReadOnlySpan<int> ordinals = _ordinals.Items;
        int order = ordinals.Slice(left.Path, left.Depth).SequenceCompareTo(ordinals.Slice(right.Path, right.Depth));
        if (order == 0) order = left.Kind.CompareTo(right.Kind);
        return order != 0 ? order : left.Number.CompareTo(right.Number);
    }

    // Writes what a value becomes by the edits of it and inside of it.
    private void WriteValue(byte* value, int depth, int first, int end)
    {
        JsonEdit edit = _edits.Items[first];
        if (edit.EndsAt(depth))
        {
            _textChange -= JsonTextSize.OfItem(_names, value);
            JsonReferences.FreeAll(_arena, value);
            WriteData(edit);
            for (int i = first + 1; i < end; i++) Drop(i);
            return;
        }

        if (*value == JsonTag.Reference)
        {
            WriteContainer(JsonTag.BlockOf(value), depth, first, end);
            return;
        }

        bool isObject = JsonTag.IsInlineObject(*value);
        byte* items = JsonTag.ItemsOf(value, out byte* itemsEnd);
        int start = _output.Length, removing = 0;
        _output.Room(2);
        _output.Advance(2);
        WriteItems(new Run(items, itemsEnd, isObject, 0), depth, first, end, ref removing);
        if (_output.Length - start - 2 <= JsonBlock.PackedBytesMax)
        {
            JsonStrings.CloseContainer(_output, start, isObject);
            return;
        }

        JsonBlock* block = JsonBlock.CreateContainer(_arena, isObject);
        Divide(start + 2, isObject, ref block);
        JsonBlock.Resize(ref block, _arena, block->Chunks);
        _output.Truncate(start);
        WriteReference(block);
    }

    // Writes the items of a chunk, or of a container among other values, with the edits of them.
    private int WriteItems(Run run, int depth, int edit, int editsEnd, ref int removing)
    {
        byte* items = run.Items, end = run.End;
        bool isObject = run.IsObject;
        int ordinal = run.Ordinal, count = 0;
        byte* plain = items; // from here on items stay as they are
        while (items < end)
        {
            if (removing != 0)
            {
                items = RemoveItems(items, end, isObject, ref ordinal, ref removing);
                plain = items;
                for (; edit < editsEnd && OrdinalOf(edit, depth) < ordinal; edit++) Drop(edit);
                continue;
            }

            byte* value = isObject ? items + JsonTag.NameBytes(items) : items;
            byte* next = value + JsonTag.Bytes(value);
            if (edit == editsEnd || ordinal < OrdinalOf(edit, depth))
            {
                items = next;
                ordinal++;
                count++;
                continue;
            }

            Write(plain, items);
            plain = items;
            int groupEnd = edit;
            while (groupEnd < editsEnd && OrdinalOf(groupEnd, depth) == ordinal) groupEnd++;
            for (; edit < groupEnd && _edits.Items[edit] is { Kind: JsonEditKind.Insert } inserted && inserted.EndsAt(depth + 1); edit++) count += WriteData(inserted);
            if (edit < groupEnd)
            {
                JsonEdit own = _edits.Items[edit];
                if (own.EndsAt(depth + 1) && own.Kind is JsonEditKind.Remove or JsonEditKind.Detach)
                {
                    removing = own.Kind == JsonEditKind.Remove ? own.Count : -1;
                    edit++;
                    continue;
                }

                count++;
                if (own.EndsAt(depth + 1) && own.Kind == JsonEditKind.ReplaceItem)
                {
                    _textChange -= JsonTextSize.Of(_names, items, next, isObject);
                    JsonReferences.FreeAll(_arena, value);
                    WriteData(own);
                    for (int i = edit + 1; i < groupEnd; i++) Drop(i);
                }
                else
                {
                    Write(items, value);
                    WriteValue(value, depth + 1, edit, groupEnd);
                }

                plain = next;
            }
            else
            {
                count++;
            }

            edit = groupEnd;
            items = next;
            ordinal++;
        }

        Write(plain, end);
        for (; edit < editsEnd; edit++) count += WriteData(_edits.Items[edit]);
        return count;
    }

    // Passes over items that go. One of -1 is elsewhere.
    private byte* RemoveItems(byte* items, byte* end, bool isObject, ref int ordinal, ref int removing)
    {
        while (items < end && removing != 0)
        {
            byte* value = isObject ? items + JsonTag.NameBytes(items) : items, next = value + JsonTag.Bytes(value);
            _textChange -= JsonTextSize.Of(_names, items, next, isObject);
            items = next;
            if (removing > 0) JsonReferences.FreeAll(_arena, value);
            removing += removing > 0 ? -1 : 1;
            ordinal++;
        }

        return items;
    }

    private void WriteContainer(JsonBlock* block, int depth, int edit, int editsEnd)
    {
        int ordinal = 0, removing = 0;
        bool isObject = block->IsObject;
        for (uint i = 0; i < block->Chunks && (edit < editsEnd || removing != 0);)
        {
            JsonChunk chunk = JsonBlock.ChunksOf(block)[i];
            int chunkEnd = ordinal + (int)chunk.Count, first = edit;
            bool isLast = i + 1 == block->Chunks;
            while (edit < editsEnd && (isLast || OrdinalOf(edit, depth) < chunkEnd)) edit++;
            if (edit == first && removing == 0)
            {
                ordinal = chunkEnd;
                i++;
                continue;
            }

            int start = _output.Length;
            bool others = _writesReferences;
            _writesReferences = chunk.HasReferences;
            uint count = (uint)WriteItems(new Run(chunk.Items, chunk.End, isObject, ordinal), depth, first, edit, ref removing);
            i += ReplaceChunk(ref block, i, chunk, start, count);
            _output.Truncate(start);
            _writesReferences = others;
            ordinal = chunkEnd;
        }

        if (block->Chunks > 1 || (block->Chunks == 1 && JsonBlock.ChunksOf(block)->Bytes > JsonBlock.UnpackedBytesMin))
        {
            if (block->Capacity > (2 * block->Chunks) + 2) JsonBlock.Resize(ref block, _arena, block->Chunks);
            WriteReference(block);
            return;
        }

        int container = _output.Length;
        _output.Room(2);
        _output.Advance(2);
        if (block->Chunks == 1)
        {
            JsonChunk chunk = *JsonBlock.ChunksOf(block);
            Write(chunk.Items, chunk.End);
            _writesReferences |= chunk.HasReferences;
            _arena.Free(chunk.Items, chunk.Bytes);
        }

        _arena.Free((byte*)block, block->Bytes);
        JsonStrings.CloseContainer(_output, container, isObject);
    }

    // Puts what was written into the place of a chunk: no chunk, one, or several. Returns how many.
    private uint ReplaceChunk(ref JsonBlock* block, uint index, JsonChunk old, int start, uint count)
    {
        byte* items = _output.Start + start;
        int bytes = _output.Length - start;
        block->Count = block->Count - old.Count + count;
        if (count == 0)
        {
            _arena.Free(old.Items, old.Bytes);
            Shift(ref block, index, -1);
            return 0;
        }

        if (bytes <= JsonBlock.ChunkBytesMax || count == 1)
        {
            if (bytes < JsonBlock.ChunkBytesMin && index > 0 && TryJoin(block, index, old, items, bytes, count)) return 0;
            byte* target = old.Items;
            if (BlockSize.RoundUp(old.Bytes) != BlockSize.RoundUp(bytes))
            {
                _arena.Free(target, old.Bytes);
                target = _arena.Allocate(bytes);
            }

            new ReadOnlySpan<byte>(items, bytes).CopyTo(new Span<byte>(target, bytes));
            JsonBlock.ChunksOf(block)[index] = NewChunk(target, bytes, count, block->IsObject);
            return 1;
        }

        _arena.Free(old.Items, old.Bytes);
        JsonBlock* pieces = JsonBlock.CreateContainer(_arena, block->IsObject);
        Divide(start, block->IsObject, ref pieces);
        Shift(ref block, index, (int)pieces->Chunks - 1);
        new ReadOnlySpan<JsonChunk>(JsonBlock.ChunksOf(pieces), (int)pieces->Chunks).CopyTo(new Span<JsonChunk>(JsonBlock.ChunksOf(block) + index, (int)pieces->Chunks));
        uint added = pieces->Chunks;
        _arena.Free((byte*)pieces, pieces->Bytes);
        return added;
    }

    private bool TryJoin(JsonBlock* block, uint index, JsonChunk old, byte* items, int bytes, uint count)
    {
        ref JsonChunk before = ref JsonBlock.ChunksOf(block)[index - 1];
        uint joined = before.Bytes + (uint)bytes;
        if (joined > JsonBlock.ChunkBytes) return false;
        uint previous = before.Bytes;
        bool hasReferences = before.HasReferences;
        before.Items = _arena.Reallocate(before.Items, previous, joined);
        Buffer.MemoryCopy(items, before.Items + previous, bytes, bytes);
        before.Count += count;
        before.Word = JsonChunk.WordOf(joined, hasReferences || (_writesReferences && JsonReferences.Any(before.Items + previous, before.End + bytes, block->IsObject)));
        _arena.Free(old.Items, old.Bytes);
        Shift(ref block, index, -1);
        return true;
    }

    private JsonChunk NewChunk(byte* items, int bytes, uint count, bool isObject) =>
        new() { Items = items, Count = count, Word = JsonChunk.WordOf(bytes, _writesReferences && JsonReferences.Any(items, items + bytes, isObject)) };

    // Makes room for chunks at an index, or takes chunks away there.
    private void Shift(ref JsonBlock* block, uint index, int chunks)
    {
        uint total = (uint)(block->Chunks + chunks);
        if (total > block->Capacity) JsonBlock.Resize(ref block, _arena, Math.Max(total, block->Capacity + (block->Capacity / 4) + 1));
        JsonChunk* at = JsonBlock.ChunksOf(block) + index;
        int tail = (int)(block->Chunks - index) - 1;
        new ReadOnlySpan<JsonChunk>(at + 1, tail).CopyTo(new Span<JsonChunk>(at + 1 + chunks, tail));
        block->Chunks = total;
    }

    // Cuts items that were written into chunks of about equal size.
    private void Divide(int start, bool isObject, ref JsonBlock* block)
    {
        byte* items = _output.Start + start, end = _output.Start + _output.Length, first = items;
        long bytes = end - items;
        long target = bytes / ((bytes + JsonBlock.ChunkBytes - 1) / JsonBlock.ChunkBytes);
        uint count = 0;
        while (items < end)
        {
            if (isObject) items += JsonTag.NameBytes(items);
            items += JsonTag.Bytes(items);
            count++;
            if (items < end && items - first < target) continue;
            JsonBlock.AddChunk(ref block, _arena, new ReadOnlySpan<byte>(first, (int)(items - first)), count);
            first = items;
            count = 0;
        }
    }

    private void Write(byte* from, byte* to)
    {
        if (to > from) _output.Write(new ReadOnlySpan<byte>(from, (int)(to - from)));
    }

    private void WriteReference(JsonBlock* block)
    {
        _writesReferences = true;
        JsonStrings.AppendReference(_output, block);
    }

    // The items that were written.
    private int WriteData(in JsonEdit edit)
    {
        _writesReferences |= edit.HasReferences;
        _textChange += edit.Text;
        _output.Write(Data.Written.Slice(edit.Data, edit.DataBytes));
        return edit.Count;
    }

    private void Drop(int edit)
    {
        JsonEdit dropped = _edits.Items[edit];
        byte* data = Data.Start + dropped.Data;
        if (dropped.HasReferences) JsonReferences.FreeAll(_arena, data, data + dropped.DataBytes, dropped.IsMember);
    }

    // Items one behind the other, and the ordinal of the first one.
    private readonly struct Run(byte* items, byte* end, bool isObject, int ordinal)
    {
        internal byte* Items { get; } = items;

        internal byte* End { get; } = end;

        internal bool IsObject { get; } = isObject;

        internal int Ordinal { get; } = ordinal;
    }

    // The order of places in the document; a place is in front of what is inside of it.
    private sealed class Comparer(JsonEditor editor) : IComparer<JsonEdit>
    {
        public int Compare(JsonEdit x, JsonEdit y) => editor.Compare(x, y);
    }
}
