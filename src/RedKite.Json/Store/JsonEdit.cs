namespace RedKite.Json.Store;

/// <summary>What becomes of a place in a document, in the order in which the edits of one place are made.</summary>
internal enum JsonEditKind : byte
{
    /// <summary>Items come in front of an item, or behind the last one.</summary>
    Insert,

    /// <summary>The value becomes another one.</summary>
    Replace,

    /// <summary>The item becomes another one: a member with its name.</summary>
    ReplaceItem,

    /// <summary>Items go.</summary>
    Remove,

    /// <summary>An item goes whose bytes are elsewhere now.</summary>
    Detach,
}

/// <summary>A change of one place: the ordinals of the items on the way to it, and what is written there.</summary>
internal readonly record struct JsonEdit(JsonEditKind Kind, bool IsMember, bool HasReferences, int Path, int Depth, int Data, int DataBytes, int Count, int Number)
{
    /// <summary>The size of the data's text (<see cref="JsonTextSize"/>).</summary>
    internal long Text { get; init; }

    /// <summary>The address of the value that the data replaces, as long as no edit is made; null: there is none.</summary>
    internal nint Replaced { get; init; }

    /// <summary>Whether the place is at a depth, not below it.</summary>
    internal bool EndsAt(int depth) => Depth == depth;
}
