using System.Numerics;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Keyspace;

/// <summary>Samples for eviction: neighbours in hash order, which are as random as any, and cost one walk over adjacent cache lines.</summary>
internal sealed unsafe partial class Table
{
    /// <summary>
    /// Collects entries from a random bucket on, all of whole buckets, until there are enough or the table ends. A segment without an
    /// expiry costs one read of its header if only entries with one are wanted.
    /// </summary>
    /// <param name="start">A random number, which determines where to begin.</param>
    /// <param name="wanted">The number of entries that is enough.</param>
    /// <param name="onlyExpiring">Whether only keys with an expiry count.</param>
    /// <param name="entries">The sampled entries are added to it.</param>
    internal void Sample(ulong start, int wanted, bool onlyExpiring, EntryList entries)
    {
        if ((onlyExpiring ? Expiring : Count) == 0) return;
        int enough = entries.Count + wanted;
        int home = Segment.Home(start);
        byte* first = SegmentOf(start);
        uint prefix = Segment.Of(first)->Prefix;
        byte* segment = first;
        do
        {
            Segment.Header* header = Segment.Of(segment);
            if ((onlyExpiring ? header->Expiring : header->Count) > 0)
            {
                for (int i = 0; i < Segment.Buckets; i++)
                {
                    CollectSamples(Segment.Bucket(segment, home), onlyExpiring, entries);
                    if (entries.Count >= enough) return;
                    home = Segment.Next(home);
                }
            }

            Advance(segment, ref prefix); // the last segment's successor is the first
            segment = SegmentOfPrefix(prefix);
        }
        while (segment != first);
    }

    /// <summary>Finds an entry by its key's hash alone.</summary>
    internal bool TryFind(ulong hash, out EntryPosition position)
    {
        byte tag = Segment.Tag(hash);
        int home = Segment.Home(hash);
        byte* segment = SegmentOf(hash);
        int index = home;
        do
        {
            byte* bucket = Segment.Bucket(segment, index);
            for (uint matches = Segment.Matches(bucket, tag); matches != 0; matches &= matches - 1)
            {
                int slot = BitOperations.TrailingZeroCount(matches);
                nuint value = Segment.Slot(bucket, slot);
                if (!Segment.MayHave(value, hash)) continue;
                byte* entry = Segment.Entry(value);
                if (_hasher.HashKey(EntryBlock.Key(entry)) != hash) continue;
                position = new EntryPosition(bucket, slot, entry, hash);
                return true;
            }

            if (!Segment.IsPassed(bucket, tag)) break;
            index = Segment.Next(index);
        }
        while (index != home);

        position = new EntryPosition(null, 0, null, hash);
        return false;
    }

    // Everything of the bucket is prefetched before any of it is read.
    private static void CollectSamples(byte* bucket, bool onlyExpiring, EntryList entries)
    {
        uint occupied = Segment.Occupied(bucket);
        for (uint left = occupied; Sse.IsSupported && left != 0; left &= left - 1)
        {
            nuint value = Segment.Slot(bucket, BitOperations.TrailingZeroCount(left));
            if (!onlyExpiring || Segment.Expires(value)) Sse.Prefetch0(Segment.Entry(value));
        }

        for (; occupied != 0; occupied &= occupied - 1)
        {
            nuint value = Segment.Slot(bucket, BitOperations.TrailingZeroCount(occupied));
            if (onlyExpiring && !(Segment.Expires(value) && EntryBlock.Expires(Segment.Entry(value)))) continue;
            entries.Add(Segment.Entry(value));
        }
    }
}
