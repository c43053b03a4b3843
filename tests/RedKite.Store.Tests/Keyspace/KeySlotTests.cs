using System.Text;
using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>Slots of keys, and a keyspace that keeps keys by them.</summary>
public class KeySlotTests
{
    [Theory]
    [InlineData("123456789", 0x31C3)] // of the specification
    [InlineData("foo", 12182)]
    [InlineData("", 0)]
    public void Slots_are_those_of_the_specification(string key, int slot) => Assert.Equal(slot, KeySlot.Of(Encoding.ASCII.GetBytes(key)));

    [Theory]
    [InlineData("{user1000}.following", "user1000")]
    [InlineData("foo{bar}{zap}", "bar")]
    [InlineData("foo{{bar}}zap", "{bar")]
    [InlineData("foo{}{bar}", null)]
    [InlineData("foo{bar", null)]
    [InlineData("foo}bar{", null)]
    public void Braces_choose_what_is_summed(string key, string? summed) => Assert.Equal(Reference(Encoding.ASCII.GetBytes(summed ?? key)), KeySlot.Of(Encoding.ASCII.GetBytes(key)));

    [Fact]
    public void Every_length_has_the_sum_of_a_bit_by_bit_reference()
    {
        var random = new Random(1);
        for (int length = 0; length < 70; length++)
        {
            byte[] key = new byte[length];
            random.NextBytes(key);
            for (int i = 0; i < length; i++) key[i] = key[i] is (byte)'{' ? (byte)'a' : key[i];
            Assert.Equal(Reference(key), KeySlot.Of(key));
            Assert.Equal(Reference(key), KeySlot.OfAny(key)); // by tables, as processors without carry-less multiplication do
        }
    }

    // Keys of 8 to 64 bytes without a brace have ways of their own: of up to 16 bytes, and of more.
    [Fact]
    public void Keys_of_every_kind_have_the_same_slot_by_multiplication_and_by_tables()
    {
        var random = new Random(3);
        for (int round = 0; round < 20_000; round++)
        {
            byte[] key = new byte[random.Next(7, 70)];
            random.NextBytes(key);
            for (int braces = random.Next(3); braces > 0; braces--) key[random.Next(key.Length)] = (byte)(random.Next(2) == 0 ? '{' : '}');
            Assert.Equal(KeySlot.OfAny(key), KeySlot.Of(key));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(StripeSet.StripesMax)]
    public void Keys_are_in_the_stripe_and_the_part_of_the_table_that_their_slot_names(int stripes)
    {
        using var keyspace = new RedKite.Store.Keyspace.Keyspace(stripes, 2, hasher: new KeyHasher { SlotStripes = stripes });
        Database database = keyspace.Databases[0];
        var random = new Random(2);
        var keys = new HashSet<string>();
        for (int i = 0; i < 40_000; i++) keys.Add(i < 20_000 ? $"key:{random.Next()}" : $"{{tag}}{random.Next()}"); // half of them in one slot
        foreach (string key in keys)
        {
            ulong hash = keyspace.Hash(Bytes(key));
            Assert.Equal(KeySlot.Of(Bytes(key)), keyspace.SlotOf(hash));
            Assert.Equal(keyspace.SlotOf(hash) % stripes, keyspace.StripeOf(hash));
            database.WriteString(Bytes(key), hash, default, 1, ValueEncoding.Raw, -1, 0).Value.Fill((byte)'v');
        }

        int tag = KeySlot.Of("tag"u8);
        foreach (SlotRange range in (SlotRange[])[new(0, KeySlot.Count - 1), new(tag, tag), new(tag + 1, tag + 1), new(0, 0), new(KeySlot.Count - 1, KeySlot.Count - 1), new(100, 199), new(63, 64), new(5000, 12_000)])
        {
            Assert.Equal(keys.Where(key => range.Contains(KeySlot.Of(Bytes(key)))).Order(StringComparer.Ordinal), Walked(keyspace, database, range).Order(StringComparer.Ordinal));
            Assert.Equal(keys.Count(key => range.Contains(KeySlot.Of(Bytes(key)))), SlotWalk.Count(keyspace, database, range));
        }

        // Splits and joins keep them where they belong.
        foreach (string key in keys.Where(static key => key[^1] != '7').ToArray())
        {
            ulong hash = keyspace.Hash(Bytes(key));
            database.Unlink(database.Find(Bytes(key), hash, ExpiryClock.Never), UnlinkReason.Deleted);
            keys.Remove(key);
        }

        Assert.Equal(keys.Order(StringComparer.Ordinal), Walked(keyspace, database, new SlotRange(0, KeySlot.Count - 1)).Order(StringComparer.Ordinal));
        Assert.All(keys, key => Assert.True(database.Find(Bytes(key), keyspace.Hash(Bytes(key)), ExpiryClock.Never).Exists));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(StripeSet.StripesMax)]
    public void A_walk_over_a_slot_does_not_touch_the_others(int stripes)
    {
        using var keyspace = new RedKite.Store.Keyspace.Keyspace(stripes, 1, hasher: new KeyHasher { SlotStripes = stripes });
        for (int i = 0; i < 100_000; i++)
        {
            byte[] key = Bytes($"{{{i % 4096}}}{i}");
            keyspace.Databases[0].WriteString(key, keyspace.Hash(key), default, 1, ValueEncoding.Raw, -1, 0).Value.Clear();
        }

        int slot = KeySlot.Of("17"u8);
        var walk = new SlotWalk(keyspace, keyspace.Databases[0], new SlotRange(slot, slot));
        var entries = new EntryList();
        int steps = 0;
        while (!walk.IsComplete)
        {
            walk.Next(entries);
            steps++;
        }

        Assert.True(entries.Count >= 24, $"{entries.Count} keys");
        Assert.True(steps < 64 + (3 * 127), $"{steps} steps"); // the other stripes, and at most some segments of 127 buckets
    }

    [Fact]
    public void A_keyspace_with_slots_has_one_stripe_or_all()
    {
        Assert.Throws<ArgumentOutOfRangeException>(static () => new KeyHasher { SlotStripes = 32 });
        Assert.Throws<ArgumentException>(static () => new RedKite.Store.Keyspace.Keyspace(1, 1, hasher: new KeyHasher { SlotStripes = StripeSet.StripesMax }));
    }

    private static List<string> Walked(RedKite.Store.Keyspace.Keyspace keyspace, Database database, SlotRange range)
    {
        var walk = new SlotWalk(keyspace, database, range);
        var entries = new EntryList();
        List<string> found = [];
        while (!walk.IsComplete)
        {
            entries.Clear();
            walk.Next(entries);
            foreach (Entry entry in entries) found.Add(Encoding.ASCII.GetString(entry.Key));
        }

        return found;
    }

    private static byte[] Bytes(string text) => Encoding.ASCII.GetBytes(text);

    private static int Reference(ReadOnlySpan<byte> bytes)
    {
        int sum = 0;
        foreach (byte value in bytes)
        {
            sum ^= value << 8;
            for (int i = 0; i < 8; i++) sum = ((sum << 1) ^ ((sum & 0x8000) != 0 ? 0x1021 : 0)) & 0xFFFF;
        }

        return sum % 16384;
    }
}
