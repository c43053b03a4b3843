namespace RedKite.Scripting.Libraries;

/// <summary>The settings of the library cjson, which scripts change for later scripts too.</summary>
internal sealed class JsonSettings
{
    internal bool SparseConverts { get; set; }

    internal int SparseRatio { get; set; } = 2;

    internal int SparseSafe { get; set; } = 10;

    internal int EncodeDepthMax { get; set; } = 1000;

    internal int DecodeDepthMax { get; set; } = 1000;

    internal int PrecisionDigits { get; set; } = 14;

    internal bool KeepsBuffer { get; set; } = true;

    /// <summary>0: refuses them, 1: writes them, 2: writes null.</summary>
    internal int EncodeInvalidNumbers { get; set; }

    internal bool DecodeInvalidNumbers { get; set; } = true;

    /// <summary>Whether decoded arrays have a metatable by which they are encoded as arrays again, even if they are empty.</summary>
    internal bool MarksArrays { get; set; }
}
