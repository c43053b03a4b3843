using RedKite.Store.Memory;
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
/// The entries that XREADGROUP has replied and has still to make pending for the consumer. That follows when all
/// streams have been replied, so that a reply that cannot be delivered changes nothing.
/// </summary>
internal struct StreamDeliveries
{
    private NativeList<StreamId> _ids;
    private NativeList<StreamDelivery> _deliveries;
    private int _idsTaken;
    private int _taken;

    /// <summary>Whether there is memory for another entry.</summary>
    internal readonly bool HasRoom => NativeList<StreamId>.HasRoom(2L * (_ids.Count + 1)); // while it grows

    /// <summary>Adds an entry of the stream that is being replied.</summary>
    internal void Add(in StreamId id) => _ids.Add(id);

    /// <summary>Ends the entries of a stream.</summary>
    internal void Add(in StreamDelivery delivery) => _deliveries.Add(delivery);

    /// <summary>Takes the first stream that is left, with the ids of its entries.</summary>
    internal bool TryTakeFirst(out StreamDelivery delivery, out ReadOnlySpan<StreamId> ids)
    {
        bool taken = _taken < _deliveries.Count;
        delivery = taken ? _deliveries.Items[_taken++] : default;
        ids = _ids.Items.Slice(_idsTaken, delivery.Entries);
        _idsTaken += delivery.Entries;
        return taken;
    }

    /// <summary>Takes the last stream that is left, to undo what was replied.</summary>
    internal bool TryTakeLast(out StreamDelivery delivery)
    {
        bool taken = _taken < _deliveries.Count;
        delivery = taken ? _deliveries.Items[^1] : default;
        if (taken) _deliveries.Truncate(_deliveries.Count - 1);
        return taken;
    }

    internal void Release()
    {
        _ids.Dispose();
        _deliveries.Dispose();
    }
}
