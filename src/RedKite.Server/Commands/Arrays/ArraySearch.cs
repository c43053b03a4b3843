using System.Runtime.InteropServices;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// A search in a range of an array that can stop after any element and go on later, as long as the array is the same. It keeps the indexes that it has
/// found.
/// </summary>
internal sealed class ArraySearch
{
    /// <summary>
    /// What a slice may cost, in units of <see cref="ArrayPredicates.CostOf"/>: about a byte that is compared.
    /// </summary>
    internal const long SliceCost = 1 << 20;

    /// <summary>The indexes that a search keeps at most: 128 MiB.</summary>
    internal const int FoundMax = 1 << 24;

    private readonly ulong _from;
    private readonly ulong _to;
    private readonly List<ulong> _found = [];
    private ulong _at;
    private bool _isComplete;

    /// <param name="predicates">What elements must match.</param>
    /// <param name="version">The array's: see <see cref="ArrayValue.Version"/>.</param>
    /// <param name="from">Where the range begins.</param>
    /// <param name="to">Where it ends; if that is lower, elements are found from the highest index on.</param>
    internal ArraySearch(ArrayPredicates predicates, (long Id, long Changes) version, ulong from, ulong to)
    {
        Predicates = predicates;
        Version = version;
        _from = _at = from;
        _to = to;
    }

    internal ArrayPredicates Predicates { get; }

    /// <summary>Of the array that is searched.</summary>
    internal (long Id, long Changes) Version { get; }

    /// <summary>Why the search ended without a result; null: it did not.</summary>
    internal string? Error { get; private set; }

    /// <summary>The indexes of the elements that match, in the order of the range.</summary>
    internal ReadOnlySpan<ulong> Found => CollectionsMarshal.AsSpan(_found);

    /// <summary>Goes back to the range's beginning.</summary>
    internal void Restart()
    {
        _found.Clear();
        _found.TrimExcess();
        _at = _from;
        _isComplete = false;
        Error = null;
    }

    /// <summary>Examines elements until their cost reaches a limit.</summary>
    /// <returns>Whether the search is complete.</returns>
    internal bool Run(scoped ArrayValue array, long cost)
    {
        if (_isComplete) return true;
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        ArrayCursor cursor = array.Between(_at, _to);
        while (cursor.MoveNext())
        {
            ReadOnlySpan<byte> element = cursor.Element.Bytes(digits);
            if (Predicates.Match(element, out string? error) && !TryAdd(cursor.Index, ref error)) return _isComplete = true;
            Error = error;
            if (error is not null || cursor.Index == _to) return _isComplete = true;
            _at = _to < _from ? cursor.Index - 1 : cursor.Index + 1;
            cost -= Predicates.CostOf(element.Length);
            if (cost <= 0) return false;
        }

        return _isComplete = true;
    }

    // False when that was the last one that is wanted.
    private bool TryAdd(ulong index, ref string? error)
    {
        if (_found.Count == FoundMax)
        {
            error = $"ERR more than {FoundMax} elements match, use LIMIT or a smaller range";
            return true;
        }

        _found.Add(index);
        return _found.Count < Predicates.Limit;
    }
}
