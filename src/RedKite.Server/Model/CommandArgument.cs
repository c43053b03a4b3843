namespace RedKite.Server.Model;

/// <summary>What a command's argument is, under the names that COMMAND DOCS gives.</summary>
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

/// <summary>An argument of a command, as COMMAND DOCS tells it. Alternatives and blocks have arguments of their own.</summary>
internal sealed record CommandArgument(string Name, ArgumentType Type)
{
    /// <summary>The word that stands before the argument, or that is all of it; null: none. MIGRATE has an empty one.</summary>
    internal string? Token { get; init; }

    /// <summary>Which of the command's key specifications finds the key; -1: it is no key.</summary>
    internal int KeySpec { get; init; } = -1;

    internal string Since { get; init; } = "";

    internal string DeprecatedSince { get; init; } = "";

    internal bool IsOptional { get; init; }

    /// <summary>It may come several times.</summary>
    internal bool IsMultiple { get; init; }

    /// <summary>Its token comes again each time.</summary>
    internal bool RepeatsToken { get; init; }

    internal CommandArgument[] Arguments { get; init; } = [];
}
