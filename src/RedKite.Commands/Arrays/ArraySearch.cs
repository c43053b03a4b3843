using System.Runtime.InteropServices;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>A search for the elements that match predicates. It keeps the indexes that it has found.</summary>
/// <param name="predicates">What elements must match.</param>
internal sealed class ArraySearch(ArrayPredicates predicates, (long Id, long Changes) version, ulong from, ulong to) : ArrayWalk(version, from, to)
{
    /// <summary>The indexes that a search keeps at most: 128 MiB.</summary>
    internal const int FoundMax = 1 << 24;

    private readonly List<ulong> _found = [];

    internal ArrayPredicates Predicates { get; } = predicates;

    /// <summary>Why the search ended without a result; null: it did not.</summary>
    internal string? Error { get; private set; }

    /// <summary>The indexes of the elements that match, in the order of the range.</summary>
    internal ReadOnlySpan<ulong> Found => CollectionsMarshal.AsSpan(_found);

    internal override void Restart()
    {
        base.Restart();
        Predicates.Restart();
        _found.Clear();
        _found.TrimExcess();
        Error = null;
    }

    private protected override bool? Examine(ulong index, PackedElement element, ref long steps)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        bool? matches = Predicates.Match(element.Bytes(digits), ref steps, out string? error);
        if (matches is null) return null;
        Error = error;
        return error is null && (matches is false || TryAdd(index));
    }

    // False when that was the last one that is wanted.
    private bool TryAdd(ulong index)
    {
        if (_found.Count == FoundMax)
        {
            Error = $"ERR more than {FoundMax} elements match, use LIMIT or a smaller range";
            return false;
        }

        _found.Add(index);
        return _found.Count < Predicates.Limit;
    }
}
