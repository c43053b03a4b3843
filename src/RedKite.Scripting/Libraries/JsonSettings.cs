namespace RedKite.Scripting.Libraries;

/// <summary>The settings of the library cjson, which scripts change for later scripts too.</summary>
internal sealed record JsonSettings
{
    internal bool SparseConverts { get; init; }

    internal int SparseRatio { get; init; } = 2;

    internal int SparseSafe { get; init; } = 10;

    internal int EncodeDepthMax { get; init; } = 1000;

    internal int DecodeDepthMax { get; init; } = 1000;

    internal int PrecisionDigits { get; init; } = 14;

    internal bool KeepsBuffer { get; init; } = true;

    /// <summary>0: refuses them, 1: writes them, 2: writes null.</summary>
    internal int EncodeInvalidNumbers { get; init; }

    internal bool DecodeInvalidNumbers { get; init; } = true;

    /// <summary>Whether decoded arrays have a metatable by which they are encoded as arrays again, even if they are empty.</summary>
    internal bool MarksArrays { get; init; }
}
