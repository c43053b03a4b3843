using NRedisStack;
using NRedisStack.RedisStackCommands;
using StackExchange.Redis;

namespace RedKite.EndToEnd.Tests;

/// <summary>Redis's own .NET client: its methods for Bloom and cuckoo filters, count-min sketches, top-k and t-digests.</summary>
public sealed class NRedisStackSketchTests
{
    [Theory]
    [MemberData(nameof(StackClient.Protocols), MemberType = typeof(StackClient))]
    public async Task Sketches_are_used(RedisProtocol protocol)
    {
        await using StackClient client = await StackClient.ConnectAsync(protocol);
        IDatabase database = client.Database;

        BloomCommands bloom = database.BF();
        Assert.True(bloom.Reserve("bloom", 0.001, 100L));
        Assert.True(bloom.Add("bloom", "a"));
        Assert.Equal([false, true], bloom.MAdd("bloom", ["a", "b"]));
        Assert.Equal([true, false], bloom.MExists("bloom", ["b", "c"]));
        Assert.Equal((100, 2, 1), (bloom.Info("bloom").Capacity, bloom.Info("bloom").NumberOfItemsInserted, bloom.Info("bloom").NumberOfFilters));
        Assert.Equal(2, bloom.Card("bloom"));
        for (long position = 0; ;)
        {
            var (next, chunk) = bloom.ScanDump("bloom", position);
            if (next == 0) break;
            Assert.True(bloom.LoadChunk("loaded", next, chunk));
            position = next;
        }

        Assert.True(bloom.Exists("loaded", "a"));

        CuckooCommands cuckoo = database.CF();
        Assert.True(cuckoo.Reserve("cuckoo", 1000L));
        Assert.True(cuckoo.Add("cuckoo", "a"));
        Assert.False(cuckoo.AddNX("cuckoo", "a"));
        Assert.Equal([true, true], cuckoo.Insert("cuckoo", ["b", "c"]));
        Assert.Equal(1, cuckoo.Count("cuckoo", "a"));
        Assert.True(cuckoo.Del("cuckoo", "a"));
        Assert.Equal((2, 1), (cuckoo.Info("cuckoo").NumberOfItemsInserted, cuckoo.Info("cuckoo").NumberOfItemsDeleted));

        CmsCommands counts = database.CMS();
        Assert.True(counts.InitByDim("counts", 1000, 5));
        Assert.Equal(5, counts.IncrBy("counts", "a", 5));
        Assert.Equal([5, 0], counts.Query("counts", "a", "b"));
        Assert.True(counts.InitByDim("sum", 1000, 5));
        Assert.True(counts.Merge("sum", 1, ["counts"], [3]));
        Assert.Equal((15, 1000, 5), (counts.Info("sum").Count, counts.Info("sum").Width, counts.Info("sum").Depth));

        TopKCommands top = database.TOPK();
        Assert.True(top.Reserve("top", 2, 50, 5, 0.9));
        Assert.Equal(["", "", "a"], top.Add("top", "a", "b", "c")!.Select(expelled => expelled.IsNull ? "" : expelled.ToString()));
        Assert.Equal([false, true], top.Query("top", "a", "c"));
        Assert.Equal((2, 0.9), (top.Info("top").K, top.Info("top").Decay));
        Assert.Equal(2, top.List("top").Length);

        TdigestCommands digest = database.TDIGEST();
        Assert.True(digest.Create("digest", 100));
        Assert.True(digest.Add("digest", 1, 2, 3, 4, 5));
        Assert.Equal([3, 5], digest.Quantile("digest", 0.5, 0.8));
        Assert.Equal((1, 5), (digest.Min("digest"), digest.Max("digest")));
        Assert.Equal([0, 4], digest.Rank("digest", 1, 5));
        Assert.Equal([2], digest.ByRank("digest", 1));
        Assert.Equal(3, digest.TrimmedMean("digest", 0.1, 0.9));
        Assert.True(digest.Merge("merged", sourceKeys: ["digest"]));
        Assert.Equal((100, 5), (digest.Info("merged").Compression, digest.Info("merged").Observations));
    }
}
