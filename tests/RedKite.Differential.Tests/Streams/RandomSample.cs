using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// A reply with random members, checked against the value that they were chosen from: the command before it in the same batch
/// lists that value. After SPOP, the members that one server popped are also removed from the other, so that the stream continues
/// with equal data.
/// </summary>
internal static class RandomSample
{
    private static readonly Dictionary<string, string> Listing = new()
    {
        ["SPOP"] = "SMEMBERS",
        ["SRANDMEMBER"] = "SMEMBERS",
        ["HRANDFIELD"] = "HGETALL",
        ["ZRANDMEMBER"] = "ZRANGE",
    };

    // Redis moves the rest to a new set where it is at most this share of what SPOP removes.
    private const int RemainingShare = 5;

    /// <summary>How many replies were checked by all runners, for the report of a run.</summary>
    public static long Checked { get; private set; }

    /// <summary>A command with random members, and the listing before it.</summary>
    public static Episode Of(params Argument[] sample)
    {
        string listing = Listing[Encoding.Latin1.GetString(sample[0].Bytes).ToUpperInvariant()];
        return Episode.Of(listing == "ZRANGE" ? [listing, sample[1], 0, -1, "WITHSCORES"] : [listing, sample[1]]).Then(sample);
    }

    /// <summary>Whether a command chooses at random among what the command before it lists.</summary>
    public static bool Follows(Comparison? before, Comparison sample) =>
        before is not null && Listing.TryGetValue(sample.Name, out string? listing) && before.Name == listing
        && before.Command.Length > 1 && sample.Command.Length > 1 && before.Command[1].AsSpan().SequenceEqual(sample.Command[1]);

    /// <summary>The error in either server's reply; null if there is none.</summary>
    public static string? Check(Comparison listing, Comparison sample)
    {
        Checked++;
        if (sample.Oracle.IsError || sample.Subject.IsError) return sample.Oracle.Equals(sample.Subject) ? null : "one is an error";
        return CheckOne(listing.Oracle, sample, sample.Oracle) is { } oracle ? $"oracle: {oracle}" : CheckOne(listing.Subject, sample, sample.Subject) is { } subject ? $"subject: {subject}" : null;
    }

    /// <summary>The commands that remove from each server the members that only the other one popped.</summary>
    public static (byte[][]? OnOracle, byte[][]? OnSubject) Settle(byte[][] command, RespValue oracle, RespValue subject)
    {
        Comparison sample = new(command, oracle, subject);
        if (sample.Name != "SPOP" || oracle.IsError || subject.IsError) return (null, null);
        return (Remove(Elements(subject), Elements(oracle)), Remove(Elements(oracle), Elements(subject)));

        byte[][]? Remove(List<RespValue> popped, List<RespValue> own)
        {
            byte[][] rest = [.. popped.Where(member => !own.Exists(member.Equals)).Select(member => member.Payload!)];
            return rest.Length == 0 ? null : ["SREM"u8.ToArray(), command[1], .. rest];
        }
    }

    /// <summary>Whether a SPOP took so many members that the rest, if it is small, is moved to a new set, whose encoding depends on which members remain.</summary>
    public static bool MayEncodeAnew(byte[][] command, RespValue oracle) =>
        new Comparison(command, oracle, oracle).Name == "SPOP" && Elements(oracle).Count >= RemainingShare;

    /// <summary>Whether that rest is small enough.</summary>
    public static bool EncodesAnew(RespValue oracle, long remaining) => remaining > 0 && remaining * RemainingShare <= Elements(oracle).Count;

    private static string? CheckOne(RespValue listing, Comparison sample, RespValue reply)
    {
        bool pairs = listing.Marker == '%' || sample.Name is "HRANDFIELD" or "ZRANDMEMBER";
        List<RespValue[]> all = Pairs(listing, pairs);
        if (sample.Command.Length == 2)
        {
            if (all.Count == 0) return reply.IsNull ? null : "there is a member, and the value has none";
            return all.Exists(entry => entry[0].Equals(reply)) ? null : "the member is not in the value";
        }

        if (!long.TryParse(sample.Word(2), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long count)) return "a count that is no number is accepted";
        bool withSecond = sample.Command.Length > 3;
        List<RespValue[]> chosen = Pairs(reply, withSecond);
        long expected = all.Count == 0 ? 0 : count < 0 ? -count : Math.Min(count, all.Count);
        if (chosen.Count != expected) return $"{chosen.Count} members instead of {expected}";
        if (count > 0 && chosen.Select(entry => entry[0].ToString()).Distinct().Count() != chosen.Count) return "a member is there twice";
        HashSet<string> known = [.. all.Select(entry => withSecond ? $"{entry[0]} {entry[1]}" : entry[0].ToString())];
        return chosen.Find(entry => !known.Contains(withSecond ? $"{entry[0]} {entry[1]}" : entry[0].ToString())) is { } unknown
            ? $"{string.Join<RespValue>(' ', unknown)} is not in the value" : null;
    }

    // Pairs are flat, nested (RESP3) or a map.
    private static List<RespValue[]> Pairs(RespValue reply, bool pairs)
    {
        if (!pairs) return [.. reply.Items.Select(item => (RespValue[])[item])];
        if (reply.Items.Count > 0 && reply.Items[0].Marker == '*') return [.. reply.Items.Select(item => (RespValue[])[.. item.Items])];
        return [.. reply.Items.Chunk(2)];
    }

    private static List<RespValue> Elements(RespValue reply) => reply.IsAggregate ? [.. reply.Items] : reply.IsNull ? [] : [reply];
}
