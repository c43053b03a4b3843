using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>Strings as bits.</summary>
internal static class BitmapGenerator
{
    public static readonly CommandFamily Family = new("bitmap",
    [
        new("SET", 14, d => Episode.Of("SET", d.Key(), d.Value())),
        new("SET of random bytes", 8, d => Episode.Of("SET", d.Key(), Bytes(d))),
        new("SETBIT", 20, d => Episode.Of("SETBIT", d.Key(), Offset(d), d.Chance(90) ? d.Below(2) : d.Integer())),
        new("GETBIT", 12, d => Episode.Of("GETBIT", d.Key(), d.Chance(80) ? Offset(d) : d.Integer())),
        new("BITCOUNT", 18, d => Episode.Of(["BITCOUNT", AnyKey(d), .. Range(d)])),
        new("BITPOS", 18, d => Episode.Of(["BITPOS", AnyKey(d), d.Chance(90) ? d.Below(2) : d.Integer(), .. Range(d)])),
        new("BITOP", 24, BitOp),
        new("BITOP NOT", 6, d => Episode.Of(["BITOP", d.Word("NOT"), d.Key(), .. d.Chance(85) ? (Argument[])[AnyKey(d)] : d.Several(3, d.Key)])),
        new("BITOP and what is there then", 6, d => Then(d, BitOp(d))),
        new("BITFIELD", 26, d => BitField(d, "BITFIELD")),
        new("BITFIELD_RO", 8, d => BitField(d, "BITFIELD_RO")),
        new("BITFIELD at the edge of a field", 10, Overflowing),
        new("STRLEN", 4, d => Episode.Of("STRLEN", d.Key())),
        new("EXPIRE", 4, d => Episode.Of("EXPIRE", d.Key(), d.FarSeconds())),
        new("DEL", 3, d => Episode.Of("DEL", d.Key())),
        new("LONG", 2, d => Episode.Of("SET", Draw.LongKey, d.LongValue())),
        new("COMMAND GETKEYSANDFLAGS", 3, d => Episode.Of(["COMMAND", "GETKEYSANDFLAGS", .. BitField(d, "BITFIELD").Commands[0].Select(word => (Argument)word)])),
    ]);

    private static Argument AnyKey(Draw d) => d.Chance(90) ? d.Key() : Draw.LongKey;

    private static Argument Bytes(Draw d)
    {
        byte[] bytes = new byte[d.Below(600)];
        for (int i = 0; i < bytes.Length; i++) bytes[i] = (byte)(d.Chance(50) ? d.Below(256) : d.Chance(50) ? 0 : 255);
        return bytes;
    }

    // Valid offsets stay small: half a gigabyte on each side proves nothing.
    private static Argument Offset(Draw d) => d.Chance(88)
        ? d.Below(d.Chance(70) ? 80 : 5_000)
        : d.Pick<Argument>("-1", "4294967296", "8589934592", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "abc", "", "1.5", " 1", "01", "#1");

    private static Argument[] Range(Draw d)
    {
        if (d.Chance(20)) return [];
        List<Argument> words = [Index(d)];
        if (d.Chance(92)) words.Add(Index(d));
        if (words.Count == 2 && d.Chance(50)) words.Add(d.Chance(90) ? d.Word("BIT", "BYTE") : d.Junk());
        return [.. words];
    }

    private static Argument Index(Draw d) => d.Chance(60) ? d.Index() : d.Chance(90) ? d.Below(600) - 300 : d.Integer();

    private static Episode BitOp(Draw d)
    {
        Argument destination = d.Key();
        Argument[] sources = d.Several(5, () => d.Chance(15) ? destination : AnyKey(d));
        return Episode.Of(["BITOP", d.Chance(96) ? d.Word("AND", "OR", "XOR") : d.Junk(), destination, .. sources]);
    }

    private static Episode Then(Draw d, Episode episode)
    {
        byte[] key = episode.Commands[0][2];
        return d.Pick(episode.Then("GET", key), episode.Then("OBJECT", "ENCODING", key), episode.Then("TTL", key));
    }

    private static Episode BitField(Draw d, string command)
    {
        List<Argument> words = [d.Word(command), d.Key()];
        for (int i = d.Below(5); i > 0; i--)
        {
            switch (d.Below(command == "BITFIELD" || d.Chance(10) ? 8 : 3))
            {
                case 0 or 1: words.AddRange([d.Word("GET"), Type(d), FieldOffset(d)]); break;
                case 2 when d.Chance(10): words.Add(d.Junk()); break;
                case 2 or 3: words.AddRange([d.Word("GET"), Type(d), FieldOffset(d)]); break;
                case 4 or 5: words.AddRange([d.Word("SET"), Type(d), FieldOffset(d), d.Integer()]); break;
                case 6: words.AddRange([d.Word("INCRBY"), Type(d), FieldOffset(d), d.Integer()]); break;
                default: words.AddRange([d.Word("OVERFLOW"), d.Chance(95) ? d.Word("WRAP", "SAT", "FAIL") : d.Junk()]); break;
            }
        }

        return Episode.Of([.. words]);
    }

    private static Episode Overflowing(Draw d)
    {
        Argument type = Type(d);
        Argument offset = FieldOffset(d);
        Argument key = d.Key();
        List<Argument> words = ["BITFIELD", key];
        if (d.Chance(70)) words.AddRange(["OVERFLOW", d.Word("WRAP", "SAT", "FAIL")]);
        words.AddRange(["SET", type, offset, d.Integer()]);
        for (int i = d.Below(4); i >= 0; i--) words.AddRange(["INCRBY", type, offset, d.Integer()]);
        words.AddRange(["GET", type, offset]);
        return Episode.Of([.. words]).Then("GET", key);
    }

    private static Argument Type(Draw d) => d.Chance(92)
        ? d.Pick("i", "u") + d.Pick("1", "2", "5", "7", "8", "9", "15", "16", "31", "32", "33", "48", "62", "63", "64")
        : d.Pick<Argument>("i0", "u0", "i65", "u64", "i-1", "x8", "I8", "i", "", "8", "i08", "u8 ", new byte[] { (byte)'u', (byte)'8', 0, 1 });

    private static Argument FieldOffset(Draw d) => d.Chance(85)
        ? d.Chance(60) ? d.Below(300) : "#" + d.Below(30)
        : d.Pick<Argument>("#", "#-1", "##1", "#abc", "-1", "4294967296", "#4294967296", "abc", "", "1.5", "9223372036854775807");
}
