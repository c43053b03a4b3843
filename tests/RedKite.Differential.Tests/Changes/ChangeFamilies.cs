using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Changes;

/// <summary>The families of commands that streams of changes are drawn from: all that have to do with keys.</summary>
internal static class ChangeFamilies
{
    private static readonly string[] WithoutKeys = [ConnectionGenerator.Family.Name, ServerGenerator.Family.Name];

    private static readonly CommandFamily Databases = new("database",
    [
        new("SELECT", 10, random => Episode.Of("SELECT", random.Below(3))),
        new("SWAPDB", 3, random => Episode.Of("SWAPDB", random.Below(3), random.Below(3))),
        new("FLUSHDB", 1, _ => Episode.Of("FLUSHDB")),
        new("FLUSHALL", 1, _ => Episode.Of("FLUSHALL")),
    ]);

    public static readonly CommandFamily[] All =
    [
        .. CommandTable.Mixed.Where(family => family != FieldExpiryGenerator.FarExpiries && !WithoutKeys.Contains(family.Name)),
        FieldExpiryGenerator.Family,
        Databases,
    ];
}
