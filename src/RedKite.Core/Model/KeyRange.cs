namespace RedKite.Server.Model;

/// <summary>
/// The first key, the last key (negative: counted from the end) and the step between keys: the description of keys from before
/// there were key specifications. All 0 for a command without keys at fixed positions.
/// </summary>
internal readonly record struct KeyRange(int First, int Last, int Step)
{
    /// <summary>Merges adjacent specifications.</summary>
    /// <param name="specs">The command's key specifications.</param>
    /// <param name="moves">Whether there are keys outside of the range.</param>
    internal static KeyRange Of(KeySpec[] specs, out bool moves)
    {
        moves = false;
        if (specs is [{ IsFixedRange: true } only]) return new KeyRange(only.First, only.Last, only.Step);
        KeyRange range = default;
        foreach (KeySpec spec in specs)
        {
            // Negative positions, counted from the end, are after all others.
            bool follows = range.First == 0 || spec.First == range.Last + 1;
            if (!spec.IsFixedRange || spec.Step != 1 || !follows)
            {
                moves = true;
                continue;
            }

            range = new KeyRange(range.First == 0 ? spec.First : range.First, spec.Last, 1);
        }

        return range;
    }
}
