namespace RedKite.Scripting.Translation;

/// <summary>What names mean in a function that is being translated.</summary>
internal sealed class FunctionScope(FunctionScope? parent)
{
    private readonly List<string> _names = [];
    private readonly Stack<int> _scopes = new();

    internal FunctionScope? Parent => parent;

    internal bool IsMain => parent is null;

    internal bool IsVariadic { get; set; } = parent is null;

    internal bool UsesArg { get; set; }

    internal bool UsesDots { get; set; }

    internal int Loops { get; set; }

    internal void Declare(string name) => _names.Add(name);

    internal void BeginScope() => _scopes.Push(_names.Count);

    internal void EndScope()
    {
        int count = _scopes.Pop();
        _names.RemoveRange(count, _names.Count - count);
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
