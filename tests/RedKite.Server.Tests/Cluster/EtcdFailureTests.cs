using System.Globalization;
using System.Text;
using Etcdserverpb;
using Grpc.Core;
using Grpc.Net.Client;
using RedKite.Server.Cluster.Store;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>Members that end or freeze, users and certificates: what a store does, and what it says.</summary>
public sealed class EtcdFailureTests
{
    private const string Password = "s3cret-of-etcd";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Fact]
    public async Task With_three_members_one_may_freeze_and_one_may_end()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 3, certificates: null, Cancellation);
        await using var store = new EtcdClusterStore(new EtcdOptions { Endpoints = etcd.Addresses, Prefix = "/three/", AttemptTime = TimeSpan.FromMilliseconds(300), WatchSilenceTime = TimeSpan.FromMilliseconds(200) });
        var written = new List<long>();
        var seen = new List<long>();
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(Cancellation);
        Task watching = WatchAgainAndAgain(store, behind: (await UntilAnswered(() => store.Read("", Cancellation))).Revision, seen, ending.Token);
        (long lease, _) = await UntilAnswered(() => store.Grant(TimeSpan.FromMinutes(10), Cancellation));
        await Write(store, written, count: 3);

        int used = Used(store, etcd);
        etcd.Freeze(used);
        await Write(store, written, count: 3);
        Assert.NotEqual(used, Used(store, etcd));
        Assert.NotNull(await UntilAnswered(() => store.Renew(lease, Cancellation)));
        etcd.Thaw(used);

        await etcd.KillAsync(Used(store, etcd));
        await Write(store, written, count: 3);
        Assert.NotNull(await UntilAnswered(() => store.Renew(lease, Cancellation)));

        // The watch sees each change once, in order, those that were written without an answer among them.
        while (!Has(seen, written[^1])) await Task.Delay(10, Cancellation);
        await ending.CancelAsync();
        await watching;
        Assert.Equal(seen.Distinct().Order(), seen);
        Assert.Subset(seen.ToHashSet(), written.ToHashSet());
        StoreSnapshot all = await UntilAnswered(() => store.Read("counter", Cancellation));
        Assert.True(int.Parse(Encoding.UTF8.GetString(all.Entries.Single().Value.Span), CultureInfo.InvariantCulture) >= written.Count);
    }

    [Fact]
    public async Task A_frozen_member_ends_its_watch_and_a_thawed_one_has_missed_nothing()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, Cancellation);
        await using var store = new EtcdClusterStore(new EtcdOptions { Endpoints = etcd.Addresses, Prefix = "/frozen/", AttemptTime = TimeSpan.FromMilliseconds(300), WatchSilenceTime = TimeSpan.FromMilliseconds(100) });
        long behind = await UntilAnswered(async () => (await store.TryCommit([], [new StorePut("a", "1"u8.ToArray())], Cancellation)).GetValueOrDefault());
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("", behind, Cancellation).GetAsyncEnumerator(Cancellation);
        Task<bool> waiting = watch.MoveNextAsync().AsTask();
        etcd.Freeze(0);
        StoreException failure = await Assert.ThrowsAsync<StoreException>(() => waiting);
        Assert.Contains("no answer within 300 ms", failure.Message, StringComparison.Ordinal);
        Assert.Contains("no answer within 300 ms", (await Assert.ThrowsAsync<StoreException>(() => store.Read("", Cancellation))).Message, StringComparison.Ordinal);
        etcd.Thaw(0);
        Assert.Equal(behind, (await UntilAnswered(() => store.Read("", Cancellation))).Entries.Single().Revision);
    }

    [Fact]
    public async Task A_user_is_checked_and_tokens_are_renewed()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, Cancellation);
        using var channel = GrpcChannel.ForAddress(etcd.Addresses[0]);
        var users = new Auth.AuthClient(channel);
        await users.UserAddAsync(new AuthUserAddRequest { Name = "root", Password = Password }, cancellationToken: Cancellation);
        await users.UserGrantRoleAsync(new AuthUserGrantRoleRequest { User = "root", Role = "root" }, cancellationToken: Cancellation);
        await users.UserAddAsync(new AuthUserAddRequest { Name = "node", Password = Password }, cancellationToken: Cancellation);
        await users.RoleAddAsync(new AuthRoleAddRequest { Name = "nodes" }, cancellationToken: Cancellation);
        var keys = new Authpb.Permission { PermType = Authpb.Permission.Types.Type.Readwrite, Key = Google.Protobuf.ByteString.CopyFromUtf8("/mine/"), RangeEnd = Google.Protobuf.ByteString.CopyFromUtf8("/mine0") };
        await users.RoleGrantPermissionAsync(new AuthRoleGrantPermissionRequest { Name = "nodes", Perm = keys }, cancellationToken: Cancellation);
        await users.UserGrantRoleAsync(new AuthUserGrantRoleRequest { User = "node", Role = "nodes" }, cancellationToken: Cancellation);
        await users.AuthEnableAsync(new AuthEnableRequest(), cancellationToken: Cancellation);

        await using EtcdClusterStore store = Open("node", Password, "/mine/");
        long? first = await store.TryCommit([StoreCondition.Absent("a")], [new StorePut("a", "1"u8.ToArray())], Cancellation);
        Assert.NotNull(first);

        // The token of before is worth nothing: each kind of call gets a new one, a transaction as well.
        await ForgetTokens();
        Assert.NotNull(await store.TryCommit([new("a", first.Value)], [new StorePut("a", "2"u8.ToArray())], Cancellation));
        await ForgetTokens();
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("", first.Value, Cancellation).GetAsyncEnumerator(Cancellation);
        Assert.True(await watch.MoveNextAsync());
        Assert.Equal("2", Encoding.UTF8.GetString(watch.Current.Entry!.Value.Span));
        await ForgetTokens();
        (long lease, _) = await store.Grant(Patience, Cancellation);
        await ForgetTokens();
        Assert.NotNull(await store.Renew(lease, Cancellation));
        await ForgetTokens();
        await store.Revoke(lease, Cancellation);
        await ForgetTokens();
        Assert.Single((await store.Read("", Cancellation)).Entries);

        await Refused("node", "wr0ng-of-etcd", "/mine/", "authentication failed, invalid user ID or password");
        await Refused("nobody", Password, "/mine/", "authentication failed, invalid user ID or password");
        await Refused("", "", "/mine/", "user name is empty");
        await Refused("node", Password, "/theirs/", "permission denied");

        EtcdClusterStore Open(string user, string password, string prefix) => new(new EtcdOptions { Endpoints = etcd.Addresses, Prefix = prefix, User = user, Password = password, AttemptTime = Patience });

        async Task ForgetTokens()
        {
            AuthenticateResponse root = await users.AuthenticateAsync(new AuthenticateRequest { Name = "root", Password = Password }, cancellationToken: Cancellation);
            var headers = new Metadata { { "token", root.Token } };
            await users.UserChangePasswordAsync(new AuthUserChangePasswordRequest { Name = "node", Password = Password }, headers, cancellationToken: Cancellation);
        }

        async Task Refused(string user, string password, string prefix, string reason)
        {
            await using EtcdClusterStore refused = Open(user, password, prefix);
            StoreException read = await Assert.ThrowsAsync<StoreException>(() => refused.Read("", Cancellation));
            StoreException watched = await Assert.ThrowsAsync<StoreException>(async () =>
            {
                await foreach (StoreEvent change in refused.Watch("", behindRevision: 0, Cancellation)) Assert.Fail($"{change}");
            });
            foreach (StoreException failure in (StoreException[])[read, watched])
            {
                Assert.True(failure.IsConfiguration, failure.Message);
                Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
                Assert.DoesNotContain("of-etcd", $"{failure}", StringComparison.Ordinal);
                Assert.DoesNotContain('\n', failure.Message);
            }
        }
    }

    [Fact]
    public async Task Certificates_of_both_sides_are_checked()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        using var certificates = new TestCertificates();
        using var others = new TestCertificates();
        certificates.Issue("etcd").Dispose();
        certificates.Issue("node").Dispose();
        others.Issue("node").Dispose();
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates, Cancellation);
        string authority = certificates.PathOf("authority.crt"), certificate = certificates.PathOf("node.crt"), key = certificates.PathOf("node.key");
        string both = certificates.PathOf("both.pem");
        await File.WriteAllTextAsync(both, await File.ReadAllTextAsync(certificate, Cancellation) + "\n" + await File.ReadAllTextAsync(key, Cancellation), Cancellation);
        foreach ((string certificateFile, string keyFile) in ((string, string)[])[(certificate, key), (both, "")])
        {
            await using EtcdClusterStore store = Open(authority, certificateFile, keyFile);
            Assert.NotNull(await store.TryCommit([], [new StorePut("a", "1"u8.ToArray())], Cancellation));
        }

        const string Untrusted = "The remote certificate is invalid", Ended = "the connection ended before the first call";
        await Refused("", certificate, key, Untrusted); // the system does not trust it
        await Refused(others.PathOf("authority.crt"), certificate, key, Untrusted);
        await Refused(authority, "", "", Ended); // etcd asks for one, and says so when the handshake is over
        await Refused(authority, others.PathOf("node.crt"), others.PathOf("node.key"), Ended);
        foreach ((string authorityFile, string certificateFile, string keyFile) in ((string, string, string)[])[("missing", "", ""), (key, "", ""), (authority, "missing", ""), (authority, certificate, "missing"), (authority, certificate, others.PathOf("node.key"))])
        {
            StoreException failure = Assert.Throws<StoreException>(() => Open(authorityFile, certificateFile, keyFile));
            Assert.True(failure.IsConfiguration);
            Assert.StartsWith("etcd: the certificates of '", failure.Message, StringComparison.Ordinal);
            Assert.DoesNotContain('\n', failure.Message);
        }

        EtcdClusterStore Open(string authorityFile, string certificateFile, string keyFile) =>
            new(new EtcdOptions { Endpoints = etcd.Addresses, Prefix = "/tls/", AuthorityFile = authorityFile, CertificateFile = certificateFile, KeyFile = keyFile, AttemptTime = Patience });

        async Task Refused(string authorityFile, string certificateFile, string keyFile, string reason)
        {
            await using EtcdClusterStore store = Open(authorityFile, certificateFile, keyFile);
            StoreException failure = await Assert.ThrowsAsync<StoreException>(() => store.Read("", Cancellation));
            Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
            Assert.Equal(reason == Untrusted, failure.IsConfiguration);
            Assert.DoesNotContain('\n', failure.Message);
        }
    }

    private static bool Has(List<long> seen, long revision)
    {
        lock (seen) return seen.Contains(revision);
    }

    private static int Used(EtcdClusterStore store, EtcdProgram etcd) => etcd.Addresses.ToList().FindIndex(address => address.GetLeftPart(UriPartial.Authority) == store.Current);

    // Each adds one to a counter, and is written again if there was no answer.
    private static async Task Write(EtcdClusterStore store, List<long> written, int count)
    {
        for (int i = 0; i < count; i++)
        {
            written.Add(await UntilAnswered(async () =>
            {
                StoreEntry? entry = (await store.Read("counter", Cancellation)).Entries.SingleOrDefault();
                int next = entry is null ? 1 : int.Parse(Encoding.UTF8.GetString(entry.Value.Span), CultureInfo.InvariantCulture) + 1;
                return await store.TryCommit([new("counter", entry?.Revision ?? 0)], [new StorePut("counter", Encoding.UTF8.GetBytes($"{next}"))], Cancellation) ?? throw new StoreException("another one was first");
            }));
        }
    }

    private static async Task<T> UntilAnswered<T>(Func<Task<T>> operation)
    {
        while (true)
        {
            try
            {
                return await operation();
            }
            catch (StoreException failure) when (!failure.IsConfiguration)
            {
                // A member that is frozen or gone, or an election.
                await Task.Delay(10, Cancellation);
            }
        }
    }

    private static async Task WatchAgainAndAgain(EtcdClusterStore store, long behind, List<long> seen, CancellationToken cancellation)
    {
        while (true)
        {
            try
            {
                await foreach (StoreEvent change in store.Watch("counter", behind, cancellation))
                {
                    behind = change.Revision;
                    lock (seen) seen.Add(change.Revision);
                }
            }
            catch (StoreException)
            {
                // It goes on where it was, at another member.
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }
}
