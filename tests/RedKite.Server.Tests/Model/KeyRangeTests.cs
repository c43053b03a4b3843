using RedKite.Server.Model;

namespace RedKite.Server.Tests.Commands;

/// <summary>The specifications are those of Redis commands; the ranges are Redis 7.0's.</summary>
public class KeyRangeTests
{
    [Fact]
    public void No_keys_have_no_range() => Is((0, 0, 0), movable: false);

    [Fact]
    public void Single_specification_is_the_range() => Is((1, -1, 2), movable: false, Spec(1, -1, 2));

    [Fact]
    public void Adjacent_ranges_are_merged()
    {
        Is((1, 2, 1), movable: false, Spec(1, 1), Spec(2, 2));
        Is((1, -1, 1), movable: false, Spec(1, 1), Spec(2, -1));
    }

    [Fact]
    public void Numkeys_makes_keys_movable() => Is((1, 1, 1), movable: true, Spec(1, 1), new KeySpec(3, 0, 1, KeyFlags.ReadOnly, CountAt: 2));

    [Fact]
    public void Numkeys_alone_has_no_range() => Is((0, 0, 0), movable: true, new KeySpec(3, 0, 1, KeyFlags.ReadWrite, CountAt: 2));

    [Fact]
    public void Keyword_makes_keys_movable() => Is((0, 0, 0), movable: true, new KeySpec(1, -1, 1, KeyFlags.ReadOnly) { Keyword = "STREAMS", StartFrom = 1, Limit = 2 });

    private static void Is((int First, int Last, int Step) range, bool movable, params KeySpec[] specs)
    {
        Assert.Equal(new KeyRange(range.First, range.Last, range.Step), KeyRange.Of(specs, out bool moves));
        Assert.Equal(movable, moves);
    }

    private static KeySpec Spec(int first, int last, int step = 1) => new(first, last, step, KeyFlags.ReadWrite);
}
