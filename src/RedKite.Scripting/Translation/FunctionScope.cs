namespace RedKite.Scripting.Translation;

/// <summary>The meaning of names in a function that is being translated.</summary>
internal sealed class FunctionScope(FunctionScope? parent, int line)
{
    private readonly List<string> _names = [];
    private readonly List<bool> _aliases = [];
    private readonly Stack<int> _scopes = new();

    internal FunctionScope? Parent => parent;

    /// <summary>The line on which it begins.</summary>
    internal int Line => line;

    /// <summary>The names that are declared.</summary>
    internal int Count => _names.Count;

    internal bool IsMain => parent is null;

    internal bool IsVariadic { get; private set; } = parent is null;

    internal bool UsesArg { get; private set; }

    internal bool UsesDots { get; private set; }

    internal int Loops { get; private set; }

    /// <summary>Whether, as far as it is translated, it only reads elements and lengths of its first two parameters.</summary>
    internal bool OnlyReadsParameters { get; private set; } = true;

    /// <summary>Whether a name is that of the first or second parameter; a local that hides it counts as it.</summary>
    internal bool IsArgument(string name) => parent is not null && (name == _names.ElementAtOrDefault(0) || name == _names.ElementAtOrDefault(1));

    /// <summary>Its parameters end with "...".</summary>
    internal void NoteVariadic()
    {
        IsVariadic = true;
        OnlyReadsParameters = false;
    }

    /// <summary>It names arg, which is no local.</summary>
    internal void NoteArg() => UsesArg = true;

    internal void NoteDots() => UsesDots = true;

    /// <summary>It does more with its first two parameters than reading elements and lengths.</summary>
    internal void NoteOtherUse() => OnlyReadsParameters = false;

    internal void BeginLoop() => Loops++;

    internal void EndLoop() => Loops--;

    /// <summary>Adds a local.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="isAlias">Whether its initial value is a global or a field of one, so that it may be a library's function.</param>
    internal void Declare(string name, bool isAlias = false)
    {
        _names.Add(name);
        _aliases.Add(isAlias);
    }

    /// <summary>Whether a name is that of a local that was declared as an alias.</summary>
    internal bool IsAlias(string name)
    {
        int at = _names.LastIndexOf(name);
        return at >= 0 ? _aliases[at] : parent is not null && parent.IsAlias(name);
    }

    internal void BeginScope() => _scopes.Push(_names.Count);

    internal void EndScope()
    {
        int count = _scopes.Pop();
        _names.RemoveRange(count, _names.Count - count);
        _aliases.RemoveRange(count, _aliases.Count - count);
    }

    internal void Use(string name) => _ = IsLocal(name);

    internal bool IsLocal(string name) => KindOf(name) != 0;

    // 0: global, 1: local, 2: of an outer function.
    internal int KindOf(string name)
    {
        if (_names.Contains(name)) return 1;
        return parent is not null && parent.IsLocal(name) ? 2 : 0;
    }
}
