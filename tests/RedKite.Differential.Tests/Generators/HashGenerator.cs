using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Hash commands. The servers' limits are so small that packed hashes become tables often.</summary>
internal static class HashGenerator
{
    private static readonly Argument[] FieldPool =
    [
        "a", "b", "c", "f", "f1", "f2", "f3", "f4", "f5", "", "0", "17", "-3", "007", "9223372036854775807", "field with blanks", new string('f', 20), new string('g', 40),
        new byte[] { 0, 1, 255 },
    ];

    public static readonly CommandFamily Family = new("hash",
    [
        new("HSET", 40, random => Episode.Of(["HSET", random.Key(), .. Pairs(random)])),
        new("HMSET", 5, random => Episode.Of(["HMSET", random.Key(), .. Pairs(random)])),
        new("HSET of a new key", 10, Recreate),
        new("HSETNX", 8, random => Episode.Of("HSETNX", random.Key(), Field(random), random.Value())),
        new("HGET", 20, random => Episode.Of("HGET", random.Key(), Field(random))),
        new("HMGET", 10, random => Episode.Of(["HMGET", random.Key(), .. random.Several(5, () => Field(random))])),
        new("HDEL", 16, random => Episode.Of(["HDEL", random.Key(), .. random.Several(4, () => Field(random))])),
        new("HEXISTS", 6, random => Episode.Of("HEXISTS", random.Key(), Field(random))),
        new("HLEN", 6, random => Episode.Of("HLEN", random.Key())),
        new("HSTRLEN", 6, random => Episode.Of("HSTRLEN", random.Key(), Field(random))),
        new("HGETALL", 8, random => Episode.Of("HGETALL", random.Key())),
        new("HKEYS", 6, random => Episode.Of("HKEYS", random.Key())),
        new("HVALS", 6, random => Episode.Of("HVALS", random.Key())),
        new("HINCRBY", 10, random => Episode.Of("HINCRBY", random.Key(), Field(random), random.Integer())),
        new("HINCRBY of a number", 6, random => OfNumber(random, "HINCRBY", random.Integer(), random.Integer())),
        new("HINCRBYFLOAT", 10, random => Episode.Of("HINCRBYFLOAT", random.Key(), Field(random), random.Float())),
        new("HINCRBYFLOAT of a number", 8, random => OfNumber(random, "HINCRBYFLOAT", random.Float(), random.Float())),
        new("HRANDFIELD", 8, RandomField),
        new("HSCAN", 10, Scan),
        new("encoding of a hash", 10, random => Episode.Of("OBJECT", "ENCODING", random.Key())),
    ]);

    private static Argument Field(RandomSource random) => random.Chance(70) ? random.Pick(FieldPool) : random.Below(40);

    private static Argument[] Pairs(RandomSource random)
    {
        List<Argument> words = [];
        for (int i = random.Chance(70) ? random.Below(3) : random.Below(12); i >= 0; i--) words.AddRange([Field(random), random.Value()]);
        return [.. words];
    }

    // Most keys hold other types: deleting the key first makes sure that hashes get created.
    private static Episode Recreate(RandomSource random)
    {
        Argument key = random.Key();
        return Episode.Of("DEL", key).Then(["HSET", key, .. Pairs(random)]).Then("OBJECT", "ENCODING", key);
    }

    private static Episode OfNumber(RandomSource random, string name, Argument number, Argument increment)
    {
        Argument key = random.Key();
        Argument field = Field(random);
        return Episode.Of("HSET", key, field, number).Then(name, key, field, increment);
    }

    private static Episode RandomField(RandomSource random)
    {
        List<Argument> words = [random.Word("HRANDFIELD"), random.Key()];
        if (random.Chance(80)) words.Add(random.Chance(85) ? random.Below(24) - 12 : random.Pick<Argument>("abc", "", "1.5", "9223372036854775807", "-9223372036854775808", "4611686018427387904"));
        if (words.Count > 2 && random.Chance(50)) words.Add(random.Chance(90) ? random.Word("WITHVALUES") : random.Junk());
        return RandomSample.Of([.. words]);
    }

    private static Episode Scan(RandomSource random)
    {
        // A complete scan in one call, whose result is comparable; intermediate cursors are specific to the server.
        List<Argument> words = [random.Word("HSCAN"), random.Key(), random.Chance(90) ? "0" : random.Pick<Argument>("abc", "18446744073709551616", "0x1")];
        if (random.Chance(85)) words.AddRange([random.Word("COUNT"), random.Chance(85) ? "100000" : random.Integer()]);
        if (random.Chance(40)) words.AddRange([random.Word("MATCH"), random.Pattern()]);
        if (random.Chance(25)) words.Add(random.Word("NOVALUES"));
        if (random.Chance(5)) words.Add(random.Chance(50) ? random.Word("COUNT", "MATCH", "TYPE") : random.Junk());
        return Episode.Of([.. words]);
    }
}
