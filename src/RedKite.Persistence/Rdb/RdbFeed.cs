using RedKite.Persistence.Files;
using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Supplies an <see cref="RdbInput"/> with a part of a file through a window that moves forward, so that a value of any size needs the
/// memory of its largest string only. Used by one thread.
/// </summary>
internal sealed class RdbFeed : IDisposable
{
    /// <summary>The window's size, unless a single element is larger.</summary>
    internal const int WindowBytes = 256 * 1024;

    private readonly IOpenFile _file;
    private readonly bool _sums;
    private NativeBuffer _window = new();
    private NativeBuffer _refilled = new();
    private long _next;

    /// <param name="file">The file.</param>
    /// <param name="start">The position of the part's first byte.</param>
    /// <param name="end">The position after its last byte.</param>
    internal RdbFeed(IOpenFile file, long start, long end)
    {
        _file = file;
        _next = start;
        End = end;
    }

    /// <summary>A feed that continues a checksum over the bytes that are read through it.</summary>
    internal RdbFeed(IOpenFile file, long start, long end, ulong crc)
        : this(file, start, end)
    {
        _sums = true;
        Crc = crc;
    }

    internal long End { get; }

    /// <summary>The number of bytes that the window has not reached yet.</summary>
    internal long Left => End - _next;

    /// <summary>The checksum, continued over the bytes that have left the window.</summary>
    internal ulong Crc { get; private set; }

    /// <summary>Moves the window.</summary>
    /// <param name="unread">The unread end of the window, which stays in it.</param>
    /// <param name="needed">The number of bytes that the window needs to have; they exist.</param>
    /// <returns>The window.</returns>
    internal ReadOnlySpan<byte> Refill(ReadOnlySpan<byte> unread, int needed)
    {
        Sum(unread.Length);
        _refilled.Clear();
        int missing = Math.Max(needed, WindowBytes) - unread.Length;
        int bytes = (int)Math.Min(missing, Left);
        Span<byte> target = _refilled.Room(unread.Length + bytes);
        unread.CopyTo(target);
        target = target[unread.Length..];
        int read = _file.Read(_next, target);
        if (read < bytes && unread.Length + read < needed) throw new RdbFileException(_file.Path, _next + read, "the file became shorter while it was read");
        _next += read;
        _refilled.Advance(unread.Length + read);
        (_window, _refilled) = (_refilled, _window);
        return _window.Written;
    }

    /// <summary>Continues the checksum over the window's bytes that have been read.</summary>
    internal void Sum(int unread)
    {
        if (_sums) Crc = Crc64.Append(Crc, _window.Written[..^unread]);
    }

    public void Dispose()
    {
        _window.Dispose();
        _refilled.Dispose();
    }
}
