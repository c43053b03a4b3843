using RedKite.Testing;

namespace RedKite.TimeSeries.Tests;

/// <summary>Slots that move between nodes of a cluster with series, documents and sketches in them.</summary>
public sealed class SlotMoveTests
{
    private static readonly string[] Names = ["series", "sums", "averages", "document", "bloom", "cuckoo", "counts", "top", "quantiles"];

    // Whether the nodes have indexes of labels before the move, and whether their shards have replicas.
    [Theory]
    [InlineData(false, 0)]
    [InlineData(true, 0)]
    [InlineData(true, 1)]
    public async Task Values_labels_and_rules_move(bool isIndexed, int replicas)
    {
        await using RedKiteTestCluster cluster = await RedKiteTestCluster.StartAsync(new RedKiteTestClusterOptions
        {
            Shards = 2,
            ReplicasPerShard = replicas,
            Configure = static options => options.Settings["enable-debug-command"] = "yes",
        });
        RedKiteTestNode a = cluster.Nodes[0], b = cluster.Nodes[1];
        string moving = TagOf(cluster, a), staying = TagOf(cluster, b);
        string[] all = [.. new[] { moving + "averages", moving + "series", moving + "sums", staying + "series" }.Order(StringComparer.Ordinal)];
        Fill(a, moving);
        Run(b, "TS.ADD", staying + "series", "1", "5", "LABELS", "room", "study");
        if (isIndexed)
        {
            Assert.Equal([moving + "averages", moving + "series", moving + "sums"], KeysOf(a, "room=study"));
            Assert.Equal([staying + "series"], KeysOf(b, "room=study"));
        }

        string[] digests = Digests(a, moving);
        await cluster.MoveAsync(.., a, b);
        Assert.Equal(digests, Digests(b, moving));
        Assert.Empty(KeysOf(a, "room=study"));
        Assert.Empty(a.Server.Execute("TS.MRANGE", "-", "+", "FILTER", "room=study").Items);
        Assert.Equal(all, KeysOf(b, "room=study"));
        Assert.Equal(["10 1", "60 2", "110 3", "150 4"], SamplesOf(b, moving, "kind=source"));
        Assert.StartsWith("MOVED", a.Server.Execute("TS.GET", moving + "series").Text, StringComparison.Ordinal);
        Use(b, moving);

        digests = Digests(b, moving);
        await cluster.MoveAsync(.., b, a);
        Assert.Equal(digests, Digests(a, moving));
        Assert.Empty(KeysOf(b, "room=study"));
        Assert.Equal(all, KeysOf(a, "room=study"));
        Assert.Equal(["0 3", "100 7", "200 5", "400 9"], SamplesOf(a, moving, "kind=sum"));
        foreach (RedKiteTestNode replica in cluster.ReplicasOf(a))
        {
            Run(a, "SET", moving + "end", "x");
            Assert.Equal(1, a.Server.Execute("WAIT", "1", "60000").Integer);
            Assert.Equal(a.Server.Execute("DEBUG", "DIGEST").Text, replica.Server.Execute("DEBUG", "DIGEST").Text);
            Assert.Equal(KeysOf(a, "room=study"), KeysOf(replica, "room=study"));
        }
    }

    private static void Fill(RedKiteTestNode node, string tag)
    {
        Run(node, "TS.CREATE", tag + "series", "RETENTION", "1000000", "CHUNK_SIZE", "48", "DUPLICATE_POLICY", "LAST", "LABELS", "room", "study", "kind", "source");
        Run(node, "TS.CREATE", tag + "sums", "LABELS", "room", "study", "kind", "sum");
        Run(node, "TS.CREATE", tag + "averages", "ENCODING", "UNCOMPRESSED", "LABELS", "room", "study", "kind", "average");
        Run(node, "TS.CREATERULE", tag + "series", tag + "sums", "AGGREGATION", "sum", "100");
        Run(node, "TS.CREATERULE", tag + "series", tag + "averages", "AGGREGATION", "twa", "1000");
        foreach ((string time, string value) in new[] { ("10", "1"), ("60", "2"), ("150", "4"), ("110", "3") }) Run(node, "TS.ADD", tag + "series", time, value);
        Run(node, "JSON.SET", tag + "document", "$", """{"name":"study","lamps":[1,2.5,{"on":true}]}""");
        Run(node, "BF.RESERVE", tag + "bloom", "0.01", "100");
        Run(node, "CF.RESERVE", tag + "cuckoo", "100");
        Run(node, "CMS.INITBYDIM", tag + "counts", "20", "4");
        Run(node, "TOPK.RESERVE", tag + "top", "3");
        Run(node, "TDIGEST.CREATE", tag + "quantiles");
        for (int i = 0; i < 300; i++)
        {
            Run(node, "BF.ADD", tag + "bloom", $"{i}");
            Run(node, "CF.ADD", tag + "cuckoo", $"{i}");
            Run(node, "CMS.INCRBY", tag + "counts", $"{i % 10}", "1");
            Run(node, "TOPK.ADD", tag + "top", $"{i % 10}");
            Run(node, "TDIGEST.ADD", tag + "quantiles", $"{i}");
        }
    }

    // The bucket that was open when the slots moved is closed here, and another one is computed anew.
    private static void Use(RedKiteTestNode node, string tag)
    {
        Assert.Equal(["0 3"], SamplesOf(node, tag, "kind=sum"));
        Run(node, "TS.ADD", tag + "series", "250", "5");
        Assert.Equal(["0 3", "100 7"], SamplesOf(node, tag, "kind=sum"));
        Run(node, "TS.ADD", tag + "series", "420", "9");
        Run(node, "TS.ADD", tag + "series", "500", "0");
        Assert.Equal(["0 3", "100 7", "200 5", "400 9"], SamplesOf(node, tag, "kind=sum"));
        Assert.Equal("[2.5]", Run(node, "JSON.GET", tag + "document", "$.lamps[1]"));
        Assert.Equal("[5]", Run(node, "JSON.SET", tag + "document", "$.lamps[0]", "5") == "OK" ? Run(node, "JSON.GET", tag + "document", "$.lamps[0]") : "");
        Assert.Equal("1", Run(node, "BF.EXISTS", tag + "bloom", "299"));
        Assert.Equal("1", Run(node, "BF.ADD", tag + "bloom", "another"));
        Assert.Equal("1", Run(node, "CF.DEL", tag + "cuckoo", "299"));
        Assert.Equal("30", node.Server.Execute("CMS.QUERY", tag + "counts", "3").Items[0].ToString());
        Assert.Equal(3, node.Server.Execute("TOPK.LIST", tag + "top").Items.Count);
        Assert.Equal("299", Run(node, "TDIGEST.MAX", tag + "quantiles"));
    }

    private static string TagOf(RedKiteTestCluster cluster, RedKiteTestNode node)
    {
        for (int i = 0; ; i++)
        {
            string tag = $"{{{i}}}";
            if (cluster.PrimaryOf(tag) == node) return tag;
        }
    }

    private static string[] Digests(RedKiteTestNode node, string tag) => [.. Names.Select(name => $"{name} {Run(node, "TYPE", tag + name)} {node.Server.Execute("DEBUG", "DIGEST-VALUE", tag + name).Items[0].Text}")];

    private static string[] KeysOf(RedKiteTestNode node, string filter) => [.. node.Server.Execute("TS.QUERYINDEX", filter).Items.Select(key => key.Text!).Order(StringComparer.Ordinal)];

    private static string[] SamplesOf(RedKiteTestNode node, string tag, string filter)
    {
        RedKiteReply series = node.Server.Execute("TS.MRANGE", "-", "+", "FILTER", filter).Items.Single();
        Assert.StartsWith(tag, series.Items[0].Text, StringComparison.Ordinal);
        return [.. series.Items[2].Items.Select(sample => $"{sample.Items[0].Integer} {sample.Items[1].Text}")];
    }

    private static string Run(RedKiteTestNode node, params string[] request)
    {
        RedKiteReply reply = node.Server.Execute(request);
        Assert.False(reply.IsError, $"{string.Join(' ', request)}: {reply.Text}");
        return reply.Kind == ReplyKind.Integer ? $"{reply.Integer}" : reply.Text ?? "";
    }
}
