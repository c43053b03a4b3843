namespace RedKite.Store.Values.VectorSets;

/// <summary>The limits of vector sets. A search or an addition takes time and memory in proportion to them, with its stripe locked.</summary>
internal static class VectorSetLimits
{
    /// <summary>Of vectors as they are given and as they are stored.</summary>
    internal const int DimensionsMax = 65_536;

    /// <summary>The floats of a projection: 256 MiB.</summary>
    internal const long ProjectionFloatsMax = 64L << 20;

    /// <summary>Those of a projection that VADD makes: 16 MiB. In a transaction, where it is not made in slices, that takes 6 to 9 ms with the vector's request.</summary>
    internal const long NewProjectionFloatsMax = 4L << 20;

    internal const int LinksMin = 4;

    /// <summary>M: a node has so many links on each level, and twice as many on the lowest.</summary>
    internal const int LinksMax = 4096;

    internal const int LinksDefault = 16;

    /// <summary>EF of an addition. A search takes more for the number of elements.</summary>
    internal const int EffortMax = 1_000_000;

    internal const int AddingEffortDefault = 200;

    internal const int SearchEffortDefault = 100;

    internal const int CountDefault = 10;

    /// <summary>What linking an element, or removing it, reads of other vectors with the stripe locked: about 10 ms. With the defaults, vectors of 1,536 floats take 40 MiB.</summary>
    internal const long ChangeBytesMax = 64L << 20;

    /// <summary>Levels above the lowest one.</summary>
    internal const int LevelMax = 15;

    /// <summary>Elements of one set; their numbers are 31 bits.</summary>
    internal const int ElementsMax = 1 << 30;
}
