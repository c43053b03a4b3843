using System.Collections.Concurrent;

namespace RedKite.Figures.Names;

/// <summary>Step 1: a dictionary that hashes and compares without regard to case.</summary>
internal readonly struct InsensitiveStep(string[] names) : INameStep
{
    private readonly Dictionary<string, int> _names = Numbered(names, StringComparer.OrdinalIgnoreCase);

    public int Find(string name) => _names.TryGetValue(name, out int number) ? number : -1;

    internal static Dictionary<string, int> Numbered(string[] names, StringComparer comparer) =>
        names.Select((name, number) => (name, number)).ToDictionary(pair => pair.name, pair => pair.number, comparer);
}

/// <summary>Step 2: first a dictionary of the names as declared, which is cheaper but misses other casings.</summary>
internal readonly struct ExactFirstStep(string[] names) : INameStep
{
    private readonly Dictionary<string, int> _exact = InsensitiveStep.Numbered(names, StringComparer.Ordinal);
    private readonly InsensitiveStep _insensitive = new(names);

    public int Find(string name) => _exact.TryGetValue(name, out int number) ? number : _insensitive.Find(name);
}

/// <summary>Step 3: the exact dictionary learns each casing that was missed, in a copy that replaces it.</summary>
internal readonly struct LearnedStep(string[] names) : INameStep
{
    private readonly Spellings _spellings = new(InsensitiveStep.Numbered(names, StringComparer.Ordinal));
    private readonly InsensitiveStep _insensitive = new(names);

    public int Find(string name) => _spellings.Known.TryGetValue(name, out int number) ? number : Learn(name);

    private int Learn(string name)
    {
        int number = _insensitive.Find(name);
        if (number >= 0) _spellings.Add(name, number);
        return number;
    }

    private sealed class Spellings(Dictionary<string, int> known)
    {
        private const int SpellingsMax = 1000;

        private readonly Lock _adding = new();
        private volatile Dictionary<string, int> _known = known;

        internal Dictionary<string, int> Known => _known;

        internal void Add(string name, int number)
        {
            lock (_adding)
            {
                if (_known.Count < SpellingsMax) _known = new Dictionary<string, int>(_known, StringComparer.Ordinal) { [name] = number };
            }
        }
    }
}

/// <summary>Step 4: a concurrent dictionary learns the casings instead of copies.</summary>
internal readonly struct ConcurrentStep(string[] names) : INameStep
{
    private const int SpellingsMax = 1000;

    private readonly ConcurrentDictionary<string, int> _known = new(InsensitiveStep.Numbered(names, StringComparer.Ordinal), StringComparer.Ordinal);
    private readonly InsensitiveStep _insensitive = new(names);

    public int Find(string name) => _known.TryGetValue(name, out int number) ? number : Learn(name);

    private int Learn(string name)
    {
        int number = _insensitive.Find(name);
        if (number >= 0 && _known.Count < SpellingsMax) _known[name] = number;
        return number;
    }
}
