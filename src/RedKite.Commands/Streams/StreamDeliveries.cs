using System.Buffers;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>The entries of one stream that XREADGROUP has replied.</summary>
/// <param name="Key">The stream's argument.</param>
/// <param name="Entries">The number of entries, those claimed from other consumers first.</param>
/// <param name="LastId">The group's last id before.</param>
/// <param name="EntriesRead">The group's count of read entries before.</param>
/// <param name="Claimed">The number of claimed entries.</param>
internal readonly record struct StreamDelivery(int Key, int Entries, StreamId LastId, long EntriesRead, int Claimed = 0);

/// <summary>
/// The entries that XREADGROUP has replied and has still to make pending for the consumer, in rented arrays. That follows when all
/// streams have been replied, so that a reply that cannot be delivered changes nothing.
/// </summary>
internal struct StreamDeliveries
{
    private const int FirstCapacity = 64;

    private StreamId[] _ids = ArrayPool<StreamId>.Shared.Rent(FirstCapacity);
    private StreamDelivery[] _deliveries = ArrayPool<StreamDelivery>.Shared.Rent(FirstCapacity);
    private int _idCount;
    private int _idsTaken;
    private int _count;
    private int _taken;

    public StreamDeliveries()
    {
    }

    /// <summary>Adds an entry of the stream that is being replied.</summary>
    internal void Add(in StreamId id)
    {
        if (_idCount == _ids.Length) Grow(ref _ids);
        _ids[_idCount++] = id;
    }

    /// <summary>Ends the entries of a stream.</summary>
    internal void Add(in StreamDelivery delivery)
    {
        if (_count == _deliveries.Length) Grow(ref _deliveries);
        _deliveries[_count++] = delivery;
    }

    /// <summary>Takes the first stream that is left, with the ids of its entries.</summary>
    internal bool TryTakeFirst(out StreamDelivery delivery, out ReadOnlySpan<StreamId> ids)
    {
        bool taken = _taken < _count;
        delivery = taken ? _deliveries[_taken++] : default;
        ids = _ids.AsSpan(_idsTaken, delivery.Entries);
        _idsTaken += delivery.Entries;
        return taken;
    }

    /// <summary>Takes the last stream that is left, to undo what was replied.</summary>
    internal bool TryTakeLast(out StreamDelivery delivery)
    {
        bool taken = _taken < _count;
        delivery = taken ? _deliveries[--_count] : default;
        return taken;
    }

    internal readonly void Release()
    {
        ArrayPool<StreamId>.Shared.Return(_ids);
        ArrayPool<StreamDelivery>.Shared.Return(_deliveries);
    }

    private static void Grow<T>(ref T[] items)
    {
        T[] larger = ArrayPool<T>.Shared.Rent(items.Length * 2);
        items.CopyTo(larger, 0);
        ArrayPool<T>.Shared.Return(items);
        items = larger;
    }
}
