using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Keyspace;

public unsafe class EntryBlockTests
{
    public static TheoryData<int, int, bool> Forms()
    {
        var forms = new TheoryData<int, int, bool>();
        foreach (int keyLength in new[] { 0, 1, 2, 17, 254, 255, 256, 257, 1_023, 1_024, 1_025, 70_000 })
        {
            foreach (int valueLength in new[] { 0, 1, 44, 65_534, 65_535, 65_536, 262_143, 262_144, 1_000_000 })
            {
                forms.Add(keyLength, valueLength, false);
                forms.Add(keyLength, valueLength, true);
            }
        }

        return forms;
    }

    [Theory]
    [MemberData(nameof(Forms))]
    public void Written_values_read_back(int keyLength, int valueLength, bool expires)
    {
        var random = new Random(keyLength + valueLength);
        byte[] key = random.Bytes(keyLength);
        byte[] value = random.Bytes(valueLength);
        using var guard = new ArenaGuard();
        long used = 0;
        long bytes = EntryBlock.BytesFor(keyLength, valueLength, expires);
        byte* block = guard.Allocate(bytes, ref used);
        EntryBlock.Initialize(block, new ValueHeader(DataType.Stream, ValueEncoding.Raw, 0xABCDEF), keyLength, valueLength, expires, epoch: 0);
        if (expires) EntryBlock.WriteExpiry(block, 0x0123456789ABCDEF);
        key.CopyTo(new Span<byte>(EntryBlock.KeyStart(block), keyLength));
        value.CopyTo(EntryBlock.Value(block));

        AssertHolds(block, key, value, DataType.Stream, ValueEncoding.Raw, 0xABCDEF, expires ? 0x0123456789ABCDEF : null);
        EntryBlock.SetAccessClock(block, 0x123456);
        EntryBlock.SetEncoding(block, ValueEncoding.Integer);
        AssertHolds(block, key, value, DataType.Stream, ValueEncoding.Integer, 0x123456, expires ? 0x0123456789ABCDEF : null);
        EntryBlock.SetAccessClock(block, 0x123456);
        AssertHolds(block, key, value, DataType.Stream, ValueEncoding.Integer, 0x123456, expires ? 0x0123456789ABCDEF : null);
        Assert.Equal(bytes, EntryBlock.Bytes(block));
        Assert.Equal(BlockSize.RoundUp(bytes), EntryBlock.Capacity(block));

        if (EntryBlock.IsLong(block))
        {
            EntryBlock.MarkExpires(block, true);
            EntryBlock.WriteExpiry(block, 77);
            AssertHolds(block, key, value, DataType.Stream, ValueEncoding.Integer, 0x123456, 77);
            EntryBlock.MarkExpires(block, false);
            AssertHolds(block, key, value, DataType.Stream, ValueEncoding.Integer, 0x123456, null);
        }

        guard.Check();
        long size = EntryBlock.Bytes(block);
        guard.Free(block, size, ref used);
    }

    [Theory]
    [InlineData(10, 100, 50)]
    [InlineData(10, 100, 65_535)]
    [InlineData(10, 100, 0)]
    [InlineData(300, 100, 200_000)]
    [InlineData(300, 100_000, 1)]
    public void Value_length_changes_within_its_form(int keyLength, int valueLength, int newLength)
    {
        using var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(EntryBlock.BytesFor(keyLength, Math.Max(valueLength, newLength), true), ref used);
        EntryBlock.Initialize(block, new ValueHeader(DataType.String, ValueEncoding.Raw, 1), keyLength, valueLength, true, epoch: 0);
        EntryBlock.WriteExpiry(block, 5);
        EntryBlock.WriteValueLength(block, newLength);
        Assert.Equal(newLength, EntryBlock.ValueLength(block));
        Assert.Equal(keyLength, EntryBlock.KeyLength(block));
        Assert.Equal(5, EntryBlock.Expiry(block));
        guard.Check();
        guard.Free(block, EntryBlock.BytesFor(keyLength, Math.Max(valueLength, newLength), true), ref used);
    }

    [Theory]
    [InlineData(262_143, 3, 3, false)]
    [InlineData(262_144, 3, 3, true)]
    [InlineData(262_144, 0, 1_024, true)]
    [InlineData(300_000, 1_024, 0, true)]
    [InlineData(300_000, 1_025, 3, false)]
    [InlineData(300_000, 3, 1_025, false)]
    [InlineData(100, 300, 3, false)]
    public void Large_value_stays_where_it_is_under_another_key(int valueLength, int keyLength, int newKeyLength, bool fits)
    {
        var random = new Random(valueLength + keyLength);
        byte[] newKey = random.Bytes(newKeyLength);
        byte[] value = random.Bytes(valueLength);
        using var guard = new ArenaGuard();
        long used = 0;
        byte* block = guard.Allocate(EntryBlock.BytesFor(keyLength, valueLength, false), ref used);
        EntryBlock.Initialize(block, new ValueHeader(DataType.String, ValueEncoding.Raw, 5), keyLength, valueLength, false, epoch: 0);
        random.Bytes(keyLength).CopyTo(new Span<byte>(EntryBlock.KeyStart(block), keyLength));
        value.CopyTo(EntryBlock.Value(block));
        Assert.Equal(fits, EntryBlock.CanHoldKey(block, newKeyLength));
        byte* start = EntryBlock.ValueStart(block);
        long bytes = EntryBlock.Bytes(block);
        if (fits)
        {
            EntryBlock.ReplaceKey(block, newKey);
            AssertHolds(block, newKey, value, DataType.String, ValueEncoding.Raw, 5, null);
            Assert.Equal((nint)start, (nint)EntryBlock.ValueStart(block));
            Assert.Equal(bytes, EntryBlock.Bytes(block));
        }

        guard.Check();
        guard.Free(block, bytes, ref used);
    }

    [Fact]
    public void Every_type_encoding_and_clock_fits_its_bits()
    {
        byte* block = stackalloc byte[32];
        foreach (DataType type in Enum.GetValues<DataType>())
        {
            foreach (ValueEncoding encoding in Enum.GetValues<ValueEncoding>())
            {
                foreach (uint clock in new uint[] { 0, 1, 0xFFFFFF })
                {
                    EntryBlock.Initialize(block, new ValueHeader(type, encoding, clock), 3, 4, false, epoch: 0);
                    Assert.Equal((type, encoding, clock), (EntryBlock.Type(block), EntryBlock.Encoding(block), EntryBlock.AccessClock(block)));
                }
            }
        }
    }

    private static void AssertHolds(
        byte* block, byte[] key, byte[] value, DataType type, ValueEncoding encoding, uint clock, long? expiry)
    {
        Assert.True(EntryBlock.Key(block).SequenceEqual(key));
        Assert.True(EntryBlock.Value(block).SequenceEqual(value));
        Assert.Equal(key.Length, EntryBlock.KeyLength(block));
        Assert.Equal(value.Length, EntryBlock.ValueLength(block));
        Assert.Equal((nint)EntryBlock.KeyStart(block) + key.Length, (nint)EntryBlock.ValueStart(block));
        Assert.Equal(key.Length > 255 || value.Length > 65_535, EntryBlock.IsLong(block));
        Assert.Equal((type, encoding, clock), (EntryBlock.Type(block), EntryBlock.Encoding(block), EntryBlock.AccessClock(block)));
        Assert.Equal(expiry.HasValue, EntryBlock.Expires(block));
        if (expiry.HasValue) Assert.Equal(expiry.Value, EntryBlock.Expiry(block));
    }
}
