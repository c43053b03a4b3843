using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// CLUSTERSCAN of Valkey 9.1: a scan of a whole cluster. Its cursor is `id-{tag}-position`: the tag has the slot from which the next call continues, so that clients send it to the slot's node; the position is one in that
/// slot's part of the table, and only valid in the server of that id: elsewhere the slot begins again.
/// </summary>
internal static partial class ScanCommands
{
    // CLUSTERSCAN cursor [MATCH pattern] [COUNT count] [TYPE type] [SLOT slot]. The slot of the cursor was this node's when the command was admitted, or comes to it key by key.
    internal static void ReplyOfCluster(scoped in CommandContext cmd, ReadOnlySpan<byte> id, Predicate<int> serves, Predicate<int> imports)
    {
        ReadOnlySpan<byte> cursor = cmd[1];
        bool begins = cursor is [(byte)'0'];
        int slot = 0;
        ulong position = 0;
        if (!begins)
        {
            int first = cursor.IndexOf((byte)'-'), last = cursor.LastIndexOf((byte)'-');
            if (first < 1 || first == last || !ulong.TryParse(cursor[(last + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out position))
            {
                cmd.Reply.Error("ERR Invalid cursor"u8);
                return;
            }

            slot = KeySlot.Of(cursor);
            if (!cursor[..first].SequenceEqual(id)) position = 0;
        }

        int? only = null;
        if (!TryScanOptionsOrReply(cmd, out KeyFilter filter, out long countMin, ref only, isOfCluster: true)) return;
        if (begins)
        {
            cmd.Reply.Array(2);
            cmd.Reply.Bulk($"0-{{{SlotTag.Of(only ?? 0)}}}-0");
            cmd.Reply.Array(0);
        }
        else if (only is { } asked && asked != slot)
        {
            cmd.Reply.Error("ERR Cursor slot mismatch with SLOT argument"u8);
        }
        else
        {
            ReplySlots(cmd, new SlotsScan { Slot = slot, Position = DatabaseCursor.Decode(position).Table, IsOfOne = only is not null, Id = id }, serves, imports, filter, countMin);
        }
    }

    private static void ReplySlots(scoped in CommandContext cmd, SlotsScan scan, Predicate<int> serves, Predicate<int> imports, scoped in KeyFilter filter, long countMin)
    {
        ReplyWriter reply = cmd.Reply;
        var entries = new EntryList();
        var expired = new List<byte[]>();
        long start = reply.Length;
        int count = 0;
        long seen = 0;
        long bucketsLeft = countMin > long.MaxValue / BucketsForEachKey ? long.MaxValue : countMin * BucketsForEachKey;
        bool goesOn = true; // the slot that the cursor names was looked at when the command was admitted
        while (goesOn && seen < countMin && bucketsLeft > 0 && !reply.Overflowed && !filter.Patterns.IsUsedUp)
        {
            entries.Clear();
            int slot = scan.Slot, stripe = slot % cmd.Keyspace.Stripes.Length;
            SlotsScan before = scan;
            SlotSet? hidden = null;
            if (cmd.Database.CountOfSlot(slot) > 0)
            {
                if (!cmd.Environment.TryEnterStripe(stripe)) return;
                hidden = cmd.Keyspace.HiddenSlots;
                CollectSlot(cmd.Database.TableIn(stripe)!, cmd.Keyspace.Hasher.IndexOfSlot(slot), ref scan, entries, countMin - seen, ref bucketsLeft);
                count += ReplyMatching(reply, entries, filter, hidden, expired, cmd.Metrics);
                RemoveExpired(cmd, expired);
                cmd.Environment.ExitStripe(stripe);
                seen += entries.Count;
            }
            else
            {
                scan.EndSlot();
            }

            if (hidden?.Contains(slot) == true || !(serves(slot) || imports(slot)))
            {
                scan = before; // the slot has left meanwhile: its keys are hidden or gone, and its node has them
                break;
            }

            goesOn = scan.Slot == slot || (scan.Slot < KeySlot.Count && serves(scan.Slot));
        }

        if (!filter.Patterns.EndPatternsOrReply(reply, start)) return;
        long end = reply.Length;
        reply.Array(2);
        reply.Bulk(scan.Cursor());
        reply.Array(count);
        reply.MoveToFront(start, end);
    }

    // Some keys of the scan's slot, whose stripe is locked.
    private static void CollectSlot(Table table, int index, ref SlotsScan scan, EntryList entries, long keysMax, ref long bucketsLeft)
    {
        TableCursor position = scan.Position;
        if (position.Prefix < table.FirstPrefix(index) || position.Prefix > table.LastPrefix(index)) position = new TableCursor(table.FirstPrefix(index), Depth: 0, Bucket: 0);
        var bucket = new EntryList();
        bool more = true;
        for (int i = 0; more && i < BucketsPerSlice && entries.Count < keysMax && bucketsLeft > 0; i++, bucketsLeft--)
        {
            more = table.NextBucketOfSlot(ref position, scan.Slot, bucket, entries);
        }

        if (more) scan.Position = position;
        else scan.EndSlot();
    }

    // Where a scan is.
    private ref struct SlotsScan
    {
        internal int Slot;
        internal TableCursor Position; // before the slot's part of the table: at its beginning
        internal bool IsOfOne;
        internal ReadOnlySpan<byte> Id;

        internal void EndSlot()
        {
            Slot = IsOfOne ? KeySlot.Count : Slot + 1;
            Position = default;
        }

        internal readonly string Cursor() => Slot == KeySlot.Count
            ? "0"
            : string.Create(CultureInfo.InvariantCulture, $"{(Position == default ? "0" : Encoding.ASCII.GetString(Id))}-{{{SlotTag.Of(Slot)}}}-{new DatabaseCursor(0, Position).Encode()}");
    }
}
