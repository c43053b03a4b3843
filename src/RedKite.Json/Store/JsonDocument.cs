using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Json.Store;

/// <summary>
/// A key's document as commands see it. Its image has the shared names and the root's value. A document without blocks of its own has the image in the entry's
/// block; that of any other is a block, and the <see cref="ValueRoot"/> has its bytes (<see cref="JsonRoot"/>).
/// </summary>
internal readonly unsafe struct JsonDocument
{
    private readonly byte* _image;

    internal JsonDocument(byte* image) => _image = image;

    internal bool Exists => _image != null;

    internal JsonNames Names => new(_image);

    internal JsonValue Root => new(_image + Names.Bytes);

    internal byte* Image => _image;

    /// <summary>Whether it is at the same place.</summary>
    internal bool IsSame(JsonDocument other) => _image == other._image;

    /// <summary>The document of an entry; an entry that is missing has none.</summary>
    internal static JsonDocument Of(Entry entry) => !entry.Exists ? default : new(entry.HasStructure ? entry.Root.Structure : (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(entry.Value)));

    /// <summary>The document whose image is in a buffer.</summary>
    internal static JsonDocument In(NativeBuffer image) => new(image.Start);

    /// <summary>The text of an entry's document with a comma behind each item (<see cref="JsonTextSize"/>). One without blocks has it counted.</summary>
    internal static long TextOf(Entry entry)
    {
        if (entry.HasStructure) return JsonRoot.Text(entry.Root);
        JsonDocument document = Of(entry);
        return JsonTextSize.OfItem(document.Names, document.Root.Address);
    }

    /// <summary>Frees the blocks of a document whose image is in a buffer.</summary>
    internal static void Free(NativeBuffer image, Arena arena) => JsonReferences.FreeAll(arena, In(image).Root.Address);

    /// <summary>Writes a document's image to a key, in place of its value.</summary>
    /// <param name="database">The key's database.</param>
    /// <param name="key">The key.</param>
    /// <param name="hash">Its hash.</param>
    /// <param name="existing">Its entry.</param>
    /// <param name="accessClock">When it was used last.</param>
    /// <param name="image">The image.</param>
    /// <param name="text">The size of its text; 0: it certainly has no blocks.</param>
    internal static Entry Create(Database database, ReadOnlySpan<byte> key, ulong hash, Entry existing, uint accessClock, NativeBuffer image, long text)
    {
        long expiryMs = existing.Exists ? existing.ExpiryMs : Database.NoExpiry;
        bool isPacked = text == 0 || IsPacked(image);
        var header = new ValueHeader(JsonType.Instance.Number, isPacked ? ValueEncoding.Own : ValueEncoding.OwnStructure, accessClock);
        Entry entry = database.WriteValue(key, hash, existing, header, isPacked ? image.Length : ValueRoot.Bytes, expiryMs);
        if (isPacked) image.Written.CopyTo(entry.Value);
        else entry.Root = NewRoot(database.ArenaOf(entry), image, text);
        return entry;
    }

    /// <summary>Replaces the image of a document whose parts have changed.</summary>
    /// <param name="database">The key's database.</param>
    /// <param name="entry">Its entry.</param>
    /// <param name="image">The image.</param>
    /// <param name="textChange">By how much the text is longer.</param>
    internal static Entry Replace(Database database, Entry entry, NativeBuffer image, long textChange)
    {
        Arena arena = database.ArenaOf(entry);
        bool isPacked = IsPacked(image);
        if (entry.HasStructure)
        {
            ValueRoot old = entry.Root;
            if (!isPacked)
            {
                byte* block = arena.Reallocate(old.Structure, JsonRoot.ImageBytes(old), image.Length);
                image.Written.CopyTo(new Span<byte>(block, image.Length));
                entry.Root = JsonRoot.Of(block, image.Length, JsonRoot.Text(old) + textChange);
                return entry;
            }

            arena.Free(old.Structure, JsonRoot.ImageBytes(old));
            entry.SetEncoding(ValueEncoding.Own);
            entry = database.ResizeValue(entry, image.Length);
            image.Written.CopyTo(entry.Value);
            return entry;
        }

        if (isPacked)
        {
            if (entry.Value.Length != image.Length) entry = database.ResizeValue(entry, image.Length);
            image.Written.CopyTo(entry.Value);
            return entry;
        }

        entry = database.ResizeValue(entry, ValueRoot.Bytes);
        entry.SetEncoding(ValueEncoding.OwnStructure);
        entry.Root = NewRoot(arena, image, JsonTextSize.OfDocument(image));
        return entry;
    }

    private static ValueRoot NewRoot(Arena arena, NativeBuffer image, long text)
    {
        byte* block = arena.Allocate(image.Length);
        image.Written.CopyTo(new Span<byte>(block, image.Length));
        return JsonRoot.Of(block, image.Length, text);
    }

    private static bool IsPacked(NativeBuffer image)
    {
        byte* root = image.Start + new JsonNames(image.Start).Bytes;
        return !JsonReferences.Any(root, image.Start + image.Length, isObject: false);
    }
}
