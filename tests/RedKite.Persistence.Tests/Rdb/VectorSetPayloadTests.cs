using RedKite.Persistence.Rdb;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>What a vector set that is read takes for itself: its links are kept in its elements, and the ids that they name are no more than those.</summary>
public sealed class VectorSetPayloadTests
{
    private const int Links = 16;

    // Links were kept in the managed heap until all elements were there, with keys locked, eight bytes for two of the payload.
    [Fact]
    public void Links_take_no_managed_memory()
    {
        const int Elements = 300;
        using var world = new ValueWorld();
        byte[] value = Payload(Elements, level: 0, id => [.. Enumerable.Range(1, Elements).Where(other => other != id).Select(other => (ulong)other)]);
        long before = GC.GetAllocatedBytesForCurrentThread();
        Assert.Equal(RdbOutcome.Loaded, world.Read("k", RdbType.Module, value));
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 100_000); // of the guarded arena
        world.Remove("k");
        world.AssertEmpty();
    }

    [Theory]
    [InlineData(2, 3UL)] // the id of no element
    [InlineData(2, ulong.MaxValue)]
    public void A_link_to_no_element_is_refused(int elements, ulong link) => Assert.Equal(RdbOutcome.Corrupt, Read(Payload(elements, level: 0, _ => [link])));

    [Fact]
    public void More_links_than_any_set_has_are_refused()
    {
        Assert.Equal(RdbOutcome.Loaded, Read(Payload(2, level: 0, id => [.. Enumerable.Repeat((ulong)(3 - id), 2 * VectorSetLimits.LinksMax)])));
        Assert.Equal(RdbOutcome.Corrupt, Read(Payload(2, level: 0, id => [.. Enumerable.Repeat((ulong)(3 - id), (2 * VectorSetLimits.LinksMax) + 1)])));
    }

    [Fact]
    public void Levels_that_the_store_does_not_have_are_dropped()
    {
        using var world = new ValueWorld();
        Assert.Equal(RdbOutcome.Loaded, world.Read("k", RdbType.Module, Payload(3, level: 31, id => [(ulong)((id % 3) + 1), (ulong)(((id + 1) % 3) + 1)])));
        VectorSetValue set = VectorSetValue.Of(world.Database, world.Find("k"));
        for (int number = 0; number < 3; number++)
        {
            Assert.Equal(VectorSetLimits.LevelMax, set.At(number).Level);
            for (int level = 0; level <= VectorSetLimits.LevelMax; level++) Assert.Equal(2, set.At(number).Links(level).Length);
        }

        world.Remove("k");
        world.AssertEmpty();
    }

    private static RdbOutcome Read(byte[] value)
    {
        using var world = new ValueWorld();
        RdbOutcome outcome = world.Read("k", RdbType.Module, value);
        world.Remove("k");
        world.AssertEmpty();
        return outcome;
    }

    // Elements of two dimensions with ids from 1 on, each linked on each of its levels.
    private static byte[] Payload(int elements, int level, Func<int, ulong[]> links)
    {
        using var output = new RdbOutput();
        output.Length(RdbModule.VectorSet);
        foreach (ulong number in (ulong[])[2, (ulong)elements, Links << 8, 0]) RdbModule.WriteUnsigned(output, number);
        for (int id = 1; id <= elements; id++)
        {
            RdbModule.WriteString(output, ValueWorld.Bytes($"e{id}"));
            RdbModule.WriteString(output, new byte[2 * sizeof(float)]);
            ulong[] others = links(id);
            RdbModule.WriteUnsigned(output, (ulong)(3 + ((level + 1) * (2 + others.Length))));
            RdbModule.WriteUnsigned(output, (ulong)id);
            RdbModule.WriteUnsigned(output, (ulong)level);
            for (int i = 0; i <= level; i++)
            {
                RdbModule.WriteUnsigned(output, (ulong)others.Length);
                RdbModule.WriteUnsigned(output, Links);
                foreach (ulong other in others) RdbModule.WriteUnsigned(output, other);
            }

            RdbModule.WriteUnsigned(output, BitConverter.SingleToUInt32Bits(1));
        }

        RdbModule.WriteEnd(output);
        return output.Written.ToArray();
    }
}
