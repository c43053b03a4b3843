namespace RedKite.Server.Commands;

/// <summary>What a command does to a key, as COMMAND INFO and GETKEYSANDFLAGS tell it.</summary>
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
    Delete = 1 << 7,      // takes from it
    NotKey = 1 << 8,
    Incomplete = 1 << 9,
    VariableFlags = 1 << 10,
}

/// <summary>
/// Where a command's keys stand: from argument <paramref name="First"/> to <paramref name="Last"/> (negative: counted from
/// the end) in steps; or, with <paramref name="CountAt"/>, as many as that argument says from <paramref name="First"/> on.
/// </summary>
internal sealed record KeySpec(int First, int Last, int Step, KeyFlags Flags, int CountAt = 0, string Notes = "")
{
    /// <summary>The index behind the last key of a request with so many arguments.</summary>
    internal int End(int argumentCount) => Math.Min(argumentCount, (Last < 0 ? argumentCount + Last : Last) + 1);
}

/// <summary>The usual key specifications.</summary>
internal static class Keys
{
    internal static readonly KeySpec[] None = [];

    /// <summary>One key.</summary>
    internal static KeySpec[] One(int at, KeyFlags flags, string notes = "") => [new(at, at, 1, flags, Notes: notes)];

    /// <summary>Keys from an argument to the last one (or to another), every <paramref name="step"/> arguments.</summary>
    internal static KeySpec[] Range(int first, int last, int step, KeyFlags flags) => [new(first, last, step, flags)];
}
