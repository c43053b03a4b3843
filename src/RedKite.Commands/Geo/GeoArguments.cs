using System.Globalization;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Geo;

/// <summary>Reads the arguments of geo commands: positions, units, lengths.</summary>
internal static class GeoArguments
{
    private const double MetersPerKilometer = 1000;
    private const double MetersPerFoot = 0.3048;
    private const double MetersPerMile = 1609.34;

    /// <summary>Reads a longitude and the latitude after it.</summary>
    internal static bool TryPositionOrReply(this scoped in CommandContext cmd, int longitude, out GeoPosition position)
    {
        position = default;
        if (!cmd.TryFloatOrReply(longitude, out double east) || !cmd.TryFloatOrReply(longitude + 1, out double north)) return false;
        position = new GeoPosition(east, north);
        if (GeoArea.Indexed.Contains(position)) return true;
        cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR invalid longitude,latitude pair {Shown(east)},{Shown(north)}"));
        return false;
    }

    /// <summary>Reads a unit and converts it to meters.</summary>
    internal static bool TryUnitOrReply(this scoped in CommandContext cmd, int argument, out double meters)
    {
        meters = cmd.Is(argument, "M"u8) ? 1
            : cmd.Is(argument, "KM"u8) ? MetersPerKilometer
            : cmd.Is(argument, "FT"u8) ? MetersPerFoot
            : cmd.Is(argument, "MI"u8) ? MetersPerMile
            : 0;
        if (meters > 0) return true;
        cmd.Reply.Error("ERR unsupported unit provided. please use M, KM, FT, MI"u8);
        return false;
    }

    /// <summary>Reads a radius and the unit after it.</summary>
    internal static bool TryRadiusOrReply(this scoped in CommandContext cmd, int argument, out double radius, out double unitMeters)
    {
        unitMeters = 0;
        if (!cmd.TryFloatOrReply(argument, "ERR need numeric radius"u8, out radius)) return false;
        if (radius >= 0) return cmd.TryUnitOrReply(argument + 1, out unitMeters);
        cmd.Reply.Error("ERR radius cannot be negative"u8);
        return false;
    }

    /// <summary>Reads the width and height of a box and the unit after them.</summary>
    internal static bool TryBoxOrReply(this scoped in CommandContext cmd, int argument, out double width, out double height, out double unitMeters)
    {
        height = unitMeters = 0;
        if (!cmd.TryFloatOrReply(argument, "ERR need numeric width"u8, out width)) return false;
        if (!cmd.TryFloatOrReply(argument + 1, "ERR need numeric height"u8, out height)) return false;
        if (width >= 0 && height >= 0) return cmd.TryUnitOrReply(argument + 2, out unitMeters);
        cmd.Reply.Error("ERR height or width cannot be negative"u8);
        return false;
    }

    // Formats a number as C's %f does.
    private static string Shown(double value) =>
        double.IsInfinity(value) ? (value > 0 ? "inf" : "-inf") : value.ToString("F6", CultureInfo.InvariantCulture);
}
