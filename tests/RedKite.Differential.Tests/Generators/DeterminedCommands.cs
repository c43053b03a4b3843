using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Commands of the families whose replies are determined to the byte: transactions and scripts hold these, because what EXEC or a
/// script replies is compared as a whole.
/// </summary>
internal static class DeterminedCommands
{
    private static readonly string[] Undetermined =
    [
        "RAND", "SCAN", "TTL", "EXPIRETIME", "SPOP", "MEMORY", "OBJECT", "DEBUG", "CONFIG", "SINTER", "SUNION", "SDIFF", "SMEMBERS", "IDLETIME", "HELLO", "COMMAND",
        "HGETALL", "HKEYS", "HVALS", "KEYS", "XINFO", "XPENDING", "XADD *", "soon", "expired", "encoding", "other",
    ];

    private static readonly CommandTemplate[] Templates =
    [
        .. new[]
        {
            StringGenerator.Family, ListGenerator.Family, BitmapGenerator.Family, SortedSetGenerator.Family, HyperLogLogGenerator.Family, SetGenerator.Family,
            HashGenerator.Family, FieldExpiryGenerator.FarExpiries, GeoGenerator.Family, SortGenerator.Family, EntryStreamGenerator.Family, KeyGenerator.Family,
        }
            .SelectMany(family => family.Templates)
            .Where(template => !Undetermined.Any(word => template.Name.Contains(word, StringComparison.Ordinal))),
    ];

    /// <summary>A command of any family.</summary>
    internal static Argument[] Request(RandomSource random)
    {
        while (true)
        {
            // Left out: many arguments, for which Lua 5.1's compiler has another limit; negative offsets among members by name, and ids
            // from the clock, whose allowed differences are recognized by the command.
            if (Templates[random.Below(Templates.Length)].Generate(random) is { WaitMs: 0, Commands: [{ Length: < 40 } request] } && !request.Any(word => word.AsSpan().SequenceEqual("BYLEX"u8) || word is [(byte)'*']) && !NotCopied.LeavesOut(request))
                return [.. request.Select(word => new Argument(word))];
        }
    }
}
