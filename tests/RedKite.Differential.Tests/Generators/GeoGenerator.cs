using System.Globalization;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Geo commands: places in clusters and all over the world, searches from a few meters to the whole earth. Every member has
/// a place of its own, so that no two are equally far away and orders are defined.
/// </summary>
internal static class GeoGenerator
{
    private const int Places = 40;

    private static readonly Argument[] KeyPool = ["g1", "g2", "g3"];

    private static readonly Argument[] UnitPool = ["m", "km", "ft", "mi", "M", "KM", "Ft"];

    private static readonly Argument[] BadNumberPool = ["abc", "", "nan", "-1", "1e400", " 1"];

    public static readonly CommandFamily Family = new("geo",
    [
        new("GEOADD", 40, GeoAdd),
        new("GEOPOS", 10, d => Episode.Of(["GEOPOS", Key(d), .. d.Chance(95) ? d.Several(4, () => Member(d)) : []])),
        new("GEODIST", 10, GeoDist),
        new("GEOHASH", 8, d => Episode.Of(["GEOHASH", Key(d), .. d.Several(4, () => Member(d))])),
        new("GEOSEARCH", 50, d => Episode.Of(["GEOSEARCH", Key(d), .. Search(d), .. Options(d, withs: true)])),
        new("GEOSEARCHSTORE", 10, GeoSearchStore),
        new("GEORADIUS", 20, d => Episode.Of([d.Word("GEORADIUS"), Key(d), .. Position(d), .. Radius(d), .. RadiusOptions(d)])),
        new("GEORADIUS_RO", 6, d => Episode.Of(["GEORADIUS_RO", Key(d), .. Position(d), .. Radius(d), .. Options(d, withs: true)])),
        new("GEORADIUSBYMEMBER", 12, d => Episode.Of(["GEORADIUSBYMEMBER", Key(d), Member(d), .. Radius(d), .. RadiusOptions(d)])),
        new("GEORADIUSBYMEMBER_RO", 5, d => Episode.Of(["GEORADIUSBYMEMBER_RO", Key(d), Member(d), .. Radius(d), .. Options(d, withs: true)])),
        new("ZREM", 6, d => Episode.Of("ZREM", Key(d), Member(d))),
        new("ZRANGE", 4, d => Episode.Of("ZRANGE", Destination(d), "0", "-1", "WITHSCORES")),
        new("ZSCORE", 4, d => Episode.Of("ZSCORE", Key(d), Member(d))),
        new("OBJECT", 2, d => Episode.Of("OBJECT", "ENCODING", Destination(d))),
        new("DEL", 1, d => Episode.Of("DEL", Destination(d))),
        new("HELLO", 2, d => Episode.Of("HELLO", d.Pick<Argument>("2", "3"))),
    ]);

    private static Argument Key(Draw d) => d.Chance(94) ? d.Pick(KeyPool) : d.Chance(50) ? "nosuchindex" : d.Key();

    private static Argument Destination(Draw d) => d.Chance(60) ? DistanceDestination(d) : Key(d);

    // Distances as scores are nearly one place: nobody searches there, because many are equally far away.
    private static Argument DistanceDestination(Draw d) => d.Pick<Argument>("gd1", "gd2");

    private static Argument Member(Draw d) => d.Chance(92) ? $"place{d.Below(Places)}" : d.Pick<Argument>("nowhere", "", "7", new byte[] { 0xff });

    // Clusters of some meters to some hundred kilometers, and the ends of the world.
    private static (double Longitude, double Latitude) PlaceOf(int number)
    {
        double spread = (number % 8) switch { 0 => 0.0001, 1 => 0.003, 2 => 0.05, 3 => 0.7, 4 => 6, _ => 0 };
        double angle = number * 2.399963;
        (double longitude, double latitude) = (number % 5) switch { 0 => (13.361389, 38.115556), 1 => (-122.27652, 37.805186), 2 => (179.99, -17.5), 3 => (25.5, 84.9), _ => (0.0, -0.01) };
        if (spread == 0) return (-179.5 + (number * 8.9), -84.9 + (number * 4.2));
        return (Math.Clamp(longitude + (spread * Math.Cos(angle)), -180, 180), Math.Clamp(latitude + (spread * Math.Sin(angle)), -85.05, 85.05));
    }

    private static Argument Text(double value) => value.ToString("R", CultureInfo.InvariantCulture);

    private static Argument[] Position(Draw d)
    {
        if (d.Chance(6)) return d.Pick<Argument[]>(["180", "85.05112878"], ["-180", "-85.05112878"], ["181", "0"], ["0", "85.06"], ["0", "-90"], ["abc", "1"], ["1", ""], ["inf", "0"], ["0", "0"], ["nan", "0"]);
        (double longitude, double latitude) = PlaceOf(d.Below(Places));
        if (d.Chance(50)) longitude = Math.Clamp(longitude + (d.Below(2000) / 1000.0) - 1, -180, 180);
        if (d.Chance(50)) latitude = Math.Clamp(latitude + (d.Below(2000) / 1000.0) - 1, -85.05, 85.05);
        return [Text(longitude), Text(latitude)];
    }

    private static Argument Length(Draw d) => d.Chance(95)
        ? d.Pick<Argument>("0", "1", "20", "300", "5000", "50000", "200", "7", "0.5", "1000000", "5000000", "20000000", "3.75")
        : d.Pick(BadNumberPool);

    private static Argument Unit(Draw d) => d.Chance(97) ? d.Pick(UnitPool) : d.Pick<Argument>("mm", "", "kilometers");

    private static Argument[] Radius(Draw d) => [Length(d), Unit(d)];

    private static Episode GeoAdd(Draw d)
    {
        List<Argument> words = [d.Word("GEOADD"), Key(d)];
        if (d.Chance(30)) words.Add(d.Word("NX", "XX", "CH", "CH"));
        if (d.Chance(15)) words.Add(d.Word("NX", "XX", "CH"));
        for (int i = d.Below(5); i >= 0; i--)
        {
            int number = d.Below(Places);
            (double longitude, double latitude) = PlaceOf(number);
            if (d.Chance(2)) words.AddRange([Text((d.Below(36_000_000) / 100_000.0) - 180), Text((d.Below(17_000_000) / 100_000.0) - 85), $"elsewhere{d.Below(1_000_000)}"]);
            else if (d.Chance(2)) words.AddRange([.. d.Pick<Argument[]>(["181", "0"], ["0", "85.06"], ["abc", "1"], ["1", ""], ["inf", "0"]), "nowhere"]);
            else words.AddRange([Text(longitude), Text(latitude), $"place{number}"]);
        }

        return Episode.Of([.. words]);
    }

    private static Episode GeoDist(Draw d)
    {
        List<Argument> words = ["GEODIST", Key(d), Member(d), Member(d)];
        if (d.Chance(60)) words.Add(Unit(d));
        return Episode.Of([.. words]);
    }

    private static Argument[] Search(Draw d)
    {
        Argument[] from = d.Chance(60) ? [d.Word("FROMLONLAT"), .. Position(d)] : [d.Word("FROMMEMBER"), Member(d)];
        Argument[] by = d.Chance(55) ? [d.Word("BYRADIUS"), .. Radius(d)] : [d.Word("BYBOX"), Length(d), Length(d), Unit(d)];
        if (d.Chance(3)) return d.Chance(50) ? from : [.. from, .. by, .. from, d.Word("BYBOX"), "1", "1", "m"];
        return d.Chance(80) ? [.. from, .. by] : [.. by, .. from];
    }

    private static Argument[] Options(Draw d, bool withs)
    {
        List<Argument> words = [];
        if (d.Chance(60)) words.Add(d.Word("ASC", "DESC"));
        if (d.Chance(40)) words.AddRange([d.Word("COUNT"), d.Chance(92) ? 1 + d.Below(6) : d.Integer()]);
        if (words.Count > 1 && d.Chance(30)) words.Add(d.Word("ANY"));
        if (withs && d.Chance(50)) words.Add(d.Word("WITHDIST"));
        if (withs && d.Chance(30)) words.Add(d.Word("WITHCOORD"));
        if (withs && d.Chance(30)) words.Add(d.Word("WITHHASH"));
        if (d.Chance(2)) words.Add(d.Chance(50) ? d.Word("ANY", "STORE", "COUNT") : d.Junk());
        return [.. words];
    }

    private static Argument[] RadiusOptions(Draw d)
    {
        bool stores = d.Chance(30);
        Argument[] options = Options(d, withs: !stores || d.Chance(5));
        if (!stores) return options;
        return d.Chance(50) ? [.. options, d.Word("STORE"), Destination(d)] : [.. options, d.Word("STOREDIST"), DistanceDestination(d)];
    }

    private static Episode GeoSearchStore(Draw d)
    {
        bool distances = d.Chance(30);
        Argument[] options = Options(d, withs: d.Chance(4));
        return Episode.Of(
            ["GEOSEARCHSTORE", distances ? DistanceDestination(d) : Destination(d), Key(d), .. Search(d), .. options, .. distances ? [d.Word("STOREDIST")] : (Argument[])[]]);
    }
}
