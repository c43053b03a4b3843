namespace RedKite.Server.Commands.Geo;

/// <summary>Distances on the surface of the earth, assumed to be a sphere.</summary>
internal static class GeoDistance
{
    /// <summary>The earth's radius in meters, as Redis defines it, so that distances have the same digits.</summary>
    internal const double EarthRadius = 6372797.560856;

    private const double RadiansPerDegree = Math.PI / 180;

    internal static double ToRadians(double degrees) => degrees * RadiansPerDegree;

    internal static double ToDegrees(double radians) => radians / RadiansPerDegree;

    /// <summary>The distance between two positions in meters, by the haversine formula.</summary>
    internal static double Between(GeoPosition a, GeoPosition b)
    {
        double byLongitude = Math.Sin((ToRadians(b.Longitude) - ToRadians(a.Longitude)) / 2);
        if (byLongitude == 0) return BetweenLatitudes(a.Latitude, b.Latitude);
        double latitudeA = ToRadians(a.Latitude);
        double latitudeB = ToRadians(b.Latitude);
        double byLatitude = Math.Sin((latitudeB - latitudeA) / 2);
        double haversine = (byLatitude * byLatitude) + (Math.Cos(latitudeA) * Math.Cos(latitudeB) * byLongitude * byLongitude);
        return 2 * EarthRadius * Math.Asin(Math.Sqrt(haversine));
    }

    /// <summary>The distance between two latitudes on one meridian in meters.</summary>
    internal static double BetweenLatitudes(double a, double b) => EarthRadius * Math.Abs(ToRadians(b) - ToRadians(a));
}
