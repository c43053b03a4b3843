namespace RedKite.Scripting.Translation;

/// <summary>
/// How a chunk uses the tables of arguments. One that certainly only reads elements and lengths can share its tables with other scripts.
/// </summary>
internal sealed class ArgumentUse
{
    private readonly Dictionary<int, bool> _functions = []; // by the line on which they begin

    /// <summary>Whether the chunk itself only reads KEYS and ARGV.</summary>
    internal bool OnlyReads { get; private set; } = true;

    /// <summary>The chunk does something else with them.</summary>
    internal void NoteOtherUse() => OnlyReads = false;

    /// <summary>Whether all functions that begin on a line only read their first two parameters.</summary>
    internal bool FunctionOnlyReads(int line) => _functions.GetValueOrDefault(line);

    internal void Note(int line, bool onlyReads) => _functions[line] = onlyReads && _functions.GetValueOrDefault(line, true);
}
