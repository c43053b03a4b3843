using RedKite.Differential.Tests.Generators;

namespace RedKite.Differential.Tests.Streams;

/// <summary>Generates one command: its name for reports, its weight, and its arguments.</summary>
internal sealed record CommandTemplate(string Name, int Weight, Func<RandomSource, Episode> Generate);

/// <summary>The templates of one command family, in that family's file.</summary>
internal sealed record CommandFamily(string Name, CommandTemplate[] Templates);

/// <summary>All families. A new family is a file in Generators and a row here.</summary>
internal static class CommandTable
{
    public static readonly CommandFamily[] Families = [.. Mixed, BlockingGenerator.Family, TransactionGenerator.Family, VectorSetGenerator.Family];

    /// <summary>Those that a stream of all families takes. Transactions would wrap what is compared by more than its bytes.</summary>
    public static CommandFamily[] Mixed =>
    [
        StringGenerator.Family,
        BitmapGenerator.Family,
        HyperLogLogGenerator.Family,
        SetGenerator.Family,
        SortedSetGenerator.Family,
        GeoGenerator.Family,
        ListGenerator.Family,
        SortGenerator.Family,
        EntryStreamGenerator.Family,
        HashGenerator.Family,
        FieldExpiryGenerator.FarExpiries,
        KeyGenerator.Family,
        DumpGenerator.Family,
        ScriptGenerator.Family,
        ConnectionGenerator.Family,
        ServerGenerator.Family,
    ];
}
