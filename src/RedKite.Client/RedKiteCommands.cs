using System.Buffers;
using RedKite.Server.Client;

namespace RedKite;

/// <summary>
/// The commands as .NET methods, by family: strings and keys here, the others in the files beside this one. Executed at once on the calling thread; a
/// <see cref="RedKiteClient"/> locks the keys of each call, a custom command has them locked already (<see cref="RedKiteCommandKeys"/>).
/// </summary>
/// <remarks>
/// Keys and values are bytes or strings, which are sent as UTF-8 (<see cref="RedKiteArgument"/>). Missing keys read as null, zero or empty. An error reply is
/// a <see cref="RedKiteException"/>, such as WRONGTYPE for a key that holds another type. Times are rounded up to milliseconds. Commands that have no method
/// are executed by <see cref="Execute(ReadOnlySpan{string})"/>. A reply of more than 1 GiB throws <see cref="InsufficientMemoryException"/>; with an
/// append-only file that cannot be written, a change throws <see cref="IOException"/>; after the server has stopped, every call throws
/// <see cref="ObjectDisposedException"/>.
/// </remarks>
public abstract partial class RedKiteCommands
{
    private protected RedKiteCommands()
    {
    }

    /// <summary>JSON documents as objects.</summary>
    public RedKiteJson Json => new(this);

    internal abstract CallTarget Target();

    private ClientCall Begin(scoped ReadOnlySpan<byte> name) => ClientCall.Begin(Target(), name);

    private ClientCall Begin(scoped ReadOnlySpan<byte> name, scoped RedKiteArgument key) => Begin(name).Add(key);

    /// <summary>Executes any command, given as strings that are sent as UTF-8. An error is a reply (<see cref="RedKiteReply.IsError"/>), not an exception.</summary>
    /// <exception cref="ArgumentException">There is no argument, or one is null.</exception>
    public virtual RedKiteReply Execute(params ReadOnlySpan<string> arguments)
    {
        ThrowIfEmpty(arguments.Length);
        foreach (string argument in arguments)
        {
            if (argument is null) throw new ArgumentException("An argument of the command is null.", nameof(arguments));
        }

        return new ClientCall(Target()).Add(arguments).TreeOrError();
    }

    /// <summary>Executes any command, given as bytes. An error is a reply, not an exception.</summary>
    /// <exception cref="ArgumentException">There is no argument.</exception>
    public virtual RedKiteReply Execute(params ReadOnlySpan<ReadOnlyMemory<byte>> arguments)
    {
        ThrowIfEmpty(arguments.Length);
        return new ClientCall(Target()).Add(arguments).TreeOrError();
    }

    private protected static void ThrowIfEmpty(int arguments)
    {
        if (arguments == 0) throw new ArgumentException("A command has at least its name.");
    }

    // Before the call begins, which has to be ended.
    internal static void ThrowIfIncomplete(IReadOnlyDictionary<string, string> pairs)
    {
        ArgumentNullException.ThrowIfNull(pairs);
        foreach ((string name, string value) in pairs)
        {
            if (value is null) throw new ArgumentException($"The value of '{name}' is null.", nameof(pairs));
        }
    }

    private protected static long Ms(TimeSpan time) => (long)Math.Ceiling(time.TotalMilliseconds);

    private static long? Ms(TimeSpan? time) => time is { } given ? Ms(given) : null;

    // Strings

    /// <summary>A string's bytes; null: there is no such key. GET.</summary>
    public byte[]? Get(RedKiteArgument key) => Begin("GET"u8, key).BytesOrNull();

    /// <summary>
    /// Copies a string's bytes, straight from the store: nothing is allocated. GET.
    /// </summary>
    /// <returns>The value's length; if it is larger than the destination, only its beginning was copied. -1: there is no such key.</returns>
    public int Get(RedKiteArgument key, Span<byte> destination) => Begin("GET"u8, key).GetInto(destination);

    /// <summary>Writes a string's bytes; false: there is no such key. GET.</summary>
    public bool TryGet(RedKiteArgument key, IBufferWriter<byte> destination) => Begin("GET"u8, key).TryWriteTo(destination);

    /// <summary>A string as UTF-8; null: there is no such key. GET.</summary>
    public string? GetString(RedKiteArgument key) => Begin("GET"u8, key).TextOrNull();

    /// <summary>A string's bytes in pooled memory, which the caller disposes; null: there is no such key. GET.</summary>
    public RedKitePooledValue? GetPooled(RedKiteArgument key) => Begin("GET"u8, key).PooledOrNull();

    /// <summary>The strings of several keys, null for those that are missing or hold another type. MGET.</summary>
    public RedKiteItems GetMany(params ReadOnlySpan<string> keys) => Begin("MGET"u8).Add(keys).Items();

    /// <summary>Sets a string, and removes an expiry. SET.</summary>
    public void Set(RedKiteArgument key, RedKiteArgument value) => Begin("SET"u8, key).Add(value).Done();

    /// <summary>Sets a string that expires. SET with PX.</summary>
    public void Set(RedKiteArgument key, RedKiteArgument value, TimeSpan expiry) => Begin("SET"u8, key).Add(value).Add("PX"u8).Add(Ms(expiry)).Done();

    /// <summary>Sets a string on a condition. SET with NX or XX.</summary>
    /// <returns>Whether it was set.</returns>
    public bool Set(RedKiteArgument key, RedKiteArgument value, RedKiteWhen when, TimeSpan? expiry = null) =>
        Begin("SET"u8, key).Add(value).AddIf(when == RedKiteWhen.Missing, "NX"u8).AddIf(when == RedKiteWhen.Exists, "XX"u8).AddIf("PX"u8, Ms(expiry)).IsDone();

    /// <summary>Sets several strings at once, and removes expiries: keys and values alternate. MSET.</summary>
    public void SetMany(params ReadOnlySpan<ReadOnlyMemory<byte>> keysAndValues) => Begin("MSET"u8).Add(keysAndValues).Done();

    /// <summary>Sets several strings at once, and removes expiries. MSET.</summary>
    public void SetMany(IReadOnlyDictionary<string, string> values)
    {
        ThrowIfIncomplete(values);
        Begin("MSET"u8).Add(values).Done();
    }

    /// <summary>Sets a string and returns the one before, null if there was none. SET with GET.</summary>
    public byte[]? GetAndSet(RedKiteArgument key, RedKiteArgument value) => Begin("SET"u8, key).Add(value).Add("GET"u8).BytesOrNull();

    /// <summary>Returns a string and deletes its key. GETDEL.</summary>
    public byte[]? GetAndDelete(RedKiteArgument key) => Begin("GETDEL"u8, key).BytesOrNull();

    /// <summary>Returns a string and sets its expiry, or removes it with null. GETEX.</summary>
    public byte[]? GetAndExpire(RedKiteArgument key, TimeSpan? expiry) =>
        Begin("GETEX"u8, key).AddIf("PX"u8, Ms(expiry)).AddIf(expiry is null, "PERSIST"u8).BytesOrNull();

    /// <summary>Adds to the integer that a string holds; a missing key counts as 0. INCRBY.</summary>
    /// <returns>The sum.</returns>
    public long Increment(RedKiteArgument key, long by = 1) => Begin("INCRBY"u8, key).Add(by).Integer();

    /// <summary>Adds to the floating-point number that a string holds. INCRBYFLOAT.</summary>
    public double IncrementDouble(RedKiteArgument key, double by) => Begin("INCRBYFLOAT"u8, key).Add(by).DoubleOrNull() ?? 0;

    /// <summary>Appends to a string. APPEND.</summary>
    /// <returns>The length in bytes.</returns>
    public long Append(RedKiteArgument key, RedKiteArgument value) => Begin("APPEND"u8, key).Add(value).Integer();

    /// <summary>A string's length in bytes. STRLEN.</summary>
    public long StringLength(RedKiteArgument key) => Begin("STRLEN"u8, key).Integer();

    /// <summary>A part of a string, both positions in bytes and inclusive, negative ones from the end. GETRANGE.</summary>
    public byte[] GetRange(RedKiteArgument key, long start, long end) => Begin("GETRANGE"u8, key).Add(start).Add(end).BytesOrNull() ?? [];

    /// <summary>Overwrites a part of a string from a position in bytes. SETRANGE.</summary>
    /// <returns>The length in bytes.</returns>
    public long SetRange(RedKiteArgument key, long offset, RedKiteArgument value) => Begin("SETRANGE"u8, key).Add(offset).Add(value).Integer();

    // Keys

    /// <summary>Deletes a key. DEL.</summary>
    /// <returns>Whether it existed.</returns>
    public bool Delete(RedKiteArgument key) => Begin("DEL"u8, key).IsDone();

    /// <summary>Deletes keys. DEL.</summary>
    /// <returns>How many existed.</returns>
    public long DeleteMany(params ReadOnlySpan<string> keys) => keys.IsEmpty ? 0 : Begin("DEL"u8).Add(keys).Integer();

    /// <summary>Whether a key exists. EXISTS.</summary>
    public bool Exists(RedKiteArgument key) => Begin("EXISTS"u8, key).IsDone();

    /// <summary>Has a key expire. PEXPIRE.</summary>
    /// <returns>Whether it exists.</returns>
    public bool Expire(RedKiteArgument key, TimeSpan after) => Begin("PEXPIRE"u8, key).Add(Ms(after)).IsDone();

    /// <summary>Has a key expire at a time. PEXPIREAT.</summary>
    /// <returns>Whether it exists.</returns>
    public bool ExpireAt(RedKiteArgument key, DateTimeOffset time) => Begin("PEXPIREAT"u8, key).Add(time.ToUnixTimeMilliseconds()).IsDone();

    /// <summary>Removes a key's expiry. PERSIST.</summary>
    /// <returns>Whether it had one.</returns>
    public bool Persist(RedKiteArgument key) => Begin("PERSIST"u8, key).IsDone();

    /// <summary>The time until a key expires; null: it does not, or there is none. PTTL.</summary>
    public TimeSpan? TimeToLive(RedKiteArgument key) => Begin("PTTL"u8, key).Integer() is >= 0 and long ms ? TimeSpan.FromMilliseconds(ms) : null;

    /// <summary>The type of a key's value: string, list, set, zset, hash, stream or none. TYPE.</summary>
    public string TypeOf(RedKiteArgument key) => Begin("TYPE"u8, key).TextOrNull()!;

    /// <summary>Renames a key, and replaces one of the new name. RENAME.</summary>
    public void Rename(RedKiteArgument key, RedKiteArgument newKey) => Begin("RENAME"u8, key).Add(newKey).Done();

    /// <summary>Copies a value to another key. COPY.</summary>
    /// <returns>Whether it was copied: the source exists, and the destination did not or is replaced.</returns>
    public bool Copy(RedKiteArgument key, RedKiteArgument destination, bool replace = false) => Begin("COPY"u8, key).Add(destination).AddIf(replace, "REPLACE"u8).IsDone();

    /// <summary>Serializes a value in the format of RESTORE; null: there is no such key. DUMP.</summary>
    public byte[]? Dump(RedKiteArgument key) => Begin("DUMP"u8, key).BytesOrNull();

    // Bitmaps and HyperLogLogs

    /// <summary>Sets a bit of a string. SETBIT.</summary>
    /// <returns>The bit before.</returns>
    public bool SetBit(RedKiteArgument key, long offset, bool value) => Begin("SETBIT"u8, key).Add(offset).Add(value ? 1 : 0).IsDone();

    /// <summary>A bit of a string. GETBIT.</summary>
    public bool GetBit(RedKiteArgument key, long offset) => Begin("GETBIT"u8, key).Add(offset).IsDone();

    /// <summary>How many bits of a string are set. BITCOUNT.</summary>
    public long CountBits(RedKiteArgument key) => Begin("BITCOUNT"u8, key).Integer();

    /// <summary>The position of the first bit of a value, -1 for none. BITPOS.</summary>
    public long FindBit(RedKiteArgument key, bool value) => Begin("BITPOS"u8, key).Add(value ? 1 : 0).Integer();

    /// <summary>Adds an element to a HyperLogLog. PFADD.</summary>
    /// <returns>Whether its estimate may have changed.</returns>
    public bool HyperLogLogAdd(RedKiteArgument key, RedKiteArgument element) => Begin("PFADD"u8, key).Add(element).IsDone();

    /// <summary>The estimated number of distinct elements of HyperLogLogs together. PFCOUNT.</summary>
    public long HyperLogLogCount(params ReadOnlySpan<string> keys) => Begin("PFCOUNT"u8).Add(keys).Integer();

    /// <summary>Merges HyperLogLogs into one. PFMERGE.</summary>
    public void HyperLogLogMerge(RedKiteArgument destination, params ReadOnlySpan<string> sources) => Begin("PFMERGE"u8, destination).Add(sources).Done();
}

/// <summary>A condition of <see cref="RedKiteCommands.Set(RedKiteArgument, RedKiteArgument, RedKiteWhen, TimeSpan?)"/>.</summary>
public enum RedKiteWhen
{
    /// <summary>Always.</summary>
    Always,

    /// <summary>Only if the key does not exist.</summary>
    Missing,

    /// <summary>Only if the key exists.</summary>
    Exists,
}
