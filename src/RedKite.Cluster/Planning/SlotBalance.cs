using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Planning;

/// <summary>Which slots move so that each primary has its share: few moves, and each of slots that follow each other as far as possible.</summary>
internal static class SlotBalance
{
    /// <summary>What a primary may have above its share, in percent of that, without anything being moved. Slots alone are shared out exactly.</summary>
    internal const int TolerancePercent = 2;

    /// <summary>The moves.</summary>
    /// <param name="owned">The primaries in order, and the slots that they have.</param>
    /// <param name="leaving">The primary that keeps none; null: all keep their share.</param>
    /// <param name="weights">What each slot counts; null: one each.</param>
    internal static IReadOnlyList<PlanStep> Moves(IReadOnlyList<(string Id, SlotSet Slots)> owned, string? leaving, IReadOnlyList<long>? weights)
    {
        var shares = owned.Select(primary => new Share(primary.Id, primary.Slots, primary.Slots.Slots().Sum(slot => WeightOf(weights, slot)))).ToList();
        long total = shares.Sum(static share => share.Load);
        Share[] staying = [.. shares.Where(share => share.Id != leaving)];
        if (staying.Length == 0) throw new PlanException("no other primary can take the slots");
        long rest = total;

        // The remainder of the division goes to those that have the most.
        foreach ((Share share, int i) in staying.OrderByDescending(static share => share.Load).Select(static (share, i) => (share, i)))
        {
            share.Aim((rest + staying.Length - i - 1) / (staying.Length - i));
            rest -= share.Target;
        }

        bool isEven = weights is not null && staying.All(share => share.Excess <= share.Target * TolerancePercent / 100);
        Dictionary<(string From, string To), List<int>> moves = [];
        foreach (Share from in shares.OrderByDescending(static share => share.Excess))
        {
            if (from.Id != leaving && isEven) continue;
            foreach (int slot in from.Slots.Slots().Reverse())
            {
                long weight = WeightOf(weights, slot);
                if (from.Id != leaving && (weight == 0 || weight >= 2 * from.Excess)) continue;
                Share? to = staying.Where(share => share != from && (from.Id == leaving || weight < 2 * -share.Excess)).MinBy(share => share == from.LastTo && share.Excess < 0 ? long.MinValue : share.Excess);
                if (to is null) continue;
                from.Give(weight, to);
                if (!moves.TryGetValue((from.Id, to.Id), out List<int>? slots)) moves[(from.Id, to.Id)] = slots = [];
                slots.Add(slot);
            }
        }

        return
        [
            .. moves.Select(static move =>
            {
                HashSet<int> slots = [.. move.Value];
                return new PlanStep(PlanStepKind.Move, move.Key.From) { OtherId = move.Key.To, Slots = SlotSet.Of(slots.Contains) };
            }),
        ];
    }

    private static long WeightOf(IReadOnlyList<long>? weights, int slot) => weights is null ? 1 : weights[slot];

    private sealed class Share(string id, SlotSet slots, long load)
    {
        internal string Id { get; } = id;

        internal SlotSet Slots { get; } = slots;

        internal long Load { get; private set; } = load;

        internal long Target { get; private set; }

        internal long Excess => Load - Target;

        /// <summary>Where its last slot went, and the next one goes while that wants more.</summary>
        internal Share? LastTo { get; private set; }

        internal void Aim(long target) => Target = target;

        internal void Give(long weight, Share to)
        {
            LastTo = to;
            Load -= weight;
            to.Load += weight;
        }
    }
}
