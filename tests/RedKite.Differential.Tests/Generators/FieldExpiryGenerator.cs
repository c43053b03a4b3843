using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Hash fields that expire: at once, soon and late, in packed hashes and in tables. An episode that lets a field expire looks
/// at it afterwards and deletes the hash: Redis counts an expired field that it has not removed yet as a field in HDEL, HLEN
/// and HEXPIRE, and RedKite does not.
/// </summary>
internal static class FieldExpiryGenerator
{
    // Longer than the expiries below.
    private const int ExpiryWaitMs = 20;

    public static readonly CommandFamily Family = new("field-expiry",
    [
        new("HEXPIRE", 24, random => Expire(random, "HEXPIRE", random.Expiry(1000))),
        new("HPEXPIRE", 16, random => Expire(random, "HPEXPIRE", random.Expiry(1))),
        new("HEXPIREAT", 12, random => Expire(random, "HEXPIREAT", random.UnixExpiry(1000))),
        new("HPEXPIREAT", 12, random => Expire(random, "HPEXPIREAT", random.UnixExpiry(1))),
        new("expiry in the past", 8, random => Expire(random, random.Pick("HEXPIREAT", "HPEXPIREAT"), 1 + random.Below(100_000))),
        new("HPERSIST", 10, random => Episode.Of(["HPERSIST", random.Key(), .. Fields(random)])),
        new("HTTL", 6, random => Episode.Of([random.Pick("HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME"), random.Key(), .. Fields(random)])),
        new("HGETDEL", 10, random => Episode.Of(["HGETDEL", random.Key(), .. Fields(random)])),
        new("HGETEX", 14, GetEx),
        new("HSETEX", 20, SetEx),
        new("HSET", 30, random => Episode.Of(["HSET", random.Key(), .. Pairs(random)])),
        new("HDEL", 6, random => Episode.Of(["HDEL", random.Key(), .. random.Several(3, () => Field(random))])),
        new("HSET of a new key", 12, random => Recreate(random, random.Key())),
        new("expired field", 3, ExpiredField),
        new("last field expired", 2, ExpiredHash),
    ]);

    /// <summary>Without the fields that expire during a stream: Redis counts them until it has removed them, and RedKite does not.</summary>
    public static readonly CommandFamily FarExpiries = Family with { Templates = [.. Family.Templates.Where(template => !template.Name.Contains("expired", StringComparison.Ordinal))] };

    private static Argument Field(RandomSource random) => "f" + random.Below(8);

    private static Argument[] Fields(RandomSource random)
    {
        Argument[] fields = random.Several(4, () => Field(random));
        Argument count = random.Chance(96) ? fields.Length : random.Pick<Argument>("0", "-1", "x", "9");
        return [random.Word("FIELDS"), count, .. fields];
    }

    private static Argument[] Pairs(RandomSource random) => [.. random.Several(5, () => Field(random)).SelectMany(field => (Argument[])[field, random.Value()])];

    private static Argument[] FieldsAndValues(RandomSource random)
    {
        Argument[] pairs = Pairs(random);
        return [random.Word("FIELDS"), pairs.Length / 2, .. pairs];
    }

    private static Episode Recreate(RandomSource random, Argument key) => Episode.Of("DEL", key).Then(["HSET", key, .. Pairs(random)]);

    private static Episode Expire(RandomSource random, string name, Argument when) =>
        Episode.Of([random.Word(name), random.Key(), when, .. random.Chance(40) ? [random.Word("NX", "XX", "GT", "LT")] : (Argument[])[], .. Fields(random)]);

    private static Episode GetEx(RandomSource random) => Episode.Of(["HGETEX", random.Key(), .. ExpiryOption(random, "PERSIST"), .. Fields(random)]);

    private static Episode SetEx(RandomSource random) =>
        Episode.Of(["HSETEX", random.Key(), .. random.Chance(30) ? [random.Word("FNX", "FXX")] : (Argument[])[], .. ExpiryOption(random, "KEEPTTL"), .. FieldsAndValues(random)]);

    private static Argument[] ExpiryOption(RandomSource random, string without) => random.Below(7) switch
    {
        0 => [],
        1 => [random.Word(without)],
        2 => [random.Word("EX"), random.Expiry(1000)],
        3 => [random.Word("PX"), random.Expiry(1)],
        4 => [random.Word("EXAT"), random.UnixExpiry(1000)],
        5 => [random.Word("PXAT"), random.UnixExpiry(1)],
        _ => [random.Word("EXAT", "PXAT"), 1 + random.Below(100_000)],
    };

    private static Episode ExpiredField(RandomSource random)
    {
        Argument key = random.Key();
        Argument[] look = random.Below(14) switch
        {
            0 => ["HGET", key, "f1"],
            1 => ["HGETALL", key],
            2 => ["HSET", key, "f1", "new"],
            3 => ["HDEL", key, "nosuch"],
            4 => ["HINCRBY", key, "f1", 1],
            5 => ["HSETNX", key, "f1", "new"],
            6 => ["HMGET", key, "f1", "f2"],
            7 => ["HPERSIST", key, "FIELDS", 1, "f1"],
            8 => ["HGETDEL", key, "FIELDS", 2, "f1", "f2"],
            9 => ["HSETEX", key, "FXX", "FIELDS", 1, "f1", "new"],
            10 => ["HEXISTS", key, "f1"],
            11 => ["COPY", key, "copy", "REPLACE"],
            12 => ["RENAME", key, "renamed"],
            _ => ["HPTTL", key, "FIELDS", 1, "f1"],
        };
        return SoonExpired(random, key, ["f1", "f2"], "f3", look);
    }

    // Commands that add no field: whether the hash is removed before them, and so is created again, may differ between servers.
    private static Episode ExpiredHash(RandomSource random)
    {
        Argument key = random.Key();
        Argument[] look = random.Below(5) switch
        {
            0 => ["HGET", key, "f1"],
            1 => ["HGETEX", key, "PERSIST", "FIELDS", 1, "f1"],
            2 => ["HEXISTS", key, "f1"],
            3 => ["HGETDEL", key, "FIELDS", 1, "f1"],
            _ => ["DEL", key],
        };
        return SoonExpired(random, key, ["f1"], null, look);
    }

    private static Episode SoonExpired(RandomSource random, Argument key, Argument[] expiring, Argument? other, Argument[] look)
    {
        Argument[] fields = [.. expiring, .. other is { } rest ? [rest] : (Argument[])[], .. random.Chance(40) && other is not null ? Enumerable.Range(4, 8).Select(i => (Argument)("f" + i)) : []];
        Episode episode = Episode.Of("DEL", key)
            .Then(["HSET", key, .. fields.SelectMany(field => (Argument[])[field, random.Value()])])
            .Then(["HPEXPIRE", key, 1 + random.Below(4), "FIELDS", expiring.Length, .. expiring])
            .ThenWaitAndRun(ExpiryWaitMs, look);
        return episode with { CommandsAfterWait = [.. episode.CommandsAfterWait, .. Episode.Of("DEL", key, "copy", "renamed").Commands] };
    }
}
