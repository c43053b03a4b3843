namespace RedKite.Server.Model;

/// <summary>The types of arguments, as COMMAND DOCS names them.</summary>
internal enum ArgumentType
{
    String,
    Integer,
    Double,
    Key,
    Pattern,
    UnixTime,
    PureToken,
    OneOf,
    Block,
}

/// <summary>An argument of a command, as COMMAND DOCS describes it. Choices and blocks have nested arguments.</summary>
internal sealed record CommandArgument(string Name, ArgumentType Type)
{
    /// <summary>The text for syntax diagrams; empty: the name.</summary>
    internal string DisplayText { get; init; } = "";

    /// <summary>The literal before the argument, or the literal that is the whole argument; null: none. MIGRATE has an empty one.</summary>
    internal string? Token { get; init; }

    /// <summary>The index of the key specification that finds the key; -1: not a key.</summary>
    internal int KeySpec { get; init; } = -1;

    internal string Since { get; init; } = "";

    internal string DeprecatedSince { get; init; } = "";

    internal bool IsOptional { get; init; }

    /// <summary>Whether the argument may be repeated.</summary>
    internal bool IsMultiple { get; init; }

    /// <summary>Whether each repetition starts with the token.</summary>
    internal bool RepeatsToken { get; init; }

    internal CommandArgument[] Arguments { get; init; } = [];
}
