using System.Runtime.CompilerServices;

namespace RedKite.Json.Store;

/// <summary>
/// The names that several objects of a document share, at the beginning of its image:
/// <code>
/// number of names, for each the 2 bytes where it ends among the texts, texts
/// </code>
/// Names of other members are with their values. What a document shares is determined when it is set as a whole; later changes use it.
/// </summary>
internal readonly unsafe struct JsonNames(byte* image)
{
    internal const int CountMax = 127;

    /// <summary>The longest name that is shared.</summary>
    internal const int NameBytesMax = 64;

    internal const int NameBytesMin = 2;

    /// <summary>The bytes of a table without names.</summary>
    internal const int EmptyBytes = 1;

    internal int Count => *image;

    /// <summary>The bytes of the table.</summary>
    internal int Bytes => EmptyBytes + (Count * sizeof(ushort)) + EndOf(Count - 1);

    private byte* Texts => image + EmptyBytes + (Count * sizeof(ushort));

    internal ReadOnlySpan<byte> this[int name]
    {
        get
        {
            int start = EndOf(name - 1);
            return new ReadOnlySpan<byte>(Texts + start, EndOf(name) - start);
        }
    }

    /// <summary>The number of a name; -1: it is not shared.</summary>
    internal int Find(ReadOnlySpan<byte> name)
    {
        int count = Count;
        byte* texts = Texts;
        int start = 0;
        for (int i = 0; i < count; i++)
        {
            int end = EndOf(i);
            if (end - start == name.Length && new ReadOnlySpan<byte>(texts + start, name.Length).SequenceEqual(name)) return i;
            start = end;
        }

        return -1;
    }

    /// <summary>The text of the name with which an item of an object begins.</summary>
    internal ReadOnlySpan<byte> TextOf(byte* name)
    {
        byte first = *name;
        if (first <= JsonTag.ShortNameMax) return new ReadOnlySpan<byte>(name + 1, first);
        return first != JsonTag.LongName ? this[first - JsonTag.SharedName] : new ReadOnlySpan<byte>(name + 1 + sizeof(uint), (int)Unsafe.ReadUnaligned<uint>(name + 1));
    }

    private int EndOf(int name) => name < 0 ? 0 : Unsafe.ReadUnaligned<ushort>(image + EmptyBytes + (name * sizeof(ushort)));
}
