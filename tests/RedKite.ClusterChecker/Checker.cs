namespace RedKite.ClusterChecker;

/// <summary>
/// Says what in a history must not be, if a cluster loses no acknowledged write and never has two owners of a slot. A read may see a write that is not acknowledged yet, and may be lost.
/// </summary>
internal static class Checker
{
    internal static List<string> Check(History history)
    {
        List<string> violations = [];
        foreach (IGrouping<string, Operation> key in history.Operations.GroupBy(static operation => operation.Key))
        {
            CheckValues(key.Key, [.. key.Where(static operation => operation.Kind is Kind.Set or Kind.Get)], violations);
            CheckLists(key.Key, [.. key.Where(static operation => operation.Kind is Kind.Push or Kind.Range)], violations);
        }

        CheckOwners(history, violations);
        CheckPlaces(history, violations);
        return violations;
    }

    // A read that began after an acknowledged write had ended sees it, or one that is not wholly before it.
    private static void CheckValues(string key, List<Operation> operations, List<string> violations)
    {
        Dictionary<string, Operation> writes = Writes(Kind.Set, operations, violations);
        Operation[] acknowledged = [.. writes.Values.Where(static write => write.Outcome == Outcome.Ok).OrderBy(static write => write.End)];
        var latest = new Operation?[acknowledged.Length]; // of those up to it, the one that began last
        for (int i = 0; i < acknowledged.Length; i++) latest[i] = i > 0 && latest[i - 1]!.Begin > acknowledged[i].Begin ? latest[i - 1] : acknowledged[i];
        foreach (Operation read in operations.Where(static operation => operation is { Kind: Kind.Get, Outcome: Outcome.Ok }))
        {
            int before = CountBefore(acknowledged, read.Begin);
            Operation? due = before > 0 ? latest[before - 1] : null;
            if (read.Value is null)
            {
                if (due is not null) violations.Add($"lost: {key} = {due.Value} was acknowledged to {due.Client} at {due.End}, and {Reader(read)} saw no key at {read.Begin}");
            }
            else if (Source(writes, read, read.Value, violations) is { Outcome: Outcome.Ok } seen && due is not null && due.Begin > seen.End)
            {
                violations.Add($"old: {key} = {due.Value} was acknowledged to {due.Client} at {due.End}, and {Reader(read)} saw {read.Value} at {read.Begin}, which had been acknowledged at {seen.End}, before the other began");
            }
        }
    }

    // Each list that is read has every element that was acknowledged before, and those that were acknowledged one after the other are in that order.
    private static void CheckLists(string key, List<Operation> operations, List<string> violations)
    {
        Dictionary<string, Operation> pushes = Writes(Kind.Push, operations, violations);
        Operation[] acknowledged = [.. pushes.Values.Where(static push => push.Outcome == Outcome.Ok).OrderBy(static push => push.End)];
        foreach (Operation read in operations.Where(static operation => operation is { Kind: Kind.Range, Outcome: Outcome.Ok }))
        {
            HashSet<string> there = [];
            Operation? latest = null;
            foreach (string element in read.Elements)
            {
                if (!there.Add(element)) continue; // a client has sent it again that did not get the reply
                if (Source(pushes, read, element, violations) is not { } push) continue;
                if (latest is not null && push.Outcome == Outcome.Ok && push.End < latest.Begin) violations.Add($"order: {key} has {element}, which was acknowledged at {push.End}, behind {latest.Value}, which began at {latest.Begin}, as {Reader(read)} saw it at {read.Begin}");
                if (latest is null || push.Begin > latest.Begin) latest = push;
            }

            foreach (Operation push in acknowledged.Take(CountBefore(acknowledged, read.Begin)).Where(push => !there.Contains(push.Value!)))
            {
                violations.Add($"lost: {push.Value} was acknowledged to {push.Client} in {key} at {push.End}, and {Reader(read)} did not see it at {read.Begin}");
            }
        }
    }

    private static Dictionary<string, Operation> Writes(Kind kind, List<Operation> operations, List<string> violations)
    {
        Dictionary<string, Operation> writes = [];
        foreach (Operation write in operations.Where(operation => operation.Kind == kind))
        {
            if (write.Value is null || !writes.TryAdd(write.Value, write)) violations.Add($"history: {write.Client} wrote {write.Key} = {write.Value ?? "nothing"}, and that is no value of its own");
        }

        return writes;
    }

    // Who has written what was read; null: nobody could have.
    private static Operation? Source(Dictionary<string, Operation> writes, Operation read, string value, List<string> violations)
    {
        Operation? write = writes.GetValueOrDefault(value);
        string? why = write switch
        {
            null => "which nobody has written",
            { Outcome: Outcome.Failed } => $"which a node had refused to {write.Client}",
            _ when write.Begin > read.End => $"which {write.Client} began to write at {write.Begin}",
            _ => null,
        };
        if (why is null) return write;
        violations.Add($"wrong: {Reader(read)} saw {read.Key} = {value} at {read.End}, {why}");
        return null;
    }

    // By each epoch one node has answered for a slot, and by no epoch any more when one has answered by a later one.
    private static void CheckOwners(History history, List<string> violations)
    {
        foreach (IGrouping<int, Operation> slot in history.Operations.Where(static operation => operation is { Outcome: Outcome.Ok, Node: not null, Epoch: not null }).GroupBy(static operation => Slot.Of(operation.Key)))
        {
            Operation? next = null; // of the later epochs, the one that ended first
            foreach (IGrouping<long, Operation> epoch in slot.GroupBy(static operation => operation.Epoch!.Value).OrderByDescending(static group => group.Key))
            {
                string[] nodes = [.. epoch.Select(static operation => operation.Node!).Distinct()];
                if (nodes.Length > 1) violations.Add($"owners: {string.Join(" and ", nodes)} have answered for slot {slot.Key} by epoch {epoch.Key}");
                if (next is not null && epoch.FirstOrDefault(operation => operation.Begin > next.End) is { } late)
                {
                    violations.Add($"owners: {late.Node} has answered {late.Client} for slot {slot.Key} by epoch {late.Epoch}, from {late.Begin} on, after {next.Node} had by epoch {next.Epoch} at {next.End}");
                }

                Operation first = epoch.MinBy(static operation => operation.End)!;
                if (next is null || first.End < next.End) next = first;
            }
        }
    }

    // At the end each slot has one primary, which has the keys that were acknowledged, and nobody has keys of others.
    private static void CheckPlaces(History history, List<string> violations)
    {
        if (history.Slots.Count == 0) return;
        string?[] primaries = new string?[Slot.Count];
        ILookup<string, NodeSlots> ranges = history.Slots.ToLookup(static slots => slots.Node);
        foreach (NodeSlots slots in history.Slots.Where(static slots => slots.IsPrimary))
        {
            for (int slot = slots.First; slot <= slots.Last; slot++)
            {
                if (primaries[slot] is { } other) violations.Add($"places: {other} and {slots.Node} are primaries of slot {slot} at the end");
                primaries[slot] = slots.Node;
            }
        }

        foreach (HeldKey held in history.Held)
        {
            int slot = Slot.Of(held.Key);
            if (!ranges[held.Node].Any(slots => slot >= slots.First && slot <= slots.Last)) violations.Add($"places: {held.Node} has {held.Key} of slot {slot} at the end, which is {primaries[slot] ?? "nobody"}'s");
        }

        HashSet<HeldKey> all = [.. history.Held];
        foreach (string key in history.Operations.Where(static operation => operation is { Kind: Kind.Set or Kind.Push, Outcome: Outcome.Ok }).Select(static operation => operation.Key).Distinct())
        {
            if (primaries[Slot.Of(key)] is not { } primary) violations.Add($"places: slot {Slot.Of(key)} of {key} has no primary at the end");
            else if (!all.Contains(new HeldKey(primary, key))) violations.Add($"places: {primary} does not have {key} at the end");
        }
    }

    // How many have ended before.
    private static int CountBefore(Operation[] byEnd, long begin)
    {
        int low = 0, high = byEnd.Length;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (byEnd[middle].End < begin) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    private static string Reader(Operation read) => read.Node is null ? read.Client : $"{read.Client} at {read.Node}";
}
