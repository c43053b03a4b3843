using System.Globalization;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Geo commands: clustered and worldwide positions, searches from a few meters to the whole earth. Every member has its own
/// position, so that no two distances are equal and the order is defined.
/// </summary>
internal static class GeoGenerator
{
    private const int Positions = 40;

    private static readonly Argument[] KeyPool = ["g1", "g2", "g3"];

    private static readonly Argument[] UnitPool = ["m", "km", "ft", "mi", "M", "KM", "Ft"];

    private static readonly Argument[] BadNumberPool = ["abc", "", "nan", "-1", "1e400", " 1"];

    public static readonly CommandFamily Family = new("geo",
    [
        new("GEOADD", 40, GeoAdd),
        new("GEOPOS", 10, random => Episode.Of(["GEOPOS", Key(random), .. random.Chance(95) ? random.Several(4, () => Member(random)) : []])),
        new("GEODIST", 10, GeoDist),
        new("GEOHASH", 8, random => Episode.Of(["GEOHASH", Key(random), .. random.Several(4, () => Member(random))])),
        new("GEOSEARCH", 50, random => Episode.Of(["GEOSEARCH", Key(random), .. Search(random), .. Options(random, withs: true)])),
        new("GEOSEARCHSTORE", 10, GeoSearchStore),
        new("GEORADIUS", 20, random => Episode.Of([random.Word("GEORADIUS"), Key(random), .. Position(random), .. Radius(random), .. RadiusOptions(random)])),
        new("GEORADIUS_RO", 6, random => Episode.Of(["GEORADIUS_RO", Key(random), .. Position(random), .. Radius(random), .. Options(random, withs: true)])),
        new("GEORADIUSBYMEMBER", 12, random => Episode.Of(["GEORADIUSBYMEMBER", Key(random), Member(random), .. Radius(random), .. RadiusOptions(random)])),
        new("GEORADIUSBYMEMBER_RO", 5, random => Episode.Of(["GEORADIUSBYMEMBER_RO", Key(random), Member(random), .. Radius(random), .. Options(random, withs: true)])),
        new("ZREM", 6, random => Episode.Of("ZREM", Key(random), Member(random))),
        new("ZRANGE", 4, random => Episode.Of("ZRANGE", Destination(random), "0", "-1", "WITHSCORES")),
        new("ZSCORE", 4, random => Episode.Of("ZSCORE", Key(random), Member(random))),
        new("OBJECT", 2, random => Episode.Of("OBJECT", "ENCODING", Destination(random))),
        new("DEL", 1, random => Episode.Of("DEL", Destination(random))),
        new("HELLO", 2, random => Episode.Of("HELLO", random.Pick<Argument>("2", "3"))),
    ]);

    private static Argument Key(RandomSource random) => random.Chance(94) ? random.Pick(KeyPool) : random.Chance(50) ? "nosuchindex" : random.Key();

    private static Argument Destination(RandomSource random) => random.Chance(60) ? DistanceDestination(random) : Key(random);

    // Distances used as scores are nearly one position, so no search uses them: many distances would be equal.
    private static Argument DistanceDestination(RandomSource random) => random.Pick<Argument>("gd1", "gd2");

    private static Argument Member(RandomSource random) => random.Chance(92) ? $"place{random.Below(Positions)}" : random.Pick<Argument>("nowhere", "", "7", new byte[] { 0xff });

    // Clusters of some meters to some hundred kilometers, and the extremes of the coordinates.
    private static (double Longitude, double Latitude) PositionOf(int number)
    {
        double spread = (number % 8) switch { 0 => 0.0001, 1 => 0.003, 2 => 0.05, 3 => 0.7, 4 => 6, _ => 0 };
        double angle = number * 2.399963;
        (double longitude, double latitude) = (number % 5) switch { 0 => (13.361389, 38.115556), 1 => (-122.27652, 37.805186), 2 => (179.99, -17.5), 3 => (25.5, 84.9), _ => (0.0, -0.01) };
        if (spread == 0) return (-179.5 + (number * 8.9), -84.9 + (number * 4.2));
        return (Math.Clamp(longitude + (spread * Math.Cos(angle)), -180, 180), Math.Clamp(latitude + (spread * Math.Sin(angle)), -85.05, 85.05));
    }

    private static Argument Text(double value) => value.ToString("R", CultureInfo.InvariantCulture);

    private static Argument[] Position(RandomSource random)
    {
        if (random.Chance(6)) return random.Pick<Argument[]>(["180", "85.05112878"], ["-180", "-85.05112878"], ["181", "0"], ["0", "85.06"], ["0", "-90"], ["abc", "1"], ["1", ""], ["inf", "0"], ["0", "0"], ["nan", "0"]);
        (double longitude, double latitude) = PositionOf(random.Below(Positions));
        if (random.Chance(50)) longitude = Math.Clamp(longitude + (random.Below(2000) / 1000.0) - 1, -180, 180);
        if (random.Chance(50)) latitude = Math.Clamp(latitude + (random.Below(2000) / 1000.0) - 1, -85.05, 85.05);
        return [Text(longitude), Text(latitude)];
    }

    private static Argument Length(RandomSource random) => random.Chance(95)
        ? random.Pick<Argument>("0", "1", "20", "300", "5000", "50000", "200", "7", "0.5", "1000000", "5000000", "20000000", "3.75")
        : random.Pick(BadNumberPool);

    private static Argument Unit(RandomSource random) => random.Chance(97) ? random.Pick(UnitPool) : random.Pick<Argument>("mm", "", "kilometers");

    private static Argument[] Radius(RandomSource random) => [Length(random), Unit(random)];

    private static Episode GeoAdd(RandomSource random)
    {
        List<Argument> words = [random.Word("GEOADD"), Key(random)];
        if (random.Chance(30)) words.Add(random.Word("NX", "XX", "CH", "CH"));
        if (random.Chance(15)) words.Add(random.Word("NX", "XX", "CH"));
        for (int i = random.Below(5); i >= 0; i--)
        {
            int number = random.Below(Positions);
            (double longitude, double latitude) = PositionOf(number);
            if (random.Chance(2)) words.AddRange([Text((random.Below(36_000_000) / 100_000.0) - 180), Text((random.Below(17_000_000) / 100_000.0) - 85), $"elsewhere{random.Below(1_000_000)}"]);
            else if (random.Chance(2)) words.AddRange([.. random.Pick<Argument[]>(["181", "0"], ["0", "85.06"], ["abc", "1"], ["1", ""], ["inf", "0"]), "nowhere"]);
            else words.AddRange([Text(longitude), Text(latitude), $"place{number}"]);
        }

        return Episode.Of([.. words]);
    }

    private static Episode GeoDist(RandomSource random)
    {
        List<Argument> words = ["GEODIST", Key(random), Member(random), Member(random)];
        if (random.Chance(60)) words.Add(Unit(random));
        return Episode.Of([.. words]);
    }

    private static Argument[] Search(RandomSource random)
    {
        Argument[] from = random.Chance(60) ? [random.Word("FROMLONLAT"), .. Position(random)] : [random.Word("FROMMEMBER"), Member(random)];
        Argument[] by = random.Chance(55) ? [random.Word("BYRADIUS"), .. Radius(random)] : [random.Word("BYBOX"), Length(random), Length(random), Unit(random)];
        if (random.Chance(3)) return random.Chance(50) ? from : [.. from, .. by, .. from, random.Word("BYBOX"), "1", "1", "m"];
        return random.Chance(80) ? [.. from, .. by] : [.. by, .. from];
    }

    private static Argument[] Options(RandomSource random, bool withs)
    {
        List<Argument> words = [];
        if (random.Chance(60)) words.Add(random.Word("ASC", "DESC"));
        if (random.Chance(40)) words.AddRange([random.Word("COUNT"), random.Chance(92) ? 1 + random.Below(6) : random.Integer()]);
        if (words.Count > 1 && random.Chance(30)) words.Add(random.Word("ANY"));
        if (withs && random.Chance(50)) words.Add(random.Word("WITHDIST"));
        if (withs && random.Chance(30)) words.Add(random.Word("WITHCOORD"));
        if (withs && random.Chance(30)) words.Add(random.Word("WITHHASH"));
        if (random.Chance(2)) words.Add(random.Chance(50) ? random.Word("ANY", "STORE", "COUNT") : random.Junk());
        return [.. words];
    }

    private static Argument[] RadiusOptions(RandomSource random)
    {
        bool stores = random.Chance(30);
        Argument[] options = Options(random, withs: !stores || random.Chance(5));
        if (!stores) return options;
        return random.Chance(50) ? [.. options, random.Word("STORE"), Destination(random)] : [.. options, random.Word("STOREDIST"), DistanceDestination(random)];
    }

    private static Episode GeoSearchStore(RandomSource random)
    {
        bool distances = random.Chance(30);
        Argument[] options = Options(random, withs: random.Chance(4));
        return Episode.Of(
            ["GEOSEARCHSTORE", distances ? DistanceDestination(random) : Destination(random), Key(random), .. Search(random), .. options, .. distances ? [random.Word("STOREDIST")] : (Argument[])[]]);
    }
}
