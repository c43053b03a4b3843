using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// A pattern of SORT, read once for all elements: # is the element itself. Otherwise the element replaces the first asterisk, which
/// names a string or, with "->field" behind it, a field of a hash.
/// </summary>
internal readonly struct SortPattern
{
    // Longer key names are composed on the heap.
    private const int NameOnStackMax = 256;

    // A pattern with an element that is longer names no key: it is composed with all stripes locked.
    private const int NameBytesMax = 1 << 20;

    [ThreadStatic]
    private static long _readSteps;

    private readonly int _argument;
    private readonly int _asterisk; // negative: there is none
    private readonly int _arrow; // in front of the field; 0: there is none

    private SortPattern(scoped in CommandContext cmd, int argument)
    {
        ReadOnlySpan<byte> text = cmd[argument];
        _argument = argument;
        _asterisk = text.IndexOf((byte)'*');
        IsElement = text is [(byte)'#'];
        ReadSteps += text.Length;
        if (_asterisk < 0) return;
        int arrow = text[(_asterisk + 1)..].IndexOf("->"u8) + _asterisk + 1;
        if (arrow > _asterisk && arrow + 2 < text.Length) _arrow = arrow;
    }

    /// <summary>Whether the pattern is the element itself.</summary>
    internal bool IsElement { get; }

    /// <summary>Whether the pattern has an asterisk, without which it names nothing.</summary>
    internal bool NamesKeys => _asterisk >= 0;

    /// <summary>What reading patterns, and finding those of GET, has taken on the current thread: bytes and options. For tests.</summary>
    internal static ref long ReadSteps => ref _readSteps;

    /// <summary>Reads the pattern that an argument is.</summary>
    internal static SortPattern Read(scoped in CommandContext cmd, int argument) => new(cmd, argument);

    internal bool TryFind(scoped in CommandContext cmd, ReadOnlySpan<byte> element, out ReadOnlySpan<byte> value)
    {
        if (IsElement)
        {
            value = element;
            return true;
        }

        value = default;
        if (!NamesKeys) return false;
        ReadOnlySpan<byte> text = cmd[_argument];
        bool isField = _arrow > 0;
        ReadOnlySpan<byte> suffix = isField ? text[(_asterisk + 1).._arrow] : text[(_asterisk + 1)..];
        if ((long)_asterisk + element.Length + suffix.Length > NameBytesMax) return false;
        int length = _asterisk + element.Length + suffix.Length;
        Span<byte> name = length <= NameOnStackMax ? stackalloc byte[length] : new byte[length];
        text[.._asterisk].CopyTo(name);
        element.CopyTo(name[_asterisk..]);
        suffix.CopyTo(name[(_asterisk + element.Length)..]);

        Entry entry = cmd.FindNamed(name);
        if (!entry.Exists || entry.Type != (isField ? DataType.Hash : DataType.String)) return false;
        if (isField) return TryField(HashValue.OpenToRead(cmd.Database, entry, cmd.Expiry), text[(_arrow + 2)..], out value);
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
