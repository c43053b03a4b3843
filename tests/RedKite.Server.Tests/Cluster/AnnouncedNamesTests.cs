using System.Globalization;
using RedKite.Testing;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Cluster;

/// <summary>With a store, what a node announces of itself is what the others say of it, in the form that clients ask for.</summary>
public sealed class AnnouncedNamesTests
{
    private const int WaitMs = 60_000;

    [Fact]
    public async Task Other_nodes_have_their_names()
    {
        int count = 0;
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions
        {
            Shards = 2,
            Configure = options => options.Settings["cluster-announce-hostname"] = $"host-{Interlocked.Increment(ref count).ToString(CultureInfo.InvariantCulture)}.example",
        });
        RedKiteTestNode named = cluster.PrimaryOf("a"), here = cluster.Nodes.First(node => node != named);
        string name = named.Server.Execute("CONFIG", "GET", "cluster-announce-hostname").Items[1].Text!, port = named.Server.Port.ToString(CultureInfo.InvariantCulture);
        using RespConnection client = RespConnection.Connect(here.Server.Port), modern = RespConnection.Connect(here.Server.Port);
        modern.Run("HELLO 3");
        foreach ((string type, string endpoint, string entry, string modernEntry) in (List<(string, string, string, string)>)
            [
                ("ip", "127.0.0.1", $"*[$127.0.0.1 :{port} ${named.Id} *[$hostname ${name}]]", $"*[$127.0.0.1 :{port} ${named.Id} %[$hostname ${name}]]"),
                ("hostname", name, $"*[${name} :{port} ${named.Id} *[$ip $127.0.0.1]]", $"*[${name} :{port} ${named.Id} %[$ip $127.0.0.1]]"),
                ("unknown-endpoint", "", $"*[$(null) :{port} ${named.Id} *[$ip $127.0.0.1 $hostname ${name}]]", $"*[_(null) :{port} ${named.Id} %[$ip $127.0.0.1 $hostname ${name}]]"),
            ])
        {
            client.Run("CONFIG SET cluster-preferred-endpoint-type " + type).IsOk();
            Assert.Equal($"MOVED 15495 {endpoint}:{port}", client.Run("GET a").Text);
            Assert.Contains(entry, client.Run("CLUSTER SLOTS").ToString(), StringComparison.Ordinal);
            Assert.Contains(modernEntry, modern.Run("CLUSTER SLOTS").ToString(), StringComparison.Ordinal);
            Assert.Contains($"$id ${named.Id} $port :{port} $ip $127.0.0.1 $endpoint ${(endpoint.Length > 0 ? endpoint : "\"\"")} $hostname ${name} $role $master", client.Run("CLUSTER SHARDS").ToString(), StringComparison.Ordinal);
            Assert.Matches($@"{named.Id} 127\.0\.0\.1:{port}@\d+,{name} master - ", client.Run("CLUSTER NODES").Text);
        }

        named.Server.Execute("CONFIG", "SET", "cluster-announce-hostname", "other.example");
        Assert.True(SpinWait.SpinUntil(() => client.Run("CLUSTER NODES").Text.Contains(",other.example master", StringComparison.Ordinal), WaitMs));
        client.Run("CONFIG SET cluster-preferred-endpoint-type hostname").IsOk();
        Assert.Equal($"MOVED 15495 other.example:{port}", client.Run("GET a").Text);
    }
}
