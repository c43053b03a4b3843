using RedKite.Store.Keyspace;
using RedKite.Store.Values.Strings;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>HyperLogLogs on guarded memory against an array of registers.</summary>
public class HyperLogLogValueTests
{
    [Fact]
    public void Sparse_and_dense_values_have_the_raised_registers() => Randomness.Run(random =>
    {
        foreach (int sparseBytesMax in (int[])[0, 20, 40, 200, 3_000, int.MaxValue])
        {
            using var test = new TestValue();
            HyperLogLogValue value = test.Open(sparseBytesMax);
            byte[] model = new byte[HyperLogLog.Registers];
            int near = random.Next(HyperLogLog.Registers - 40);
            for (int i = 0; i < 1_500; i++)
            {
                // Adjacent registers, so that runs merge, and some far away.
                int register = random.Next(3) > 0 ? near + random.Next(40) : random.Next(HyperLogLog.Registers);
                int rank = random.Next(200) == 0 ? random.Next(33, 52) : random.Next(1, 5);
                bool raises = rank > model[register];
                Assert.Equal(raises ? RegisterChange.Raised : RegisterChange.None, value.Raise(register, rank));
                model[register] = Math.Max(model[register], (byte)rank);
                Assert.True(value.IsDense || value.Entry.Value.Length <= Math.Max(sparseBytesMax, HyperLogLog.Empty.Length));
                if (i % 50 == 0) AssertRegisters(model, value.Entry.Value);
            }

            AssertRegisters(model, value.Entry.Value);
            test.Store.CheckGuards();
        }
    });

    [Fact]
    public void Dense_registers_are_packed_and_merged_alike_on_every_processor() => Randomness.Run(random =>
    {
        byte[] first = [.. Enumerable.Range(0, HyperLogLog.Registers).Select(_ => (byte)random.Next(64))];
        byte[] second = [.. Enumerable.Range(0, HyperLogLog.Registers).Select(_ => (byte)random.Next(64))];
        byte[] packed = new byte[DenseRegisters.Bytes], packedNarrow = new byte[DenseRegisters.Bytes];
        byte[] spread = new byte[HyperLogLog.Registers];
        DenseRegisters.Pack(first, packed);
        DenseRegisters.PackNarrow(first, packedNarrow);
        Assert.Equal(packed, packedNarrow);
        for (int i = 0; i < HyperLogLog.Registers; i++) Assert.Equal(first[i], DenseRegisters.Get(packed, i));

        DenseRegisters.Spread(packed, spread);
        Assert.Equal(first, spread);
        DenseRegisters.MergeNarrow(packed, spread, raises: false);
        Assert.Equal(first, spread);

        byte[] higher = [.. first.Zip(second, Math.Max)];
        second.CopyTo(spread, 0);
        DenseRegisters.MergeInto(packed, spread);
        Assert.Equal(higher, spread);
        second.CopyTo(spread, 0);
        DenseRegisters.MergeNarrow(packed, spread, raises: true);
        Assert.Equal(higher, spread);
    });

    [Fact]
    public void Ascending_writes_give_the_same_bytes_as_reopening() => Randomness.Run(random =>
    {
        for (int round = 0; round < 60; round++)
        {
            using var ascending = new TestValue();
            using var reopened = new TestValue();
            HyperLogLogValue value = ascending.Open(int.MaxValue);
            HyperLogLogValue other = reopened.Open(int.MaxValue);
            for (int i = 0; i < 2; i++)
            {
                byte[] spread = new byte[HyperLogLog.Registers];
                int start = random.Next(1_000);
                for (int register = start; register < start + 300; register++) spread[register] = (byte)(random.Next(3) == 0 ? 0 : random.Next(1, 4));
                for (int register = 0; register < spread.Length; register++)
                {
                    if (spread[register] > 0) new HyperLogLogValue(reopened.Database, reopened.Find(), int.MaxValue).Raise(register, spread[register]);
                }

                value = ascending.Open(int.MaxValue);
                value.RaiseAll(spread);
                other = reopened.Open(int.MaxValue);
                Assert.Equal(other.Entry.Value.ToArray(), value.Entry.Value.ToArray());
            }
        }
    });

    [Fact]
    public void Registers_of_both_forms_give_the_same_count() => Randomness.Run(random =>
    {
        using var test = new TestValue();
        HyperLogLogValue value = test.Open(3_000);
        for (int i = 0; i < 500; i++) value.Add(random.Bytes(random.Next(1, 30)));
        Assert.False(value.IsDense);
        Assert.True(HyperLogLogValue.TryCount(value.Entry.Value, out long sparse, out bool counted) && counted);
        Assert.True(HyperLogLogValue.TryCount(value.Entry.Value, out long cached, out counted) && !counted);
        Assert.Equal(sparse, cached);
        Assert.InRange(sparse, 470, 530);
        Assert.True(value.TryMakeDense());
        HyperLogLog.MarkStale(value.Entry.Value);
        Assert.True(HyperLogLogValue.TryCount(value.Entry.Value, out long dense, out _));
        Assert.Equal(sparse, dense);
    });

    [Fact]
    public void Corrupt_runs_are_refused_without_harm() => Randomness.Run(random =>
    {
        Span<byte> spread = stackalloc byte[HyperLogLog.Registers];
        Span<int> histogram = stackalloc int[HyperLogLog.Ranks];
        for (int i = 0; i < 3_000; i++)
        {
            using var test = new TestValue();
            HyperLogLogValue value = test.Open(random.Pick(30, 100, 3_000));
            for (int count = random.Next(30); count > 0; count--) value.Raise(random.Next(HyperLogLog.Registers), random.Next(1, 33));
            if (value.IsDense) continue;
            Entry entry = test.Database.ResizeValue(value.Entry, random.Next(HyperLogLog.HeaderBytes, value.Entry.Value.Length + 4));
            for (int flips = random.Next(4); flips > 0 && entry.Value.Length > HyperLogLog.HeaderBytes; flips--)
            {
                entry.Value[random.Next(HyperLogLog.HeaderBytes, entry.Value.Length)] = (byte)random.Next(256);
            }

            spread.Clear();
            bool merged = HyperLogLogValue.TryMergeInto(entry.Value, spread, isFirst: false);
            Assert.Equal(merged, SparseRegisters.TryCountRanks(entry.Value[HyperLogLog.HeaderBytes..], histogram));
            value = test.Open(random.Pick(30, 100, 3_000));
            for (int count = 0; count < 10; count++) value.Raise(random.Next(HyperLogLog.Registers), random.Next(1, 52));
            if (!merged) Assert.False(value.IsDense);
            test.Store.CheckGuards();
        }
    });

    [Fact]
    public void Self_test_passes() => Assert.Null(HyperLogLogSelfTest.Run());

    [Fact]
    public void Dense_registers_survive_unpacking_and_packing() => Randomness.Run(random =>
    {
        byte[] registers = random.Bytes(DenseRegisters.Bytes);
        byte[] spread = random.Bytes(HyperLogLog.Registers);
        DenseRegisters.Spread(registers, spread);
        for (int i = 0; i < spread.Length; i++) Assert.Equal(spread[i], DenseRegisters.Get(registers, i));
        byte[] packed = new byte[DenseRegisters.Bytes];
        DenseRegisters.Pack(spread, packed);
        Assert.Equal(registers, packed);
    });

    [Fact]
    public void Ranks_are_counted_for_any_distribution() => Randomness.Run(random =>
    {
        int[] histogram = new int[HyperLogLog.Ranks];
        for (int lowest = 0; lowest < HyperLogLog.Ranks; lowest++)
        {
            byte[] spread = new byte[HyperLogLog.Registers];
            int kinds = random.Next(1, HyperLogLog.Ranks - lowest + 1);
            for (int i = 0; i < spread.Length; i++) spread[i] = (byte)random.Next(lowest, lowest + kinds);
            DenseRegisters.CountRanks(spread, histogram);
            for (int rank = 0; rank < histogram.Length; rank++) Assert.Equal(spread.Count(register => register == rank), histogram[rank]);
        }
    });

    [Theory]
    [InlineData(1)]
    [InlineData(60)]
    public void First_merge_overwrites_the_buffer(int registers) => Randomness.Run(random =>
    {
        using var test = new TestValue();
        HyperLogLogValue value = test.Open(30);
        byte[] model = new byte[HyperLogLog.Registers];
        for (int i = 0; i < registers; i++)
        {
            int register = random.Next(HyperLogLog.Registers);
            int rank = random.Next(1, 33);
            value.Raise(register, rank);
            model[register] = (byte)Math.Max(model[register], rank);
        }

        Assert.Equal(registers > 1, value.IsDense);
        byte[] spread = random.Bytes(HyperLogLog.Registers);
        Assert.True(HyperLogLogValue.TryMergeInto(value.Entry.Value, spread, isFirst: true));
        Assert.Equal(model, spread);
    });

    private static void AssertRegisters(byte[] model, ReadOnlySpan<byte> value)
    {
        byte[] spread = new byte[HyperLogLog.Registers];
        Assert.True(HyperLogLogValue.TryMergeInto(value, spread, isFirst: false));
        Assert.Equal(model, spread);
    }

    private sealed class TestValue : IDisposable
    {
        private readonly ulong _hash;

        internal TestValue()
        {
            _hash = Store.Hash("key"u8);
            HyperLogLog.Empty.CopyTo(Database.WriteString("key"u8, _hash, default, HyperLogLog.Empty.Length, ValueEncoding.Raw, Database.NoExpiry, 0).Value);
        }

        internal KeyStore Store { get; } = new(1, 1, guarded: true);

        internal Database Database => Store.Databases[0];

        internal Entry Find() => Database.Find("key"u8, _hash, ExpiryClock.Never);

        internal HyperLogLogValue Open(long sparseBytesMax) => new(Database, Find(), sparseBytesMax);

        public void Dispose() => Store.Dispose();
    }
}
