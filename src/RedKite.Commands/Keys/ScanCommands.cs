using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// Commands that find keys without naming them: KEYS, SCAN, RANDOMKEY. The table is their single declaration and this file's
/// contents. KEYS sees the whole database at one moment; SCAN and RANDOMKEY lock one stripe at a time, and only for a slice.
/// </summary>
internal static partial class ScanCommands
{
    private const long CountDefault = 10;

    // The maximum number of home buckets that a call visits for each key of COUNT. It is the size of a segment, so that a
    // database with fewer keys than COUNT is scanned in one call, whatever stripes they are in.
    private const long BucketsForEachKey = 128;

    // The number of home buckets for which a stripe stays locked: some hundred keys, a few microseconds.
    private const int BucketsPerSlice = 32;

    // The names of expired keys that a slice of SCAN removes, which are copied to the managed heap with the stripe locked.
    private const int ExpiredNameBytesMax = 256 << 10;

    // Each sample that misses removes a segment's expired keys. After this number of misses, all expired keys are removed.
    private const int SamplesMax = 16;

    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
        new("KEYS", 2, ReadOnly | AllStripes, KeySpecs.None, KeysOf, new("1.0.0", "O(N) with N being the number of keys in the database, under the assumption that the key names in the database and the given pattern have limited length.", "Returns all keys that match a pattern.", "pattern")) { Categories = AclCategory.Dangerous, Tips = ["request_policy:all_shards", "nondeterministic_output_order"] },
        new("SCAN", -2, ReadOnly | WalksStripes, KeySpecs.None, Scan, new("2.8.0", "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.", "Iterates over the keys of the selected database.", "cursor [MATCH pattern] [COUNT count] [TYPE type]@6.0.0") { History = [("6.0.0", "Adds `TYPE`.")] }) { Tips = ["nondeterministic_output", "request_policy:special", "response_policy:special"] },
        new("RANDOMKEY", 1, ReadOnly | WalksStripes, KeySpecs.None, RandomKey, new("1.0.0", "O(1)", "Returns a random key of the selected database.")) { Tips = ["request_policy:all_shards", "response_policy:special", "nondeterministic_output"] },
    ]);

    // KEYS pattern
    private static void KeysOf(ref CommandContext cmd)
    {
        var filter = new KeyFilter { Patterns = cmd.BeginPatterns(), Expiry = cmd.Expiry, Pattern = cmd[1] };
        ReplyWriter reply = cmd.Reply;
        var entries = new EntryList();
        long start = reply.Length;
        int count = 0;
        for (int stripe = 0; stripe < cmd.Keyspace.Stripes.Length; stripe++)
        {
            if (cmd.Database.TableIn(stripe) is not { Count: > 0 } table) continue;
            uint prefix = 0;
            bool more;
            do
            {
                entries.Clear();
                more = table.NextSegment(ref prefix, entries);
                count += ReplyMatching(reply, entries, filter, cmd.Keyspace.HiddenSlots);
            }
            while (more && !reply.Overflowed && !filter.Patterns.IsUsedUp);
        }

        if (!filter.Patterns.EndPatternsOrReply(reply, start)) return;
        long end = reply.Length;
        reply.Array(count);
        reply.MoveToFront(start, end);
    }

    // SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
    private static void Scan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 1, out ulong position)) return;
        int? none = null;
        if (TryScanOptionsOrReply(cmd, out KeyFilter filter, out long countMin, ref none)) ReplySome(cmd, position, filter, countMin);
    }

    /// <summary>Replies some of the keys that must not be evicted, and a cursor.</summary>
    internal static void ReplyPinned(scoped in CommandContext cmd, ulong position, long countMin)
    {
        if (cmd.Database.Pinned == 0) position = new DatabaseCursor(cmd.Keyspace.Stripes.Length, default).Encode(); // the end
        ReplySome(cmd, position, new KeyFilter { Patterns = cmd.BeginPatterns(), Expiry = cmd.Expiry, OnlyPinned = true }, countMin);
    }

    private static void ReplySome(scoped in CommandContext cmd, ulong position, scoped in KeyFilter filter, long countMin)
    {
        DatabaseCursor cursor = DatabaseCursor.Decode(position);
        ReplyWriter reply = cmd.Reply;
        var entries = new EntryList();
        var expired = new List<byte[]>();
        long start = reply.Length;
        int count = 0;
        long seen = 0;
        long bucketsLeft = countMin > long.MaxValue / BucketsForEachKey ? long.MaxValue : countMin * BucketsForEachKey;
        int stripes = cmd.Keyspace.Stripes.Length;
        while (cursor.Stripe < stripes && seen < countMin && bucketsLeft > 0 && !reply.Overflowed && !filter.Patterns.IsUsedUp)
        {
            // The collected keys are replied before the stripe is unlocked, because they are only valid until then.
            entries.Clear();
            int stripe = cursor.Stripe;
            if (!cmd.Environment.TryEnterStripe(stripe)) return;
            CollectSlice(cmd.Database, ref cursor, entries, countMin - seen, ref bucketsLeft);
            count += ReplyMatching(reply, entries, filter, cmd.Keyspace.HiddenSlots, expired, cmd.Metrics);
            RemoveExpired(cmd, expired);
            cmd.Environment.ExitStripe(stripe);
            seen += entries.Count;
        }

        if (!filter.Patterns.EndPatternsOrReply(reply, start)) return;
        long end = reply.Length;
        reply.Array(2);
        reply.BulkInteger(cursor.Stripe < stripes ? (long)cursor.Encode() : 0);
        reply.Array(count);
        reply.MoveToFront(start, end);
    }

    // RANDOMKEY
    private static void RandomKey(ref CommandContext cmd)
    {
        ExpiryClock expiry = ExpiryOfWalks(cmd);
        for (int i = 0; i < SamplesMax; i++)
        {
            int stripe = cmd.Database.DrawStripe(SamplingRandom.Current);
            if (stripe < 0) break;
            if (TryReplySample(ref cmd, stripe, expiry)) return;
        }

        // Nearly all keys have expired but are not removed yet. Each is removed only once, so the commands that set them have paid for it.
        int stripes = cmd.Keyspace.Stripes.Length;
#pragma warning disable CA5394 // Not a secret: a sample.
        int first = SamplingRandom.Current.Next(stripes);
#pragma warning restore CA5394
        for (int i = 0; i < stripes; i++)
        {
            int stripe = (first + i) & (stripes - 1);
            if (expiry.Policy == ExpiryPolicy.Hide)
            {
                if (TryReplySample(ref cmd, stripe, ExpiryClock.Never)) return; // as in Redis, one that has expired
                continue;
            }

            if (!cmd.Environment.TryEnterStripe(stripe)) return;
            cmd.Database.ExpireStripe(stripe, expiry);
            cmd.Environment.ExitStripe(stripe);
            if (TryReplySample(ref cmd, stripe, expiry)) return;
        }

        if (cmd.Keyspace.HiddenSlots is not null && TryReplyVisible(ref cmd, expiry)) return;
        cmd.Reply.Null();
    }

    // Samples meet hidden keys when there are many: a slot that clients see, and its first key.
    private static bool TryReplyVisible(ref CommandContext cmd, ExpiryClock expiry)
    {
#pragma warning disable CA5394 // Not a secret: a sample.
        int first = SamplingRandom.Current.Next(KeySlot.Count);
#pragma warning restore CA5394
        var entries = new EntryList();
        for (int i = 0; i < KeySlot.Count; i++)
        {
            int slot = (first + i) % KeySlot.Count;
            if (cmd.Database.CountOfSlot(slot) == 0 || cmd.Keyspace.HiddenSlots?.Contains(slot) == true) continue;
            int stripe = slot % cmd.Keyspace.Stripes.Length;
            if (!cmd.Environment.TryEnterStripe(stripe)) return true; // the command ends
            bool isFound = false;
            var walk = new SlotWalk(cmd.Keyspace, cmd.Database, new SlotRange(slot, slot));
            while (!isFound && !walk.IsComplete && walk.Stripe <= stripe)
            {
                walk.Next(entries);
                foreach (Entry entry in entries)
                {
                    if (isFound || (entry.Expires && expiry.HasPassed(entry.ExpiryMs))) continue;
                    cmd.Reply.Bulk(entry.Key);
                    isFound = true;
                }

                entries.Clear();
            }

            cmd.Environment.ExitStripe(stripe);
            if (isFound) return true;
        }

        return false;
    }

    private static bool TryReplySample(ref CommandContext cmd, int stripe, ExpiryClock expiry)
    {
        if (!cmd.Environment.TryEnterStripe(stripe)) return true; // the command ends
        Entry entry = cmd.Database.Pick(stripe, SamplingRandom.Current, expiry);
        bool exists = entry.Exists && !cmd.Keyspace.Hides(entry.Key);
        if (exists) cmd.Reply.Bulk(entry.Key);
        cmd.Environment.ExitStripe(stripe);
        return exists;
    }

    // Advances the cursor over buckets of one stripe, which is locked.
    private static void CollectSlice(Database database, ref DatabaseCursor cursor, EntryList entries, long keysMax, ref long bucketsLeft)
    {
        Table? table = database.TableIn(cursor.Stripe);
        bool more = table is not null;
        for (int i = 0; more && i < BucketsPerSlice && entries.Count < keysMax && bucketsLeft > 0; i++, bucketsLeft--)
        {
            more = table!.NextBucket(ref cursor.Table, entries);
        }

        if (!more) cursor = new DatabaseCursor(cursor.Stripe + 1, default);
    }

    private static int ReplyMatching(ReplyWriter reply, EntryList entries, in KeyFilter filter, SlotSet? hidden, List<byte[]>? expired = null, ExecutorMetrics? metrics = null)
    {
        int count = 0;
        int bytesLeft = ExpiredNameBytesMax;
        foreach (Entry entry in entries)
        {
            if (hidden?.Contains(KeySlot.Of(entry.Key)) == true) continue;
            filter.CountLookup(entry, metrics);
            if (filter.Accepts(entry))
            {
                reply.Bulk(entry.Key);
                count++;
            }
            else if (filter.FindsExpired(entry))
            {
                // Copied, because removing one frees its block. What is beyond the limit is removed by the sweep.
                if (expired is not null && entry.Key.Length <= bytesLeft)
                {
                    bytesLeft -= entry.Key.Length;
                    expired.Add(entry.Key.ToArray());
                }
            }
        }

        return count;
    }

    private static void RemoveExpired(scoped in CommandContext cmd, List<byte[]> keys)
    {
        ExpiryClock expiry = ExpiryOfWalks(cmd);
        foreach (byte[] key in keys) cmd.Database.Find(key, cmd.Keyspace.Hash(key), expiry);
        keys.Clear();
    }

    // A unit may be meant to remove no keys that its commands do not name.
    private static ExpiryClock ExpiryOfWalks(scoped in CommandContext cmd) =>
        cmd.Environment.IsInUnit && !cmd.Settings.LazyExpiryInUnits && cmd.Expiry.Policy == ExpiryPolicy.Remove
            ? new ExpiryClock(cmd.Expiry.PassedMs, ExpiryPolicy.Hide)
            : cmd.Expiry;

    private static bool TryScanOptionsOrReply(scoped in CommandContext cmd, out KeyFilter filter, out long count, ref int? slot, bool isOfCluster = false)
    {
        filter = new KeyFilter { Patterns = cmd.BeginPatterns(), Expiry = cmd.Expiry };
        count = CountDefault;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (options.TakeWithValue("COUNT"u8, out int value))
            {
                if (!cmd.TryIntegerOrReply(value, out count)) return false;
                if (count >= 1) continue;
                cmd.ReplySyntaxError();
                return false;
            }

            if (options.TakeWithValue("MATCH"u8, out value))
            {
                filter.Pattern = cmd[value];
            }
            else if (options.TakeWithValue("TYPE"u8, out value))
            {
                // As in Redis since 7.4, an unknown type is not an error: it matches no key.
                filter.HasType = true;
                filter.Type = cmd[value];
                if (isOfCluster && !IsTypeOrReply(cmd, value)) return false;
            }
            else if (isOfCluster && options.TakeWithValue("SLOT"u8, out value))
            {
                if (!RespNumber.TryParseInt64(cmd[value], out long number) || number is < 0 or >= KeySlot.Count)
                {
                    cmd.Reply.Error("ERR Invalid or out of range slot"u8);
                    return false;
                }

                slot = (int)number;
            }
            else if (options.Take("NOVALUES"u8))
            {
                cmd.Reply.Error("ERR NOVALUES option can only be used in HSCAN"u8);
                return false;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }

    // In Valkey it is an error.
    private static bool IsTypeOrReply(scoped in CommandContext cmd, int argument)
    {
        foreach (StoredType type in StoredTypes.All)
        {
            if (AsciiText.EqualsIgnoreCase(cmd[argument], type.Name)) return true;
        }

        cmd.Reply.Error($"ERR unknown type name '{cmd.ShownText(argument)}'");
        return false;
    }

    /// <summary>Selects the keys that KEYS and SCAN return: those that exist and match the pattern and, optionally, the type.</summary>
    private ref struct KeyFilter
    {
        public KeyFilter()
        {
        }

        internal required GlobBudget Patterns;
        internal ExpiryClock Expiry = ExpiryClock.Never;
        internal ReadOnlySpan<byte> Pattern = "*"u8;
        internal bool HasType = false;
        internal ReadOnlySpan<byte> Type = default;
        internal bool OnlyPinned = false;

        internal readonly bool Accepts(Entry entry)
        {
            if (HasExpired(entry) || (OnlyPinned && !entry.IsPinned)) return false;
            if (HasType && !AsciiText.EqualsIgnoreCase(Type, StoredTypes.Of(entry).Name)) return false;
            return Matches(entry);
        }

        // As in Redis, SCAN with TYPE looks up each key that matches the pattern.
        internal readonly void CountLookup(Entry entry, ExecutorMetrics? metrics)
        {
            if (!HasType || metrics is null || !Matches(entry)) return;
            if (HasExpired(entry)) metrics.CountMiss();
            else metrics.CountHit();
        }

        // As in Redis, SCAN removes expired keys that match the pattern, whatever their type; KEYS removes none.
        internal readonly bool FindsExpired(Entry entry) => HasExpired(entry) && Matches(entry);

        private readonly bool HasExpired(Entry entry) => entry.Expires && Expiry.HasPassed(entry.ExpiryMs);

        private readonly bool Matches(Entry entry) => Pattern is [(byte)'*'] || Patterns.IsMatch(Pattern, entry.Key);
    }
}
