using Etcdserverpb;
using Grpc.Net.Client;
using RedKite.Server.Cluster.Store;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>The store in etcd keeps the contract. All its tests share one member.</summary>
public sealed class EtcdClusterStoreTests(EtcdMember etcd) : ClusterStoreContract, IClassFixture<EtcdMember>
{
    [Fact]
    public async Task A_lease_counts_whole_seconds()
    {
        await using IClusterStore store = Open(Prefix);
        (long lease, TimeSpan time) = await store.Grant(TimeSpan.FromMilliseconds(599_001), Cancellation);
        Assert.Equal(TimeSpan.FromSeconds(600), time);
        Assert.Equal(time, await store.Renew(lease, Cancellation));
        await store.Revoke(lease, Cancellation);
    }

    [Fact]
    public async Task Without_a_prefix_a_store_sees_all_keys()
    {
        await using IClusterStore store = Open(Prefix), all = Open("");
        long behind = await Commit(store, Put("a", "1"));
        await Commit(store, Put("b", "2"));
        Assert.Contains($"{Prefix}a=1", await Keys(all));
        Assert.Equal($"{Prefix}b=2", Text((await Events(all, "", behind, count: 1)).Single()));
    }

    [Fact]
    public async Task A_user_does_not_matter_where_etcd_asks_for_none()
    {
        Assert.SkipWhen(etcd.Program is null, EtcdProgram.Missing);
        await using var store = new EtcdClusterStore(new EtcdOptions { Endpoints = etcd.Program!.Addresses, Prefix = Prefix, User = "somebody", Password = "secret" });
        await Commit(store, Put("a", "1"));
        Assert.Equal(["a=1"], await Keys(store));
    }

    [Fact]
    public async Task Members_that_are_not_there_are_passed_over()
    {
        Assert.SkipWhen(etcd.Program is null, EtcdProgram.Missing);
        Uri[] none = [new($"http://127.0.0.1:{LoopbackPort.Next()}"), new("http://no-such-host.invalid:2379")];
        await using var store = new EtcdClusterStore(new EtcdOptions { Endpoints = [.. none, .. etcd.Program!.Addresses], Prefix = Prefix });
        for (int i = 0; i < 3; i++) await Commit(store, Put("a", "1")); // a transaction as well: it was not sent
        Assert.Equal(etcd.Program.Addresses[0].GetLeftPart(UriPartial.Authority), store.Current);

        await using var lost = new EtcdClusterStore(new EtcdOptions { Endpoints = none, Prefix = Prefix });
        StoreException failure = await Assert.ThrowsAsync<StoreException>(() => lost.Read("", Cancellation));
        Assert.False(failure.IsConfiguration);
        Assert.StartsWith("etcd is not reached: ", failure.Message, StringComparison.Ordinal);
        Assert.Matches($"{none[0].GetLeftPart(UriPartial.Authority)}: .*Connection refused", failure.Message);
        Assert.Contains("no-such-host.invalid", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    private protected override IClusterStore Open(string prefix)
    {
        Assert.SkipWhen(etcd.Program is null, EtcdProgram.Missing);

        // Patient, as other programs may keep the processors busy.
        return new EtcdClusterStore(new EtcdOptions { Endpoints = etcd.Program!.Addresses, Prefix = prefix, AttemptTime = TimeSpan.FromSeconds(60) });
    }

    private protected override void PassTime(TimeSpan time)
    {
    }

    private protected override async Task Compact(long revision)
    {
        using var channel = GrpcChannel.ForAddress(etcd.Program!.Addresses[0]);
        await new KV.KVClient(channel).CompactAsync(new CompactionRequest { Revision = revision, Physical = true }, cancellationToken: Cancellation);
    }
}

/// <summary>One member for the tests of a class.</summary>
public sealed class EtcdMember : IAsyncLifetime
{
    /// <summary>Null: it is not set up.</summary>
    public EtcdProgram? Program { get; private set; }

    public async ValueTask InitializeAsync()
    {
        if (EtcdProgram.FilePath is not null) Program = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
    }

    public async ValueTask DisposeAsync()
    {
        if (Program is not null) await Program.DisposeAsync();
    }
}
