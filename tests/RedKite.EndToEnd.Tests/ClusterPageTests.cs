using System.Globalization;
using System.Text.Json;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The command lines of docs/cluster.md with a store, as a reader types them, with a real etcd and programs of this test. The ports are others, leases are shorter, and what asks is answered.</summary>
public sealed partial class ClusterPageTests : IDisposable
{
    private const int PatienceMs = 90_000;
    private const string StoreOfPage = "http://127.0.0.1:2379";

    private readonly Dictionary<string, ServerProcess> _nodes = []; // by the port that the page has
    private string _store = "";

    private static DocumentationBlock[] Blocks => [.. DocumentationBlocks.Read("docs/cluster.md", File.ReadAllLines(Path.Combine(RepositoryRoot.Path, "docs", "cluster.md"))).Where(static block => block.Text.Contains("redkite cluster ", StringComparison.Ordinal))];

    public void Dispose()
    {
        foreach (ServerProcess node in _nodes.Values) node.Dispose();
    }

    [Fact]
    [Long]
    public async Task The_page_works_as_it_stands()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        _store = etcd.Addresses[0].ToString();
        string[] first = [.. Blocks[0].Lines], later = [.. Blocks[1].Lines];

        // The first block makes a cluster of three shards.
        string[] starts = [.. first.Where(static line => line.StartsWith("redkite --port", StringComparison.Ordinal))];
        Assert.Equal(3, starts.Length);
        foreach (string line in starts) Start(line);
        await UntilAsync(async () => (await Status(exitCode: 4)).GetProperty("other_nodes").GetArrayLength() == 3, "the nodes are registered");
        ChildProgram created = (await RunWithInput(first.Single(static line => line.StartsWith("redkite cluster create", StringComparison.Ordinal)), "yes\n")).Succeeded();
        Assert.EndsWith("Done.", created.Output.TrimEnd(), StringComparison.Ordinal);
        await UntilAsync(() => Task.FromResult(_nodes.Values.All(static node => Reply(node, "CLUSTER INFO").Contains("cluster_state:ok", StringComparison.Ordinal))), "the nodes serve");
        Assert.Equal((16384, 3), Numbers(await Status(exitCode: 0)));

        // Of the second block each line but that of another new cluster; its verbs are those of the table.
        string[] verbs = [.. later.Select(static line => line.Split(' ')[2]).Distinct().Order(StringComparer.Ordinal)];
        Assert.Equal(["add", "create", "failover", "move", "rebalance", "remove", "replace", "status"], verbs);
        foreach (string line in later.Where(static line => line.Contains(" status ", StringComparison.Ordinal)))
        {
            string output = (await Run(line)).Succeeded().Output;
            if (line.Contains("--json", StringComparison.Ordinal)) Assert.Equal("ok", JsonDocument.Parse(output).RootElement.GetProperty("state").GetString());
            else Assert.All(_nodes.Keys, port => Assert.Contains(Address(port), output, StringComparison.Ordinal));
        }

        // Both nodes have become replicas by themselves before.
        foreach (string port in (string[])["7004", "7005"]) Start(starts[0].Replace("7001", port, StringComparison.Ordinal));
        await UntilAsync(async () => Nodes(await Status(exitCode: null)).Length == 5, "the nodes join");
        await Done(Line(later, "add 127.0.0.1:7004"));
        Assert.Equal((4, 0), ((await Status(exitCode: null)).GetProperty("shards").GetArrayLength(), SlotsOf(await Status(exitCode: null), "7004")));
        await Done(Line(later, "add 127.0.0.1:7005"), "--of", "127.0.0.1:7002");
        await UntilAsync(async () => (await Status(exitCode: null)).GetProperty("shards").EnumerateArray().Any(shard => Has(shard, "7002") && shard.GetProperty("replicas").EnumerateArray().Any(static replica => replica.GetProperty("in_step").GetBoolean())), "the replica is in step");
        await Done(Line(later, "failover 127.0.0.1:7005"));
        Assert.True(Has((await Status(exitCode: null)).GetProperty("shards").EnumerateArray().Single(shard => Has(shard, "7005")), "7005"));
        await Done(Line(later, "rebalance"));
        Assert.Equal(4096, SlotsOf(await Status(exitCode: 0), "7004"));
        string move = Line(later, "move 0-100,200");
        await Done(move);
        JsonElement moved = (await Status(exitCode: 0)).GetProperty("shards").EnumerateArray().Single(shard => Has(shard, "7004"));
        Assert.All((int[])[0, 100, 200], slot => Assert.Contains(moved.GetProperty("slots").EnumerateArray(), range => range[0].GetInt32() <= slot && slot <= range[1].GetInt32()));
        Assert.Contains("Nothing to do.", (await Run(move, "--yes")).Succeeded().Output, StringComparison.Ordinal); // the same command continues
        await Done(Line(later, "remove 127.0.0.1:7004"));
        Assert.Equal((16384, 3), Numbers(await Status(exitCode: 0)));

        // A replica by now. While it lives, its place is its own.
        Start(starts[0].Replace("7001", "7006", StringComparison.Ordinal));
        await UntilAsync(async () => Nodes(await Status(exitCode: null)).Contains(Address("7006")), "the new node joins");
        string replace = Line(later, "replace 127.0.0.1:7002");
        ChildProgram refused = await Run(replace, "--yes");
        Assert.Equal(1, refused.ExitCode);
        Assert.Contains("is not gone", Assert.Single(refused.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
        _nodes["7002"].Signal("KILL");
        ChildProgram replaced = refused;
        await UntilAsync(async () => (replaced = await Run(replace, "--yes", "--json")).ExitCode == 0, () => replaced.Output + replaced.Errors);
        Assert.Equal("done", Outcome(replaced));
        Assert.Contains("Nothing to do: ", (await Run(replace, "--yes")).Succeeded().Output, StringComparison.Ordinal);
        Assert.Equal("OK", Reply(_nodes["7006"], "READONLY"));
        JsonElement ofNew = (await Status(exitCode: null)).GetProperty("shards").EnumerateArray().Single(shard => Has(shard, "7005"));
        Assert.Equal(Address("7006"), Assert.Single(ofNew.GetProperty("replicas").EnumerateArray()).GetProperty("address").GetString());

        // A second cluster in the same etcd, with another prefix.
        string[] prefix = ["--cluster-etcd-prefix", "/second/"];
        foreach (string port in (string[])["7011", "7012"]) Start(starts[0].Replace("7001", port, StringComparison.Ordinal), prefix);
        await UntilAsync(async () => (await Run(later[0], ["--json", .. prefix])).Output is var text && text.Length > 0 && JsonDocument.Parse(text).RootElement.GetProperty("other_nodes").GetArrayLength() == 2, "the nodes of the second cluster");
        string create = Line(later, "create --replicas 1");
        Assert.Equal("planned", Outcome((await Run(create, ["--plan", "--json", .. prefix])).Succeeded()));
        await Done(create, prefix);
        Assert.Equal("OK", Reply(_nodes.Where(static node => node.Key.StartsWith("701", StringComparison.Ordinal)).Select(static node => node.Value).First(static node => Reply(node, "ROLE").Contains("master", StringComparison.Ordinal)), "SET only here"));
        Assert.Equal((16384, 3), Numbers(await Status(exitCode: null)));
    }

    // Each verb says it, with --json too; the program for controllers says it and stands still.
    [Fact]
    [Long]
    public async Task A_store_that_cannot_be_used_is_one_line()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        _store = $"http://127.0.0.1:{LoopbackPort.Next().ToString(CultureInfo.InvariantCulture)}";
        await Says("etcd is not reached: ", "Connection refused");
        await using EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, certificates: null, TestContext.Current.CancellationToken);
        _store = etcd.Addresses[0].ToString();
        foreach ((string document, string reason) in (List<(string, string)>)[("{\"format\":2}", "its format is 2, and this version reads 1"), ("{\"format\":1,", "it is no JSON"), ("[]", "it is no object")])
        {
            await etcd.PutAsync("/redkite/topology", document, TestContext.Current.CancellationToken);
            await Says("the topology in the store cannot be used: ", reason);
        }
    }

    private async Task Says(string what, string reason)
    {
        foreach (string verb in (string[])["status", "status --json", "create --yes", "add 127.0.0.1:7001 --yes --json", "remove 127.0.0.1:7001 --yes", "rebalance --yes", "move 0-100 --to 127.0.0.1:7001 --yes", "failover 127.0.0.1:7001 --yes", "replace 127.0.0.1:7001 127.0.0.1:7002 --yes"])
        {
            ChildProgram run = await Transfers.Run(["cluster", .. verb.Split(' '), "--cluster-etcd", _store]);
            Assert.Equal((1, ""), (run.ExitCode, run.Output));
            string line = Assert.Single(run.Errors.TrimEnd().Split('\n'));
            Assert.StartsWith("redkite cluster: " + what, line, StringComparison.Ordinal);
            Assert.Contains(reason, line, StringComparison.Ordinal);
        }

        using ServerProcess controller = ServerProcess.StartUnchecked(new("controller", $"dotnet \"{Transfers.Program}\" controller --cluster-etcd {_store}", IsRedKite: true), port: 0);
        await UntilAsync(() => Task.FromResult(controller.Output.Any(line => line.Contains(what, StringComparison.Ordinal) && line.Contains(reason, StringComparison.Ordinal))), what);
        controller.Signal("TERM");
        Assert.Equal(0, controller.WaitForExit(PatienceMs));
        Assert.DoesNotContain(controller.Output, static line => line.Contains("   at ", StringComparison.Ordinal));
    }

    private static string Line(string[] lines, string begins) => lines.Single(line => line.StartsWith("redkite cluster " + begins, StringComparison.Ordinal));

    // "redkite --port 7001 ...": in a folder of its own.
    private void Start(string line, params string[] further)
    {
        string[] words = line.Split(' ');
        _nodes.Add(words[2], Transfers.Start("redkite", [.. words[3..].Select(OfTest), "--cluster-lease-ms", "1000", "--save", "", "--repl-diskless-sync-delay", "0", .. further]));
    }

    private async Task Done(string line, params string[] further) => Assert.Equal("done", Outcome((await Run(line, ["--yes", "--json", .. further])).Succeeded()));

    private Task<ChildProgram> Run(string line, params string[] further) => RunWithInput(line, input: "", further);

    private Task<ChildProgram> RunWithInput(string line, string input, params string[] further) =>
        ChildProgram.Run("dotnet", [Transfers.Program, .. line.Split('#')[0].Trim().Split(' ')[1..].Concat(further).Select(OfTest)], input);

    private async Task<JsonElement> Status(int? exitCode)
    {
        ChildProgram run = await Transfers.Run("cluster", "status", "--json", "--cluster-etcd", _store);
        Assert.True(exitCode is null || run.ExitCode == exitCode, $"{run.ExitCode} {run.Output} {run.Errors}");
        return JsonDocument.Parse(run.Output).RootElement;
    }

    private static string Outcome(ChildProgram run) => JsonDocument.Parse(run.Output).RootElement.GetProperty("outcome").GetString()!;

    private static (int Slots, int Shards) Numbers(JsonElement status) => (status.GetProperty("slots_assigned").GetInt32(), status.GetProperty("shards").GetArrayLength());

    private static string[] Nodes(JsonElement status) =>
        [.. status.GetProperty("shards").EnumerateArray().SelectMany(static shard => shard.GetProperty("replicas").EnumerateArray().Prepend(shard.GetProperty("primary"))).Select(static node => node.GetProperty("address").GetString()!)];

    // Whether the page's port is that of the shard's primary.
    private bool Has(JsonElement shard, string port) => shard.GetProperty("primary").GetProperty("address").GetString() == Address(port);

    private int SlotsOf(JsonElement status, string port) => status.GetProperty("shards").EnumerateArray().Single(shard => Has(shard, port)).GetProperty("slot_count").GetInt32();

    private string Address(string port) => OfTest("127.0.0.1:" + port);

    private string OfTest(string word) => word == StoreOfPage ? _store : NodeOfPage().Replace(word, match => _nodes.TryGetValue(match.Groups[1].Value, out ServerProcess? node) ? $"127.0.0.1:{node.Port.ToString(CultureInfo.InvariantCulture)}" : match.Value);

    private static string Reply(ServerProcess node, string command)
    {
        using RespConnection client = node.Connect();
        RespValue reply = client.Run(command);
        return reply.IsAggregate ? reply.ToString()! : reply.Text;
    }

    private static Task UntilAsync(Func<Task<bool>> holds, string what) => UntilAsync(holds, () => what);

    private static async Task UntilAsync(Func<Task<bool>> holds, Func<string> what)
    {
        long deadline = Environment.TickCount64 + PatienceMs;
        while (!await holds())
        {
            Assert.True(Environment.TickCount64 < deadline, what());
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }
    }

    [GeneratedRegex(@"127\.0\.0\.1:(70\d\d)$")]
    private static partial Regex NodeOfPage();
}
