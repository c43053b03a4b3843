using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Hash commands. The servers' limits are so small that packed hashes become tables all the time.</summary>
internal static class HashGenerator
{
    private static readonly Argument[] FieldPool =
    [
        "a", "b", "c", "f", "f1", "f2", "f3", "f4", "f5", "", "0", "17", "-3", "007", "9223372036854775807", "field with blanks", new string('f', 20), new string('g', 40),
        new byte[] { 0, 1, 255 },
    ];

    public static readonly CommandFamily Family = new("hash",
    [
        new("HSET", 40, d => Episode.Of(["HSET", d.Key(), .. Pairs(d)])),
        new("HMSET", 5, d => Episode.Of(["HMSET", d.Key(), .. Pairs(d)])),
        new("HSET of a new key", 10, Anew),
        new("HSETNX", 8, d => Episode.Of("HSETNX", d.Key(), Field(d), d.Value())),
        new("HGET", 20, d => Episode.Of("HGET", d.Key(), Field(d))),
        new("HMGET", 10, d => Episode.Of(["HMGET", d.Key(), .. d.Several(5, () => Field(d))])),
        new("HDEL", 16, d => Episode.Of(["HDEL", d.Key(), .. d.Several(4, () => Field(d))])),
        new("HEXISTS", 6, d => Episode.Of("HEXISTS", d.Key(), Field(d))),
        new("HLEN", 6, d => Episode.Of("HLEN", d.Key())),
        new("HSTRLEN", 6, d => Episode.Of("HSTRLEN", d.Key(), Field(d))),
        new("HGETALL", 8, d => Episode.Of("HGETALL", d.Key())),
        new("HKEYS", 6, d => Episode.Of("HKEYS", d.Key())),
        new("HVALS", 6, d => Episode.Of("HVALS", d.Key())),
        new("HINCRBY", 10, d => Episode.Of("HINCRBY", d.Key(), Field(d), d.Integer())),
        new("HINCRBY of a number", 6, d => OfNumber(d, "HINCRBY", d.Integer(), d.Integer())),
        new("HINCRBYFLOAT", 10, d => Episode.Of("HINCRBYFLOAT", d.Key(), Field(d), d.Float())),
        new("HINCRBYFLOAT of a number", 8, d => OfNumber(d, "HINCRBYFLOAT", d.Float(), d.Float())),
        new("HRANDFIELD", 8, RandomField),
        new("HSCAN", 10, Scan),
        new("encoding of a hash", 10, d => Episode.Of("OBJECT", "ENCODING", d.Key())),
    ]);

    private static Argument Field(Draw d) => d.Chance(70) ? d.Pick(FieldPool) : d.Below(40);

    private static Argument[] Pairs(Draw d)
    {
        List<Argument> words = [];
        for (int i = d.Chance(70) ? d.Below(3) : d.Below(12); i >= 0; i--) words.AddRange([Field(d), d.Value()]);
        return [.. words];
    }

    // Strings and other types are everywhere: a key that has just gone makes sure that hashes come to be.
    private static Episode Anew(Draw d)
    {
        Argument key = d.Key();
        return Episode.Of("DEL", key).Then(["HSET", key, .. Pairs(d)]).Then("OBJECT", "ENCODING", key);
    }

    private static Episode OfNumber(Draw d, string name, Argument number, Argument increment)
    {
        Argument key = d.Key();
        Argument field = Field(d);
        return Episode.Of("HSET", key, field, number).Then(name, key, field, increment);
    }

    private static Episode RandomField(Draw d)
    {
        List<Argument> words = [d.Word("HRANDFIELD"), d.Key()];
        if (d.Chance(80)) words.Add(d.Chance(85) ? d.Below(24) - 12 : d.Pick<Argument>("abc", "", "1.5", "9223372036854775807", "-9223372036854775808", "4611686018427387904"));
        if (words.Count > 2 && d.Chance(50)) words.Add(d.Chance(90) ? d.Word("WITHVALUES") : d.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode Scan(Draw d)
    {
        // A whole scan in one call, whose result is comparable: cursors in between are the server's own affair.
        List<Argument> words = [d.Word("HSCAN"), d.Key(), d.Chance(90) ? "0" : d.Pick<Argument>("abc", "18446744073709551616", "0x1")];
        if (d.Chance(85)) words.AddRange([d.Word("COUNT"), d.Chance(85) ? "100000" : d.Integer()]);
        if (d.Chance(40)) words.AddRange([d.Word("MATCH"), d.Pattern()]);
        if (d.Chance(5)) words.Add(d.Chance(50) ? d.Word("COUNT", "MATCH", "TYPE") : d.Junk());
        return Episode.Of([.. words]);
    }
}
