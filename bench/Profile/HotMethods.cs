using RedKite.Traces;

namespace RedKite.Profile;

/// <summary>A method's share of a profile.</summary>
/// <param name="Exclusive">Samples in which it was the innermost frame.</param>
/// <param name="Inclusive">Samples with the method anywhere on the stack, each counted once.</param>
internal sealed record HotMethod(string Name, long Exclusive, long Inclusive);

/// <summary>Sums up a profile's stacks by method.</summary>
internal sealed class HotMethods
{
    private HotMethods(IReadOnlyList<HotMethod> methods, long samples)
    {
        Methods = methods;
        Samples = samples;
    }

    /// <summary>The method with the most exclusive samples comes first.</summary>
    internal IReadOnlyList<HotMethod> Methods { get; }

    /// <summary>All samples, the base of the percentages.</summary>
    internal long Samples { get; }

    internal static HotMethods Of(IEnumerable<StackSample> stacks)
    {
        Dictionary<string, (long Exclusive, long Inclusive)> sums = [];
        HashSet<string> seen = [];
        long samples = 0;
        foreach (StackSample stack in stacks)
        {
            if (stack.Frames.Count == 0) continue;
            samples++;
            seen.Clear();
            foreach (string frame in stack.Frames)
            {
                if (!seen.Add(frame)) continue; // recursion
                sums.TryGetValue(frame, out (long Exclusive, long Inclusive) sum);
                sums[frame] = sum with { Inclusive = sum.Inclusive + 1 };
            }

            string innermost = stack.Frames[^1];
            sums[innermost] = sums[innermost] with { Exclusive = sums[innermost].Exclusive + 1 };
        }

        IEnumerable<HotMethod> methods = sums.Select(entry => new HotMethod(entry.Key, entry.Value.Exclusive, entry.Value.Inclusive));
        return new HotMethods([.. methods.OrderByDescending(m => m.Exclusive).ThenByDescending(m => m.Inclusive).ThenBy(m => m.Name, StringComparer.Ordinal)], samples);
    }
}
