namespace RedKite.Server.Durability;

/// <summary>The progress of loading, and its result. Written by the loading thread, read by any.</summary>
/// <param name="advanced">Receives the bytes that are loaded, all bytes, and the keys so far; null: nothing does.</param>
internal sealed class LoadProgress(Action<long, long, long>? advanced)
{
    private const long AnnouncePauseMs = 100;

    private long _loadedBytes;
    private long _announcedAt;
    private long _endedMs;
    private volatile bool _isRunning;
    private Func<long> _keys = () => 0;

    /// <summary>Whether data is being loaded.</summary>
    internal bool IsRunning => _isRunning;

    /// <summary>The file that is loaded; empty: none was.</summary>
    internal string Path { get; private set; } = "";

    /// <summary>Whether a replica loads, or has loaded last, what its primary sent.</summary>
    internal bool IsOfReplication { get; private set; }

    internal long StartedMs { get; private set; }

    internal long TotalBytes { get; private set; }

    internal long LoadedBytes
    {
        get => Volatile.Read(ref _loadedBytes);
        set
        {
            Volatile.Write(ref _loadedBytes, value);
            if (advanced is not null && Environment.TickCount64 - _announcedAt >= AnnouncePauseMs) Announce();
        }
    }

    /// <summary>Keys that were loaded so far.</summary>
    internal long Keys => _keys();

    /// <summary>Keys that were left out because they had expired.</summary>
    internal long Expired { get; private set; }

    internal TimeSpan Elapsed(long nowMs) => TimeSpan.FromMilliseconds((_isRunning ? nowMs : _endedMs) - StartedMs);

    /// <summary>Seconds until the end, at the speed so far; -1: unknown.</summary>
    internal double SecondsLeft(long nowMs)
    {
        if (LoadedBytes == 0 || TotalBytes == 0) return -1;
        return Elapsed(nowMs).TotalSeconds * (TotalBytes - LoadedBytes) / LoadedBytes;
    }

    internal void Begin(string path, long totalBytes, long nowMs, Func<long> keys, bool isOfReplication = false)
    {
        (Path, TotalBytes, StartedMs, _keys, IsOfReplication) = (path, totalBytes, nowMs, keys, isOfReplication);
        _loadedBytes = 0;
        _isRunning = true;
    }

    internal void End(long nowMs, long keys, long expired)
    {
        Expired = expired;
        _keys = () => keys;
        _endedMs = nowMs;
        _isRunning = false;
    }

    /// <summary>Tells how far it is now.</summary>
    internal void Announce()
    {
        _announcedAt = Environment.TickCount64;
        advanced?.Invoke(LoadedBytes, TotalBytes, Keys);
    }
}
