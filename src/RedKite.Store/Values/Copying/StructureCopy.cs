namespace RedKite.Store.Values.Copying;

/// <summary>The copy of a value's blocks, step by step.</summary>
internal interface IStructureCopy
{
    /// <summary>Copies the next part, in about a microsecond. After any step, what is copied can be freed as a value of its type.</summary>
    /// <returns>Whether something is left.</returns>
    bool Step();

    /// <summary>Frees the parts that do not belong to the structure yet; the rest is freed as a value.</summary>
    void DiscardOpenBlock();
}

/// <summary>
/// The copy of a value's structure in steps of about a microsecond, whatever its type (<see cref="StoredType.BeginCopy"/>). The source must not change between
/// the first step and the last.
/// </summary>
internal abstract class StructureCopy(ValueRoot root)
{
    /// <summary>The copy's root, for good from the start.</summary>
    internal ValueRoot Root { get; } = root;

    /// <inheritdoc cref="IStructureCopy.Step"/>
    internal abstract bool Step();

    /// <inheritdoc cref="IStructureCopy.DiscardOpenBlock"/>
    internal abstract void DiscardOpenBlock();

    /// <summary>A copy whose root is known.</summary>
    internal static StructureCopy Of<TCopy>(ValueRoot root, TCopy copy)
        where TCopy : struct, IStructureCopy => new CopyOf<TCopy>(root, copy);

    private sealed class CopyOf<TCopy>(ValueRoot root, TCopy copy) : StructureCopy(root)
        where TCopy : struct, IStructureCopy
    {
#pragma warning disable IDE0044 // Its methods change it; of a readonly field they would change a copy.
        private TCopy _copy = copy;
#pragma warning restore IDE0044

        internal override bool Step() => _copy.Step();

        internal override void DiscardOpenBlock() => _copy.DiscardOpenBlock();
    }
}
