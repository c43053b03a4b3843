using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Commands on keys of any type.</summary>
internal static class KeyGenerator
{
    // Longer than the expiries generated below. The key is accessed afterwards, for the reason given in StringGenerator.
    private const int ExpiryWaitMs = 40;

    public static readonly CommandFamily Family = new("key",
    [
        new("DEL", 10, random => Episode.Of(["DEL", .. random.Several(3, random.Key)])),
        new("UNLINK", 6, random => Episode.Of(["UNLINK", .. random.Several(3, random.Key)])),
        new("EXISTS", 8, random => Episode.Of(["EXISTS", .. random.Several(4, random.Key)])),
        new("TOUCH", 4, random => Episode.Of(["TOUCH", .. random.Several(4, random.Key)])),
        new("TYPE", 6, random => Episode.Of("TYPE", random.Key())),
        new("EXPIRE", 12, random => Expire(random, "EXPIRE", random.Expiry(1000))),
        new("PEXPIRE", 10, random => Expire(random, "PEXPIRE", random.Expiry(1))),
        new("EXPIREAT", 10, random => Expire(random, "EXPIREAT", random.UnixExpiry(1000))),
        new("PEXPIREAT", 10, random => Expire(random, "PEXPIREAT", random.UnixExpiry(1))),
        new("PEXPIRE soon", 1, ExpireSoon),
        new("TTL", 8, random => Episode.Of("TTL", random.Key())),
        new("PTTL", 8, random => Episode.Of("PTTL", random.Key())),
        new("EXPIRETIME", 6, random => Episode.Of("EXPIRETIME", random.Key())),
        new("PEXPIRETIME", 6, random => Episode.Of("PEXPIRETIME", random.Key())),
        new("PERSIST", 6, random => Episode.Of("PERSIST", random.Key())),
        new("RENAME", 8, random => Episode.Of("RENAME", random.Key(), random.Key())),
        new("RENAMENX", 6, random => Episode.Of("RENAMENX", random.Key(), random.Key())),
        new("COPY", 12, Copy),
        new("MOVE", 6, random => Episode.Of("MOVE", random.Key(), random.Database())),
        new("RANDOMKEY", 3, _ => Episode.Of("RANDOMKEY")),
        new("KEYS", 8, random => Episode.Of("KEYS", random.Pattern())),
        new("SCAN", 12, Scan),
        new("OBJECT ENCODING", 10, random => Episode.Of("OBJECT", random.Word("ENCODING"), random.Key())),
        new("OBJECT REFCOUNT", 3, random => Episode.Of("OBJECT", random.Word("REFCOUNT"), random.Key())),
        new("OBJECT IDLETIME", 3, random => Episode.Of("OBJECT", random.Word("IDLETIME"), random.Key())),
        new("OBJECT FREQ", 3, random => Episode.Of("OBJECT", random.Word("FREQ"), random.Key())),
        new("OBJECT HELP", 1, _ => Episode.Of("OBJECT", "HELP")),
        new("OBJECT unknown", 1, random => Episode.Of("OBJECT", random.Junk(), random.Key())),
    ]);

    private static Episode Expire(RandomSource random, string name, Argument when)
    {
        List<Argument> words = [random.Word(name), random.Key(), when];
        int options = random.Chance(50) ? 0 : random.Chance(70) ? 1 : 2;
        for (int i = 0; i < options; i++) words.Add(random.Chance(92) ? random.Word("NX", "XX", "GT", "LT") : random.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode ExpireSoon(RandomSource random)
    {
        Argument key = random.Key();
        return Episode.Of("SET", key, random.Value()).Then("PEXPIRE", key, 1 + random.Below(10)).ThenWaitAndRun(ExpiryWaitMs, random.Pick("GET", "EXISTS", "TTL", "TYPE", "DEL"), key);
    }

    private static Episode Copy(RandomSource random)
    {
        List<Argument> words = [random.Word("COPY"), random.Key(), random.Key()];
        if (random.Chance(40)) words.AddRange([random.Word("DB"), random.Database()]);
        if (random.Chance(40)) words.Add(random.Word("REPLACE"));
        if (random.Chance(8)) words.Add(random.Chance(50) ? random.Word("DB") : random.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode Scan(RandomSource random)
    {
        // Mostly a complete scan in one call, whose result is comparable; intermediate cursors are specific to the server.
        List<Argument> words = [random.Word("SCAN"), random.Chance(85) ? "0" : random.Pick<Argument>("1", "-1", "abc", "", "18446744073709551615", "18446744073709551616", " 0", "0x1")];
        if (random.Chance(85)) words.AddRange([random.Word("COUNT"), random.Chance(85) ? "100000" : random.Integer()]);
        if (random.Chance(50)) words.AddRange([random.Word("MATCH"), random.Pattern()]);
        if (random.Chance(40)) words.AddRange([random.Word("TYPE"), random.Word("string", "list", "hash", "set", "zset", "stream", "nosuch", "")]);
        if (random.Chance(6)) words.Add(random.Chance(50) ? random.Word("COUNT", "MATCH", "TYPE") : random.Junk());
        return Episode.Of([.. words]);
    }
}
