using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>
/// The parts of a hash that the table uses (stripe, bucket, tag, prefix) must spread evenly for typical key names.
/// The bound is chi-squared at ten standard deviations, which a good hash practically never exceeds.
/// </summary>
public class KeyHasherTests
{
    [Theory]
    [InlineData("key:{0}")]
    [InlineData("{0}")]
    [InlineData("user:{0:D12}:session")]
    [InlineData("a rather long prefix that all of the keys have in common:{0}")]
    public void Sequential_keys_spread_evenly(string pattern)
    {
        var hasher = new KeyHasher();
        var hashes = new ulong[200_000];
        for (int i = 0; i < hashes.Length; i++)
        {
            hashes[i] = hasher.Hash(Encoding.ASCII.GetBytes(string.Format(CultureInfo.InvariantCulture, pattern, i)));
        }

        AssertSpread(hashes);
    }

    [Fact]
    public void Keys_that_differ_in_one_bit_spread_evenly()
    {
        Randomness.Run(random =>
        {
            var hasher = new KeyHasher(random.Bytes(24));
            var hashes = new List<ulong>();
            for (int length = 8; length <= 100; length++)
            {
                byte[] key = random.Bytes(length);
                for (int bit = 0; bit < length * 8; bit++)
                {
                    key[bit / 8] ^= (byte)(1 << (bit % 8));
                    hashes.Add(hasher.Hash(key));
                    key[bit / 8] ^= (byte)(1 << (bit % 8));
                }
            }

            AssertSpread([.. hashes]);
        });
    }

    [Fact]
    public void Binary_integer_keys_spread_evenly()
    {
        var hasher = new KeyHasher();
        var hashes = new ulong[200_000];
        for (int i = 0; i < hashes.Length; i++) hashes[i] = hasher.Hash(BitConverter.GetBytes((long)i));
        AssertSpread(hashes);
    }

    [Fact]
    public void Each_key_bit_flips_about_half_of_the_hash()
    {
        Randomness.Run(random =>
        {
            var hasher = new KeyHasher(random.Bytes(24));
            for (int length = 1; length <= 100; length++)
            {
                byte[] key = random.Bytes(length);
                ulong hash = hasher.Hash(key);
                long changed = 0;
                for (int bit = 0; bit < length * 8; bit++)
                {
                    key[bit / 8] ^= (byte)(1 << (bit % 8));
                    ulong other = hasher.Hash(key);
                    Assert.NotEqual(hash, other);
                    changed += System.Numerics.BitOperations.PopCount(hash ^ other);
                    key[bit / 8] ^= (byte)(1 << (bit % 8));
                }

                double mean = changed / (length * 8.0);
                double allowed = 10 * 4 / Math.Sqrt(length * 8.0); // a hash's bits deviate by 4 bits each time
                Assert.InRange(mean, 32 - allowed, 32 + allowed);
            }
        });
    }

    [Fact]
    public void Keys_of_all_lengths_hash_completely_and_differently()
    {
        var hasher = new KeyHasher();
        var hashes = new HashSet<ulong>();
        byte[] guarded = new byte[256];
        for (int length = 0; length <= 100; length++)
        {
            // The same bytes at another address, with different neighbours, have the same hash.
            guarded.AsSpan().Clear();
            guarded.AsSpan(50, length).Fill(7);
            ulong hash = hasher.Hash(guarded.AsSpan(50, length));
            guarded.AsSpan().Fill(9);
            guarded.AsSpan(51, length).Fill(7);
            Assert.Equal(hash, hasher.Hash(guarded.AsSpan(51, length)));
            Assert.True(hashes.Add(hash));
        }

        for (int length = 1; length <= 100; length++) Assert.True(hashes.Add(hasher.Hash(new byte[length])));
    }

    [Fact]
    public void Different_secret_gives_different_hashes()
    {
        var first = new KeyHasher();
        var second = new KeyHasher();
        int sameStripe = 0;
        for (int i = 0; i < 6_400; i++)
        {
            byte[] key = Encoding.ASCII.GetBytes($"key:{i}");
            Assert.NotEqual(first.Hash(key), second.Hash(key));
            if ((first.Hash(key) >> 8 & 63) == (second.Hash(key) >> 8 & 63)) sameStripe++;
        }

        Assert.InRange(sameStripe, 1, 250); // 100 by chance
    }

    private static void AssertSpread(ulong[] hashes)
    {
        AssertSpread(hashes, 64, hash => (int)(hash >> 8) & 63, "stripes");
        AssertSpread(hashes, Segment.Buckets, Segment.Home, "buckets");
        AssertSpread(hashes, 256, hash => (byte)hash, "tags");
        AssertSpread(hashes, 256, hash => (int)(hash >> 56), "prefixes");
        AssertSpread(hashes, 4096, hash => (int)(((hash >> 8) & 63) | ((hash >> 58) << 6)), "stripes with prefixes");
        Assert.InRange(hashes.Length - hashes.Distinct().Count(), 0, 1);
    }

    private static void AssertSpread(ulong[] hashes, int places, Func<ulong, int> place, string what)
    {
        var counts = new long[places];
        foreach (ulong hash in hashes) counts[place(hash)]++;
        double expected = hashes.Length / (double)places;
        double chiSquared = counts.Sum(count => (count - expected) * (count - expected) / expected);
        double freedom = places - 1;
        Assert.True(chiSquared < freedom + (10 * Math.Sqrt(2 * freedom)), $"{what}: chi-squared is {chiSquared:F0} for {freedom} degrees of freedom");
    }
}
