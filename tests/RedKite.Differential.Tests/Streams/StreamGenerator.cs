using System.Text;
using RedKite.Differential.Tests.Generators;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// Turns a seed into a stream: episodes of all families by weight, spread over connections and batches. The same seed and
/// count always produce the same stream.
/// </summary>
internal static class StreamGenerator
{
    public const int Connections = 3;

    private const int DamagePercent = 4;
    private const int BatchStepsMax = 24;

    public static List<Step> Generate(int seed, int count, IReadOnlyList<CommandFamily> families)
    {
        RandomSource random = new(seed);
        CommandTemplate[] templates = [.. families.SelectMany(family => family.Templates)];
        int totalWeight = templates.Sum(template => template.Weight);
        List<Step> steps = new(count);
        while (steps.Count < count)
        {
            int connection = random.Below(Connections);
            int batch = random.Chance(50) ? 1 : 1 + random.Below(BatchStepsMax);
            for (int i = 1; i <= batch; i++)
            {
                Episode episode = PickTemplate(templates, random.Below(totalWeight)).Generate(random);
                if (random.Chance(DamagePercent)) episode = Damage(episode, random);
                if (episode.Commands.Any(NotCopied.LeavesOut)) episode = Episode.Of("PING");
                if (i > 1 && episode.Commands.Any(NotCopied.NeedsSentReplies)) steps[^1] = steps[^1] with { EndsBatch = true };
                bool ends = i == batch || episode.WaitMs > 0 || episode.ClosesConnection || episode.NeedsSettling || episode.Kills is not null;
                steps.Add(new Step(connection, episode, ends));
                if (ends) break;
            }
        }

        return steps;
    }

    private static CommandTemplate PickTemplate(CommandTemplate[] templates, int ticket)
    {
        foreach (CommandTemplate template in templates)
        {
            ticket -= template.Weight;
            if (ticket < 0) return template;
        }

        throw new InvalidOperationException("The ticket exceeds the sum of the weights.");
    }

    /// <summary>
    /// Adds, removes or replaces an argument, or changes the case of the name; leaves the command alone if its reply would not
    /// be determined. Replacements are never a valid short expiry.
    /// </summary>
    internal static Episode Damage(Episode episode, RandomSource random)
    {
        // DEBUG SLEEP takes any duration.
        if (episode.Commands.Count > 1 || episode.ClosesConnection || episode.Kills is not null || episode.NeedsSettling || episode.Commands[0][0].AsSpan().SequenceEqual("DEBUG"u8)) return episode;
        List<byte[]> words = [.. episode.Commands[0]];
        int replaced = 0;
        switch (random.Below(4))
        {
            case 0 when words.Count > 1: words.RemoveAt(words.Count - 1); break;
            case 1: words.Add(random.Junk().Bytes); break;
            case 2 when words.Count > 1:
                replaced = 1 + random.Below(words.Count - 1);
                words[replaced] = random.Junk().Bytes;
                break;
            default: words[0] = Encoding.UTF8.GetBytes(random.ChangeCase(Encoding.UTF8.GetString(words[0]))); break;
        }

        return IsComparable(words, episode.Commands[0], replaced) ? new Episode([[.. words]]) : episode;
    }

    // Whether the reply to a mutated command and the resulting state are determined.
    private static bool IsComparable(List<byte[]> words, byte[][] undamaged, int replaced)
    {
        // Ids from each server's clock would make two streams differ permanently.
        string name = Upper(words[0]);
        bool takesClock = name == "XADD" && words.Exists(word => word is [(byte)'*']);

        // XREAD BLOCK 0 would block forever, and so would others with another timeout or other keys.
        bool waits = (BlockingGenerator.MayBlock(name) && (replaced > 0 || words.Count != undamaged.Length)) || (name == "XREAD" && replaced > 1 && Upper(words[replaced - 1]) == "BLOCK");

        // Two members at the same position have the same distance and no defined order: GEOADD key [options] longitude latitude member ...
        bool sharesPlace = name == "GEOADD" && replaced >= 4 && (words.Count - 1 - replaced) % 3 == 0;

        // Ranges by member are only defined for equal scores, so those sets have keys of their own.
        bool mixesScores = SortedSetGenerator.IsLexicographic(undamaged) && (replaced == 1 || (name == "ZADD" && replaced > 1));
        // Options behind the fields, which Redis 8.0 refuses.
        bool hasOptionAtEnd = words.Count > undamaged.Length && name is "HEXPIRE" or "HPEXPIRE" or "HEXPIREAT" or "HPEXPIREAT" or "HGETEX" or "HSETEX"
            && Upper(words[^1]) is "NX" or "XX" or "GT" or "LT" or "PERSIST" or "FNX" or "FXX" or "KEEPTTL";

        // Settings that one server refuses, because they would have no effect there.
        bool setsLimit = name == "CONFIG" && words.Count > 2 && words.Exists(word => Upper(word) is "MAXMEMORY" or "NOTIFY-KEYSPACE-EVENTS");
        return VectorSetGenerator.IsComparable(name, words) && !setsLimit && !takesClock && !waits && !sharesPlace && !mixesScores && !hasOptionAtEnd;
    }

    private static string Upper(byte[] word) => Encoding.UTF8.GetString(word).ToUpperInvariant();
}
