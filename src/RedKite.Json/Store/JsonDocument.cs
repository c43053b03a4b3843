using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Json.Store;

/// <summary>
/// A key's document as commands see it. Its image has the shared names and the root's value. A document without blocks of its own has the image in the entry's
/// block; that of any other is a block, and the <see cref="ValueRoot"/> has its bytes.
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

    /// <summary>Frees the blocks of a document whose image is in a buffer.</summary>
    internal static void Free(NativeBuffer image, Arena arena) => JsonReferences.FreeAll(arena, In(image).Root.Address);

    /// <summary>Writes a document's image to a key, in place of its value.</summary>
    internal static Entry Create(Database database, ReadOnlySpan<byte> key, ulong hash, Entry existing, uint accessClock, NativeBuffer image, bool mayRefer)
    {
        long expiryMs = existing.Exists ? existing.ExpiryMs : Database.NoExpiry;
        bool isPacked = !mayRefer || IsPacked(image);
        var header = new ValueHeader(JsonType.Instance.Number, isPacked ? ValueEncoding.Own : ValueEncoding.OwnStructure, accessClock);
        Entry entry = database.WriteValue(key, hash, existing, header, isPacked ? image.Length : ValueRoot.Bytes, expiryMs);
        if (isPacked) image.Written.CopyTo(entry.Value);
        else entry.Root = NewRoot(database.ArenaOf(entry), image);
        return entry;
    }

    /// <summary>Replaces the image of a document whose parts have changed.</summary>
    internal static Entry Replace(Database database, Entry entry, NativeBuffer image)
    {
        Arena arena = database.ArenaOf(entry);
        bool isPacked = IsPacked(image);
        if (entry.HasStructure)
        {
            ValueRoot old = entry.Root;
            if (!isPacked)
            {
                byte* block = arena.Reallocate(old.Structure, (long)old.Word, image.Length);
                image.Written.CopyTo(new Span<byte>(block, image.Length));
                entry.Root = new ValueRoot { Structure = block, Word = (ulong)image.Length };
                return entry;
            }

            arena.Free(old.Structure, (long)old.Word);
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
        entry.Root = NewRoot(arena, image);
        return entry;
    }

    private static ValueRoot NewRoot(Arena arena, NativeBuffer image)
    {
        byte* block = arena.Allocate(image.Length);
        image.Written.CopyTo(new Span<byte>(block, image.Length));
        return new ValueRoot { Structure = block, Word = (ulong)image.Length };
    }

    private static bool IsPacked(NativeBuffer image)
    {
        byte* root = image.Start + new JsonNames(image.Start).Bytes;
        return !JsonReferences.Any(root, image.Start + image.Length, isObject: false);
    }
}
