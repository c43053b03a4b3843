using System.Globalization;

namespace RedKite.Server.Config;

/// <summary>The data is saved after a number of seconds if it has changed at least so often since the last save.</summary>
internal sealed record SavePoint(long Seconds, int Changes)
{
    /// <summary>The program's setting `save` unless one is given: redis-server's. A server in a host's process has none.</summary>
    internal const string ProgramDefault = "3600 1 300 100 60 10000";

    /// <summary>As in the setting.</summary>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Seconds} {Changes}");
}
