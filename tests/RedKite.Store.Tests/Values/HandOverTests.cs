using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;
using RedKite.Store.Values.VectorSets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Values that come to another stripe by RENAME: by a pointer, and usable there.</summary>
public sealed class HandOverTests
{
    private const int LargeElements = 300_000;

    private static readonly ListLimits Lists = new(16, 0);

    public static TheoryData<string> Structures => [.. Enum.GetNames<DataType>().Except([nameof(DataType.String)])];

    [Theory]
    [MemberData(nameof(Structures))]
    public void Rename_to_another_stripe_moves_no_element(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        using var store = new KeyStore(2, 1, guarded: true);
        Database database = store.Databases[0];
        byte[] source = KeyIn(store, 0);
        byte[] target = KeyIn(store, 1);
        for (int i = 0; i < 3_000; i++) Add(store, source, type, i);
        (int Source, int Target) before = Blocks(store);
        database.Rename(Find(store, source), target, store.Hash(target), default);

        // Only the entry's own block was rewritten.
        Assert.Equal((before.Source - 1, before.Target + 1), Blocks(store));
        Assert.False(Find(store, source).Exists);
        Assert.Equal(3_000, Count(store, target));
        store.CheckGuards();
    }

    [Theory]
    [MemberData(nameof(Structures))]
    public void Value_from_another_stripe_grows_shrinks_and_is_freed(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        using var store = new KeyStore(2, 1, guarded: true);
        Database database = store.Databases[0];
        byte[][] keys = [KeyIn(store, 0), KeyIn(store, 1)];
        int next = 0;
        for (int round = 0; round < 6; round++)
        {
            byte[] here = keys[round % 2];
            byte[] there = keys[(round + 1) % 2];
            for (int i = 0; i < 1_000; i++) Add(store, here, type, next++);
            RemoveSome(store, here, type, next);
            long count = Count(store, here);
            database.Rename(Find(store, here), there, store.Hash(there), default);
            Assert.Equal(count, Count(store, there));
            foreach (Stripe stripe in store.Stripes) stripe.FreeDroppedSlice();
            store.CheckGuards();
        }

        database.Unlink(Find(store, keys[0]), UnlinkReason.Deleted);
        FreeAll(store);
        Assert.Equal((0, 0), Blocks(store));
        Assert.Equal(0, store.FreeingBytes);
    }

    // Held for blocks and used by none: what is left in slabs, beside the segments of the stripe's own table.
    [Theory]
    [MemberData(nameof(Structures))]
    public void Slabs_of_a_large_value_waste_less_than_a_tenth(string typeName)
    {
        DataType type = Enum.Parse<DataType>(typeName);
        using var store = new KeyStore(1, 1);
        byte[] key = KeyIn(store, 0);
        int elements = type == DataType.VectorSet ? LargeElements / 10 : LargeElements; // each takes longer
        for (int i = 0; i < elements; i++) Add(store, key, type, i);
        Arena arena = store.Stripes[0].Arena;
        double waste = (double)(arena.HeldBytes - arena.UsedBytes) / arena.HeldBytes;
        TestContext.Current.TestOutputHelper!.WriteLine($"{type}: {arena.HeldBytes:N0} bytes held, {waste:P1} unused");
        Assert.InRange(waste, 0, 0.1);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public void Rename_of_a_large_string_moves_its_block(int targetStripe)
    {
        using var store = new KeyStore(2, 1, guarded: true);
        Database database = store.Databases[0];
        byte[] source = KeyIn(store, 0);
        byte[] target = KeyIn(store, targetStripe, prefix: "a key that is much longer than the first one ");
        byte[] value = new Random(7).Bytes(EntryBlock.LargeValueMin + 1_000);
        Entry written = database.WriteString(source, store.Hash(source), default, value.Length, ValueEncoding.Raw, 5_000, 0);
        value.CopyTo(written.Value);
        nint address = written.Address;
        long used = ArenaBytes(store);
        (int Source, int Target) before = Blocks(store);
        database.Rename(Find(store, source), target, store.Hash(target), default);

        Entry renamed = Find(store, target);
        Assert.Equal((address, before, used), (renamed.Address, Blocks(store), ArenaBytes(store)));
        Assert.False(Find(store, source).Exists);
        Assert.Equal(5_000, renamed.ExpiryMs);
        Assert.True(renamed.Key.SequenceEqual(target));
        Assert.True(renamed.Value.SequenceEqual(value));
        Assert.Equal((1L, 1L), (database.Count, database.Expiring));
        store.CheckGuards();

        // Back in place of a value with an expiry, which is freed; then the value changes its length there, and expires.
        database.WriteString(source, store.Hash(source), default, 10, ValueEncoding.Raw, 9_000, 0);
        database.Rename(renamed, source, store.Hash(source), Find(store, source));
        Assert.Equal((address, used), (Find(store, source).Address, ArenaBytes(store)));
        foreach (int length in new[] { value.Length * 2, EntryBlock.LargeValueMin - 1, EntryBlock.LargeValueMin, 5, value.Length })
        {
            Entry resized = database.ResizeValue(Find(store, source), length);
            Assert.True(resized.Value[..5].SequenceEqual(value.AsSpan(0, 5)));
            store.CheckGuards();
        }

        Assert.False(database.Find(source, store.Hash(source), ExpiryClock.RemovingAt(5_000)).Exists);
        FreeAll(store);
        Assert.Equal((0, 0), Blocks(store));
        Assert.Equal((0L, 0L, 0L), (database.Count, database.Expiring, ArenaBytes(store)));
    }

    [Fact]
    public void Compaction_continues_in_the_new_stripe()
    {
        using var store = new KeyStore(2, 1);
        byte[] source = KeyIn(store, 0);
        byte[] target = KeyIn(store, 1);
        for (int i = 0; i < 20_000; i++) Add(store, source, DataType.List, i);
        Assert.True(store.Stripes[0].WarmLists.AreWaiting);
        store.Databases[0].Rename(Find(store, source), target, store.Hash(target), default);
        Assert.Equal((false, true), (store.Stripes[0].WarmLists.AreWaiting, store.Stripes[1].WarmLists.AreWaiting));
        long before = store.UsedBytes;
        for (byte round = 1; store.Stripes[1].WarmLists.AreWaiting && round < 200; round++)
        {
            while (store.Stripes[1].WarmLists.CoolSlice(round))
            {
            }
        }

        Assert.InRange(store.UsedBytes, 1, before * 9 / 10);
        Assert.Equal(20_000, Count(store, target));
    }

    private static void Add(KeyStore store, byte[] key, DataType type, int number)
    {
        Database database = store.Databases[0];
        ulong hash = store.Hash(key);
        Entry entry = Find(store, key);
        byte[] text = Text(number);
        switch (type)
        {
            case DataType.Hash:
                HashValue fields = entry.Exists ? HashValue.Open(database, entry, ExpiryClock.Never) : HashValue.Create(database, key, hash, 0, ExpiryClock.Never);
                fields.Set(text, "value"u8, new HashLimits(4, 8));
                break;
            case DataType.Set:
                var limits = new SetLimits(IntegersMax: 4, PackedMax: 4, PackedBytesMax: 8);
                SetValue set = entry.Exists ? SetValue.Open(database, entry, limits) : SetValue.Create(database, key, hash, 0, text, 1, limits);
                set.Add(text);
                break;
            case DataType.SortedSet:
                SortedSetValue sorted = entry.Exists ? new SortedSetValue(database, entry) : SortedSetValue.Create(database, key, hash, entry, packed: false, 0);
                sorted.Set(text, number * 7 % 1_000, SortedSetRule.Always, new SortedSetLimits(4, 8), out _);
                break;
            case DataType.List:
                ListValue list = entry.Exists ? new ListValue(database, entry, Lists) : ListValue.Create(database, key, hash, Lists, 0);
                list.PrepareFor(text.Length, 1);
                list.PushLast(text);
                break;
            case DataType.VectorSet:
                var form = new VectorSetForm(3, 0, 4, VectorQuantization.Int8);
                VectorSetValue vectors = entry.Exists ? VectorSetValue.Of(database, entry) : VectorSetValue.Create(database, key, hash, 0, form);
                vectors.Add(text, [number % 7, number % 11, 1], effort: 4, "attributes"u8, keepsAttributes: false);
                break;
            case DataType.Array:
                ArrayValue array = entry.Exists ? ArrayValue.Of(database, entry) : ArrayValue.Create(database, key, hash, 0);
                array.Set((ulong)number, text);
                break;
            default:
                StreamValue stream = entry.Exists
                    ? StreamValue.Of(database, entry)
                    : StreamValue.Create(database, database.WriteValue(key, hash, default, new ValueHeader(DataType.Stream, ValueEncoding.Stream, 0), ValueRoot.Bytes, Database.NoExpiry));
                StreamAppender added = stream.Append(new StreamId((ulong)number + 1, 0), 1, text.Length + 1, 4096, 10);
                added.Name("f"u8);
                added.Pair("f"u8, text);
                added.End();
                break;
        }
    }

    private static void RemoveSome(KeyStore store, byte[] key, DataType type, int next)
    {
        Database database = store.Databases[0];
        Entry entry = Find(store, key);
        switch (type)
        {
            case DataType.List:
                new ListValue(database, entry, Lists).Remove(100, 300);
                return;
            case DataType.Stream:
                StreamValue.Of(database, entry).Trim(new StreamTrimming { ByLength = true, LengthMax = StreamValue.Of(database, entry).Length - 300 });
                return;
        }

        for (int i = 0; i < next; i += 3)
        {
            if (type == DataType.Hash) HashValue.Open(database, entry, ExpiryClock.Never).Remove(Text(i));
            else if (type == DataType.VectorSet) VectorSetValue.Of(database, entry).Remove(Text(i));
            else if (type == DataType.Array) ArrayValue.Of(database, entry).Remove((ulong)i, (ulong)i);
            else if (type == DataType.Set) SetValue.Open(database, entry, new SetLimits(4, 4, 8)).Remove(Text(i));
            else new SortedSetValue(database, entry).Remove(Text(i));
        }
    }

    private static long Count(KeyStore store, byte[] key)
    {
        Database database = store.Databases[0];
        Entry entry = Find(store, key);
        return entry.Type switch
        {
            DataType.Hash => HashValue.Open(database, entry, ExpiryClock.Never).Count,
            DataType.Set => SetView.Of(database, entry).Count,
            DataType.SortedSet => new SortedSetValue(database, entry).Count,
            DataType.List => new ListValue(database, entry, Lists).Count,
            DataType.VectorSet => VectorSetValue.Of(database, entry).Count,
            DataType.Array => ArrayValue.Of(database, entry).Count,
            _ => StreamValue.Of(database, entry).Length,
        };
    }

    private static byte[] Text(int number) => Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"element:{number * 48_271L % 899_999_963}"));

    private static (int First, int Second) Blocks(KeyStore store) => (store.Stripes[0].Guard!.LiveBlocks, store.Stripes[1].Guard!.LiveBlocks);

    private static long ArenaBytes(KeyStore store) => store.Stripes.Sum(stripe => stripe.Arena.UsedBytes);

    private static void FreeAll(KeyStore store)
    {
        while (Array.Exists(store.Stripes, stripe => stripe.HasDropped))
        {
            foreach (Stripe stripe in store.Stripes) stripe.FreeDroppedSlice();
        }
    }

    private static byte[] KeyIn(KeyStore store, int stripe, string prefix = "key ")
    {
        for (int i = 0; ; i++)
        {
            byte[] key = Encoding.ASCII.GetBytes($"{prefix}{i}");
            if (store.StripeOf(store.Hash(key)) == stripe) return key;
        }
    }

    private static Entry Find(KeyStore store, byte[] key) => store.Databases[0].Find(key, store.Hash(key), ExpiryClock.Never);
}
