namespace RedKite.Persistence.Rdb;

/// <summary>What a record of an RDB file holds.</summary>
internal enum RdbItemKind : byte
{
    /// <summary>A key with its value.</summary>
    Key,

    /// <summary>A field about the file: <see cref="RdbBatch.NameOf"/> and <see cref="RdbBatch.TextOf"/>.</summary>
    Aux,

    /// <summary>A library of functions: its code is <see cref="RdbBatch.TextOf"/>.</summary>
    Function,

    /// <summary>The sizes that the next database will have: <see cref="RdbItem.Keys"/> and <see cref="RdbItem.Expiring"/>.</summary>
    Size,

    /// <summary>A module's key or other data that was passed over; <see cref="RdbBatch.TextOf"/> is the module's name.</summary>
    SkippedModule,
}

/// <summary>
/// A record of an RDB file. The bytes belong to the batch that it came with.
/// </summary>
internal readonly record struct RdbItem
{
    /// <summary>The position in the file of the record's first byte.</summary>
    internal long Offset { get; init; }

    internal RdbItemKind Kind { get; init; }

    internal RdbType Type { get; init; }

    internal int Database { get; init; }

    /// <summary>When the key expires, in milliseconds since 1970; -1: never.</summary>
    internal long ExpiryMs { get; init; }

    /// <summary>For how many seconds the key was not used; -1: unknown.</summary>
    internal long IdleSeconds { get; init; }

    /// <summary>The logarithmic counter of the key's uses; -1: unknown.</summary>
    internal int Frequency { get; init; }

    /// <summary>Whether the key must not be evicted.</summary>
    internal bool IsPinned { get; init; }

    /// <summary>The position in the file of the value's first byte.</summary>
    internal long ValueOffset { get; init; }

    /// <summary>The value's size in the file.</summary>
    internal long ValueBytes { get; init; }

    /// <summary>The number of keys, of a <see cref="RdbItemKind.Size"/>.</summary>
    internal long Keys { get; init; }

    /// <summary>The number of keys with an expiry, of a <see cref="RdbItemKind.Size"/>.</summary>
    internal long Expiring { get; init; }

    /// <summary>Whether the value was rewritten: its text is its value.</summary>
    internal bool IsRewritten { get; init; }

    // In the batch's texts.
    internal int NameStart { get; init; }

    internal int NameLength { get; init; }

    internal int TextStart { get; init; }

    internal int TextLength { get; init; }
}
