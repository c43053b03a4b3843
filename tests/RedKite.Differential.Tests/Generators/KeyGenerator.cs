using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Commands on keys of any type.</summary>
internal static class KeyGenerator
{
    // Longer than the expiries drawn below. The key is looked at afterwards, for the reason given in StringGenerator.
    private const int ExpiryWaitMs = 40;

    public static readonly CommandFamily Family = new("key",
    [
        new("DEL", 10, d => Episode.Of(["DEL", .. d.Several(3, d.Key)])),
        new("UNLINK", 6, d => Episode.Of(["UNLINK", .. d.Several(3, d.Key)])),
        new("EXISTS", 8, d => Episode.Of(["EXISTS", .. d.Several(4, d.Key)])),
        new("TOUCH", 4, d => Episode.Of(["TOUCH", .. d.Several(4, d.Key)])),
        new("TYPE", 6, d => Episode.Of("TYPE", d.Key())),
        new("EXPIRE", 12, d => Expire(d, "EXPIRE", d.Expiry(1000))),
        new("PEXPIRE", 10, d => Expire(d, "PEXPIRE", d.Expiry(1))),
        new("EXPIREAT", 10, d => Expire(d, "EXPIREAT", d.UnixExpiry(1000))),
        new("PEXPIREAT", 10, d => Expire(d, "PEXPIREAT", d.UnixExpiry(1))),
        new("PEXPIRE soon", 1, ExpireSoon),
        new("TTL", 8, d => Episode.Of("TTL", d.Key())),
        new("PTTL", 8, d => Episode.Of("PTTL", d.Key())),
        new("EXPIRETIME", 6, d => Episode.Of("EXPIRETIME", d.Key())),
        new("PEXPIRETIME", 6, d => Episode.Of("PEXPIRETIME", d.Key())),
        new("PERSIST", 6, d => Episode.Of("PERSIST", d.Key())),
        new("RENAME", 8, d => Episode.Of("RENAME", d.Key(), d.Key())),
        new("RENAMENX", 6, d => Episode.Of("RENAMENX", d.Key(), d.Key())),
        new("COPY", 12, Copy),
        new("MOVE", 6, d => Episode.Of("MOVE", d.Key(), d.Database())),
        new("RANDOMKEY", 3, _ => Episode.Of("RANDOMKEY")),
        new("KEYS", 8, d => Episode.Of("KEYS", d.Pattern())),
        new("SCAN", 12, Scan),
        new("OBJECT ENCODING", 10, d => Episode.Of("OBJECT", d.Word("ENCODING"), d.Key())),
        new("OBJECT REFCOUNT", 3, d => Episode.Of("OBJECT", d.Word("REFCOUNT"), d.Key())),
        new("OBJECT IDLETIME", 3, d => Episode.Of("OBJECT", d.Word("IDLETIME"), d.Key())),
        new("OBJECT FREQ", 3, d => Episode.Of("OBJECT", d.Word("FREQ"), d.Key())),
        new("OBJECT HELP", 1, _ => Episode.Of("OBJECT", "HELP")),
        new("OBJECT unknown", 1, d => Episode.Of("OBJECT", d.Junk(), d.Key())),
    ]);

    private static Episode Expire(Draw d, string name, Argument when)
    {
        List<Argument> words = [d.Word(name), d.Key(), when];
        int options = d.Chance(50) ? 0 : d.Chance(70) ? 1 : 2;
        for (int i = 0; i < options; i++) words.Add(d.Chance(92) ? d.Word("NX", "XX", "GT", "LT") : d.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode ExpireSoon(Draw d)
    {
        Argument key = d.Key();
        return Episode.Of("SET", key, d.Value()).Then("PEXPIRE", key, 1 + d.Below(10)).ThenWait(ExpiryWaitMs, d.Pick("GET", "EXISTS", "TTL", "TYPE", "DEL"), key);
    }

    private static Episode Copy(Draw d)
    {
        List<Argument> words = [d.Word("COPY"), d.Key(), d.Key()];
        if (d.Chance(40)) words.AddRange([d.Word("DB"), d.Database()]);
        if (d.Chance(40)) words.Add(d.Word("REPLACE"));
        if (d.Chance(8)) words.Add(d.Chance(50) ? d.Word("DB") : d.Junk());
        return Episode.Of([.. words]);
    }

    private static Episode Scan(Draw d)
    {
        // Mostly a whole scan in one call, whose result is comparable: cursors in between are the server's own affair.
        List<Argument> words = [d.Word("SCAN"), d.Chance(85) ? "0" : d.Pick<Argument>("1", "-1", "abc", "", "18446744073709551615", "18446744073709551616", " 0", "0x1")];
        if (d.Chance(85)) words.AddRange([d.Word("COUNT"), d.Chance(85) ? "100000" : d.Integer()]);
        if (d.Chance(50)) words.AddRange([d.Word("MATCH"), d.Pattern()]);
        if (d.Chance(40)) words.AddRange([d.Word("TYPE"), d.Word("string", "list", "hash", "set", "zset", "stream", "nosuch", "")]);
        if (d.Chance(6)) words.Add(d.Chance(50) ? d.Word("COUNT", "MATCH", "TYPE") : d.Junk());
        return Episode.Of([.. words]);
    }
}
