using System.Globalization;
using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>What a node does with a wrong store, another cluster's data, an id that is taken, and documents that it cannot read: one line in the log, as docs/cluster.md has it, and no slot is served.</summary>
public sealed class ClusterRefusalTests
{
    private const int PatienceMs = 90_000;
    private const string Password = "s3cret-of-etcd";

    private static readonly string Page = File.ReadAllText(Path.Combine(RepositoryRoot.Path, "docs", "cluster.md"));

    [Fact]
    public void A_store_that_is_not_there()
    {
        using var folder = new TemporaryFolder();
        using ServerProcess node = Start(folder.Path, $"http://127.0.0.1:{LoopbackPort.Next()}");
        Says(node, "Connection refused");
        ServesNothing(node);
        string reply = Run(node, "CLUSTER ADDSLOTS 0");
        Assert.StartsWith("ERR the cluster's store is not reached: ", reply, StringComparison.Ordinal);
        Assert.EndsWith("The change may have happened", reply, StringComparison.Ordinal);
        ServesNothing(node);
    }

    [Fact]
    public async Task Credentials_that_etcd_refuses()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        await etcd.PostAsync("auth/user/add", new { name = "root", password = Password }, TestContext.Current.CancellationToken);
        await etcd.PostAsync("auth/user/grant", new { user = "root", role = "root" }, TestContext.Current.CancellationToken);
        await etcd.PostAsync("auth/enable", new { }, TestContext.Current.CancellationToken);
        using var folder = new TemporaryFolder();
        using (ServerProcess node = Start(folder.Path, Address(etcd), "--cluster-etcd-user", "root", "--cluster-etcd-password", "wr0ng-of-etcd"))
        {
            Says(node, "authentication failed, invalid user ID or password");
            ServesNothing(node);
            Assert.DoesNotContain(node.Output, static line => line.Contains("of-etcd", StringComparison.Ordinal));
        }

        using ServerProcess anonymous = Start(folder.Path, Address(etcd));
        Says(anonymous, "user name is empty");
        ServesNothing(anonymous);
    }

    [Fact]
    public async Task Data_of_another_cluster_and_an_id_that_is_taken()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        using var folder = new TemporaryFolder();
        string copy = folder.File("copy"), first = folder.File("first"), second = folder.File("second");
        foreach (string each in (string[])[copy, first, second]) Directory.CreateDirectory(each);
        using ServerProcess node = Start(first, Address(etcd), "--cluster-etcd-prefix", "/one/");
        Found(node);
        Assert.Equal("OK", Run(node, "SET kept first"));

        // A copy of its folder: the one that was there first goes on.
        File.Copy(Path.Combine(first, "nodes.conf"), Path.Combine(copy, "nodes.conf"));
        using (ServerProcess other = Start(copy, Address(etcd), "--cluster-etcd-prefix", "/one/"))
        {
            Says(other, $"the id {Run(node, "CLUSTER MYID")} is registered already at 127.0.0.1:{node.Port.ToString(CultureInfo.InvariantCulture)}: that is this node's life before, whose lease ends by itself, or another node with the same id", "is registered already at");
            ServesNothing(other);
        }

        // A node of another cluster, whose prefix was mistaken: it neither serves nor follows, and keeps what it has.
        using (ServerProcess other = Start(second, Address(etcd), "--cluster-etcd-prefix", "/two/", "--appendonly", "yes"))
        {
            Found(other);
            Assert.Equal("OK", Run(other, "SET kept second"));
        }

        using (ServerProcess other = Start(second, Address(etcd), "--cluster-etcd-prefix", "/one/", "--appendonly", "yes"))
        {
            Says(other, "and this node's data is of the cluster");
            ServesNothing(other);
            Assert.Equal("1", Run(other, "DBSIZE"));
            Assert.DoesNotContain("slave", Run(other, "ROLE"), StringComparison.Ordinal);
            Assert.Equal("first", Run(node, "GET kept"));
        }

        using ServerProcess back = Start(second, Address(etcd), "--cluster-etcd-prefix", "/two/", "--appendonly", "yes");
        Until(() => Run(back, "GET kept") == "second", "its own cluster");
    }

    /// <summary>A new node joins by itself, as a replica that takes its primary's data: it must have none.</summary>
    [Fact]
    public async Task A_new_node_that_has_keys()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        using var folder = new TemporaryFolder();
        string first = folder.File("first"), second = folder.File("second");
        foreach (string each in (string[])[first, second]) Directory.CreateDirectory(each);
        using ServerProcess node = Start(first, Address(etcd));
        Found(node);
        using (ServerProcess alone = Transfers.Start("redkite", "--dir", second, "--appendonly", "yes")) Assert.Equal("OK", Run(alone, "SET kept alone"));
        using ServerProcess joining = Start(second, Address(etcd), "--appendonly", "yes");
        Says(joining, "has keys");
        Assert.DoesNotContain("slave", Run(joining, "ROLE"), StringComparison.Ordinal);
        Assert.Equal("1", Run(joining, "DBSIZE"));
        Assert.Equal("1", FieldOf(Run(node, "CLUSTER INFO"), "cluster_known_nodes"));
        Assert.StartsWith("ERR the node has keys and is of no cluster yet", Run(node, $"CLUSTER MEET 127.0.0.1 {joining.Port}"), StringComparison.Ordinal);

        // When it is empty, it joins.
        Assert.Equal("OK", Run(joining, "FLUSHALL"));
        Until(() => Run(joining, "ROLE").Contains("slave", StringComparison.Ordinal), "the empty node as a replica");
    }

    [Fact]
    public async Task Documents_that_cannot_be_read()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        using var folder = new TemporaryFolder();
        string good;
        using (ServerProcess node = Start(folder.Path, Address(etcd), "--appendonly", "yes"))
        {
            Found(node);
            Assert.Equal("OK", Run(node, "SET kept it"));
            good = await etcd.GetAsync("/redkite/topology", TestContext.Current.CancellationToken);

            // While it runs, and when it starts.
            await etcd.PutAsync("/redkite/topology", good.Replace("\"format\":1", "\"format\":2", StringComparison.Ordinal), TestContext.Current.CancellationToken);
            Says(node, "the topology in the store cannot be used: ");
            ServesNothing(node);
        }

        await etcd.PutAsync("/redkite/topology", good[..(good.Length / 2)], TestContext.Current.CancellationToken);
        using (ServerProcess node = Start(folder.Path, Address(etcd), "--appendonly", "yes"))
        {
            Says(node, "the topology in the store cannot be used: it is no JSON", onPage: "it is no JSON");
            ServesNothing(node);
            Assert.Equal("1", Run(node, "DBSIZE"));
            Assert.StartsWith("ERR the topology in the store cannot be used: it is no JSON", Run(node, "CLUSTER DELSLOTS 0"), StringComparison.Ordinal);

            // An older one: etcd was restored from a backup.
            string older = good.Replace($"\"version\":{VersionOf(good)}", "\"version\":1", StringComparison.Ordinal);
            await etcd.PutAsync("/redkite/topology", older, TestContext.Current.CancellationToken);
            Says(node, "the store has lost changes");
            ServesNothing(node);
            Assert.Equal("1", Run(node, "DBSIZE"));

            // What is whole again is gone by.
            await etcd.PutAsync("/redkite/topology", good.Replace($"\"version\":{VersionOf(good)}", $"\"version\":{(VersionOf(good) + 10).ToString(CultureInfo.InvariantCulture)}", StringComparison.Ordinal), TestContext.Current.CancellationToken);
            Until(() => Run(node, "GET kept") == "it", "the topology");
        }

        // The node's own file.
        string file = Path.Combine(folder.Path, "nodes.conf"), text = await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken);
        foreach (string broken in (string[])[text.Replace("\"format\": 1", "\"format\": 2", StringComparison.Ordinal), text[..(text.Length / 2)]])
        {
            await File.WriteAllTextAsync(file, broken, TestContext.Current.CancellationToken);
            using var refused = ServerProcess.StartUnchecked(ServerProgram.UnderTest, LoopbackPort.Next(), [.. Options(folder.Path, Address(etcd)), "--appendonly", "yes"]);
            Until(() => refused.HasExited, "the end of a start");
            string line = Assert.Single(refused.Output, static line => line.Contains("nodes.conf", StringComparison.Ordinal));
            Assert.DoesNotContain("   at ", line, StringComparison.Ordinal);
            Assert.Equal(broken, await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken));
        }
    }

    private static string[] Options(string folder, string etcd) =>
        ["--dir", folder, "--cluster-enabled", "yes", "--cluster-etcd", etcd, "--cluster-lease-ms", "1000", "--cluster-announce-ip", "127.0.0.1", "--diagnostics", "no", "--loops", "1", "--repl-diskless-sync-delay", "0"];

    private static ServerProcess Start(string folder, string etcd, params string[] options) => ServerProcess.Start(ServerProgram.UnderTest, [.. Options(folder, etcd), .. options]);

    private static string Address(EtcdProgram etcd) => etcd.Addresses[0].GetLeftPart(UriPartial.Authority);

    private static void Found(ServerProcess node)
    {
        Until(() => Run(node, "CLUSTER ADDSLOTSRANGE 0 16383") is "OK" or ['E', 'R', 'R', ' ', 'S', 'l', 'o', 't', ..], "slots");
        Until(() => FieldOf(Run(node, "CLUSTER INFO"), "cluster_state") == "ok", "the cluster");
    }

    // Once, on one line without a stack, and the page has the text.
    private static void Says(ServerProcess node, string text, string? onPage = null)
    {
        Until(() => node.Output.Any(line => line.Contains(text, StringComparison.Ordinal)), text);
        Assert.DoesNotContain(node.Output, static line => line.Contains("   at ", StringComparison.Ordinal) || line.Contains("A bug", StringComparison.Ordinal));
        Assert.Contains(onPage ?? text, Page, StringComparison.Ordinal);
    }

    private static void ServesNothing(ServerProcess node)
    {
        Until(() => Run(node, "GET kept").StartsWith("CLUSTERDOWN", StringComparison.Ordinal), "CLUSTERDOWN");
        Assert.StartsWith("CLUSTERDOWN", Run(node, "SET kept other"), StringComparison.Ordinal);
        Assert.Equal("fail", FieldOf(Run(node, "CLUSTER INFO"), "cluster_state"));
    }

    private static string Run(ServerProcess node, string command)
    {
        using RespConnection client = node.Connect();
        RespValue reply = client.Run(command);
        while (reply.IsError && reply.Text.StartsWith("LOADING", StringComparison.Ordinal))
        {
            Thread.Sleep(20);
            reply = client.Run(command);
        }

        return reply.IsAggregate ? reply.ToString()! : reply.Text;
    }

    private static string? FieldOf(string info, string name) => Hosts.HostServers.FieldOf("\n" + info, name);

    private static long VersionOf(string document) => JsonDocument.Parse(document).RootElement.GetProperty("version").GetInt64();

    private static void Until(Func<bool> holds, string what) => Assert.True(SpinWait.SpinUntil(
        () =>
        {
            if (holds()) return true;
            Thread.Sleep(20);
            return false;
        },
        PatienceMs), what);
}
