using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Json.Store;

/// <summary>The copy of a document, block by block. What is copied refers to no block of the source: a reference is null until its block is there.</summary>
internal unsafe struct JsonCopy : IStructureCopy
{
    private readonly Arena _arena;
    private readonly Frame[] _frames; // from the image down to the container that is being copied
    private int _depth;
    private BlockCopy _block;

    internal JsonCopy(in ValueRoot source, Arena arena)
    {
        _arena = arena;
        _frames = new Frame[JsonParser.DepthMax + 2];
        long bytes = JsonRoot.ImageBytes(source);
        byte* image = arena.Allocate(bytes);
        Buffer.MemoryCopy(source.Structure, image, bytes, bytes);
        Root = new ValueRoot { Structure = image, Word = source.Word };
        int root = (int)(new JsonDocument(image).Root.Address - image);
        Open(ref Push(), source.Structure + root, image + root, bytes - root, isObject: false);
    }

    internal ValueRoot Root { get; }

    /// <summary>Copies a block, or a piece of a large one.</summary>
    /// <returns>Whether something is left.</returns>
    public bool Step()
    {
        ref Frame frame = ref _frames[_depth - 1];
        if (frame.Next < frame.References.Count)
        {
            CopyBlock(ref frame);
            return true;
        }

        if (frame.Source != null && frame.NextChunk < frame.Source->Chunks)
        {
            CopyChunk(ref frame);
            return true;
        }

        return --_depth > 0;
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);

    private void CopyBlock(ref Frame frame)
    {
        int at = frame.References[frame.Next];
        JsonBlock* source = JsonTag.BlockOf(frame.From + at);
        if (source->IsString)
        {
            byte* text = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, (byte*)source, source->Bytes);
            if (text == null) return;
            JsonTag.SetBlock(frame.To + at, (JsonBlock*)text);
            frame.Next++;
            return;
        }

        JsonBlock* copy = JsonBlock.CreateContainer(_arena, source->IsObject, Math.Max(1, source->Chunks));
        copy->Count = source->Count;
        JsonTag.SetBlock(frame.To + at, copy);
        frame.Next++;
        ref Frame inner = ref Push();
        inner.Source = source;
        inner.Copy = copy;
    }

    private void CopyChunk(ref Frame frame)
    {
        JsonChunk chunk = JsonBlock.ChunksOf(frame.Source)[frame.NextChunk];
        byte* items = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, chunk.Items, chunk.Bytes);
        if (items == null) return;
        if (chunk.HasReferences) Open(ref frame, chunk.Items, items, chunk.Bytes, frame.Source->IsObject);
        JsonBlock.ChunksOf(frame.Copy)[frame.NextChunk++] = chunk with { Items = items };
        frame.Copy->Chunks++;
    }

    // Begins with the references among items of which there is a copy.
    private static void Open(ref Frame frame, byte* from, byte* to, long bytes, bool isObject)
    {
        frame.References.Clear();
        frame.Next = 0;
        frame.From = from;
        frame.To = to;
        JsonReferences.Collect(from, from, from + bytes, isObject, frame.References);
        foreach (int at in frame.References) JsonTag.SetBlock(to + at, null);
    }

    private ref Frame Push()
    {
        ref Frame frame = ref _frames[_depth++];
        frame.References ??= [];
        frame.References.Clear();
        frame.Source = frame.Copy = null;
        frame.Next = 0;
        frame.NextChunk = 0;
        return ref frame;
    }

    private struct Frame
    {
        public JsonBlock* Source;
        public JsonBlock* Copy;
        public uint NextChunk;
        public byte* From;
        public byte* To;
        public List<int> References;
        public int Next;
    }
}
