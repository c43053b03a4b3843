using RedKite.Store.Keyspace;

namespace RedKite.Store.Values.Strings;

/// <summary>The outcome of raising a register.</summary>
internal enum RegisterChange
{
    /// <summary>It was already as high.</summary>
    None,

    /// <summary>It was raised.</summary>
    Raised,

    /// <summary>The value's runs do not reach it: the value is corrupt.</summary>
    Corrupt,
}

/// <summary>
/// A string that has the form of a HyperLogLog, as commands change it: sparse while that is short enough, then dense.
/// The entry may move; <see cref="Entry"/> is the one of now.
/// </summary>
internal ref struct HyperLogLogValue
{
    private readonly Database _database;
    private readonly long _sparseBytesMax;
    private SparsePosition _passed = SparsePosition.Start;
    private int _lastRaised = -1;

    /// <param name="database">The entry's database.</param>
    /// <param name="entry">An entry whose value has the form (<see cref="HyperLogLog.HasForm"/>).</param>
    /// <param name="sparseBytesMax">How many bytes, the header included, a sparse value may grow to.</param>
    internal HyperLogLogValue(Database database, Entry entry, long sparseBytesMax)
    {
        _database = database;
        _sparseBytesMax = sparseBytesMax;
        Entry = entry;
    }

    internal Entry Entry { get; private set; }

    internal readonly bool IsDense => HyperLogLog.IsDense(Entry.Value);

    private readonly Span<byte> Registers => Entry.Value[HyperLogLog.HeaderBytes..];

    /// <summary>Counts an element.</summary>
    internal RegisterChange Add(scoped ReadOnlySpan<byte> element) => Raise(HyperLogLog.RegisterOf(element, out int rank), rank);

    /// <summary>Sets a register to a rank if that is higher. In a sparse value ascending registers are found at once.</summary>
    internal RegisterChange Raise(int register, int rank)
    {
        if (!IsDense) return RaiseSparse(register, rank);
        if (!DenseRegisters.Raise(Registers, register, rank)) return RegisterChange.None;
        HyperLogLog.MarkStale(Entry.Value);
        return RegisterChange.Raised;
    }

    /// <summary>Sets all registers to the spread ones (a byte each), none of which is lower.</summary>
    internal void RaiseAll(scoped ReadOnlySpan<byte> spread)
    {
        for (int register = 0; register < spread.Length && !IsDense; register++)
        {
            if (spread[register] > 0) RaiseSparse(register, spread[register]);
        }

        if (IsDense) DenseRegisters.Pack(spread, Registers);
        HyperLogLog.MarkStale(Entry.Value);
    }

    /// <summary>Makes the value dense; false if it is corrupt, and then it stays as it is.</summary>
    internal bool TryMakeDense()
    {
        if (IsDense) return true;
        Span<byte> spread = stackalloc byte[HyperLogLog.Registers];
        spread.Clear();
        if (!SparseRegisters.TryMergeInto(Registers, spread)) return false;
        Entry = _database.ResizeValue(Entry, HyperLogLog.DenseBytes);
        HyperLogLog.MarkDense(Entry.Value);
        DenseRegisters.Pack(spread, Registers);
        return true;
    }

    /// <summary>The cardinality, recomputed if necessary; false if the value is corrupt.</summary>
    /// <param name="value">The value's bytes; the count is noted in them.</param>
    /// <param name="cardinality">The cardinality.</param>
    /// <param name="counted">Whether it was recomputed.</param>
    internal static bool TryCount(Span<byte> value, out long cardinality, out bool counted)
    {
        counted = !HyperLogLog.TryCached(value, out cardinality);
        if (!counted) return true;
        Span<int> histogram = stackalloc int[HyperLogLog.Ranks];
        if (HyperLogLog.IsDense(value)) CountDense(value, histogram);
        else if (!SparseRegisters.TryCountRanks(value[HyperLogLog.HeaderBytes..], histogram)) return false;
        cardinality = HyperLogLog.Estimate(histogram);
        HyperLogLog.Cache(value, cardinality);
        return true;
    }

    /// <summary>Raises each of the spread registers (a byte each) to this value's; false if the value is corrupt.</summary>
    /// <param name="value">The value's bytes.</param>
    /// <param name="spread">The registers.</param>
    /// <param name="isFirst">Whether nothing was merged before: the registers' contents are overwritten.</param>
    internal static bool TryMergeInto(ReadOnlySpan<byte> value, Span<byte> spread, bool isFirst)
    {
        ReadOnlySpan<byte> registers = value[HyperLogLog.HeaderBytes..];
        if (!HyperLogLog.IsDense(value))
        {
            if (isFirst) spread.Clear();
            return SparseRegisters.TryMergeInto(registers, spread);
        }

        if (isFirst) DenseRegisters.Spread(registers, spread);
        else DenseRegisters.MergeInto(registers, spread);
        return true;
    }

    private static void CountDense(ReadOnlySpan<byte> value, Span<int> histogram)
    {
        Span<byte> spread = stackalloc byte[HyperLogLog.Registers];
        DenseRegisters.Spread(value[HyperLogLog.HeaderBytes..], spread);
        DenseRegisters.CountRanks(spread, histogram);
    }

    private RegisterChange RaiseSparse(int register, int rank)
    {
        if (rank > SparseRegisters.RankMax) return RaiseAsDense(register, rank);
        SparsePosition before = register > _lastRaised ? _passed : SparsePosition.Start;
        if (!SparseRegisters.TryFind(Registers, register, ref before, out SparsePosition position, out SparseRun run)) return RegisterChange.Corrupt;
        if (run.Rank >= rank) return RegisterChange.None;
        Span<byte> replacement = stackalloc byte[SparseRegisters.ReplacementBytesMax];
        replacement = replacement[..SparseRegisters.WriteReplacement(run, register - position.First, rank, replacement)];
        int growth = replacement.Length - run.Bytes;
        if (growth > 0 && Entry.Value.Length + growth > _sparseBytesMax) return RaiseAsDense(register, rank);

        Replace(position.At, run.Bytes, replacement);
        int joined = SparseRegisters.Join(Registers, Math.Max(0, position.Before));
        if (joined > 0) Entry = _database.ResizeValue(Entry, Entry.Value.Length - joined);
        HyperLogLog.MarkStale(Entry.Value);

        // Everything before the previous run stays in place, so the search for a higher register continues from there.
        _passed = before == position ? SparsePosition.Start : before;
        _lastRaised = register;
        return RegisterChange.Raised;
    }

    private RegisterChange RaiseAsDense(int register, int rank)
    {
        if (!TryMakeDense()) return RegisterChange.Corrupt;
        return Raise(register, rank);
    }

    // Replaces a run by other bytes.
    private void Replace(int at, int oldLength, scoped ReadOnlySpan<byte> replacement)
    {
        int length = Entry.Value.Length;
        int growth = replacement.Length - oldLength;
        if (growth > 0) Entry = _database.ResizeValue(Entry, length + growth);
        Span<byte> runs = Registers;
        int end = length - HyperLogLog.HeaderBytes;
        runs[(at + oldLength)..end].CopyTo(runs[(at + replacement.Length)..]);
        replacement.CopyTo(runs[at..]);
        if (growth < 0) Entry = _database.ResizeValue(Entry, length + growth);
    }
}
