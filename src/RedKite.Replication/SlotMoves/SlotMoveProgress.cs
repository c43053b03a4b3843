using System.Globalization;
using RedKite.Server.Cluster;
using RedKite.Store.Keyspace;

namespace RedKite.Server.SlotMoves;

/// <summary>The progress of moves, for metrics, findings and the page.</summary>
internal static class SlotMoveProgress
{
    private const int RangesShown = 4;

    /// <summary>Describes moves.</summary>
    internal static List<MoveProgress> Of(IEnumerable<SlotMove> moves, Keyspace keyspace, long nowMs) => [.. moves.Select(move => Of(move, keyspace, nowMs))];

    private static MoveProgress Of(SlotMove move, Keyspace keyspace, long nowMs)
    {
        bool hasEnded = move.HasEnded;
        long keys = 0;
        if (!hasEnded)
        {
            foreach (Database database in keyspace.Databases)
            {
                foreach (int slot in move.Slots.Slots()) keys += database.CountOfSlot(slot);
            }
        }

        double seconds = Math.Max(0, (hasEnded ? move.EndedMs : nowMs) - move.StartedMs) / 1000.0;
        return new MoveProgress(move.Id, move.IsExport, move.SourceId, move.TargetId, RangesText(move.Slots), move.Slots.Count, Word(move.State), move.Message, seconds, keys, move.SentBytes, move.WaitingBytes, move.Retries, hasEnded);
    }

    private static string RangesText(SlotSet slots)
    {
        List<SlotRange> ranges = slots.Ranges();
        string text = string.Join(' ', ranges.Take(RangesShown).Select(static range => string.Create(CultureInfo.InvariantCulture, $"{range.First}-{range.Last}")));
        return ranges.Count > RangesShown ? text + " ..." : text;
    }

    private static string Word(SlotMoveState state) => state switch
    {
        SlotMoveState.Waiting => "waiting",
        SlotMoveState.Connecting => "connecting",
        SlotMoveState.Snapshot => "snapshot",
        SlotMoveState.Streaming => "streaming",
        SlotMoveState.Handover => "handover",
        SlotMoveState.InDoubt => "in doubt",
        SlotMoveState.Completed => "completed",
        SlotMoveState.Canceled => "canceled",
        _ => "failed",
    };
}
