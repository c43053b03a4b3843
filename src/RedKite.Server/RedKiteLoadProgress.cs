namespace RedKite;

/// <summary>How far a starting server has loaded its data.</summary>
/// <param name="LoadedBytes">Bytes of the files that are loaded.</param>
/// <param name="TotalBytes">Bytes of all files.</param>
/// <param name="Keys">Keys that were loaded from snapshots or bases so far; commands of a log are not counted.</param>
public readonly record struct RedKiteLoadProgress(long LoadedBytes, long TotalBytes, long Keys);
