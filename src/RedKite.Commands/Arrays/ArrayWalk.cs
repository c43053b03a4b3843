using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// A walk over a range of an array that can stop after any step and go on later, as long as the array is the same. Its work is counted in steps:
/// bytes that are compared, and some for each element.
/// </summary>
/// <param name="version">The array's: see <see cref="ArrayValue.Version"/>.</param>
/// <param name="from">Where the range begins.</param>
/// <param name="to">Where it ends; if that is lower, the walk goes down.</param>
internal abstract class ArrayWalk((long Id, long Changes) version, ulong from, ulong to)
{
    /// <summary>
    /// The steps of a slice. A step takes from 0.1 ns (long texts that are compared) to 3 ns (states of an expression, short elements), so a slice
    /// takes 3 ms at most.
    /// </summary>
    internal const long SliceSteps = 1 << 20;

    // Of an element, beside what is done with it.
    private const int ElementSteps = 16;

    // What is free of the limit of a whole walk: a few plain predicates take no more. Data has no bound, so what is in proportion to it has none.
    private const int StepsForEachByte = 4;
    private const int StepsForEachElement = 64;

    private ulong _from = from;
    private ulong _to = to;
    private ulong _at = from;
    private bool _isComplete;

    /// <summary>Of the array.</summary>
    internal (long Id, long Changes) Version { get; private set; } = version;

    /// <summary>The steps that were taken.</summary>
    internal long Steps { get; private set; }

    /// <summary>
    /// The steps beyond <see cref="StepsForEachByte"/> for each byte of the elements that were examined: what patterns take because of what they are.
    /// </summary>
    internal long ExcessSteps { get; private set; }

    /// <summary>Goes back to the range's beginning.</summary>
    internal virtual void Restart()
    {
        _at = _from;
        _isComplete = false;
    }

    /// <summary>Begins another walk.</summary>
    private protected void Begin((long Id, long Changes) version, ulong from, ulong to)
    {
        (Version, _from, _to) = (version, from, to);
        Steps = ExcessSteps = 0;
        Restart();
    }

    /// <summary>Examines elements until no steps are left.</summary>
    /// <returns>Whether the walk is complete.</returns>
    internal bool Run(scoped ArrayValue array, long steps)
    {
        long before = steps;
        if (!_isComplete) _isComplete = IsCompleteAfter(array, ref steps);
        Steps += before - steps;
        return _isComplete;
    }

    /// <summary>Examines an element.</summary>
    /// <param name="index">Its index.</param>
    /// <param name="element">The element.</param>
    /// <param name="steps">The steps that may be taken; then those that are left.</param>
    /// <returns>Null: it stops within the element, and goes on with it. False: the walk ends here.</returns>
    private protected abstract bool? Examine(ulong index, PackedElement element, ref long steps);

    private bool IsCompleteAfter(scoped ArrayValue array, ref long steps)
    {
        ArrayCursor cursor = array.Between(_at, _to);
        while (cursor.MoveNext())
        {
            long before = steps;
            PackedElement element = cursor.Element;
            bool? goesOn = Examine(cursor.Index, element, ref steps);
            ExcessSteps += before - steps; // an element within which the walk stops is free when it ends
            if (goesOn is null) return false;
            if (goesOn is false || cursor.Index == _to) return true;
            ExcessSteps = Math.Max(0, ExcessSteps - (StepsForEachByte * (long)element.TextLength) - StepsForEachElement);
            _at = _to < _from ? cursor.Index - 1 : cursor.Index + 1;
            steps -= ElementSteps;
            if (steps <= 0) return false;
        }

        return true;
    }
}
