using System.Buffers.Binary;
using System.Globalization;
using RedKite.Store.Keyspace;

namespace RedKite.Store.Values.Strings;

/// <summary>
/// The checks of PFSELFTEST: registers don't overwrite each other, and a value that starts sparse always has the same registers as
/// one that starts dense, with an estimate close to the true number.
/// </summary>
internal static class HyperLogLogSelfTest
{
    private const int RegisterRounds = 20;
    private const int Elements = 100_000;
    private const int SparseBytesMax = 3_000;

    // Four standard errors of 1.04 / sqrt(16,384), which no estimate of these elements leaves.
    private const double ErrorMax = 4 * 1.04 / 128;

    /// <summary>Null if all checks pass, otherwise the failure.</summary>
    internal static string? Run() => TestRegisters() ?? TestEstimates();

    private static string? TestRegisters()
    {
        byte[] registers = new byte[DenseRegisters.Bytes];
        byte[] expected = new byte[HyperLogLog.Registers];
        byte[] spread = new byte[HyperLogLog.Registers];
        var random = new Random(1);
        for (int round = 0; round < RegisterRounds; round++)
        {
            for (int i = 0; i < expected.Length; i++)
            {
                int rank = random.Next(HyperLogLog.Ranks);
                expected[i] = Math.Max(expected[i], (byte)rank);
                DenseRegisters.Raise(registers, i, rank);
            }

            spread.AsSpan().Clear();
            DenseRegisters.MergeInto(registers, spread);
            for (int i = 0; i < expected.Length; i++)
            {
                int rank = DenseRegisters.Get(registers, i);
                if (rank != expected[i] || spread[i] != rank) return Text($"Register {i} should be {expected[i]} but is {rank}");
            }

            if (random.Next(4) > 0) continue;
            registers.AsSpan().Clear();
            expected.AsSpan().Clear();
        }

        return null;
    }

    private static string? TestEstimates()
    {
        using var keyspace = new Keyspace.Keyspace(1, 1);
        Database database = keyspace.Databases[0];
        ulong sparseHash = Write(keyspace, database, "sparse"u8);
        ulong denseHash = Write(keyspace, database, "dense"u8);
        var sparse = new HyperLogLogValue(database, database.Find("sparse"u8, sparseHash, ExpiryClock.Never), SparseBytesMax);
        var dense = new HyperLogLogValue(database, database.Find("dense"u8, denseHash, ExpiryClock.Never), SparseBytesMax);
        dense.TryMakeDense();
        Span<byte> element = stackalloc byte[8];
        int checkAt = 1;
        for (int count = 1; count <= Elements; count++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(element, count * 0x9E3779B9L);
            if (sparse.Add(element) != dense.Add(element)) return Text($"element {count} changed only one form");
            if (count < checkAt) continue;
            checkAt *= 10;
            HyperLogLogValue.TryCount(sparse.Entry.Value, out long ofSparse, out _);
            HyperLogLogValue.TryCount(dense.Entry.Value, out long ofDense, out _);
            if (ofSparse != ofDense) return Text($"dense/sparse disagree: {ofDense} and {ofSparse} after {count} elements");
            if (Math.Abs(ofDense - count) > Math.Ceiling(ErrorMax * count)) return Text($"Too big error. card:{count} estimate:{ofDense}");
        }

        return null;
    }

    private static ulong Write(Keyspace.Keyspace keyspace, Database database, ReadOnlySpan<byte> key)
    {
        ulong hash = keyspace.Hash(key);
        Entry entry = database.WriteString(key, hash, default, HyperLogLog.Empty.Length, ValueEncoding.Raw, Database.NoExpiry, 0);
        HyperLogLog.Empty.CopyTo(entry.Value);
        return hash;
    }

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
