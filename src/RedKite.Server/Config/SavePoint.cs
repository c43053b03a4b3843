namespace RedKite.Server.Config;

/// <summary>The data is saved after a number of seconds if it has changed at least so often since the last save.</summary>
internal readonly record struct SavePoint(long Seconds, int Changes);
