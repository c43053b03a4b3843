using System.Runtime.CompilerServices;

namespace RedKite.Server.Commands.Geo;

/// <summary>
/// The cells that cover a shape: the one with its center and up to eight around it, as large as necessary. They are in the
/// order in which Redis searches them, because replies that are not sorted show it.
/// </summary>
internal ref struct GeoCover
{
    private const int CellsMax = 9;

    // Half of the earth's circumference on web maps, in meters: the extent of the cell of step 0 to each side.
    private const double MapHalf = 20037726.37;

    private Cells _cells;

    /// <summary>The number of cells.</summary>
    internal int Count { get; private set; }

    internal readonly GeoCell this[int index] => _cells[index];

    internal static GeoCover Of(in GeoShape shape)
    {
        GeoArea bounds = shape.Bounds;
        int step = StepFor(shape.Reach, shape.Center.Latitude);
        GeoCell center = GeoCell.Of(shape.Center, GeoArea.Indexed, step);
        if (step > 1 && !AroundCovers(center, bounds)) center = GeoCell.Of(shape.Center, GeoArea.Indexed, step - 1);

        var cover = default(GeoCover);
        GeoArea area = center.Area(GeoArea.Indexed);

        // Neighbors on sides where the shape stays within the center's cell are left out. Large cells are all kept.
        bool skips = center.Step >= 2;
        bool skipsSouth = skips && area.LatitudeMin < bounds.LatitudeMin;
        bool skipsNorth = skips && area.LatitudeMax > bounds.LatitudeMax;
        bool skipsWest = skips && area.LongitudeMin < bounds.LongitudeMin;
        bool skipsEast = skips && area.LongitudeMax > bounds.LongitudeMax;
        cover.Add(center);
        if (!skipsNorth) cover.Add(center.Neighbor(0, 1));
        if (!skipsSouth) cover.Add(center.Neighbor(0, -1));
        if (!skipsEast) cover.Add(center.Neighbor(1, 0));
        if (!skipsWest) cover.Add(center.Neighbor(-1, 0));
        if (!skipsNorth && !skipsEast) cover.Add(center.Neighbor(1, 1));
        if (!skipsNorth && !skipsWest) cover.Add(center.Neighbor(-1, 1));
        if (!skipsSouth && !skipsEast) cover.Add(center.Neighbor(1, -1));
        if (!skipsSouth && !skipsWest) cover.Add(center.Neighbor(-1, -1));
        return cover;
    }

    // The step of the smallest cells of which nine should cover the shape.
    private static int StepFor(double reach, double latitude)
    {
        if (reach == 0) return GeoCell.StepMax;
        int step = 1;
        for (; reach < MapHalf; reach *= 2) step++;
        step -= 2;

        // Cells become narrower towards the poles.
        if (Math.Abs(latitude) > 66) step--;
        if (Math.Abs(latitude) > 80) step--;
        return Math.Clamp(step, 1, GeoCell.StepMax);
    }

    private static bool AroundCovers(GeoCell center, in GeoArea bounds) =>
        center.Neighbor(0, 1).Area(GeoArea.Indexed).LatitudeMax >= bounds.LatitudeMax
        && center.Neighbor(0, -1).Area(GeoArea.Indexed).LatitudeMin <= bounds.LatitudeMin
        && center.Neighbor(1, 0).Area(GeoArea.Indexed).LongitudeMax >= bounds.LongitudeMax
        && center.Neighbor(-1, 0).Area(GeoArea.Indexed).LongitudeMin <= bounds.LongitudeMin;

    // Where cells are half of the map, the neighbors on both sides are the same cell: no cell is searched twice.
    private void Add(GeoCell cell)
    {
        for (int i = 0; i < Count; i++)
        {
            if (_cells[i] == cell) return;
        }

        _cells[Count++] = cell;
    }

    [InlineArray(CellsMax)]
    private struct Cells
    {
        private GeoCell _first;
    }
}
