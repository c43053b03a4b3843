using RedKite.Server.Client;

namespace RedKite;

/// <content>Hashes, lists, sets and sorted sets.</content>
public abstract partial class RedKiteQueue
{
    // Hashes

    /// <inheritdoc cref="RedKiteCommands.HashGet(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> HashGet(RedKiteArgument key, RedKiteArgument field) => Begin("HGET"u8, key).Add(field).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.HashGetString(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<string?> HashGetString(RedKiteArgument key, RedKiteArgument field) => Begin("HGET"u8, key).Add(field).TextOrNull();

    /// <inheritdoc cref="RedKiteCommands.HashGetMany(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteItems> HashGetMany(RedKiteArgument key, params ReadOnlySpan<string> fields) => Begin("HMGET"u8, key).Add(fields).Items();

    /// <inheritdoc cref="RedKiteCommands.HashGetAll(RedKiteArgument)"/>
    public RedKiteQueued<RedKitePairs> HashGetAll(RedKiteArgument key) => Begin("HGETALL"u8, key).Pairs();

    /// <inheritdoc cref="RedKiteCommands.HashSet(RedKiteArgument, RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> HashSet(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value) => Begin("HSET"u8, key).Add(field).Add(value).IsDone();

    /// <inheritdoc cref="RedKiteCommands.HashSetMany(RedKiteArgument, ReadOnlySpan{ReadOnlyMemory{byte}})"/>
    public RedKiteQueued<long> HashSetMany(RedKiteArgument key, params ReadOnlySpan<ReadOnlyMemory<byte>> fieldsAndValues) => Begin("HSET"u8, key).Add(fieldsAndValues).Integer();

    /// <inheritdoc cref="RedKiteCommands.HashSetMany(RedKiteArgument, IReadOnlyDictionary{string, string})"/>
    public RedKiteQueued<long> HashSetMany(RedKiteArgument key, IReadOnlyDictionary<string, string> fields)
    {
        RedKiteCommands.ThrowIfIncomplete(fields);
        return Begin("HSET"u8, key).Add(fields).Integer();
    }

    /// <inheritdoc cref="RedKiteCommands.HashSet(RedKiteArgument, RedKiteArgument, RedKiteArgument, TimeSpan)"/>
    public RedKiteQueued HashSet(RedKiteArgument key, RedKiteArgument field, RedKiteArgument value, TimeSpan expiry) =>
        Begin("HSETEX"u8, key).Add("PX"u8).Add(Ms(expiry)).Add("FIELDS"u8).Add(1).Add(field).Add(value).Done();

    /// <inheritdoc cref="RedKiteCommands.HashSetMany(RedKiteArgument, IReadOnlyDictionary{string, string}, TimeSpan)"/>
    public RedKiteQueued HashSetMany(RedKiteArgument key, IReadOnlyDictionary<string, string> fields, TimeSpan expiry)
    {
        RedKiteCommands.ThrowIfIncomplete(fields);
        return Begin("HSETEX"u8, key).Add("PX"u8).Add(Ms(expiry)).Add("FIELDS"u8).Add(fields.Count).Add(fields).Done();
    }

    /// <inheritdoc cref="RedKiteCommands.HashDelete(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> HashDelete(RedKiteArgument key, RedKiteArgument field) => Begin("HDEL"u8, key).Add(field).IsDone();

    /// <inheritdoc cref="RedKiteCommands.HashExists(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> HashExists(RedKiteArgument key, RedKiteArgument field) => Begin("HEXISTS"u8, key).Add(field).IsDone();

    /// <inheritdoc cref="RedKiteCommands.HashIncrement(RedKiteArgument, RedKiteArgument, long)"/>
    public RedKiteQueued<long> HashIncrement(RedKiteArgument key, RedKiteArgument field, long by = 1) => Begin("HINCRBY"u8, key).Add(field).Add(by).Integer();

    /// <inheritdoc cref="RedKiteCommands.HashLength(RedKiteArgument)"/>
    public RedKiteQueued<long> HashLength(RedKiteArgument key) => Begin("HLEN"u8, key).Integer();

    /// <inheritdoc cref="RedKiteCommands.HashFields(RedKiteArgument)"/>
    public RedKiteQueued<RedKiteItems> HashFields(RedKiteArgument key) => Begin("HKEYS"u8, key).Items();

    /// <inheritdoc cref="RedKiteCommands.HashExpire(RedKiteArgument, RedKiteArgument, TimeSpan)"/>
    public RedKiteQueued<bool> HashExpire(RedKiteArgument key, RedKiteArgument field, TimeSpan after) =>
        Begin("HPEXPIRE"u8, key).Add(Ms(after)).Add("FIELDS"u8).Add(1).Add(field).As(static reply => reply.Items is [{ Integer: 1 or 2 }]);

    // Lists

    /// <inheritdoc cref="RedKiteCommands.ListPushLeft(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<long> ListPushLeft(RedKiteArgument key, RedKiteArgument value) => Begin("LPUSH"u8, key).Add(value).Integer();

    /// <inheritdoc cref="RedKiteCommands.ListPushRight(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<long> ListPushRight(RedKiteArgument key, RedKiteArgument value) => Begin("RPUSH"u8, key).Add(value).Integer();

    /// <inheritdoc cref="RedKiteCommands.ListPushRightMany(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued<long> ListPushRightMany(RedKiteArgument key, params ReadOnlySpan<string> values) => Begin("RPUSH"u8, key).Add(values).Integer();

    /// <inheritdoc cref="RedKiteCommands.ListPopLeft(RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> ListPopLeft(RedKiteArgument key) => Begin("LPOP"u8, key).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.ListPopRight(RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> ListPopRight(RedKiteArgument key) => Begin("RPOP"u8, key).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.ListMove(RedKiteArgument, RedKiteArgument, RedKiteEnd, RedKiteEnd)"/>
    public RedKiteQueued<byte[]?> ListMove(RedKiteArgument source, RedKiteArgument destination, RedKiteEnd from, RedKiteEnd to) =>
        Begin("LMOVE"u8, source).Add(destination).Add(Word(from)).Add(Word(to)).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.ListRange(RedKiteArgument, long, long)"/>
    public RedKiteQueued<RedKiteItems> ListRange(RedKiteArgument key, long start = 0, long stop = -1) => Begin("LRANGE"u8, key).Add(start).Add(stop).Items();

    /// <inheritdoc cref="RedKiteCommands.ListGet(RedKiteArgument, long)"/>
    public RedKiteQueued<byte[]?> ListGet(RedKiteArgument key, long index) => Begin("LINDEX"u8, key).Add(index).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.ListSet(RedKiteArgument, long, RedKiteArgument)"/>
    public RedKiteQueued ListSet(RedKiteArgument key, long index, RedKiteArgument value) => Begin("LSET"u8, key).Add(index).Add(value).Done();

    /// <inheritdoc cref="RedKiteCommands.ListRemove(RedKiteArgument, RedKiteArgument, long)"/>
    public RedKiteQueued<long> ListRemove(RedKiteArgument key, RedKiteArgument value, long count = 0) => Begin("LREM"u8, key).Add(count).Add(value).Integer();

    /// <inheritdoc cref="RedKiteCommands.ListTrim(RedKiteArgument, long, long)"/>
    public RedKiteQueued ListTrim(RedKiteArgument key, long start, long stop) => Begin("LTRIM"u8, key).Add(start).Add(stop).Done();

    /// <inheritdoc cref="RedKiteCommands.ListLength(RedKiteArgument)"/>
    public RedKiteQueued<long> ListLength(RedKiteArgument key) => Begin("LLEN"u8, key).Integer();

    // Sets

    /// <inheritdoc cref="RedKiteCommands.SetAdd(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> SetAdd(RedKiteArgument key, RedKiteArgument member) => Begin("SADD"u8, key).Add(member).IsDone();

    /// <inheritdoc cref="RedKiteCommands.SetAddMany(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued<long> SetAddMany(RedKiteArgument key, params ReadOnlySpan<string> members) => Begin("SADD"u8, key).Add(members).Integer();

    /// <inheritdoc cref="RedKiteCommands.SetRemove(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> SetRemove(RedKiteArgument key, RedKiteArgument member) => Begin("SREM"u8, key).Add(member).IsDone();

    /// <inheritdoc cref="RedKiteCommands.SetContains(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> SetContains(RedKiteArgument key, RedKiteArgument member) => Begin("SISMEMBER"u8, key).Add(member).IsDone();

    /// <inheritdoc cref="RedKiteCommands.SetMembers(RedKiteArgument)"/>
    public RedKiteQueued<RedKiteItems> SetMembers(RedKiteArgument key) => Begin("SMEMBERS"u8, key).Items();

    /// <inheritdoc cref="RedKiteCommands.SetLength(RedKiteArgument)"/>
    public RedKiteQueued<long> SetLength(RedKiteArgument key) => Begin("SCARD"u8, key).Integer();

    /// <inheritdoc cref="RedKiteCommands.SetPop(RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> SetPop(RedKiteArgument key) => Begin("SPOP"u8, key).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.SetIntersect(ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteItems> SetIntersect(params ReadOnlySpan<string> keys) => Begin("SINTER"u8).Add(keys).Items();

    /// <inheritdoc cref="RedKiteCommands.SetUnion(ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteItems> SetUnion(params ReadOnlySpan<string> keys) => Begin("SUNION"u8).Add(keys).Items();

    /// <inheritdoc cref="RedKiteCommands.SetDifference(ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteItems> SetDifference(params ReadOnlySpan<string> keys) => Begin("SDIFF"u8).Add(keys).Items();

    /// <inheritdoc cref="RedKiteCommands.SetIntersectStore(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued<long> SetIntersectStore(RedKiteArgument destination, params ReadOnlySpan<string> keys) => Begin("SINTERSTORE"u8, destination).Add(keys).Integer();

    /// <inheritdoc cref="RedKiteCommands.SetUnionStore(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued<long> SetUnionStore(RedKiteArgument destination, params ReadOnlySpan<string> keys) => Begin("SUNIONSTORE"u8, destination).Add(keys).Integer();

    /// <inheritdoc cref="RedKiteCommands.SetDifferenceStore(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued<long> SetDifferenceStore(RedKiteArgument destination, params ReadOnlySpan<string> keys) => Begin("SDIFFSTORE"u8, destination).Add(keys).Integer();

    // Sorted sets

    /// <inheritdoc cref="RedKiteCommands.SortedSetAdd(RedKiteArgument, RedKiteArgument, double)"/>
    public RedKiteQueued<bool> SortedSetAdd(RedKiteArgument key, RedKiteArgument member, double score) => Begin("ZADD"u8, key).Add(score).Add(member).IsDone();

    /// <inheritdoc cref="RedKiteCommands.SortedSetAddMany(RedKiteArgument, ReadOnlySpan{RedKiteScoredMember})"/>
    public RedKiteQueued<long> SortedSetAddMany(RedKiteArgument key, params ReadOnlySpan<RedKiteScoredMember> members) => Begin("ZADD"u8, key).Add(members).Integer();

    /// <inheritdoc cref="RedKiteCommands.SortedSetIncrement(RedKiteArgument, RedKiteArgument, double)"/>
    public RedKiteQueued<double> SortedSetIncrement(RedKiteArgument key, RedKiteArgument member, double by) => Begin("ZINCRBY"u8, key).Add(by).Add(member).Double();

    /// <inheritdoc cref="RedKiteCommands.SortedSetScore(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<double?> SortedSetScore(RedKiteArgument key, RedKiteArgument member) => Begin("ZSCORE"u8, key).Add(member).DoubleOrNull();

    /// <inheritdoc cref="RedKiteCommands.SortedSetRank(RedKiteArgument, RedKiteArgument, bool)"/>
    public RedKiteQueued<long?> SortedSetRank(RedKiteArgument key, RedKiteArgument member, bool fromHighest = false) =>
        Begin(fromHighest ? "ZREVRANK"u8 : "ZRANK"u8, key).Add(member).IntegerOrNull();

    /// <inheritdoc cref="RedKiteCommands.SortedSetRemove(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> SortedSetRemove(RedKiteArgument key, RedKiteArgument member) => Begin("ZREM"u8, key).Add(member).IsDone();

    /// <inheritdoc cref="RedKiteCommands.SortedSetLength(RedKiteArgument)"/>
    public RedKiteQueued<long> SortedSetLength(RedKiteArgument key) => Begin("ZCARD"u8, key).Integer();

    /// <inheritdoc cref="RedKiteCommands.SortedSetRangeByRank(RedKiteArgument, long, long, bool)"/>
    public RedKiteQueued<RedKitePairs> SortedSetRangeByRank(RedKiteArgument key, long start = 0, long stop = -1, bool fromHighest = false) =>
        Begin("ZRANGE"u8, key).Add(start).Add(stop).AddIf(fromHighest, "REV"u8).Add("WITHSCORES"u8).Pairs();

    /// <inheritdoc cref="RedKiteCommands.SortedSetRangeByScore(RedKiteArgument, double, double)"/>
    public RedKiteQueued<RedKitePairs> SortedSetRangeByScore(RedKiteArgument key, double min, double max) =>
        Begin("ZRANGE"u8, key).Add(min).Add(max).Add("BYSCORE"u8).Add("WITHSCORES"u8).Pairs();

    /// <inheritdoc cref="RedKiteCommands.SortedSetRemoveByScore(RedKiteArgument, double, double)"/>
    public RedKiteQueued<long> SortedSetRemoveByScore(RedKiteArgument key, double min, double max) => Begin("ZREMRANGEBYSCORE"u8, key).Add(min).Add(max).Integer();

    /// <inheritdoc cref="RedKiteCommands.SortedSetPop(RedKiteArgument, long, bool)"/>
    public RedKiteQueued<RedKitePairs> SortedSetPop(RedKiteArgument key, long count = 1, bool fromHighest = false) =>
        Begin(fromHighest ? "ZPOPMAX"u8 : "ZPOPMIN"u8, key).Add(count).Pairs();

    private static ReadOnlySpan<byte> Word(RedKiteEnd end) => end == RedKiteEnd.Left ? "LEFT"u8 : "RIGHT"u8;
}
