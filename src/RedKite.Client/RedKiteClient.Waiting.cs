using System.Runtime.CompilerServices;
using RedKite.Server.Client;

namespace RedKite;

/// <content>What waits, and what is read step by step.</content>
public sealed partial class RedKiteClient
{
    private const int PageSize = 100;

    /// <summary>Removes and returns the head of a list, as soon as it has one. BLPOP.</summary>
    /// <param name="key">The list.</param>
    /// <param name="timeout">How long to wait, by the server's clock; null: without end.</param>
    /// <param name="cancellationToken">Ends the wait; nothing was removed then.</param>
    /// <returns>The element; null: the timeout has passed.</returns>
    public ValueTask<byte[]?> ListPopLeftAsync(RedKiteArgument key, TimeSpan? timeout = null, CancellationToken cancellationToken = default) =>
        SecondOf(Start("BLPOP"u8, key, timeout, cancellationToken));

    /// <summary>Removes and returns the tail of a list, as soon as it has one. BRPOP.</summary>
    /// <inheritdoc cref="ListPopLeftAsync"/>
    public ValueTask<byte[]?> ListPopRightAsync(RedKiteArgument key, TimeSpan? timeout = null, CancellationToken cancellationToken = default) =>
        SecondOf(Start("BRPOP"u8, key, timeout, cancellationToken));

    /// <summary>Moves the head or tail of a list to an end of another, as soon as it has one. BLMOVE.</summary>
    /// <returns>The element; null: the timeout has passed.</returns>
    public ValueTask<byte[]?> ListMoveAsync(RedKiteArgument source, RedKiteArgument destination, RedKiteEnd from, RedKiteEnd to, TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        var caller = (Caller)Target();
        ClientCall.Begin(caller, "BLMOVE"u8).Add(source).Add(destination).Add(from == RedKiteEnd.Left ? "LEFT"u8 : "RIGHT"u8).Add(to == RedKiteEnd.Left ? "LEFT"u8 : "RIGHT"u8).Add(Seconds(timeout));
        return ValueOf(RunAsync(caller, cancellationToken));

        static async ValueTask<byte[]?> ValueOf(ValueTask<RedKiteReply> reply) => (await reply.ConfigureAwait(false)).OrThrow() is { IsNull: false } value ? value.Bytes.ToArray() : null;
    }

    /// <summary>Removes and returns the member of a sorted set with the lowest score, or the highest, as soon as there is one. BZPOPMIN, BZPOPMAX.</summary>
    /// <returns>The member; null: the timeout has passed.</returns>
    public ValueTask<RedKiteScoredMember?> SortedSetPopAsync(RedKiteArgument key, TimeSpan? timeout = null, bool fromHighest = false, CancellationToken cancellationToken = default)
    {
        return MemberOf(Start(fromHighest ? "BZPOPMAX"u8 : "BZPOPMIN"u8, key, timeout, cancellationToken));

        static async ValueTask<RedKiteScoredMember?> MemberOf(ValueTask<RedKiteReply> reply)
        {
            RedKiteReply popped = (await reply.ConfigureAwait(false)).OrThrow();
            return popped.IsNull ? null : new RedKiteScoredMember(popped.Items[1].Bytes, ReplyText.Double(popped.Items[2].Bytes.Span));
        }
    }

    /// <summary>Waits until replicas have what was changed so far, by whatever client. WAIT.</summary>
    /// <param name="replicas">How many replicas.</param>
    /// <param name="timeout">How long to wait, by the server's clock; at least a millisecond, since WAIT takes 0 for no end.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How many replicas have it.</returns>
    public async ValueTask<long> WaitForReplicasAsync(int replicas, TimeSpan timeout, CancellationToken cancellationToken = default)
    {
        string ms = Math.Max(1, (long)Math.Ceiling(timeout.TotalMilliseconds)).ToString(System.Globalization.CultureInfo.InvariantCulture);
        string count = replicas.ToString(System.Globalization.CultureInfo.InvariantCulture);
        return (await ExecuteAsync(["WAIT", count, ms], cancellationToken).ConfigureAwait(false)).OrThrow().Integer;
    }

    /// <summary>Subscribes to channels; it has begun when the method returns. SUBSCRIBE.</summary>
    public RedKiteSubscription Subscribe(params ReadOnlySpan<string> channels) => new(_parts, "SUBSCRIBE"u8, channels);

    /// <summary>Subscribes to sharded channels; it has begun when the method returns. SSUBSCRIBE.</summary>
    public RedKiteSubscription SubscribeSharded(params ReadOnlySpan<string> channels) => new(_parts, "SSUBSCRIBE"u8, channels);

    /// <summary>Subscribes to all channels that match patterns; it has begun when the method returns. PSUBSCRIBE.</summary>
    public RedKiteSubscription SubscribePatterns(params ReadOnlySpan<string> patterns) => new(_parts, "PSUBSCRIBE"u8, patterns);

    /// <summary>Reads a stream's entries, and further ones as they are added, until the token ends it. XREAD.</summary>
    /// <param name="key">The stream, which may not exist yet.</param>
    /// <param name="after">The id behind which it begins; "0" for all entries, "$" for those that are added from now on.</param>
    /// <param name="cancellationToken">Ends the enumeration by an <see cref="OperationCanceledException"/>.</param>
    public async IAsyncEnumerable<RedKiteStreamEntry> StreamReadAsync(string key, string after = "0", [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        string count = PageSize.ToString(System.Globalization.CultureInfo.InvariantCulture);
        while (true)
        {
            RedKiteReply reply = await ExecuteAsync(["XREAD", "COUNT", count, "BLOCK", "0", "STREAMS", key, after], cancellationToken).ConfigureAwait(false);
            foreach (RedKiteStreamEntry entry in RedKiteStreamEntry.FirstListOf(reply.OrThrow()))
            {
                after = entry.Id;
                yield return entry;
            }
        }
    }

    /// <summary>
    /// Reads entries that no consumer of a group has got yet, and assigns them to a consumer, as soon as there are some. XREADGROUP with BLOCK.
    /// </summary>
    /// <param name="key">The stream.</param>
    /// <param name="group">The group.</param>
    /// <param name="consumer">The consumer.</param>
    /// <param name="count">The most entries.</param>
    /// <param name="timeout">How long to wait, by the server's clock; null: without end.</param>
    /// <param name="cancellationToken">Ends the wait; nothing was assigned then.</param>
    /// <returns>The entries; none: the timeout has passed.</returns>
    public ValueTask<IReadOnlyList<RedKiteStreamEntry>> StreamReadGroupAsync(RedKiteArgument key, RedKiteArgument group, RedKiteArgument consumer, long count = 100, TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        var caller = (Caller)Target();
        ClientCall.Begin(caller, "XREADGROUP"u8).Add("GROUP"u8).Add(group).Add(consumer).Add("COUNT"u8).Add(count).Add("BLOCK"u8).Add(timeout is { } given ? Math.Max(1, Ms(given)) : 0).Add("STREAMS"u8).Add(key).Add(">"u8);
        return EntriesOf(RunAsync(caller, cancellationToken));

        static async ValueTask<IReadOnlyList<RedKiteStreamEntry>> EntriesOf(ValueTask<RedKiteReply> reply) => RedKiteStreamEntry.FirstListOf((await reply.ConfigureAwait(false)).OrThrow());
    }

    /// <summary>Every key that exists from the first step to the last, once or more often. SCAN, a page with each step; no lock is held in between.</summary>
    public IAsyncEnumerable<string> ScanKeysAsync(string pattern = "*", CancellationToken cancellationToken = default) =>
        ScanAsync(["SCAN"], pattern, "", static (items, at) => items[at].Text!, 1, cancellationToken);

    /// <summary>Every field of a hash that exists from the first step to the last, with its value, once or more often. HSCAN.</summary>
    public IAsyncEnumerable<KeyValuePair<string, ReadOnlyMemory<byte>>> HashScanAsync(string key, string pattern = "*", CancellationToken cancellationToken = default) =>
        ScanAsync(["HSCAN", key], pattern, "", static (items, at) => KeyValuePair.Create(items[at].Text!, items[at + 1].Bytes), 2, cancellationToken);

    /// <summary>Every member of a set that exists from the first step to the last, once or more often. SSCAN.</summary>
    public IAsyncEnumerable<string> SetScanAsync(string key, string pattern = "*", CancellationToken cancellationToken = default) =>
        ScanAsync(["SSCAN", key], pattern, "", static (items, at) => items[at].Text!, 1, cancellationToken);

    /// <summary>Every member of a sorted set that exists from the first step to the last, with its score, once or more often. ZSCAN.</summary>
    public IAsyncEnumerable<RedKiteScoredMember> SortedSetScanAsync(string key, string pattern = "*", CancellationToken cancellationToken = default) =>
        ScanAsync(["ZSCAN", key], pattern, "", static (items, at) => new RedKiteScoredMember(items[at].Bytes, ReplyText.Double(items[at + 1].Bytes.Span)), 2, cancellationToken);

    private async IAsyncEnumerable<T> ScanAsync<T>(string[] command, string pattern, string cursor, Func<IReadOnlyList<RedKiteReply>, int, T> read, int step, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        string count = PageSize.ToString(System.Globalization.CultureInfo.InvariantCulture);
        while (cursor != "0")
        {
            RedKiteReply page = (await ExecuteAsync([.. command, cursor.Length == 0 ? "0" : cursor, "MATCH", pattern, "COUNT", count], cancellationToken).ConfigureAwait(false)).OrThrow();
            cursor = page.Items[0].Text!;
            IReadOnlyList<RedKiteReply> items = page.Items[1].Items;
            for (int i = 0; i < items.Count; i += step) yield return read(items, i);
        }
    }

    private ValueTask<RedKiteReply> Start(ReadOnlySpan<byte> name, RedKiteArgument key, TimeSpan? timeout, CancellationToken cancellation)
    {
        var caller = (Caller)Target();
        ClientCall.Begin(caller, name).Add(key).Add(Seconds(timeout));
        return RunAsync(caller, cancellation);
    }

    // 0 is without end, so the shortest time stands for none.
    private static double Seconds(TimeSpan? timeout) => timeout is { } given ? Math.Max(given.TotalSeconds, 0.001) : 0;

    private static async ValueTask<byte[]?> SecondOf(ValueTask<RedKiteReply> reply) =>
        (await reply.ConfigureAwait(false)).OrThrow() is { IsNull: false } popped ? popped.Items[1].Bytes.ToArray() : null;
}

/// <summary>A member of a sorted set.</summary>
/// <param name="Member">The member.</param>
/// <param name="Score">Its score.</param>
public sealed record RedKiteScoredMember(ReadOnlyMemory<byte> Member, double Score);
