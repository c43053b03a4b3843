using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public class StripeSetTests
{
    [Theory]
    [InlineData(new int[0])]
    [InlineData(new[] { 0 })]
    [InlineData(new[] { 63 })]
    [InlineData(new[] { 0, 31, 32, 63 })]
    [InlineData(new[] { 5, 6, 7 })]
    public void Set_enumerates_its_stripes_in_ascending_order(int[] stripes)
    {
        StripeSet set = SetOf([.. stripes.Reverse()]);
        Assert.Equal(stripes, Enumerate(set));
        Assert.Equal(stripes.Length, set.Count);
        Assert.Equal(stripes.Length == 0, set.IsEmpty);
        Assert.Equal(string.Join(", ", stripes), set.ToString());
        for (int stripe = 0; stripe < StripeSet.StripesMax; stripe++) Assert.Equal(stripes.Contains(stripe), set.Contains(stripe));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(32)]
    [InlineData(StripeSet.StripesMax)]
    public void First_stripes_cover_a_keyspace_of_that_size(int count)
    {
        Assert.Equal(Enumerable.Range(0, count), Enumerate(StripeSet.First(count)));
    }

    [Fact]
    public void Union_and_difference_agree_with_sets()
    {
        var random = new Random(1);
        for (int i = 0; i < 2_000; i++)
        {
            int[] left = RandomStripes(random), right = RandomStripes(random);
            StripeSet a = SetOf(left), b = SetOf(right);
            Assert.Equal(left.Union(right).Order(), Enumerate(a.With(b)));
            Assert.Equal(left.Except(right).Order(), Enumerate(a.Without(b)));
            Assert.Equal(left.Intersect(right).Any(), a.Overlaps(b));
            Assert.Equal(!right.Except(left).Any(), a.Contains(b));
            Assert.Equal(a.Equals(b), left.Order().SequenceEqual(right.Order()));
            int stripe = random.Next(StripeSet.StripesMax);
            Assert.Equal(left.Union([stripe]).Order(), Enumerate(a.With(stripe)));
            Assert.Equal(left.Except([stripe]).Order(), Enumerate(a.Without(stripe)));
        }
    }

    private static int[] RandomStripes(Random random)
    {
        int[] all = [.. Enumerable.Range(0, StripeSet.StripesMax)];
        random.Shuffle(all);
        return all[..random.Next(random.Next(2) == 0 ? 4 : all.Length + 1)];
    }

    private static StripeSet SetOf(int[] stripes)
    {
        StripeSet set = StripeSet.Empty;
        foreach (int stripe in stripes) set = set.With(StripeSet.Of(stripe));
        return set;
    }

    private static List<int> Enumerate(StripeSet set)
    {
        var stripes = new List<int>();
        foreach (int stripe in set) stripes.Add(stripe);
        return stripes;
    }
}
