using System.Globalization;
using System.Text;
using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Tests.Cluster;

/// <summary>What every store keeps. Time passes by the clock that the store has; nothing here depends on how fast the machine is.</summary>
public abstract class ClusterStoreContract
{
    /// <summary>Time for a lease that ends within a test: no store has a shorter one.</summary>
    private static readonly TimeSpan Short = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan Long = TimeSpan.FromMinutes(10);

    private static int _prefixes;

    private protected static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    // No test meets the keys of another.
    private protected string Prefix { get; } = $"/contract-{Interlocked.Increment(ref _prefixes)}/";

    [Fact]
    public async Task Nothing_is_written_unless_all_conditions_hold()
    {
        await using IClusterStore store = Open(Prefix);
        long? first = await store.TryCommit([StoreCondition.Absent("a")], [Put("a", "1")], Cancellation);
        Assert.NotNull(first);
        Assert.Null(await store.TryCommit([StoreCondition.Absent("a")], [Put("a", "2")], Cancellation));
        Assert.Null(await store.TryCommit([new("a", first.Value), new("b", 7)], [Put("a", "2"), Put("b", "2")], Cancellation));
        Assert.Null(await store.TryCommit([new("b", first.Value)], [Put("b", "2")], Cancellation));
        long second = (await store.TryCommit([new("a", first.Value), StoreCondition.Absent("b")], [Put("a", "2"), Put("b", "3")], Cancellation)).GetValueOrDefault();
        Assert.Equal(first + 1, second);
        Assert.Null(await store.TryCommit([new("a", first.Value)], [Put("a", "4")], Cancellation));
        Assert.Equal(second + 1, await store.TryCommit([], [Remove("a")], Cancellation));
        Assert.NotNull(await store.TryCommit([StoreCondition.Absent("a"), new("b", second)], [Put("c", "5")], Cancellation));
        Assert.Equal(["b=3", "c=5"], await Keys(store));
    }

    [Fact]
    public async Task Keys_are_read_in_order_with_the_revision_of_their_last_change()
    {
        await using IClusterStore store = Open(Prefix);
        long first = await Commit(store, Put("nodes/b", "1"), Put("nodes/a", "2"), Put("topology", "3"));
        long second = await Commit(store, Put("nodes/c", ""));
        StoreSnapshot nodes = await store.Read("nodes/", Cancellation);
        Assert.Equal(["nodes/a=2", "nodes/b=1", "nodes/c="], nodes.Entries.Select(Text));
        Assert.Equal([first, first, second], nodes.Entries.Select(entry => entry.Revision));
        Assert.Equal(second, nodes.Revision);
        Assert.Equal(["nodes/a=2", "nodes/b=1", "nodes/c=", "topology=3"], await Keys(store));
        Assert.Equal(["topology=3"], (await store.Read("topology", Cancellation)).Entries.Select(Text));
        Assert.Empty((await store.Read("other", Cancellation)).Entries);
    }

    [Fact]
    public async Task What_changes_nothing_is_no_revision()
    {
        await using IClusterStore store = Open(Prefix);
        long first = await Commit(store, Put("a", "1"));
        Assert.Equal(first, await store.TryCommit([new("a", first)], [], Cancellation));
        Assert.Equal(first, await store.TryCommit([], [Remove("missing")], Cancellation));
        Assert.Equal(first, (await store.Read("", Cancellation)).Revision);
    }

    [Fact]
    public async Task A_value_is_a_copy()
    {
        await using IClusterStore store = Open(Prefix);
        byte[] value = [1, 0, 255, 128];
        await Commit(store, new StorePut("a", value));
        value[0] = 9;
        Assert.Equal([1, 0, 255, 128], (await store.Read("a", Cancellation)).Entries.Single().Value.ToArray());
    }

    [Fact]
    public async Task Changes_by_many_are_made_one_after_the_other()
    {
        const int Writers = 4, Changes = 10;
        await using IClusterStore store = Open(Prefix);
        await Commit(store, Put("counter", "0"));
        await Task.WhenAll(Enumerable.Range(0, Writers).Select(_ => Task.Run(
            async () =>
            {
                await using IClusterStore own = Open(Prefix);
                for (int done = 0; done < Changes;)
                {
                    StoreEntry entry = (await own.Read("counter", Cancellation)).Entries.Single();
                    int next = int.Parse(Encoding.UTF8.GetString(entry.Value.Span), CultureInfo.InvariantCulture) + 1;
                    if (await own.TryCommit([new("counter", entry.Revision)], [Put("counter", $"{next}")], Cancellation) is not null) done++;
                }
            },
            Cancellation)));
        Assert.Equal([$"counter={Writers * Changes}"], await Keys(store));
    }

    [Fact]
    public async Task A_lease_that_ends_removes_its_keys_at_one_revision()
    {
        await using IClusterStore store = Open(Prefix);
        (long lease, TimeSpan time) = await store.Grant(Short, Cancellation);
        Assert.True(time >= Short, $"{time}");
        (long other, _) = await store.Grant(Long, Cancellation);
        long revision = await Commit(store, Put("b", "1", lease), Put("a", "2", lease), Put("c", "3", other), Put("d", "4"), Put("e", "5", lease), Put("f", "6", lease));
        revision = await Commit(store, Put("e", "7"), Put("f", "8", other)); // these are not of the lease any more
        PassTime(time);
        List<StoreEvent> events = await Events(store, "", revision, count: 2);
        Assert.Equal(["a removed", "b removed"], events.Select(Text).Order());
        Assert.Equal([revision + 1, revision + 1], events.Select(change => change.Revision));
        Assert.Equal(["c=3", "d=4", "e=7", "f=8"], await Keys(store));
        Assert.Null(await store.Renew(lease, Cancellation));
        await store.Revoke(lease, Cancellation);
        await Assert.ThrowsAsync<StoreException>(() => store.TryCommit([], [Put("g", "1"), Put("h", "1", lease)], Cancellation));
        Assert.Equal(["c=3", "d=4", "e=7", "f=8"], await Keys(store));
    }

    [Fact]
    public async Task A_lease_is_renewed_and_revoked()
    {
        await using IClusterStore store = Open(Prefix);
        (long lease, TimeSpan time) = await store.Grant(Long, Cancellation);
        long revision = await Commit(store, Put("a", "1", lease));
        Assert.Equal(time, await store.Renew(lease, Cancellation));
        Assert.Equal(["a=1"], await Keys(store));
        await store.Revoke(lease, Cancellation);
        Assert.Empty(await Keys(store));
        Assert.Equal("a removed", Text((await Events(store, "", revision, count: 1)).Single()));
        Assert.Null(await store.Renew(lease, Cancellation));
    }

    [Fact]
    public async Task A_watch_begins_behind_its_revision_and_follows()
    {
        await using IClusterStore store = Open(Prefix);
        await Commit(store, Put("a", "1"));
        long behind = await Commit(store, Put("a", "2"), Put("b", "3"));
        long third = await Commit(store, Put("a", "4"), Put("other", "5"));
        await Commit(store, Remove("a"));
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("a", behind, Cancellation).GetAsyncEnumerator(Cancellation);
        StoreEvent first = await Next(watch);
        Assert.Equal(("a=4", third, third), (Text(first), first.Revision, first.Entry!.Revision));
        Assert.Equal("a removed", Text(await Next(watch)));
        Task<bool> next = watch.MoveNextAsync().AsTask();
        await Commit(store, Put("b", "6"));
        long last = await Commit(store, Put("ab", "7"));
        Assert.True(await next);
        Assert.Equal(("ab=7", last), (Text(watch.Current), watch.Current.Revision));
    }

    [Fact]
    public async Task A_watch_misses_and_repeats_nothing_while_others_write()
    {
        const int Writers = 4, Changes = 25;
        await using IClusterStore store = Open(Prefix);
        long behind = await Commit(store, Put("begin", "1"));
        Task writing = Task.WhenAll(Enumerable.Range(0, Writers).Select(writer => Task.Run(
            async () =>
            {
                await using IClusterStore own = Open(Prefix);
                for (int i = 0; i < Changes; i++) await Commit(own, Put($"k{writer}", $"{i}"));
            },
            Cancellation)));
        var seen = new List<StoreEvent>();

        // Each watch goes on where the one before it has stopped.
        while (seen.Count < Writers * Changes)
        {
            seen.AddRange(await Events(store, "k", seen.Count > 0 ? seen[^1].Revision : behind, Math.Min(7, (Writers * Changes) - seen.Count)));
        }

        await writing;
        for (int i = 1; i < seen.Count; i++) Assert.True(seen[i].Revision > seen[i - 1].Revision, $"{seen[i]} follows {seen[i - 1]}");
        for (int writer = 0; writer < Writers; writer++)
        {
            Assert.Equal(Enumerable.Range(0, Changes).Select(i => $"k{writer}={i}"), seen.Where(change => change.Key == $"k{writer}").Select(Text));
        }
    }

    [Fact]
    public async Task A_watch_of_changes_that_are_forgotten_fails()
    {
        await using IClusterStore store = Open(Prefix);
        long first = await Commit(store, Put("a", "1"));
        await Commit(store, Put("a", "2"));
        long last = await Commit(store, Put("a", "3"));
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("a", last, Cancellation).GetAsyncEnumerator(Cancellation);
        Task<bool> waiting = watch.MoveNextAsync().AsTask(); // has seen everything, so what is forgotten does not matter to it
        await Compact(last);
        StoreException failure = await Assert.ThrowsAsync<StoreException>(async () => await Events(store, "a", first, count: 1));
        Assert.False(failure.IsConfiguration);
        await Commit(store, Put("a", "4"));
        Assert.True(await waiting);
        Assert.Equal("a=4", Text(watch.Current));
        Assert.Equal("a=4", Text((await Events(store, "a", last, count: 1)).Single()));
    }

    [Fact]
    public async Task Stores_of_other_prefixes_see_nothing_of_it()
    {
        await using IClusterStore a = Open(Prefix + "a/"), b = Open(Prefix + "b/");
        long before = await Commit(a, Put("k", "1"));
        Assert.NotNull(await b.TryCommit([StoreCondition.Absent("k")], [Put("k", "2")], Cancellation));
        await Commit(a, Remove("k"));
        await Commit(b, Put("l", "3"));
        Assert.Empty(await Keys(a));
        Assert.Equal(["k=2", "l=3"], await Keys(b));
        Assert.Equal(["k=2", "l=3"], (await Events(b, "", before, count: 2)).Select(Text));
    }

    [Fact]
    public async Task A_cancelled_operation_is_cancelled()
    {
        await using IClusterStore store = Open(Prefix);
        using var cancelling = new CancellationTokenSource();
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("", await Commit(store, Put("a", "1")), cancelling.Token).GetAsyncEnumerator(Cancellation);
        Task<bool> waiting = watch.MoveNextAsync().AsTask();
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await waiting);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => store.Read("", cancelling.Token));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => store.TryCommit([], [Put("a", "2")], cancelling.Token));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => store.Grant(Long, cancelling.Token));
        Assert.Equal(["a=1"], await Keys(store));
    }

    [Fact]
    public async Task A_closed_store_fails()
    {
        IClusterStore store = Open(Prefix);
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("", await Commit(store, Put("a", "1")), Cancellation).GetAsyncEnumerator(Cancellation);
        Task<bool> waiting = watch.MoveNextAsync().AsTask();
        await store.DisposeAsync();
        await Assert.ThrowsAsync<StoreException>(async () => await waiting);
        await Assert.ThrowsAsync<StoreException>(() => store.Read("", Cancellation));
        await Assert.ThrowsAsync<StoreException>(() => store.Renew(1, Cancellation));
        await store.DisposeAsync();
    }

    [Fact]
    public async Task A_transaction_that_is_too_large_is_refused()
    {
        await using IClusterStore store = Open(Prefix);
        StorePut[] most = [.. Enumerable.Range(0, StoreLimits.TransactionKeysMax).Select(i => Put($"k{i}", new string('x', (StoreLimits.TransactionBytesMax / StoreLimits.TransactionKeysMax) - 10)))];
        StoreCondition[] conditions = [.. most.Select(put => StoreCondition.Absent(put.Key))];
        Assert.NotNull(await store.TryCommit(conditions, most, Cancellation));
        Assert.Equal(most.Length, (await store.Read("", Cancellation)).Entries.Count);
        await Refused([], [.. most, Put("more", "")], "has 129 keys");
        await Refused([.. conditions, StoreCondition.Absent("more")], [], "has 129 keys");
        await Refused([], [new StorePut("large", new byte[StoreLimits.TransactionBytesMax])], "bytes");
        await Refused([], [Put("twice", "1"), Put("twice", "2")], "twice");

        async Task Refused(StoreCondition[] conditions, StorePut[] puts, string expected)
        {
            StoreException failure = await Assert.ThrowsAsync<StoreException>(() => store.TryCommit(conditions, puts, Cancellation));
            Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
        }
    }

    private protected abstract IClusterStore Open(string prefix);

    /// <summary>Lets a time pass by the store's clock; nothing to do where that is the wall's, as tests wait for what is to happen.</summary>
    private protected abstract void PassTime(TimeSpan time);

    /// <summary>Makes the store forget the changes up to a revision.</summary>
    private protected abstract Task Compact(long revision);

    private protected static StorePut Put(string key, string value, long lease = 0) => new(key, Encoding.UTF8.GetBytes(value), lease);

    private protected static StorePut Remove(string key) => new(key, Value: null);

    private protected static async Task<long> Commit(IClusterStore store, params StorePut[] puts) => (await store.TryCommit([], puts, Cancellation)).GetValueOrDefault(-1);

    private protected static async Task<string[]> Keys(IClusterStore store) => [.. (await store.Read("", Cancellation)).Entries.Select(Text)];

    private protected static async Task<List<StoreEvent>> Events(IClusterStore store, string keysFrom, long behind, int count)
    {
        var events = new List<StoreEvent>();
        await foreach (StoreEvent change in store.Watch(keysFrom, behind, Cancellation))
        {
            events.Add(change);
            if (events.Count == count) break;
        }

        return events;
    }

    private protected static async Task<StoreEvent> Next(IAsyncEnumerator<StoreEvent> watch)
    {
        Assert.True(await watch.MoveNextAsync());
        return watch.Current;
    }

    private protected static string Text(StoreEntry entry) => $"{entry.Key}={Encoding.UTF8.GetString(entry.Value.Span)}";

    private protected static string Text(StoreEvent change) => change.Entry is null ? $"{change.Key} removed" : Text(change.Entry);
}
