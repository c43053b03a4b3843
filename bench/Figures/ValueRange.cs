using System.Globalization;

namespace RedKite.Figures;

/// <summary>The lowest and the highest of some measurements: a cell next to their median.</summary>
internal readonly record struct ValueRange(double Lowest, double Highest) : IFormattable
{
    public string ToString(string? format, IFormatProvider? formatProvider) =>
        $"{Lowest.ToString(format, formatProvider)} to {Highest.ToString(format, formatProvider)}";

    public override string ToString() => ToString("G", CultureInfo.InvariantCulture);
}
