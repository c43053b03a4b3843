using RedKite.Server.Client;

namespace RedKite;

/// <content>Strings, keys, bitmaps and HyperLogLogs.</content>
public abstract partial class RedKiteQueue
{
    // Strings

    /// <inheritdoc cref="RedKiteCommands.Get(RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> Get(RedKiteArgument key) => Begin("GET"u8, key).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.GetString(RedKiteArgument)"/>
    public RedKiteQueued<string?> GetString(RedKiteArgument key) => Begin("GET"u8, key).TextOrNull();

    /// <inheritdoc cref="RedKiteCommands.GetMany(ReadOnlySpan{string})"/>
    public RedKiteQueued<RedKiteItems> GetMany(params ReadOnlySpan<string> keys) => Begin("MGET"u8).Add(keys).Items();

    /// <inheritdoc cref="RedKiteCommands.Set(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued Set(RedKiteArgument key, RedKiteArgument value) => Begin("SET"u8, key).Add(value).Done();

    /// <inheritdoc cref="RedKiteCommands.Set(RedKiteArgument, RedKiteArgument, TimeSpan)"/>
    public RedKiteQueued Set(RedKiteArgument key, RedKiteArgument value, TimeSpan expiry) => Begin("SET"u8, key).Add(value).Add("PX"u8).Add(Ms(expiry)).Done();

    /// <inheritdoc cref="RedKiteCommands.Set(RedKiteArgument, RedKiteArgument, RedKiteWhen, TimeSpan?)"/>
    public RedKiteQueued<bool> Set(RedKiteArgument key, RedKiteArgument value, RedKiteWhen when, TimeSpan? expiry = null) =>
        Begin("SET"u8, key).Add(value).AddIf(when == RedKiteWhen.Missing, "NX"u8).AddIf(when == RedKiteWhen.Exists, "XX"u8).AddIf("PX"u8, Ms(expiry)).IsDone();

    /// <inheritdoc cref="RedKiteCommands.SetMany(ReadOnlySpan{ReadOnlyMemory{byte}})"/>
    public RedKiteQueued SetMany(params ReadOnlySpan<ReadOnlyMemory<byte>> keysAndValues) => Begin("MSET"u8).Add(keysAndValues).Done();

    /// <inheritdoc cref="RedKiteCommands.SetMany(IReadOnlyDictionary{string, string})"/>
    public RedKiteQueued SetMany(IReadOnlyDictionary<string, string> values)
    {
        RedKiteCommands.ThrowIfIncomplete(values);
        return Begin("MSET"u8).Add(values).Done();
    }

    /// <inheritdoc cref="RedKiteCommands.GetAndSet(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> GetAndSet(RedKiteArgument key, RedKiteArgument value) => Begin("SET"u8, key).Add(value).Add("GET"u8).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.GetAndDelete(RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> GetAndDelete(RedKiteArgument key) => Begin("GETDEL"u8, key).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.GetAndExpire(RedKiteArgument, TimeSpan?)"/>
    public RedKiteQueued<byte[]?> GetAndExpire(RedKiteArgument key, TimeSpan? expiry) =>
        Begin("GETEX"u8, key).AddIf("PX"u8, Ms(expiry)).AddIf(expiry is null, "PERSIST"u8).BytesOrNull();

    /// <inheritdoc cref="RedKiteCommands.Increment(RedKiteArgument, long)"/>
    public RedKiteQueued<long> Increment(RedKiteArgument key, long by = 1) => Begin("INCRBY"u8, key).Add(by).Integer();

    /// <inheritdoc cref="RedKiteCommands.IncrementDouble(RedKiteArgument, double)"/>
    public RedKiteQueued<double> IncrementDouble(RedKiteArgument key, double by) => Begin("INCRBYFLOAT"u8, key).Add(by).Double();

    /// <inheritdoc cref="RedKiteCommands.Append(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<long> Append(RedKiteArgument key, RedKiteArgument value) => Begin("APPEND"u8, key).Add(value).Integer();

    /// <inheritdoc cref="RedKiteCommands.StringLength(RedKiteArgument)"/>
    public RedKiteQueued<long> StringLength(RedKiteArgument key) => Begin("STRLEN"u8, key).Integer();

    /// <inheritdoc cref="RedKiteCommands.GetRange(RedKiteArgument, long, long)"/>
    public RedKiteQueued<byte[]> GetRange(RedKiteArgument key, long start, long end) => Begin("GETRANGE"u8, key).Add(start).Add(end).Bytes();

    /// <inheritdoc cref="RedKiteCommands.SetRange(RedKiteArgument, long, RedKiteArgument)"/>
    public RedKiteQueued<long> SetRange(RedKiteArgument key, long offset, RedKiteArgument value) => Begin("SETRANGE"u8, key).Add(offset).Add(value).Integer();

    // Keys

    /// <inheritdoc cref="RedKiteCommands.Delete(RedKiteArgument)"/>
    public RedKiteQueued<bool> Delete(RedKiteArgument key) => Begin("DEL"u8, key).IsDone();

    /// <inheritdoc cref="RedKiteCommands.DeleteMany(ReadOnlySpan{string})"/>
    public RedKiteQueued<long> DeleteMany(params ReadOnlySpan<string> keys) => Begin("DEL"u8).Add(keys).Integer();

    /// <inheritdoc cref="RedKiteCommands.Exists(RedKiteArgument)"/>
    public RedKiteQueued<bool> Exists(RedKiteArgument key) => Begin("EXISTS"u8, key).IsDone();

    /// <inheritdoc cref="RedKiteCommands.Expire(RedKiteArgument, TimeSpan)"/>
    public RedKiteQueued<bool> Expire(RedKiteArgument key, TimeSpan after) => Begin("PEXPIRE"u8, key).Add(Ms(after)).IsDone();

    /// <inheritdoc cref="RedKiteCommands.ExpireAt(RedKiteArgument, DateTimeOffset)"/>
    public RedKiteQueued<bool> ExpireAt(RedKiteArgument key, DateTimeOffset time) => Begin("PEXPIREAT"u8, key).Add(time.ToUnixTimeMilliseconds()).IsDone();

    /// <inheritdoc cref="RedKiteCommands.Persist(RedKiteArgument)"/>
    public RedKiteQueued<bool> Persist(RedKiteArgument key) => Begin("PERSIST"u8, key).IsDone();

    /// <inheritdoc cref="RedKiteCommands.TimeToLive(RedKiteArgument)"/>
    public RedKiteQueued<TimeSpan?> TimeToLive(RedKiteArgument key) =>
        Begin("PTTL"u8, key).As(static reply => reply.Integer >= 0 ? TimeSpan.FromMilliseconds(reply.Integer) : (TimeSpan?)null);

    /// <inheritdoc cref="RedKiteCommands.TypeOf(RedKiteArgument)"/>
    public RedKiteQueued<string> TypeOf(RedKiteArgument key) => Begin("TYPE"u8, key).Text();

    /// <inheritdoc cref="RedKiteCommands.Rename(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued Rename(RedKiteArgument key, RedKiteArgument newKey) => Begin("RENAME"u8, key).Add(newKey).Done();

    /// <inheritdoc cref="RedKiteCommands.Copy(RedKiteArgument, RedKiteArgument, bool)"/>
    public RedKiteQueued<bool> Copy(RedKiteArgument key, RedKiteArgument destination, bool replace = false) =>
        Begin("COPY"u8, key).Add(destination).AddIf(replace, "REPLACE"u8).IsDone();

    /// <inheritdoc cref="RedKiteCommands.Dump(RedKiteArgument)"/>
    public RedKiteQueued<byte[]?> Dump(RedKiteArgument key) => Begin("DUMP"u8, key).BytesOrNull();

    // Bitmaps and HyperLogLogs

    /// <inheritdoc cref="RedKiteCommands.SetBit(RedKiteArgument, long, bool)"/>
    public RedKiteQueued<bool> SetBit(RedKiteArgument key, long offset, bool value) => Begin("SETBIT"u8, key).Add(offset).Add(value ? 1 : 0).IsDone();

    /// <inheritdoc cref="RedKiteCommands.GetBit(RedKiteArgument, long)"/>
    public RedKiteQueued<bool> GetBit(RedKiteArgument key, long offset) => Begin("GETBIT"u8, key).Add(offset).IsDone();

    /// <inheritdoc cref="RedKiteCommands.CountBits(RedKiteArgument)"/>
    public RedKiteQueued<long> CountBits(RedKiteArgument key) => Begin("BITCOUNT"u8, key).Integer();

    /// <inheritdoc cref="RedKiteCommands.FindBit(RedKiteArgument, bool)"/>
    public RedKiteQueued<long> FindBit(RedKiteArgument key, bool value) => Begin("BITPOS"u8, key).Add(value ? 1 : 0).Integer();

    /// <inheritdoc cref="RedKiteCommands.HyperLogLogAdd(RedKiteArgument, RedKiteArgument)"/>
    public RedKiteQueued<bool> HyperLogLogAdd(RedKiteArgument key, RedKiteArgument element) => Begin("PFADD"u8, key).Add(element).IsDone();

    /// <inheritdoc cref="RedKiteCommands.HyperLogLogCount(ReadOnlySpan{string})"/>
    public RedKiteQueued<long> HyperLogLogCount(params ReadOnlySpan<string> keys) => Begin("PFCOUNT"u8).Add(keys).Integer();

    /// <inheritdoc cref="RedKiteCommands.HyperLogLogMerge(RedKiteArgument, ReadOnlySpan{string})"/>
    public RedKiteQueued HyperLogLogMerge(RedKiteArgument destination, params ReadOnlySpan<string> sources) => Begin("PFMERGE"u8, destination).Add(sources).Done();
}
