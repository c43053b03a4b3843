namespace RedKite.Server.Model;

/// <summary>
/// The first key, the last (negative: counted from the end) and the step between keys: how commands were described before
/// there were key specifications. All 0 for a command without keys at fixed places.
/// </summary>
internal readonly record struct KeyRange(int First, int Last, int Step)
{
    /// <summary>Joins specifications that follow on each other.</summary>
    /// <param name="specs">The command's key specifications.</param>
    /// <param name="moves">Whether there are keys that the range does not tell.</param>
    internal static KeyRange Of(KeySpec[] specs, out bool moves)
    {
        moves = false;
        if (specs is [{ IsFixedRange: true } only]) return new KeyRange(only.First, only.Last, only.Step);
        KeyRange range = default;
        foreach (KeySpec spec in specs)
        {
            // Negative places, counted from the end, are behind all others.
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
