using System.Runtime.CompilerServices;

namespace RedKite.Figures.Names;

/// <summary>
/// Learned casings in an array, in a slot that three letters and the length select, compared directly: no hash of all letters, no
/// chain. A casing replaces the one that was there.
/// </summary>
internal sealed class SpellingArray(string[] names)
{
    private const int Places = 1024;

    private readonly Spelling?[] _places = new Spelling?[Places];
    private readonly InsensitiveStep _insensitive = new(names);

    internal sealed record Spelling(string Text, int Number);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Spelling? At(string name) => _places[PlaceOf(name)];

    internal int Learn(string name)
    {
        int number = _insensitive.Find(name);
        if (number >= 0) Volatile.Write(ref _places[PlaceOf(name)], new Spelling(name, number));
        return number;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int PlaceOf(string name) =>
        name.Length == 0 ? 0 : ((name[0] * 31) + (name[^1] * 7) + (name[name.Length / 2] * 3) + name.Length) & (Places - 1);
}

/// <summary>Step 5: one method that compares directly and learns.</summary>
internal readonly struct DirectStep(string[] names) : INameStep
{
    private readonly SpellingArray _spellings = new(names);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Find(string name)
    {
        SpellingArray.Spelling? known = _spellings.At(name);
        if (known is not null && known.Text == name) return known.Number;
        return _spellings.Learn(name);
    }
}

/// <summary>Step 6: the same, with the happy case in a method that is small enough to be inlined, and everything else behind a call.</summary>
internal readonly struct HappyStep(string[] names) : INameStep
{
    private readonly SpellingArray _spellings = new(names);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int Find(string name) =>
        _spellings.At(name) is { } known && known.Text == name ? known.Number : FindSlow(name);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private int FindSlow(string name) => _spellings.Learn(name);
}
