namespace RedKite.Server.Commands.Geo;

/// <summary>A position on the earth, in degrees.</summary>
internal readonly record struct GeoPosition(double Longitude, double Latitude);

/// <summary>The area between two longitudes and two latitudes, in degrees.</summary>
internal readonly record struct GeoArea(double LongitudeMin, double LongitudeMax, double LatitudeMin, double LatitudeMax)
{
    /// <summary>The positions that can be indexed: the square of web maps, which excludes the poles.</summary>
    internal static readonly GeoArea Indexed = new(-180, 180, -85.05112878, 85.05112878);

    /// <summary>The whole world, for which geohash strings are defined.</summary>
    internal static readonly GeoArea World = new(-180, 180, -90, 90);

    internal bool Contains(GeoPosition position) =>
        position.Longitude >= LongitudeMin && position.Longitude <= LongitudeMax && position.Latitude >= LatitudeMin && position.Latitude <= LatitudeMax;
}

/// <summary>
/// One of the cells into which an area is divided by halving it in both directions, step by step. Its geohash interleaves the
/// bits of column and row, the column's above the row's, so that the geohashes of the cells inside it are consecutive.
/// </summary>
/// <param name="Column">From west to east.</param>
/// <param name="Row">From south to north.</param>
/// <param name="Step">The number of halvings; there are 2^step columns and rows.</param>
internal readonly record struct GeoCell(uint Column, uint Row, int Step)
{
    /// <summary>The step of stored positions: 52 bits, which a score holds exactly.</summary>
    internal const int StepMax = 26;

    private const int TextLength = 11;
    private const int BitsPerCharacter = 5;

    /// <summary>The geohash, of two bits for each step.</summary>
    internal ulong Bits => Spread(Row) | (Spread(Column) << 1);

    /// <summary>The lowest score of a position in the cell.</summary>
    internal double ScoreMin => Bits << (2 * (StepMax - Step));

    /// <summary>The lowest score above those of positions in the cell.</summary>
    internal double ScoreEnd => (Bits + 1) << (2 * (StepMax - Step));

    /// <summary>The cell that contains a position of an area.</summary>
    internal static GeoCell Of(GeoPosition position, in GeoArea area, int step)
    {
        double column = (position.Longitude - area.LongitudeMin) / (area.LongitudeMax - area.LongitudeMin) * (1UL << step);
        double row = (position.Latitude - area.LatitudeMin) / (area.LatitudeMax - area.LatitudeMin) * (1UL << step);
        return new GeoCell((uint)(ulong)column, (uint)(ulong)row, step);
    }

    /// <summary>The cell of a stored position, from its score.</summary>
    internal static GeoCell OfScore(double score)
    {
        var bits = (ulong)(long)score;
        return new GeoCell(Gather(bits >> 1), Gather(bits), StepMax);
    }

    /// <summary>The score that stores a position.</summary>
    internal static double ScoreOf(GeoPosition position) => Of(position, GeoArea.Indexed, StepMax).Bits;

    /// <summary>The position that a score stores: the middle of its cell.</summary>
    internal static GeoPosition PositionOf(double score)
    {
        GeoArea area = OfScore(score).Area(GeoArea.Indexed);
        double longitude = (area.LongitudeMin + area.LongitudeMax) / 2;
        double latitude = (area.LatitudeMin + area.LatitudeMax) / 2;
        return new GeoPosition(
            Math.Clamp(longitude, GeoArea.Indexed.LongitudeMin, GeoArea.Indexed.LongitudeMax),
            Math.Clamp(latitude, GeoArea.Indexed.LatitudeMin, GeoArea.Indexed.LatitudeMax));
    }

    /// <summary>The part of an area that the cell covers.</summary>
    internal GeoArea Area(in GeoArea area)
    {
        double width = area.LongitudeMax - area.LongitudeMin;
        double height = area.LatitudeMax - area.LatitudeMin;
        double cells = 1UL << Step;
        return new GeoArea(
            area.LongitudeMin + (Column / cells * width),
            area.LongitudeMin + ((Column + 1.0) / cells * width),
            area.LatitudeMin + (Row / cells * height),
            area.LatitudeMin + ((Row + 1.0) / cells * height));
    }

    /// <summary>
    /// The cell at a distance of columns and rows; opposite edges of the area are adjacent. A position on the eastern or
    /// northern edge is in a cell beyond the last one: only a move in that direction leads back into the area, as in Redis.
    /// </summary>
    internal GeoCell Neighbor(int columns, int rows)
    {
        uint mask = (1U << Step) - 1;
        return new GeoCell(columns == 0 ? Column : (Column + (uint)columns) & mask, rows == 0 ? Row : (Row + (uint)rows) & mask, Step);
    }

    /// <summary>Writes a stored position as a standard geohash string of 11 characters.</summary>
    /// <param name="score">The position's score.</param>
    /// <param name="text">A buffer of 11 bytes.</param>
    internal static void WriteText(double score, Span<byte> text)
    {
        // The area of stored positions excludes the poles, so its cells differ from those of the whole world.
        ulong bits = Of(PositionOf(score), GeoArea.World, StepMax).Bits;
        for (int i = 0; i < TextLength; i++)
        {
            // 52 bits fill ten characters and two bits; like Redis, the last character is always the same.
            int shift = (2 * StepMax) - ((i + 1) * BitsPerCharacter);
            text[i] = "0123456789bcdefghjkmnpqrstuvwxyz"u8[shift < 0 ? 0 : (int)(bits >> shift) & 31];
        }
    }

    // Inserts a zero bit after each bit.
    private static ulong Spread(ulong value)
    {
        value = (value | (value << 16)) & 0x0000_FFFF_0000_FFFF;
        value = (value | (value << 8)) & 0x00FF_00FF_00FF_00FF;
        value = (value | (value << 4)) & 0x0F0F_0F0F_0F0F_0F0F;
        value = (value | (value << 2)) & 0x3333_3333_3333_3333;
        return (value | (value << 1)) & 0x5555_5555_5555_5555;
    }

    private static uint Gather(ulong bits)
    {
        bits &= 0x5555_5555_5555_5555;
        bits = (bits | (bits >> 1)) & 0x3333_3333_3333_3333;
        bits = (bits | (bits >> 2)) & 0x0F0F_0F0F_0F0F_0F0F;
        bits = (bits | (bits >> 4)) & 0x00FF_00FF_00FF_00FF;
        bits = (bits | (bits >> 8)) & 0x0000_FFFF_0000_FFFF;
        return (uint)(bits | (bits >> 16));
    }
}
