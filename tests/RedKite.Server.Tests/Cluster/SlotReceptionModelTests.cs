using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>All orders of the steps of one that takes received slots and two that end the reception: never are they taken and removed.</summary>
public sealed class SlotReceptionModelTests
{
    [Fact]
    public void Slots_are_taken_or_removed_and_never_both()
    {
        int taken = 0, removed = 0;
        foreach (int[] order in Orders([2, 1, 1]))
        {
            bool isRemoved = false, takes = false;
            var reception = new SlotReception("id", "source", SlotSet.Empty, null, _ => isRemoved = true);
            List<bool> answers = [];
            int step = 0;
            foreach (int thread in order)
            {
                if (thread > 0) answers.Add(reception.End("the other one asks"));
                else if (step++ == 0) takes = reception.TryTake();
                else if (takes) reception.NoteTaken(areTaken: true);
            }

            Assert.Equal(takes, reception.IsTaken);
            Assert.False(isRemoved && takes);
            Assert.True(isRemoved || takes);
            if (answers.TrueForAll(static answer => answer) && takes) taken++;
            if (isRemoved) removed++;
        }

        Assert.True(taken > 0 && removed > 0);
    }

    // A reception whose taking was refused is one again, and ends as such.
    [Fact]
    public void A_refused_taking_leaves_what_can_end()
    {
        int removed = 0;
        var reception = new SlotReception("id", "source", SlotSet.Empty, null, _ => removed++);
        Assert.True(reception.TryTake());
        Assert.False(reception.End("asked"));
        reception.NoteTaken(areTaken: false);
        Assert.False(reception.TryTake()); // it has failed by then
        Assert.True(reception.End("asked"));
        Assert.True(reception.End("closed"));
        Assert.Equal(1, removed);
    }

    private static IEnumerable<int[]> Orders(int[] left)
    {
        if (Array.TrueForAll(left, static steps => steps == 0))
        {
            yield return [];
            yield break;
        }

        for (int thread = 0; thread < left.Length; thread++)
        {
            if (left[thread] == 0) continue;
            int[] rest = [.. left];
            rest[thread]--;
            foreach (int[] order in Orders(rest)) yield return [thread, .. order];
        }
    }
}
