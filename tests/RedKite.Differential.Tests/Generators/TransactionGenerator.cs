using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Transactions of several clients over the same few keys. Inside are commands whose replies are determined to the byte, because
/// EXEC's reply is compared as a whole.
/// </summary>
internal static class TransactionGenerator
{
    private static readonly string[] Undetermined = ["RAND", "SCAN", "TTL", "EXPIRETIME", "SPOP", "MEMORY", "OBJECT", "DEBUG", "CONFIG", "SINTER", "SUNION", "SDIFF", "SMEMBERS", "IDLETIME", "HELLO"];

    private static readonly CommandTemplate[] Inside =
    [
        .. new[] { StringGenerator.Family, ListGenerator.Family, BitmapGenerator.Family, SortedSetGenerator.Family, HyperLogLogGenerator.Family }
            .SelectMany(family => family.Templates)
            .Where(template => !Undetermined.Any(word => template.Name.Contains(word, StringComparison.Ordinal))),
    ];

    public static readonly CommandFamily Family = new("transactions",
    [
        new("MULTI", 160, random => Episode.Of(random.Word("MULTI"))),
        new("EXEC", 150, random => Episode.Of(random.Word("EXEC"))),
        new("DISCARD", 20, _ => Episode.Of("DISCARD")),
        new("WATCH", 120, random => Episode.Of(["WATCH", random.Key(), .. random.Several(2, random.Key)])),
        new("UNWATCH", 15, _ => Episode.Of("UNWATCH")),
        new("SELECT", 25, random => Episode.Of("SELECT", random.Chance(90) ? "0" : "1")),
        new("SWAPDB", 6, _ => Episode.Of("SWAPDB", "0", "1")),
        new("FLUSHDB", 6, _ => Episode.Of("FLUSHDB")),
        new("DEL", 40, random => Episode.Of("DEL", random.Key())),
        new("RENAME", 15, random => Episode.Of("RENAME", random.Key(), random.Key())),
        new("BLPOP", 15, random => Episode.Of("MULTI").Then("BLPOP", "nosuch", "0").Then("EXEC")),
        new("RESET", 4, _ => Episode.Of("RESET")),
        new("HELLO", 8, random => Episode.Of("RESET").Then("HELLO", random.Chance(50) ? "2" : "3")), // inside, its reply tells the servers apart
        new("inside", 900, random => Inside[random.Below(Inside.Length)].Generate(random)),
    ]);
}
