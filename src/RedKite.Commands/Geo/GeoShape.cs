namespace RedKite.Server.Commands.Geo;

/// <summary>A circle around a position, or a box whose sides lie along meridians and parallels.</summary>
internal readonly struct GeoShape
{
    // A position that is outside by this much, far more than rounding, needs no trigonometry.
    private const double RoundingMargin = 1 + 1e-9;

    private readonly bool _isBox;
    private readonly double _width;  // of the box in meters
    private readonly double _height; // of the box in meters; or the circle's radius

    private GeoShape(GeoPosition center, bool isBox, double width, double height)
    {
        Center = center;
        _isBox = isBox;
        _width = width;
        _height = height;
    }

    internal GeoPosition Center { get; }

    /// <summary>The distance from the center to the farthest point, in meters.</summary>
    internal double Reach => _isBox ? Math.Sqrt((_width / 2 * (_width / 2)) + (_height / 2 * (_height / 2))) : _height;

    /// <summary>
    /// The area that contains the shape. Degrees of longitude become shorter towards a pole, so the side nearer to it decides.
    /// </summary>
    internal GeoArea Bounds
    {
        get
        {
            double halfHeight = GeoDistance.ToDegrees((_isBox ? _height / 2 : _height) / GeoDistance.EarthRadius);
            double poleSide = Center.Latitude < 0 ? Center.Latitude - halfHeight : Center.Latitude + halfHeight;
            double halfWidth = GeoDistance.ToDegrees((_isBox ? _width / 2 : _height) / GeoDistance.EarthRadius / Math.Cos(GeoDistance.ToRadians(poleSide)));
            return new GeoArea(Center.Longitude - halfWidth, Center.Longitude + halfWidth, Center.Latitude - halfHeight, Center.Latitude + halfHeight);
        }
    }

    internal static GeoShape Circle(GeoPosition center, double radiusMeters) => new(center, isBox: false, 0, radiusMeters);

    internal static GeoShape Box(GeoPosition center, double widthMeters, double heightMeters) => new(center, isBox: true, widthMeters, heightMeters);

    /// <summary>Whether the shape contains a position, and the position's distance from the center in meters.</summary>
    internal bool Contains(GeoPosition position, out double distance)
    {
        distance = 0;
        double latitudeDistance = GeoDistance.BetweenLatitudes(Center.Latitude, position.Latitude);
        if (!_isBox)
        {
            if (latitudeDistance > _height * RoundingMargin) return false;
            distance = GeoDistance.Between(Center, position);
            return distance <= _height;
        }

        if (latitudeDistance > _height / 2) return false;
        var besideCenter = new GeoPosition(Center.Longitude, position.Latitude);
        if (GeoDistance.Between(position, besideCenter) > _width / 2) return false;
        distance = GeoDistance.Between(Center, position);
        return true;
    }
}
