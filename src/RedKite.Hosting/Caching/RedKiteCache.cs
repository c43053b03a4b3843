using System.Buffers;
using System.Globalization;
using Microsoft.Extensions.Caching.Distributed;

namespace RedKite.Hosting;

/// <summary>
/// <see cref="IDistributedCache"/> and <see cref="IBufferDistributedCache"/> (which HybridCache uses) in the server of this process. Thread-safe. The methods that return
/// tasks are complete when they return.
/// </summary>
/// <remarks>
/// The layout is that of Microsoft.Extensions.Caching.StackExchangeRedis: a hash at the instance's name and the key, with the fields `absexp` and `sldexp` (ticks, -1 for none) and
/// `data`, and the key's expiry. So both read each other's entries, and an application moves to a server of its own or back without losing its cache. A read of an entry with a
/// sliding expiry extends the key's; no script is involved.
/// </remarks>
internal sealed class RedKiteCache(RedKiteServer server, RedKiteCacheOptions options) : IBufferDistributedCache
{
    private const string AbsoluteField = "absexp";
    private const string SlidingField = "sldexp";
    private const string DataField = "data";

    private static readonly byte[] Hset = "HSET"u8.ToArray();
    private static readonly byte[] Absolute = "absexp"u8.ToArray();
    private static readonly byte[] Sliding = "sldexp"u8.ToArray();
    private static readonly byte[] Data = "data"u8.ToArray();

    private readonly RedKiteClient _client = server.CreateClient().Database(options.Database);

    private long NowTicks => DateTime.UnixEpoch.Ticks + (server.Engine.Clock.NowMs * TimeSpan.TicksPerMillisecond);

    /// <inheritdoc/>
    public byte[]? Get(string key)
    {
        using RedKiteItems? entry = Read(key);
        return entry is null ? null : DataOf(entry).ToArray();
    }

    /// <inheritdoc/>
    public bool TryGet(string key, IBufferWriter<byte> destination)
    {
        ArgumentNullException.ThrowIfNull(destination);
        using RedKiteItems? entry = Read(key);
        if (entry is null) return false;
        destination.Write(DataOf(entry));
        return true;
    }

    /// <inheritdoc/>
    public void Set(string key, byte[] value, DistributedCacheEntryOptions options)
    {
        ArgumentNullException.ThrowIfNull(value);
        Write(key, value, options);
    }

    /// <inheritdoc/>
    public void Set(string key, ReadOnlySequence<byte> value, DistributedCacheEntryOptions options) => Write(key, value.IsSingleSegment ? value.First : value.ToArray(), options);

    /// <inheritdoc/>
    public void Refresh(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        using RedKiteItems items = _client.HashGetMany(Name(key), AbsoluteField, SlidingField);
        Extend(key, items);
    }

    /// <inheritdoc/>
    public void Remove(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        _client.Delete(Name(key));
    }

    /// <inheritdoc/>
    public Task<byte[]?> GetAsync(string key, CancellationToken token = default)
    {
        token.ThrowIfCancellationRequested();
        return Task.FromResult(Get(key));
    }

    /// <inheritdoc/>
    public ValueTask<bool> TryGetAsync(string key, IBufferWriter<byte> destination, CancellationToken token = default)
    {
        token.ThrowIfCancellationRequested();
        return ValueTask.FromResult(TryGet(key, destination));
    }

    /// <inheritdoc/>
    public Task SetAsync(string key, byte[] value, DistributedCacheEntryOptions options, CancellationToken token = default)
    {
        token.ThrowIfCancellationRequested();
        Set(key, value, options);
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public ValueTask SetAsync(string key, ReadOnlySequence<byte> value, DistributedCacheEntryOptions options, CancellationToken token = default)
    {
        token.ThrowIfCancellationRequested();
        Set(key, value, options);
        return default;
    }

    /// <inheritdoc/>
    public Task RefreshAsync(string key, CancellationToken token = default)
    {
        token.ThrowIfCancellationRequested();
        Refresh(key);
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public Task RemoveAsync(string key, CancellationToken token = default)
    {
        token.ThrowIfCancellationRequested();
        Remove(key);
        return Task.CompletedTask;
    }

    private string Name(string key) => options.InstanceName.Length == 0 ? key : options.InstanceName + key;

    // An entry's three fields, its expiry extended; null: there is none.
    private RedKiteItems? Read(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        RedKiteItems entry = _client.HashGetMany(Name(key), AbsoluteField, SlidingField, DataField);
        Extend(key, entry);
        int field = 0;
        foreach (RedKiteItem item in entry)
        {
            if (field++ == 2 && !item.IsNull) return entry;
        }

        entry.Dispose();
        return null;
    }

    private static ReadOnlySpan<byte> DataOf(RedKiteItems entry)
    {
        ReadOnlySpan<byte> last = default;
        foreach (RedKiteItem item in entry) last = item.Bytes;
        return last;
    }

    private void Extend(string key, RedKiteItems fields)
    {
        RedKiteItems.Enumerator items = fields.GetEnumerator();
        items.MoveNext();
        long? absolute = TicksOf(items.Current);
        items.MoveNext();
        if (TicksOf(items.Current) is not { } sliding) return;
        long ticks = absolute is { } end ? Math.Min(sliding, end - NowTicks) : sliding;
        _client.Expire(Name(key), TimeSpan.FromTicks(Math.Max(ticks, 0)));
    }

    private static long? TicksOf(RedKiteItem item) =>
        long.TryParse(item.Bytes, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long ticks) && ticks >= 0 ? ticks : null;

    private void Write(string key, ReadOnlyMemory<byte> value, DistributedCacheEntryOptions entry)
    {
        ArgumentNullException.ThrowIfNull(key);
        ArgumentNullException.ThrowIfNull(entry);
        long now = NowTicks;
        long? absolute = entry.AbsoluteExpirationRelativeToNow is { } relative ? now + relative.Ticks : entry.AbsoluteExpiration?.UtcTicks;
        if (absolute <= now) throw new ArgumentOutOfRangeException(nameof(entry), entry.AbsoluteExpiration, "The absolute expiration value must be in the future.");
        long? sliding = entry.SlidingExpiration?.Ticks;
        long? lifetime = sliding is { } slide && absolute is { } end ? Math.Min(slide, end - now) : sliding ?? (absolute - now);
        string name = Name(key);

        // Together, so that no entry stays for ever because the process ended in between.
        using RedKiteTransaction write = _client.CreateTransaction();
        RedKiteQueued set = write.Queue(Hset, System.Text.Encoding.UTF8.GetBytes(name), Absolute, Text(absolute ?? -1), Sliding, Text(sliding ?? -1), Data, value);
        if (lifetime is { } ticks) write.Expire(name, TimeSpan.FromTicks(ticks));
        else write.Queue("PERSIST", name);
        write.Execute();
        if (set.Reply.IsError) throw new RedKiteException(set.Reply.Text!.Split(' ')[0], set.Reply.Text);
    }

    private static byte[] Text(long number) => System.Text.Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture));
}
