using System.IO.Compression;
using System.Text;
using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite cluster and redkite controller with a real etcd and nodes in processes of their own. What is planned has tests of its own: ClusterPlannerTests.</summary>
public sealed class ClusterProgramTests
{
    private const int PatienceMs = 90_000;
    private const string Password = "planted-password";

    [Fact]
    public async Task A_cluster_is_made_changed_and_mended_by_the_operators_commands()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        string store = etcd.Addresses[0].ToString();
        using ServerProcess controller = ServerProcess.StartUnchecked(new("controller", $"dotnet \"{Transfers.Program}\" controller --cluster-etcd {store} --cluster-lease-ms 1000 --cluster-auto-join no", IsRedKite: true), port: 0);
        ServerProcess[] nodes = [.. Enumerable.Range(0, 4).AsParallel().Select(_ => Start(store))];
        try
        {
            string[] names = [.. nodes.Select(static node => $"127.0.0.1:{node.Port}")];
            (string a, string b, string c, string d) = (names[0], names[1], names[2], names[3]);

            // Without a cluster.
            Assert.Equal("error", (await Status(store, exitCode: 4)).GetProperty("state").GetString());
            await Fails(1, "the store has no cluster", store, "add", a, "--yes");

            // Asked, and refused; then done, and done again.
            ChildProgram declined = await ChildProgram.Run("dotnet", [Transfers.Program, "cluster", "create", a, b, "--cluster-etcd", store, "--pass", Password], input: "no\n");
            Assert.Equal(3, declined.ExitCode);
            Assert.Contains($"give {a}", declined.Output, StringComparison.Ordinal);
            Assert.EndsWith("Do it? (yes/no) Nothing was done.", declined.Output.TrimEnd(), StringComparison.Ordinal);
            ChildProgram created = (await ChildProgram.Run("dotnet", [Transfers.Program, "cluster", "create", a, b, "--cluster-etcd", store, "--pass", Password], input: "yes\n")).Succeeded();
            Assert.EndsWith("Done.", created.Output.TrimEnd(), StringComparison.Ordinal);
            Assert.Equal("OK", Run(nodes[0], "SET {b} 1")); // the slot 3300
            Assert.Equal("OK", Run(nodes[1], "SET {a} 1")); // the slot 15495
            Assert.Contains("Nothing to do.", (await Cluster(store, "create", a, b, "--yes")).Succeeded().Output, StringComparison.Ordinal);

            // A node with keys would lose them.
            await Fails(1, "is not a node of the cluster", store, "remove", c, "--yes");
            await Fails(1, "is not a node of the cluster", store, "failover", c, "--yes");
            Assert.Equal("done", Outcome(await Cluster(store, "add", c, "--of", a, "--yes", "--json")));
            (await ChildProgram.Run("dotnet", [Transfers.Program, "cluster", "status", "--node", b, "--pass", Password])).Succeeded(); // the node says where the store is
            JsonElement status = await Status(store, exitCode: 0);
            JsonElement shard = status.GetProperty("shards")[0];
            Assert.Equal((16384, a, 8192, 2), (status.GetProperty("slots_assigned").GetInt32(), shard.GetProperty("primary").GetProperty("address").GetString(), shard.GetProperty("slot_count").GetInt32(), status.GetProperty("shards").GetArrayLength()));
            Assert.StartsWith("controller on ", status.GetProperty("controller").GetString(), StringComparison.Ordinal);
            Assert.Equal(c, Assert.Single(shard.GetProperty("replicas").EnumerateArray()).GetProperty("address").GetString());
            Assert.Equal(d, Assert.Single(status.GetProperty("other_nodes").EnumerateArray()).GetProperty("address").GetString());

            // The replica takes over when it has everything.
            Until(() => Run(nodes[2], "DBSIZE") == "1", "the replica");
            (await Cluster(store, "failover", c, "--yes")).Succeeded();
            Assert.Equal("1", Run(nodes[2], "GET {b}"));
            Assert.Equal("OK", Run(nodes[2], "SET {b} 2"));

            // The former primary dies, and another node takes its place.
            await Fails(1, "is not gone", store, "replace", a, d, "--yes");
            nodes[0].Signal("KILL");
            await PackageHasAllNodes(store, nodes);
            ChildProgram replaced = await Repeat(() => Cluster(store, "replace", a, d, "--yes"), static run => run.ExitCode == 0);
            Assert.Contains($"add {d}", replaced.Output, StringComparison.Ordinal);
            Until(() => Run(nodes[3], "DBSIZE") == "1", "the new replica");

            // The primary dies, and the controller that is no node chooses the replica.
            nodes[2].Signal("KILL");
            (await Cluster(store, "failover", d, "--yes")).Succeeded();
            Assert.Equal("2", Run(nodes[3], "GET {b}"));
            (await Cluster(store, "remove", c, "--yes")).Succeeded();
            Assert.Equal("ok", (await Status(store, exitCode: 0)).GetProperty("state").GetString());

            // Slots move with their keys; a primary that is taken out gives its slots away first.
            using (ServerProcess added = Start(store))
            {
                string e = $"127.0.0.1:{added.Port}";
                await Repeat(() => Cluster(store, "add", e, "--yes"), static run => run.ExitCode == 0); // it registers soon

                // Slots that move key by key are refused before anything has begun, whichever node says so.
                Assert.Equal("OK", Run(nodes[3], $"CLUSTER SETSLOT 3300 MIGRATING {Run(added, "CLUSTER MYID")}"));
                await Fails(1, "1 slot (3300): MIGRATING or IMPORTING there", store, "move", "3300,15495", "--to", e, "--plan");
                Assert.Equal("OK", Run(nodes[3], "CLUSTER SETSLOT 3300 STABLE"));
                Assert.Equal("OK", Run(added, $"CLUSTER SETSLOT 15495 IMPORTING {Run(nodes[1], "CLUSTER MYID")}"));
                await Fails(1, "1 slot (15495): MIGRATING or IMPORTING there", store, "move", "3300,15495", "--to", e, "--yes");
                Assert.Equal("OK", Run(added, "CLUSTER SETSLOT 15495 STABLE"));
                Assert.All(nodes[..2].Skip(1).Append(nodes[3]), static node => Assert.Equal("", Run(node, "CLUSTER GETSLOTMIGRATIONS")));
                Assert.Equal("done", Outcome(await Cluster(store, "move", "3300,15495", "--to", e, "--yes", "--json")));
                Assert.Equal(("2", "1"), (Run(added, "GET {b}"), Run(added, "GET {a}")));
                (await Cluster(store, "rebalance", "--yes")).Succeeded();
                Assert.All((await Status(store, exitCode: 0)).GetProperty("shards").EnumerateArray().Select(static each => each.GetProperty("slot_count").GetInt32()), static count => Assert.InRange(count, 5461, 5462));
                (await Cluster(store, "remove", e, "--yes")).Succeeded();
                Assert.Equal(2, (await Status(store, exitCode: 0)).GetProperty("shards").GetArrayLength());
            }

            string[] values = [.. new[] { nodes[1], nodes[3] }.SelectMany(static node => new[] { Run(node, "GET {a}"), Run(node, "GET {b}") }).Where(static reply => !reply.StartsWith("MOVED", StringComparison.Ordinal)).Order()];
            Assert.Equal(["1", "2"], values);
            controller.Signal("TERM");
            Assert.Equal(0, controller.WaitForExit(PatienceMs));
            Assert.Contains("no-controller", (await Status(store, exitCode: 4)).GetProperty("faults").EnumerateArray().Select(static fault => fault.GetProperty("name").GetString()));
        }
        finally
        {
            foreach (ServerProcess node in nodes) node.Dispose();
        }
    }

    // One of them is dead. No address, name or password is in it, nor in the nodes' packages.
    private static async Task PackageHasAllNodes(string store, ServerProcess[] nodes)
    {
        string file = Path.Combine(nodes[1].Folder, "cluster.zip");
        ChildProgram fetched = (await Transfers.Run("debug-package", "--cluster", "--cluster-etcd", store, "--pass", Password, "--log", "0", "--output", file)).Succeeded();
        Assert.Contains("3 nodes, and 1 without a package", fetched.Output, StringComparison.Ordinal);
        using ZipArchive zip = ZipFile.OpenRead(file);
        Assert.Equal(["members.json", "status.json", "topology.json", "unreachable.txt"], zip.Entries.Where(static entry => !entry.FullName.StartsWith("nodes/", StringComparison.Ordinal)).Select(static entry => entry.FullName).Order(StringComparer.Ordinal));
        foreach (ServerProcess node in nodes[1..])
        {
            using var package = new ZipArchive(zip.GetEntry($"nodes/{Run(node, "CLUSTER MYID")}.zip")!.Open());
            Assert.NotNull(package.GetEntry("manifest.json"));
            foreach (ZipArchiveEntry entry in package.Entries) Assert.False(Holds(entry, Password), entry.FullName);
        }

        foreach (ZipArchiveEntry entry in zip.Entries.Where(static entry => !entry.FullName.EndsWith(".zip", StringComparison.Ordinal)))
        {
            foreach (string planted in (string[])[Password, "planted-name", "127.0.0.1", "controller on "]) Assert.False(Holds(entry, planted), $"{entry.FullName} has {planted}");
        }

        Assert.True(Holds(zip.GetEntry("unreachable.txt")!, "cannot connect"));
    }

    private static bool Holds(ZipArchiveEntry entry, string text)
    {
        using var bytes = new MemoryStream();
        using (Stream stream = entry.Open()) stream.CopyTo(bytes);
        ReadOnlySpan<byte> all = bytes.GetBuffer().AsSpan(0, (int)bytes.Length);
        return all.IndexOf(Encoding.UTF8.GetBytes(text)) >= 0 || all.IndexOf(Encoding.Unicode.GetBytes(text)) >= 0;
    }

    // No store is reached for these.
    [Theory]
    [InlineData("a verb is missing")]
    [InlineData("there is no verb 'frob'", "frob")]
    [InlineData("unknown option '--frob'", "status", "--frob")]
    [InlineData("where is the cluster?", "status")]
    [InlineData("'x' is too much", "status", "x")]
    [InlineData("a node or slots are missing", "add")]
    [InlineData("--by belongs to another verb", "add", "x", "--by", "keys")]
    [InlineData("--to is missing", "move", "0-10")]
    [InlineData("slots are numbers from 0 to 16383", "move", "0-16384", "--to", "x")]
    [InlineData("--by needs slots or keys", "rebalance", "--by", "weight")]
    [InlineData("--shards and --replicas exclude each other", "create", "--shards", "1", "--replicas", "1")]
    [InlineData("--wait needs a number", "create", "--wait", "0")]
    [InlineData("--json needs --yes or --plan", "create", "--json")]
    public async Task Wrong_arguments_are_one_line(string reason, params string[] arguments)
    {
        ChildProgram run = await Transfers.Run(["cluster", .. arguments]);
        Assert.Equal(2, run.ExitCode);
        Assert.StartsWith("redkite cluster: " + reason, Assert.Single(run.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
    }

    private static ServerProcess Start(string store) => Transfers.Start(
        "redkite", "--save", "", "--cluster-enabled", "yes", "--cluster-etcd", store, "--cluster-lease-ms", "1000", "--cluster-announce-ip", "127.0.0.1", "--cluster-controller", "no", "--requirepass", Password, "--masterauth", Password, "--cluster-announce-human-nodename", "planted-name", "--repl-diskless-sync-delay", "0");

    private static Task<ChildProgram> Cluster(string store, params string[] arguments) => Transfers.Run(["cluster", .. arguments, "--cluster-etcd", store, "--pass", Password]);

    private static async Task Fails(int exitCode, string reason, string store, params string[] arguments)
    {
        ChildProgram run = await Cluster(store, arguments);
        Assert.Equal(exitCode, run.ExitCode);
        Assert.Contains(reason, Assert.Single(run.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
    }

    private static async Task<JsonElement> Status(string store, int exitCode)
    {
        ChildProgram run = await Cluster(store, "status", "--json");
        Assert.True(run.ExitCode == exitCode, $"{run.ExitCode} {run.Output} {run.Errors}");
        return JsonDocument.Parse(run.Output).RootElement;
    }

    private static string Outcome(ChildProgram run) => JsonDocument.Parse(run.Succeeded().Output).RootElement.GetProperty("outcome").GetString()!;

    private static async Task<ChildProgram> Repeat(Func<Task<ChildProgram>> run, Func<ChildProgram, bool> isEnough)
    {
        long deadline = Environment.TickCount64 + PatienceMs;
        while (true)
        {
            ChildProgram ended = await run();
            if (isEnough(ended)) return ended;
            Assert.True(Environment.TickCount64 < deadline, ended.Output + ended.Errors);
        }
    }

    private static string Run(ServerProcess node, string command)
    {
        using RespConnection client = node.Connect();
        client.Run("AUTH " + Password).IsOk();
        return client.Run(command).Text;
    }

    private static void Until(Func<bool> holds, string what) => Assert.True(SpinWait.SpinUntil(
        () =>
        {
            if (holds()) return true;
            Thread.Sleep(20);
            return false;
        },
        PatienceMs), what);
}
