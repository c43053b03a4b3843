namespace RedKite.Server.Model;

/// <summary>How a command uses a key, as reported by COMMAND INFO and GETKEYSANDFLAGS.</summary>
[Flags]
internal enum KeyFlags
{
    None = 0,
    ReadOnly = 1 << 0,    // RO: reads the value
    ReadWrite = 1 << 1,   // RW: changes it
    Overwrite = 1 << 2,   // OW: replaces it
    Remove = 1 << 3,      // RM: removes it
    Access = 1 << 4,      // returns, copies or uses the value
    Update = 1 << 5,      // updates it, perhaps returning something of it
    Insert = 1 << 6,      // adds to it
    Delete = 1 << 7,      // removes from it
    NotKey = 1 << 8,
    Incomplete = 1 << 9,
    VariableFlags = 1 << 10,
}

/// <summary>How one request uses a key, where that depends on its arguments; the command's name is at <paramref name="start"/>.</summary>
internal delegate KeyFlags KeyFlagsRule(scoped in CommandContext cmd, int start);

/// <summary>Whether one request has the keys of a specification; the command's name is at <paramref name="start"/>.</summary>
internal delegate bool KeySpecRule(scoped in CommandContext cmd, int start);

/// <summary>Finds the keyword before a request's keys where other arguments may equal it; -1: there is none.</summary>
internal delegate int KeywordRule(scoped in CommandContext cmd, int start);

/// <summary>
/// The positions of a command's keys: from argument <paramref name="First"/> to <paramref name="Last"/> (negative: counted from
/// the end) in steps of <paramref name="Step"/>; or, with <paramref name="CountAt"/>, the number of keys that this argument
/// states, starting at <paramref name="First"/>. With a <see cref="Keyword"/> all three are relative to the keyword instead of
/// the command's name.
/// </summary>
internal sealed record KeySpec(int First, int Last, int Step, KeyFlags Flags, int CountAt = 0, string Notes = "")
{
    /// <summary>The word before the keys, in capitals; empty: the keys have fixed positions.</summary>
    internal string Keyword { get; init; } = "";

    /// <summary>The argument at which the search for the keyword starts; negative: counted from the end, searching backwards.</summary>
    internal int StartFrom { get; init; }

    /// <summary>Finds the keyword instead of a search for its first occurrence.</summary>
    internal KeywordRule? FindsKeyword { get; init; }

    /// <summary>Whether a request has these keys; null: every request.</summary>
    internal KeySpecRule? AppliesTo { get; init; }

    /// <summary>Only the first 1/Limit of the remaining arguments are keys (XREAD has a key and an id each); 0: all.</summary>
    internal int Limit { get; init; }

    /// <summary>COMMAND INFO reports the positions as unknown. Where the server can find the keys, the rest of the row says how.</summary>
    internal bool IsUnknown { get; init; }

    /// <summary>Returns the flags of one request, for a specification with variable flags.</summary>
    internal KeyFlagsRule? FlagsOf { get; init; }

    /// <summary>Whether the keys have a range of fixed positions.</summary>
    internal bool IsFixedRange => CountAt == 0 && Keyword.Length == 0 && !IsUnknown;

    /// <summary>Whether there is one key at a fixed position.</summary>
    internal bool IsOneKey => IsFixedRange && First == Last && (Flags & KeyFlags.NotKey) == 0;
}

/// <summary>The usual key specifications.</summary>
internal static class KeySpecs
{
    internal static readonly KeySpec[] None = [];

    /// <summary>One key.</summary>
    internal static KeySpec[] One(int at, KeyFlags flags, string notes = "", KeyFlagsRule? flagsOf = null) =>
        [new(at, at, 1, flags, Notes: notes) { FlagsOf = flagsOf }];

    /// <summary>Keys from an argument to the last one (or to another), every <paramref name="step"/> arguments.</summary>
    internal static KeySpec[] Range(int first, int last, int step, KeyFlags flags) => [new(first, last, step, flags)];
}
