using System.Text;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// HyperLogLogs, also read as strings, because their bytes equal Redis's. Corruption beyond the header is left to the
/// exchange tests, because it can crash Redis.
/// </summary>
internal static class HyperLogLogGenerator
{
    private const int ElementsMax = 4_000;

    public static readonly CommandFamily Family = new("hyperloglog",
    [
        new("PFADD", 30, random => Episode.Of(["PFADD", Key(random), .. Elements(random, 12)])),
        new("PFADD of many", 12, random => Episode.Of(["PFADD", Key(random), .. Elements(random, 300)])),
        new("PFADD and its bytes", 14, random => AndBytes(Key(random), key => Episode.Of(["PFADD", key, .. Elements(random, 100)]))),
        new("PFCOUNT", 20, random => Episode.Of("PFCOUNT", Key(random))),
        new("PFCOUNT of several", 10, random => Episode.Of(["PFCOUNT", .. random.Several(4, () => Key(random))])),
        new("PFMERGE", 10, random => Episode.Of(["PFMERGE", Key(random), .. random.Chance(90) ? random.Several(4, () => Key(random)) : []])),
        new("PFMERGE and its bytes", 10, random => AndBytes(Key(random), key => Episode.Of(["PFMERGE", key, .. random.Several(3, () => Key(random))]))),
        new("PFDEBUG", 4, random => Episode.Of("PFDEBUG", random.Chance(90) ? random.Word("ENCODING", "DECODE") : random.Junk(), Key(random))),
        new("PFDEBUG to dense", 1, random => Episode.Of("PFDEBUG", random.Word("TODENSE", "GETREG"), Key(random))),
        new("CONFIG SET", 2, random => Episode.Of("CONFIG", "SET", "hll-sparse-max-bytes", random.Pick<Argument>("0", "18", "19", "25", "60", "100", "300", "3000"))),
        new("GET", 6, random => Episode.Of("GET", Key(random))),
        new("OBJECT ENCODING", 4, random => Episode.Of("OBJECT", "ENCODING", Key(random))),
        new("SET", 2, random => Episode.Of("SET", Key(random), random.Value())),
        new("SET of a header", 4, random => Episode.Of("SET", Key(random), Header(random))),
        new("SETRANGE of the cached count", 2, random => Episode.Of("SETRANGE", Key(random), 8 + random.Below(8), new byte[] { (byte)random.Below(256) })),
        new("COPY", 2, random => Episode.Of("COPY", Key(random), Key(random), "REPLACE")),
        new("DEL", 3, random => Episode.Of("DEL", Key(random))),
    ]);

    /// <summary>Restores the settings that streams change.</summary>
    public const string Restore = "CONFIG SET hll-sparse-max-bytes 3000";

    private static Argument Key(RandomSource random) => random.Chance(85) ? "hll:" + random.Below(6) : random.Key();

    private static Argument[] Elements(RandomSource random, int max) =>
        random.Chance(5) ? [] : random.Several(max, () => random.Chance(90) ? (Argument)("e:" + random.Below(ElementsMax)) : random.Value());

    private static Episode AndBytes(Argument key, Func<Argument, Episode> command) => command(key).Then("GET", key);

    // Invalid headers, and valid values from other writers.
    private static Argument Header(RandomSource random)
    {
        byte[] empty = [.. Encoding.ASCII.GetBytes("HYLL"), 1, 0, 0, 0, .. new byte[8], 0x7f, 0xff];
        switch (random.Below(5))
        {
            case 0: return empty[..random.Below(16)];
            case 1: empty[random.Below(5)] = (byte)random.Below(256); return empty[4] == 0 ? empty[..4] : empty;
            case 2: return (byte[])[.. empty[..4], 0, .. new byte[11], .. new byte[12_288 + random.Pick(-1, 0, 0, 1)]];
            case 3: return (byte[])[.. empty[..16], 0x40, 0, 0x80, 0x3f, 0x3f, 0x83, 0x7f, 0x7a]; // Z:1 v:1,1 z:64 z:64 v:1,4 Z:16251 = 16,385 registers
            default: return (byte[])[.. empty[..15], (byte)(random.Chance(50) ? 0 : 0x80), 0x84, 0x3f, 0x87, 0x7f, 0xba]; // v:2,1 z:64 v:2,4 Z:16315 = 16,384 registers
        }
    }
}
