using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// Resolves a pattern of SORT for an element: # is the element itself. Otherwise the element replaces the first asterisk, which
/// names a string or, with "->field" behind it, a field of a hash.
/// </summary>
internal static class SortPattern
{
    // Longer key names are composed on the heap.
    private const int NameOnStackMax = 256;

    // A pattern with an element that is longer names no key: it is composed with all stripes locked.
    private const int NameBytesMax = 1 << 20;

    /// <summary>Whether the pattern is the element itself.</summary>
    internal static bool IsElement(ReadOnlySpan<byte> pattern) => pattern is [(byte)'#'];

    internal static bool TryFind(scoped in CommandContext cmd, int pattern, ReadOnlySpan<byte> element, out ReadOnlySpan<byte> value)
    {
        ReadOnlySpan<byte> text = cmd[pattern];
        if (IsElement(text))
        {
            value = element;
            return true;
        }

        value = default;
        int asterisk = text.IndexOf((byte)'*');
        if (asterisk < 0) return false;
        ReadOnlySpan<byte> behind = text[(asterisk + 1)..];
        int arrow = behind.IndexOf("->"u8);
        bool isField = arrow >= 0 && arrow + 2 < behind.Length;
        ReadOnlySpan<byte> suffix = isField ? behind[..arrow] : behind;
        if ((long)asterisk + element.Length + suffix.Length > NameBytesMax) return false;
        int length = asterisk + element.Length + suffix.Length;
        Span<byte> name = length <= NameOnStackMax ? stackalloc byte[length] : new byte[length];
        text[..asterisk].CopyTo(name);
        element.CopyTo(name[asterisk..]);
        suffix.CopyTo(name[(asterisk + element.Length)..]);

        Entry entry = cmd.FindNamed(name);
        if (!entry.Exists || entry.Type != (isField ? DataType.Hash : DataType.String)) return false;
        if (isField) return TryField(HashValue.OpenToRead(cmd.Database, entry, cmd.Expiry), behind[(arrow + 2)..], out value);
        value = entry.Value;
        return true;
    }

    private static bool TryField(scoped in HashValue hash, scoped ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        value = default;
        if (!hash.Exists || !hash.TryGet(field, out PackedElement element)) return false;

        // Small hashes store numbers in binary form, so their text must be formatted.
        value = element.Bytes(element.IsNumber ? new byte[CanonicalInteger.TextBytesMax] : default);
        return true;
    }
}
