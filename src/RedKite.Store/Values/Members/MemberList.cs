namespace RedKite.Store.Values.Members;

/// <summary>Members of a table that a scan has collected: valid until the table changes. The types of values read them.</summary>
internal sealed class MemberList
{
    private readonly List<nint> _blocks = [];

    internal int Count => _blocks.Count;

    /// <summary>The members' blocks, for the store itself.</summary>
    internal IReadOnlyList<nint> Blocks => _blocks;

    internal void Add(nint block) => _blocks.Add(block);

    internal void Clear() => _blocks.Clear();
}
