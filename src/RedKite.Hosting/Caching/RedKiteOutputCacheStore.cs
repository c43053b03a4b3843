using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using Microsoft.AspNetCore.OutputCaching;

namespace RedKite.Hosting;

/// <summary>
/// <see cref="IOutputCacheStore"/> with tags in the server of this process. Thread-safe. Everything but the writing to a pipe is complete when the methods return.
/// </summary>
/// <remarks>
/// The layout is that of Microsoft.AspNetCore.OutputCaching.StackExchangeRedis: a string with an expiry at `__MSOCV_` and the key; for each tag a sorted set at `__MSOCT_` and the tag, whose
/// members are keys and whose scores are their expiries in Unix milliseconds; the tags themselves in the sorted set `__MSOCT`. Entries that have expired leave a tag's set when another is
/// added to it, and tags without entries are removed once a minute, so there is no task in the background.
/// </remarks>
internal sealed class RedKiteOutputCacheStore(RedKiteServer server, RedKiteCacheOptions options) : IOutputCacheBufferStore
{
    private const long CleaningMs = 60_000;

    private readonly RedKiteClient _client = server.CreateClient().Database(options.Database);
    private readonly string _valuePrefix = options.InstanceName + "__MSOCV_";
    private readonly string _tagPrefix = options.InstanceName + "__MSOCT_";
    private readonly string _tags = options.InstanceName + "__MSOCT";
    private long _cleanedMs;

    /// <inheritdoc/>
    public ValueTask<byte[]?> GetAsync(string key, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(key);
        cancellationToken.ThrowIfCancellationRequested();
        return ValueTask.FromResult(_client.Get(_valuePrefix + key));
    }

    /// <inheritdoc/>
    public async ValueTask<bool> TryGetAsync(string key, PipeWriter destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(key);
        ArgumentNullException.ThrowIfNull(destination);
        cancellationToken.ThrowIfCancellationRequested();
        if (!_client.TryGet(_valuePrefix + key, destination)) return false;
        await destination.FlushAsync(cancellationToken).ConfigureAwait(false);
        return true;
    }

    /// <inheritdoc/>
    public ValueTask SetAsync(string key, byte[] value, string[]? tags, TimeSpan validFor, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(value);
        cancellationToken.ThrowIfCancellationRequested();
        Set(key, value, tags, validFor);
        return default;
    }

    /// <inheritdoc/>
    public ValueTask SetAsync(string key, ReadOnlySequence<byte> value, ReadOnlyMemory<string> tags, TimeSpan validFor, CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        Set(key, value.IsSingleSegment ? value.FirstSpan : value.ToArray(), tags.Span, validFor);
        return default;
    }

    /// <inheritdoc/>
    public ValueTask EvictByTagAsync(string tag, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(tag);
        cancellationToken.ThrowIfCancellationRequested();
        string set = _tagPrefix + tag;
        using RedKitePairs entries = _client.SortedSetRangeByRank(set);
        foreach (RedKitePair entry in entries)
        {
            // One by one: what is added meanwhile keeps its tag.
            string key = entry.First.ToString();
            _client.Delete(_valuePrefix + key);
            _client.SortedSetRemove(set, key);
        }

        return default;
    }

    private void Set(string key, ReadOnlySpan<byte> value, ReadOnlySpan<string> tags, TimeSpan validFor)
    {
        ArgumentNullException.ThrowIfNull(key);
        long now = server.Engine.Clock.NowMs;
        string ends = (now + (long)validFor.TotalMilliseconds).ToString(CultureInfo.InvariantCulture);

        // Tags come first: an entry that could not be evicted would be worse than a tag without an entry.
        foreach (string tag in tags)
        {
            _client.SortedSetRemoveByScore(_tagPrefix + tag, double.NegativeInfinity, now);
            _client.Execute("ZADD", _tagPrefix + tag, "GT", ends, key);
            _client.Execute("ZADD", _tags, "GT", ends, tag);
        }

        _client.Set(_valuePrefix + key, value, validFor);
        if (tags.Length > 0) Clean(now);
    }

    private void Clean(long now)
    {
        long last = Volatile.Read(ref _cleanedMs);
        if (now - last < CleaningMs || Interlocked.CompareExchange(ref _cleanedMs, now, last) != last) return;
        using RedKitePairs expired = _client.SortedSetRangeByScore(_tags, double.NegativeInfinity, now);
        foreach (RedKitePair tag in expired) _client.SortedSetRemoveByScore(_tagPrefix + tag.First.ToString(), double.NegativeInfinity, now);
        _client.SortedSetRemoveByScore(_tags, double.NegativeInfinity, now);
    }
}
