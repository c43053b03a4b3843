using System.Runtime.InteropServices;
using RedKite.Persistence.Files;
using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Consecutive records of an RDB file: what <see cref="RdbFileReader"/> fills on one thread and others read to build values. Reused for
/// the next records once all its readers are done. Concurrent reads are safe.
/// </summary>
internal sealed class RdbBatch : IDisposable
{
    private readonly List<RdbItem> _items = [];

    /// <summary>The records, in the file's order.</summary>
    internal ReadOnlySpan<RdbItem> Items => CollectionsMarshal.AsSpan(_items);

    /// <summary>The position in the file of the window's first byte.</summary>
    internal long Start { get; set; }

    /// <summary>A window of the file, with the values that fit into it.</summary>
    internal NativeBuffer Window { get; } = new();

    /// <summary>Decoded names and texts.</summary>
    internal NativeBuffer Texts { get; } = new();

    internal IOpenFile? File { get; set; }

    /// <summary>The key of an item, or the name of a field.</summary>
    internal ReadOnlySpan<byte> NameOf(in RdbItem item) => Texts.Written.Slice(item.NameStart, item.NameLength);

    /// <summary>A field's value, a library's code, or a module's name.</summary>
    internal ReadOnlySpan<byte> TextOf(in RdbItem item) => Texts.Written.Slice(item.TextStart, item.TextLength);

    /// <summary>
    /// Builds a key's value in the target, whose stripe is locked. Large values are read from the file as they are built.
    /// </summary>
    /// <exception cref="FileFailure">The file cannot be read.</exception>
    internal RdbOutcome Build(in RdbItem item, in RdbTarget target, RdbScratch scratch)
    {
        if (TryGetValue(item, out ReadOnlySpan<byte> value))
        {
            var input = new RdbInput(value);
            RdbOutcome outcome = Build(item.Type, ref input, target, scratch);
            return outcome == RdbOutcome.Corrupt && RdbEmptyValue.Is(item.Type, value, scratch) ? RdbOutcome.Empty : outcome;
        }

        using var feed = new RdbFeed(File!, item.ValueOffset, item.ValueOffset + item.ValueBytes);
        var stream = new RdbInput(feed);
        return Build(item.Type, ref stream, target, scratch);
    }

    /// <summary>The bytes of a key's value; false if it is so large that it is only in the file.</summary>
    internal bool TryGetValue(in RdbItem item, out ReadOnlySpan<byte> value)
    {
        if (item.IsRewritten)
        {
            value = TextOf(item);
            return true;
        }

        long start = item.ValueOffset - Start;
        value = default;
        if (start < 0 || start + item.ValueBytes > Window.Length) return false;
        value = Window.Written.Slice((int)start, (int)item.ValueBytes);
        return true;
    }

    /// <summary>The error for a value that cannot be built.</summary>
    internal RdbFileException Failure(in RdbItem item, string reason) =>
        new(File!.Path, item.Offset, $"{reason} (type {RdbTypes.NameOf(item.Type)}, database {item.Database}, key {RdbTypes.Shown(NameOf(item))})");

    internal void Add(in RdbItem item) => _items.Add(item);

    internal void Clear()
    {
        _items.Clear();
        Window.Clear();
        Texts.Clear();
    }

    public void Dispose()
    {
        Window.Dispose();
        Texts.Dispose();
    }

    // Bytes that the value does not use mean that it is damaged.
    private static RdbOutcome Build(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        RdbOutcome outcome = RdbValueReader.Read(type, ref input, target, scratch);
        return outcome != RdbOutcome.Corrupt && input.Left > 0 ? RdbValueReader.Discard(target) : outcome;
    }
}
