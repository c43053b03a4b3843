using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Strings as bits.</summary>
internal static class BitmapGenerator
{
    public static readonly CommandFamily Family = new("bitmap",
    [
        new("SET", 14, random => Episode.Of("SET", random.Key(), random.Value())),
        new("SET of random bytes", 8, random => Episode.Of("SET", random.Key(), Bytes(random))),
        new("SETBIT", 20, random => Episode.Of("SETBIT", random.Key(), Offset(random), random.Chance(90) ? random.Below(2) : random.Integer())),
        new("GETBIT", 12, random => Episode.Of("GETBIT", random.Key(), random.Chance(80) ? Offset(random) : random.Integer())),
        new("BITCOUNT", 18, random => Episode.Of(["BITCOUNT", AnyKey(random), .. Range(random)])),
        new("BITPOS", 18, random => Episode.Of(["BITPOS", AnyKey(random), random.Chance(90) ? random.Below(2) : random.Integer(), .. Range(random)])),
        new("BITOP", 24, BitOp),
        new("BITOP NOT", 6, random => Episode.Of(["BITOP", random.Word("NOT"), random.Key(), .. random.Chance(85) ? (Argument[])[AnyKey(random)] : random.Several(3, random.Key)])),
        new("BITOP and what is there then", 6, random => Then(random, BitOp(random))),
        new("BITFIELD", 26, random => BitField(random, "BITFIELD")),
        new("BITFIELD_RO", 8, random => BitField(random, "BITFIELD_RO")),
        new("BITFIELD at the edge of a field", 10, Overflowing),
        new("STRLEN", 4, random => Episode.Of("STRLEN", random.Key())),
        new("EXPIRE", 4, random => Episode.Of("EXPIRE", random.Key(), random.FarSeconds())),
        new("DEL", 3, random => Episode.Of("DEL", random.Key())),
        new("LONG", 2, random => Episode.Of("SET", RandomSource.LongKey, random.LongValue())),
        new("COMMAND GETKEYSANDFLAGS", 3, random => Episode.Of(["COMMAND", "GETKEYSANDFLAGS", .. BitField(random, "BITFIELD").Commands[0].Select(word => (Argument)word)])),
    ]);

    private static Argument AnyKey(RandomSource random) => random.Chance(90) ? random.Key() : RandomSource.LongKey;

    private static Argument Bytes(RandomSource random)
    {
        byte[] bytes = new byte[random.Below(600)];
        for (int i = 0; i < bytes.Length; i++) bytes[i] = (byte)(random.Chance(50) ? random.Below(256) : random.Chance(50) ? 0 : 255);
        return bytes;
    }

    // Valid offsets stay small: strings of half a gigabyte prove nothing.
    private static Argument Offset(RandomSource random) => random.Chance(88)
        ? random.Below(random.Chance(70) ? 80 : 5_000)
        : random.Pick<Argument>("-1", "4294967296", "8589934592", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5", " 1", "01", "#1");

    private static Argument[] Range(RandomSource random)
    {
        if (random.Chance(20)) return [];
        List<Argument> words = [Index(random)];
        if (random.Chance(92)) words.Add(Index(random));
        if (words.Count == 2 && random.Chance(50)) words.Add(random.Chance(90) ? random.Word("BIT", "BYTE") : random.Junk());
        return [.. words];
    }

    private static Argument Index(RandomSource random) => random.Chance(60) ? random.Index() : random.Chance(90) ? random.Below(600) - 300 : random.Integer();

    private static Episode BitOp(RandomSource random)
    {
        Argument destination = random.Key();
        Argument[] sources = random.Several(5, () => random.Chance(15) ? destination : AnyKey(random));
        return Episode.Of(["BITOP", random.Chance(96) ? random.Word("AND", "OR", "XOR") : random.Junk(), destination, .. sources]);
    }

    private static Episode Then(RandomSource random, Episode episode)
    {
        byte[] key = episode.Commands[0][2];
        return random.Pick(episode.Then("GET", key), episode.Then("OBJECT", "ENCODING", key), episode.Then("TTL", key));
    }

    private static Episode BitField(RandomSource random, string command)
    {
        List<Argument> words = [random.Word(command), random.Key()];
        for (int i = random.Below(5); i > 0; i--)
        {
            switch (random.Below(command == "BITFIELD" || random.Chance(10) ? 8 : 3))
            {
                case 0 or 1: words.AddRange([random.Word("GET"), Type(random), FieldOffset(random)]); break;
                case 2 when random.Chance(10): words.Add(random.Junk()); break;
                case 2 or 3: words.AddRange([random.Word("GET"), Type(random), FieldOffset(random)]); break;
                case 4 or 5: words.AddRange([random.Word("SET"), Type(random), FieldOffset(random), random.Integer()]); break;
                case 6: words.AddRange([random.Word("INCRBY"), Type(random), FieldOffset(random), random.Integer()]); break;
                default: words.AddRange([random.Word("OVERFLOW"), random.Chance(95) ? random.Word("WRAP", "SAT", "FAIL") : random.Junk()]); break;
            }
        }

        return Episode.Of([.. words]);
    }

    private static Episode Overflowing(RandomSource random)
    {
        Argument type = Type(random);
        Argument offset = FieldOffset(random);
        Argument key = random.Key();
        List<Argument> words = ["BITFIELD", key];
        if (random.Chance(70)) words.AddRange(["OVERFLOW", random.Word("WRAP", "SAT", "FAIL")]);
        words.AddRange(["SET", type, offset, random.Integer()]);
        for (int i = random.Below(4); i >= 0; i--) words.AddRange(["INCRBY", type, offset, random.Integer()]);
        words.AddRange(["GET", type, offset]);
        return Episode.Of([.. words]).Then("GET", key);
    }

    private static Argument Type(RandomSource random) => random.Chance(92)
        ? random.Pick("i", "u") + random.Pick("1", "2", "5", "7", "8", "9", "15", "16", "31", "32", "33", "48", "62", "63", "64")
        : random.Pick<Argument>("i0", "u0", "i65", "u64", "i-1", "x8", "I8", "i", "", "8", "i08", "u8 ", new byte[] { (byte)'u', (byte)'8', 0, 1 });

    private static Argument FieldOffset(RandomSource random) => random.Chance(85)
        ? random.Chance(60) ? random.Below(300) : "#" + random.Below(30)
        : random.Pick<Argument>("#", "#-1", "##1", "#abc", "-1", "4294967296", "#4294967296", "abc", "", "1.5", "9223372036854775807");
}
