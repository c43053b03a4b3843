namespace RedKite.TimeSeries.Store;

/// <summary>A value at a time, in milliseconds. The value may be NaN.</summary>
internal readonly record struct Sample(long Time, double Value);
