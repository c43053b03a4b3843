using System.Text;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// HyperLogLogs, looked at as strings too: their bytes are Redis's. What is corrupt beyond its header is left to
/// the exchange tests: it can crash a Redis.
/// </summary>
internal static class HyperLogLogGenerator
{
    private const int ElementsMax = 4_000;

    public static readonly CommandFamily Family = new("hyperloglog",
    [
        new("PFADD", 30, d => Episode.Of(["PFADD", Key(d), .. Elements(d, 12)])),
        new("PFADD of many", 12, d => Episode.Of(["PFADD", Key(d), .. Elements(d, 300)])),
        new("PFADD and its bytes", 14, d => AndBytes(Key(d), key => Episode.Of(["PFADD", key, .. Elements(d, 100)]))),
        new("PFCOUNT", 20, d => Episode.Of("PFCOUNT", Key(d))),
        new("PFCOUNT of several", 10, d => Episode.Of(["PFCOUNT", .. d.Several(4, () => Key(d))])),
        new("PFMERGE", 10, d => Episode.Of(["PFMERGE", Key(d), .. d.Chance(90) ? d.Several(4, () => Key(d)) : []])),
        new("PFMERGE and its bytes", 10, d => AndBytes(Key(d), key => Episode.Of(["PFMERGE", key, .. d.Several(3, () => Key(d))]))),
        new("PFDEBUG", 4, d => Episode.Of("PFDEBUG", d.Chance(90) ? d.Word("ENCODING", "DECODE") : d.Junk(), Key(d))),
        new("PFDEBUG to dense", 1, d => Episode.Of("PFDEBUG", d.Word("TODENSE", "GETREG"), Key(d))),
        new("CONFIG SET", 2, d => Episode.Of("CONFIG", "SET", "hll-sparse-max-bytes", d.Pick<Argument>("0", "18", "19", "25", "60", "100", "300", "3000"))),
        new("GET", 6, d => Episode.Of("GET", Key(d))),
        new("OBJECT ENCODING", 4, d => Episode.Of("OBJECT", "ENCODING", Key(d))),
        new("SET", 2, d => Episode.Of("SET", Key(d), d.Value())),
        new("SET of a header", 4, d => Episode.Of("SET", Key(d), Header(d))),
        new("SETRANGE of the cached count", 2, d => Episode.Of("SETRANGE", Key(d), 8 + d.Below(8), new byte[] { (byte)d.Below(256) })),
        new("COPY", 2, d => Episode.Of("COPY", Key(d), Key(d), "REPLACE")),
        new("DEL", 3, d => Episode.Of("DEL", Key(d))),
    ]);

    /// <summary>Puts back what streams change.</summary>
    public const string Restore = "CONFIG SET hll-sparse-max-bytes 3000";

    private static Argument Key(Draw d) => d.Chance(85) ? "hll:" + d.Below(6) : d.Key();

    private static Argument[] Elements(Draw d, int max) =>
        d.Chance(5) ? [] : d.Several(max, () => d.Chance(90) ? (Argument)("e:" + d.Below(ElementsMax)) : d.Value());

    private static Episode AndBytes(Argument key, Func<Argument, Episode> command) => command(key).Then("GET", key);

    // Headers that are none, and whole values of other writers.
    private static Argument Header(Draw d)
    {
        byte[] empty = [.. Encoding.ASCII.GetBytes("HYLL"), 1, 0, 0, 0, .. new byte[8], 0x7f, 0xff];
        switch (d.Below(5))
        {
            case 0: return empty[..d.Below(16)];
            case 1: empty[d.Below(5)] = (byte)d.Below(256); return empty[4] == 0 ? empty[..4] : empty;
            case 2: return (byte[])[.. empty[..4], 0, .. new byte[11], .. new byte[12_288 + d.Pick(-1, 0, 0, 1)]];
            case 3: return (byte[])[.. empty[..16], 0x40, 0, 0x80, 0x3f, 0x3f, 0x83, 0x7f, 0x7a]; // Z:1 v:1,1 z:64 z:64 v:1,4 Z:16251 = 16,385 registers
            default: return (byte[])[.. empty[..15], (byte)(d.Chance(50) ? 0 : 0x80), 0x84, 0x3f, 0x87, 0x7f, 0xba]; // v:2,1 z:64 v:2,4 Z:16315 = 16,384 registers
        }
    }
}
