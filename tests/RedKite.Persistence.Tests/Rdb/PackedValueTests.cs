using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>
/// Packed values are read in one pass: each element was compared with all before it, and what was out of order moved all behind it. A few kilobytes
/// of a compressed payload are a gigabyte of such a value.
/// </summary>
public sealed class PackedValueTests
{
    private const int Long = 1 << 20;
    private const long Later = ValueWorld.NowMs + 100_000;

    // The limits of packed values are six elements (ValueWorld.Limits).
    [Fact]
    public void A_sorted_set_far_out_of_order_becomes_a_table()
    {
        Assert.Equal(ValueEncoding.ListPack, Read(RdbType.SortedSetListPack, Scored(descending: false, Long)));
        Assert.Equal(ValueEncoding.SkipList, Read(RdbType.SortedSetListPack, Scored(descending: true, Long)));
        Assert.Equal(ValueEncoding.ListPack, Read(RdbType.SortedSetListPack, Scored(descending: true, 100)));
    }

    [Fact]
    public void A_hash_far_out_of_the_order_of_its_expiries_becomes_a_table()
    {
        Assert.Equal(ValueEncoding.ListPackEx, Read(RdbType.HashListPackWithExpiriesDraft, Expiring(descending: false, Long)));
        Assert.Equal(ValueEncoding.HashTable, Read(RdbType.HashListPackWithExpiriesDraft, Expiring(descending: true, Long)));
        Assert.Equal(ValueEncoding.ListPackEx, Read(RdbType.HashListPackWithExpiriesDraft, Expiring(descending: true, 100)));
    }

    [Theory]
    [InlineData((int)RdbType.HashListPack, "a 1 b 2 a 3")]
    [InlineData((int)RdbType.HashListPack, "7 1 b 2 7 3")]
    [InlineData((int)RdbType.HashListPackWithExpiriesDraft, "a 1 0 b 2 0 a 3 0")]
    [InlineData((int)RdbType.SortedSetListPack, "a 1 b 2 a 3")]
    [InlineData((int)RdbType.SetListPack, "a b a")]
    [InlineData((int)RdbType.SetListPack, "a b c d e f g a")] // a table
    [InlineData((int)RdbType.HashListPack, "a 1 b 1 c 1 d 1 e 1 f 1 g 1 a 1")]
    public void What_is_named_twice_is_refused(int type, string elements)
    {
        using var world = new ValueWorld { IsStrict = false };
        Assert.Equal(RdbOutcome.Corrupt, world.Read("k", (RdbType)type, Packed([.. elements.Split(' ')])));
        world.AssertEmpty();
    }

    [Fact]
    public void Elements_in_order_move_nothing()
    {
        using var world = new ValueWorld();
        SortedSetLimits limits = ValueWorld.Limits.SortedSet;
        SortedSetValue set = SortedSetValue.Create(world.Database, "z"u8, world.Store.Hash("z"u8), default, packed: true, 0);
        foreach (string member in (string[])["a", "b", "c"]) Assert.Equal(0, set.AddRead(ValueWorld.Bytes(member), 1, limits));
        Assert.Equal(0, set.AddRead("0"u8, 2, limits));
        Assert.InRange(set.AddRead("bb"u8, 1, limits), 1, 64);
        Assert.Equal(5, set.Count);

        HashValue hash = HashValue.Create(world.Database, "h"u8, world.Store.Hash("h"u8), 0, ExpiryClock.RemovingAt(ValueWorld.NowMs));
        hash.ReserveExpiries();
        Assert.Equal(0, hash.AddRead("a"u8, "1"u8, Later, ValueWorld.Limits.Hash));
        Assert.Equal(0, hash.AddRead("b"u8, "1"u8, Later + 1, ValueWorld.Limits.Hash));
        Assert.Equal(0, hash.AddRead("c"u8, "1"u8, 0, ValueWorld.Limits.Hash));
        Assert.Equal(0, hash.AddRead("d"u8, "1"u8, 0, ValueWorld.Limits.Hash));
        Assert.InRange(hash.AddRead("e"u8, "1"u8, Later, ValueWorld.Limits.Hash), 1, 128);
        Assert.Equal(5, hash.Count);
        world.Remove("z");
        world.Remove("h");
    }

    private static ValueEncoding Read(RdbType type, byte[] value)
    {
        using var world = new ValueWorld { IsStrict = false };
        Assert.Equal(RdbOutcome.Loaded, world.Read("k", type, value));
        ValueEncoding encoding = world.Find("k").Encoding;
        (RdbType form, byte[] written) = world.Write("k");
        Assert.Equal(RdbOutcome.Loaded, world.Read("copy", form, written));
        Assert.Equal(world.Describe("k"), world.Describe("copy"));
        world.Remove("k");
        world.Remove("copy");
        world.AssertEmpty();
        return encoding;
    }

    private static byte[] Scored(bool descending, int bytes) =>
        Packed([.. Enumerable.Range(1, 6).SelectMany(i => (string[])[$"{i}{new string('x', bytes)}", $"{(descending ? 10 - i : i)}"])]);

    private static byte[] Expiring(bool descending, int bytes) =>
        Packed([.. Enumerable.Range(1, 6).SelectMany(i => (string[])[$"{i}", new string('x', bytes), $"{Later + (descending ? 10 - i : i)}"])]);

    // As a string of a payload.
    private static byte[] Packed(params string[] elements)
    {
        using var buffer = new NativeBuffer();
        var list = new PackedListWriter(buffer);
        foreach (string element in elements) list.Append(ValueWorld.Bytes(element));
        list.Finish();
        using var output = new RdbOutput { Compresses = true };
        output.String(buffer.Written);
        return output.Written.ToArray();
    }
}
