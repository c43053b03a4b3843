namespace RedKite.Store.Values.VectorSets;

/// <summary>How the components of a set's vectors are stored, numbered as in Redis's RDB format.</summary>
internal enum VectorQuantization
{
    /// <summary>As floats.</summary>
    None = 0,

    /// <summary>As signed bytes: 127 stands for the vector's largest component.</summary>
    Int8 = 1,

    /// <summary>As their signs.</summary>
    Binary = 2,
}
