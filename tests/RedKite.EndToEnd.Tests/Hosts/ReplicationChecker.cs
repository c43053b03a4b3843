using System.Globalization;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>
/// Says afterwards what in a history of replicated servers must not be. It knows nothing of the servers: only what clients saw.
/// </summary>
/// <remarks>
/// A write that n replicas have confirmed outlives a promotion if one of the candidates must have it: if n and the candidates are together more than the replicas.
/// </remarks>
internal static class ReplicationChecker
{
    internal static List<string> Check(ReplicationHistory history)
    {
        List<string> violations = [];
        CheckConfirmed(history, violations);
        CheckValues(history, violations);
        CheckOffsets(history, violations);
        CheckData(history, violations);
        return violations;
    }

    // Nothing that WAIT confirmed is lost while a replica that has it lives.
    private static void CheckConfirmed(ReplicationHistory history, List<string> violations)
    {
        Promotion[] promotions = [.. history.Promotions.OrderBy(static promotion => promotion.At)];
        ILookup<string, Write> confirmed = history.Writes.Where(static write => write.Confirmed > 0).ToLookup(static write => write.Key);
        foreach (Read read in history.Reads)
        {
            foreach (Write write in confirmed[read.Key])
            {
                if (write.End > read.Start || read.Value >= write.Value) continue;
                bool mayBeLost = Array.Exists(promotions, promotion => promotion.At >= write.End && promotion.At <= read.End && write.Confirmed + promotion.Candidates <= promotion.Replicas);
                if (mayBeLost) continue;
                violations.Add(Text($"{read.Key} = {write.Value} was confirmed by {write.Confirmed} replicas, and server {read.Node} replied {read.Value} later"));
                break;
            }
        }
    }

    // What is read was written before.
    private static void CheckValues(ReplicationHistory history, List<string> violations)
    {
        Dictionary<(string, long), long> begun = [];
        foreach (Write write in history.Writes) begun[(write.Key, write.Value)] = write.Start;
        foreach (Read read in history.Reads.Where(static read => read.Value >= 0))
        {
            if (!begun.TryGetValue((read.Key, read.Value), out long start) || start > read.End) violations.Add(Text($"server {read.Node} replied {read.Key} = {read.Value}, which nobody had written"));
        }
    }

    // Within a history the offset of a process never goes back.
    private static void CheckOffsets(ReplicationHistory history, List<string> violations)
    {
        Dictionary<(int, int, string), long> last = [];
        foreach (PlaceSeen place in history.Places)
        {
            (int, int, string) of = (place.Node, place.Run, place.History);
            if (last.TryGetValue(of, out long offset) && place.Offset < offset) violations.Add(Text($"the offset of server {place.Node} went from {offset} to {place.Offset} of {place.History}"));
            last[of] = place.Offset;
        }
    }

    // At the same place all have the same data.
    private static void CheckData(ReplicationHistory history, List<string> violations)
    {
        foreach (IGrouping<(string, long), DataSeen> place in history.Data.GroupBy(static data => (data.History, data.Offset)))
        {
            if (place.Select(static data => data.Digest).Distinct().Count() > 1) violations.Add(Text($"at {place.Key.Item2} of {place.Key.Item1} servers have different data: {string.Join(", ", place.Select(static data => $"{data.Node}: {data.Digest}"))}"));
        }
    }

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
