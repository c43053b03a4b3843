using RedKite.Server.Client;

namespace RedKite;

/// <content>Hashes, lists, sets and sorted sets.</content>
public abstract partial class RedKiteCommands
{
    // Hashes

    /// <summary>A field's value; null: there is none. HGET.</summary>
    public byte[]? HashGet(RedKiteArgument key, RedKiteArgument field) => Begin("HGET"u8, key).Add(field).BytesOrNull();

    /// <summary>A field's value as UTF-8; null: there is none. HGET.</summary>
    public string? HashGetString(RedKiteArgument key, RedKiteArgument field) => Begin("HGET"u8, key).Add(field).TextOrNull();

    /// <summary>Writes a field's value; false: there is none. HGET.</summary>
    public bool TryHashGet(RedKiteArgument key, RedKiteArgument field, System.Buffers.IBufferWriter<byte> destination) => Begin("HGET"u8, key).Add(field).TryWriteTo(destination);

    /// <summary>The values of several fields, null for missing ones. HMGET.</summary>
    public RedKiteItems HashGetMany(RedKiteArgument key, params ReadOnlySpan<string> fields) => Begin("HMGET"u8, key).Add(fields).Items();

    /// <summary>All fields with their values. HGETALL.</summary>
    public RedKitePairs HashGetAll(RedKiteArgument key) => Begin("HGETALL"u8, key).Pairs();

    /// <summary>Sets a field. HSET.</summary>
    /// <returns>Whether it is new.</returns>
    public bool HashSet(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value) => Begin("HSET"u8, key).Add(field).Add(value).IsDone();

    /// <summary>Sets fields: names and values alternate. HSET.</summary>
    /// <returns>How many are new.</returns>
    public long HashSetMany(RedKiteArgument key, params ReadOnlySpan<ReadOnlyMemory<byte>> fieldsAndValues) => Begin("HSET"u8, key).Add(fieldsAndValues).Integer();

    /// <summary>Sets fields. HSET.</summary>
    /// <returns>How many are new.</returns>
    public long HashSetMany(RedKiteArgument key, IReadOnlyDictionary<string, string> fields)
    {
        ThrowIfIncomplete(fields);
        return Begin("HSET"u8, key).Add(fields).Integer();
    }

    /// <summary>Sets a field that expires. HSETEX with PX.</summary>
    public void HashSet(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value, TimeSpan expiry) =>
        Begin("HSETEX"u8, key).Add("PX"u8).Add(Ms(expiry)).Add("FIELDS"u8).Add(1).Add(field).Add(value).Done();

    /// <summary>Sets fields that expire. HSETEX with PX.</summary>
    public void HashSetMany(RedKiteArgument key, IReadOnlyDictionary<string, string> fields, TimeSpan expiry)
    {
        ThrowIfIncomplete(fields);
        Begin("HSETEX"u8, key).Add("PX"u8).Add(Ms(expiry)).Add("FIELDS"u8).Add(fields.Count).Add(fields).Done();
    }

    /// <summary>Deletes a field. HDEL.</summary>
    /// <returns>Whether it existed.</returns>
    public bool HashDelete(RedKiteArgument key, RedKiteArgument field) => Begin("HDEL"u8, key).Add(field).IsDone();

    /// <summary>Whether a field exists. HEXISTS.</summary>
    public bool HashExists(RedKiteArgument key, RedKiteArgument field) => Begin("HEXISTS"u8, key).Add(field).IsDone();

    /// <summary>Adds to the integer that a field holds; a missing one counts as 0. HINCRBY.</summary>
    /// <returns>The sum.</returns>
    public long HashIncrement(RedKiteArgument key, RedKiteArgument field, long by = 1) => Begin("HINCRBY"u8, key).Add(field).Add(by).Integer();

    /// <summary>The number of fields. HLEN.</summary>
    public long HashLength(RedKiteArgument key) => Begin("HLEN"u8, key).Integer();

    /// <summary>The fields' names. HKEYS.</summary>
    public RedKiteItems HashFields(RedKiteArgument key) => Begin("HKEYS"u8, key).Items();

    /// <summary>Has a field expire. HPEXPIRE.</summary>
    /// <returns>Whether it exists.</returns>
    public bool HashExpire(RedKiteArgument key, RedKiteArgument field, TimeSpan after)
    {
        using RedKiteItems result = Begin("HPEXPIRE"u8, key).Add(Ms(after)).Add("FIELDS"u8).Add(1).Add(field).Items();
        foreach (RedKiteItem item in result) return item.Bytes is [(byte)'1' or (byte)'2'];
        return false;
    }

    // Lists

    /// <summary>Adds an element at the head. LPUSH.</summary>
    /// <returns>The list's length.</returns>
    public long ListPushLeft(RedKiteArgument key, RedKiteArgument value) => Begin("LPUSH"u8, key).Add(value).Integer();

    /// <summary>Adds an element at the tail. RPUSH.</summary>
    /// <returns>The list's length.</returns>
    public long ListPushRight(RedKiteArgument key, RedKiteArgument value) => Begin("RPUSH"u8, key).Add(value).Integer();

    /// <summary>Adds elements at the tail. RPUSH.</summary>
    /// <returns>The list's length.</returns>
    public long ListPushRightMany(RedKiteArgument key, params ReadOnlySpan<string> values) => Begin("RPUSH"u8, key).Add(values).Integer();

    /// <summary>Removes and returns the head; null: the list is missing. LPOP.</summary>
    public byte[]? ListPopLeft(RedKiteArgument key) => Begin("LPOP"u8, key).BytesOrNull();

    /// <summary>Removes and returns the tail; null: the list is missing. RPOP.</summary>
    public byte[]? ListPopRight(RedKiteArgument key) => Begin("RPOP"u8, key).BytesOrNull();

    /// <summary>Moves the head or tail of a list to an end of another. LMOVE.</summary>
    /// <returns>The element; null: the source is missing.</returns>
    public byte[]? ListMove(RedKiteArgument source, RedKiteArgument destination, RedKiteEnd from, RedKiteEnd to) =>
        Begin("LMOVE"u8, source).Add(destination).Add(Word(from)).Add(Word(to)).BytesOrNull();

    /// <summary>Elements between two inclusive positions, negative ones from the end. LRANGE.</summary>
    public RedKiteItems ListRange(RedKiteArgument key, long start = 0, long stop = -1) => Begin("LRANGE"u8, key).Add(start).Add(stop).Items();

    /// <summary>An element; null: the position is outside. LINDEX.</summary>
    public byte[]? ListGet(RedKiteArgument key, long index) => Begin("LINDEX"u8, key).Add(index).BytesOrNull();

    /// <summary>Replaces an element. LSET.</summary>
    public void ListSet(RedKiteArgument key, long index, RedKiteArgument value) => Begin("LSET"u8, key).Add(index).Add(value).Done();

    /// <summary>Removes equal elements: as many as the count from the head, from the tail if it is negative, all if it is 0. LREM.</summary>
    /// <returns>How many were removed.</returns>
    public long ListRemove(RedKiteArgument key, RedKiteArgument value, long count = 0) => Begin("LREM"u8, key).Add(count).Add(value).Integer();

    /// <summary>Keeps the elements between two inclusive positions. LTRIM.</summary>
    public void ListTrim(RedKiteArgument key, long start, long stop) => Begin("LTRIM"u8, key).Add(start).Add(stop).Done();

    /// <summary>The number of elements. LLEN.</summary>
    public long ListLength(RedKiteArgument key) => Begin("LLEN"u8, key).Integer();

    // Sets

    /// <summary>Adds a member. SADD.</summary>
    /// <returns>Whether it is new.</returns>
    public bool SetAdd(RedKiteArgument key, RedKiteArgument member) => Begin("SADD"u8, key).Add(member).IsDone();

    /// <summary>Adds members. SADD.</summary>
    /// <returns>How many are new.</returns>
    public long SetAddMany(RedKiteArgument key, params ReadOnlySpan<string> members) => Begin("SADD"u8, key).Add(members).Integer();

    /// <summary>Removes a member. SREM.</summary>
    /// <returns>Whether it existed.</returns>
    public bool SetRemove(RedKiteArgument key, RedKiteArgument member) => Begin("SREM"u8, key).Add(member).IsDone();

    /// <summary>Whether a member exists. SISMEMBER.</summary>
    public bool SetContains(RedKiteArgument key, RedKiteArgument member) => Begin("SISMEMBER"u8, key).Add(member).IsDone();

    /// <summary>All members. SMEMBERS.</summary>
    public RedKiteItems SetMembers(RedKiteArgument key) => Begin("SMEMBERS"u8, key).Items();

    /// <summary>The number of members. SCARD.</summary>
    public long SetLength(RedKiteArgument key) => Begin("SCARD"u8, key).Integer();

    /// <summary>Removes and returns a random member; null: the set is missing. SPOP.</summary>
    public byte[]? SetPop(RedKiteArgument key) => Begin("SPOP"u8, key).BytesOrNull();

    /// <summary>The members that all sets have. SINTER.</summary>
    public RedKiteItems SetIntersect(params ReadOnlySpan<string> keys) => Begin("SINTER"u8).Add(keys).Items();

    /// <summary>The members that any of the sets has. SUNION.</summary>
    public RedKiteItems SetUnion(params ReadOnlySpan<string> keys) => Begin("SUNION"u8).Add(keys).Items();

    /// <summary>The members of the first set that none of the others has. SDIFF.</summary>
    public RedKiteItems SetDifference(params ReadOnlySpan<string> keys) => Begin("SDIFF"u8).Add(keys).Items();

    /// <summary>Stores the members that all sets have in another set, and replaces that. SINTERSTORE.</summary>
    /// <returns>How many they are.</returns>
    public long SetIntersectStore(RedKiteArgument destination, params ReadOnlySpan<string> keys) => Begin("SINTERSTORE"u8, destination).Add(keys).Integer();

    /// <summary>Stores the members that any of the sets has in another set, and replaces that. SUNIONSTORE.</summary>
    /// <returns>How many they are.</returns>
    public long SetUnionStore(RedKiteArgument destination, params ReadOnlySpan<string> keys) => Begin("SUNIONSTORE"u8, destination).Add(keys).Integer();

    /// <summary>Stores the members of the first set that none of the others has in another set, and replaces that. SDIFFSTORE.</summary>
    /// <returns>How many they are.</returns>
    public long SetDifferenceStore(RedKiteArgument destination, params ReadOnlySpan<string> keys) => Begin("SDIFFSTORE"u8, destination).Add(keys).Integer();

    // Sorted sets

    /// <summary>Adds a member or changes its score. ZADD.</summary>
    /// <returns>Whether it is new.</returns>
    public bool SortedSetAdd(RedKiteArgument key, RedKiteArgument member, double score) => Begin("ZADD"u8, key).Add(score).Add(member).IsDone();

    /// <summary>Adds members or changes their scores. ZADD.</summary>
    /// <returns>How many are new.</returns>
    public long SortedSetAddMany(RedKiteArgument key, params ReadOnlySpan<RedKiteScoredMember> members) => Begin("ZADD"u8, key).Add(members).Integer();

    /// <summary>Adds to a member's score; a missing one counts as 0. ZINCRBY.</summary>
    /// <returns>The sum.</returns>
    public double SortedSetIncrement(RedKiteArgument key, RedKiteArgument member, double by) => Begin("ZINCRBY"u8, key).Add(by).Add(member).DoubleOrNull() ?? 0;

    /// <summary>A member's score; null: there is none. ZSCORE.</summary>
    public double? SortedSetScore(RedKiteArgument key, RedKiteArgument member) => Begin("ZSCORE"u8, key).Add(member).DoubleOrNull();

    /// <summary>A member's position from the lowest score, or from the highest; null: there is none. ZRANK, ZREVRANK.</summary>
    public long? SortedSetRank(RedKiteArgument key, RedKiteArgument member, bool fromHighest = false) =>
        Begin(fromHighest ? "ZREVRANK"u8 : "ZRANK"u8, key).Add(member).IntegerOrNull();

    /// <summary>Removes a member. ZREM.</summary>
    /// <returns>Whether it existed.</returns>
    public bool SortedSetRemove(RedKiteArgument key, RedKiteArgument member) => Begin("ZREM"u8, key).Add(member).IsDone();

    /// <summary>The number of members. ZCARD.</summary>
    public long SortedSetLength(RedKiteArgument key) => Begin("ZCARD"u8, key).Integer();

    /// <summary>Members between two inclusive positions, with their scores, from the lowest score or from the highest. ZRANGE WITHSCORES.</summary>
    public RedKitePairs SortedSetRangeByRank(RedKiteArgument key, long start = 0, long stop = -1, bool fromHighest = false) =>
        Begin("ZRANGE"u8, key).Add(start).Add(stop).AddIf(fromHighest, "REV"u8).Add("WITHSCORES"u8).Pairs();

    /// <summary>Members with a score between two inclusive limits, with their scores. ZRANGE BYSCORE WITHSCORES.</summary>
    public RedKitePairs SortedSetRangeByScore(RedKiteArgument key, double min, double max) =>
        Begin("ZRANGE"u8, key).Add(min).Add(max).Add("BYSCORE"u8).Add("WITHSCORES"u8).Pairs();

    /// <summary>Removes members with a score between two inclusive limits. ZREMRANGEBYSCORE.</summary>
    /// <returns>How many were removed.</returns>
    public long SortedSetRemoveByScore(RedKiteArgument key, double min, double max) => Begin("ZREMRANGEBYSCORE"u8, key).Add(min).Add(max).Integer();

    /// <summary>Removes and returns the members with the lowest scores, or the highest, with their scores. ZPOPMIN, ZPOPMAX.</summary>
    public RedKitePairs SortedSetPop(RedKiteArgument key, long count = 1, bool fromHighest = false) => Begin(fromHighest ? "ZPOPMAX"u8 : "ZPOPMIN"u8, key).Add(count).Pairs();

    private static ReadOnlySpan<byte> Word(RedKiteEnd end) => end == RedKiteEnd.Left ? "LEFT"u8 : "RIGHT"u8;
}

/// <summary>An end of a list.</summary>
public enum RedKiteEnd
{
    /// <summary>The head.</summary>
    Left,

    /// <summary>The tail.</summary>
    Right,
}
