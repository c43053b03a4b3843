using RedKite.Figures.Cluster;
using RedKite.Store.Keyspace;

namespace RedKite.Figures.Tests;

/// <summary>The keys whose slots move: as many in each of the first slots, and none elsewhere.</summary>
public class SlotKeysTests
{
    [Fact]
    public void Keys_are_evenly_in_the_first_slots()
    {
        const int Slots = 10;
        var keys = new SlotKeys(Slots, count: 40);
        int[] counts = new int[Slots];
        HashSet<string> different = [];
        byte[] key = new byte[KeyForm.BytesMax];
        for (int i = 0; i < keys.Count; i++)
        {
            ReadOnlySpan<byte> written = key.AsSpan(0, keys.Write(key, i));
            counts[KeySlot.Of(written)]++;
            different.Add(Convert.ToHexString(written));
        }

        Assert.All(counts, static count => Assert.Equal(4, count));
        Assert.Equal(keys.Count, different.Count);
    }
}
