namespace RedKite.Server.Commands.Geo;

/// <summary>A place on the earth, in degrees.</summary>
internal readonly record struct GeoPosition(double Longitude, double Latitude);

/// <summary>A part of the world between two longitudes and two latitudes, in degrees.</summary>
internal readonly record struct GeoArea(double LongitudeMin, double LongitudeMax, double LatitudeMin, double LatitudeMax)
{
    /// <summary>What can be indexed: the square that the web's maps show, without the surroundings of the poles.</summary>
    internal static readonly GeoArea Indexed = new(-180, 180, -85.05112878, 85.05112878);

    /// <summary>The whole world, on which geohashes as text are defined.</summary>
    internal static readonly GeoArea World = new(-180, 180, -90, 90);

    internal bool Contains(GeoPosition position) =>
        position.Longitude >= LongitudeMin && position.Longitude <= LongitudeMax && position.Latitude >= LatitudeMin && position.Latitude <= LatitudeMax;
}

/// <summary>
/// One of the cells into which an area is cut by halving it in both directions, step by step. Its geohash interleaves the
/// bits of column and row, the column's above the row's, so that cells inside it follow on each other as numbers.
/// </summary>
/// <param name="Column">From west to east.</param>
/// <param name="Row">From south to north.</param>
/// <param name="Step">How often the area is halved; there are 2^step columns and rows.</param>
internal readonly record struct GeoCell(uint Column, uint Row, int Step)
{
    /// <summary>The step of positions that are stored: 52 bits, which a score has exactly.</summary>
    internal const int StepMax = 26;

    private const int TextLength = 11;
    private const int BitsPerCharacter = 5;

    /// <summary>The geohash: twice as many bits as there are steps.</summary>
    internal ulong Bits => Spread(Row) | (Spread(Column) << 1);

    /// <summary>The lowest score of a position in the cell.</summary>
    internal double ScoreMin => Bits << (2 * (StepMax - Step));

    /// <summary>The lowest score behind the cell's.</summary>
    internal double ScoreEnd => (Bits + 1) << (2 * (StepMax - Step));

    /// <summary>The cell in which a position of an area lies.</summary>
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
    /// The cell so many columns and rows away; the edges of the area meet on the other side. A position on the eastern or
    /// northern edge is in a cell beyond the last one: only a way in that direction leads back into the area, as in Redis.
    /// </summary>
    internal GeoCell Neighbor(int columns, int rows)
    {
        uint mask = (1U << Step) - 1;
        return new GeoCell(columns == 0 ? Column : (Column + (uint)columns) & mask, rows == 0 ? Row : (Row + (uint)rows) & mask, Step);
    }

    /// <summary>Writes a stored position as the geohash text that others use, of 11 characters.</summary>
    /// <param name="score">The position's score.</param>
    /// <param name="text">Room for 11 bytes.</param>
    internal static void WriteText(double score, Span<byte> text)
    {
        // Stored positions leave the poles out, so the cell is another one.
        ulong bits = Of(PositionOf(score), GeoArea.World, StepMax).Bits;
        for (int i = 0; i < TextLength; i++)
        {
            // 52 bits are ten characters and a bit: the last one says nothing.
            int shift = (2 * StepMax) - ((i + 1) * BitsPerCharacter);
            text[i] = "0123456789bcdefghjkmnpqrstuvwxyz"u8[shift < 0 ? 0 : (int)(bits >> shift) & 31];
        }
    }

    // Puts a zero bit behind each bit.
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
