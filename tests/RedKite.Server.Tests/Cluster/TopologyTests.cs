using System.Collections.Immutable;
using System.IO.Compression;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Cluster;

/// <summary>A topology keeps its rules, whatever it is made from.</summary>
public sealed class TopologyTests
{
    private static readonly string A = new('a', 40);
    private static readonly string B = new('b', 40);
    private static readonly string C = new('c', 40);

    [Fact]
    public void A_document_has_all_that_a_node_knows()
    {
        ClusterTopology topology = NodeList.Read($"{A} 10.0.0.1 7001 master - 0-5460 9000\n{B} 10.0.0.2 7002 master - 5461-8999\n{C} 10.0.0.3 7003 slave {A}\n", version: 7, Empty());
        topology = topology.WithNode(B, topology.Find(B)! with { HostName = "b.example", Name = "second", Zone = "east", TlsPort = 7102, BusPort = 1, Epoch = 5 });
        ClusterState state = new ClusterState(A, topology).WithMigrating(3, B).WithImporting(6000, B);
        byte[] document = TopologyDocument.Write(state);
        ClusterState read = TopologyDocument.Read(document);
        Assert.Equal(Encoding.UTF8.GetString(document), Encoding.UTF8.GetString(TopologyDocument.Write(read)));
        Assert.Equal(7, read.Topology.Version);
        Assert.Equal([new SlotRange(0, 5460), new SlotRange(9000, 9000)], read.Topology.RangesOf(A));
        Assert.Equal(A, read.Topology.Find(C)!.PrimaryId);
        Assert.Equal(read.Topology.Find(A)!.ShardId, read.Topology.Find(C)!.ShardId);
        Assert.Equal("east", read.Topology.Find(B)!.Zone);
        Assert.Equal(B, read.Migrating[3]);
        Assert.Equal(B, read.Importing[6000]);
    }

    // Its shard goes on without it, with its terms.
    [Fact]
    public void A_node_that_joins_again_behind_a_failover_has_a_shard_of_its_own()
    {
        ClusterTopology before = NodeList.Read($"{A} h 1 master - 0-10\n{B} h 2 slave {A}", version: 7, Empty());
        string shard = before.Find(A)!.ShardId;
        Assert.Equal(ClusterNode.ShardIdOf(A), shard);
        ShardTerms terms = ShardTerms.None with { Acks = 1 };
        ClusterTopology next = before.WithTerms(shard, terms).WithPrimary(B, epoch: 8).Without(A).WithJoined(before.Find(A)!);
        Assert.NotEqual(shard, next.Find(A)!.ShardId);
        Assert.Equal(terms, next.Terms.Of(shard));
        Assert.True(next.Find(A)!.IsPrimary);

        // One of no shard that goes on has its own again, with no terms of an earlier one.
        ClusterTopology alone = before.WithTerms(shard, terms).Without(B).Without(A).WithJoined(before.Find(A)!);
        Assert.Equal(shard, alone.Find(A)!.ShardId);
        Assert.Equal(ShardTerms.None, alone.Terms.Of(shard));
    }

    // Both would serve by its terms.
    [Fact]
    public void A_shard_has_one_primary()
    {
        ClusterTopology topology = NodeList.Read($"{A} h 1 master - 0-10\n{B} h 2 slave {A}", version: 7, Empty());
        ClusterNode replica = topology.Find(B)!;
        Assert.Contains("two primaries", Assert.Throws<TopologyException>(() => topology.WithNode(B, replica with { PrimaryId = null })).Message, StringComparison.Ordinal);
        Assert.True(topology.WithNode(B, replica with { PrimaryId = null, ShardId = ClusterNode.ShardIdOf(B) }).Find(B)!.IsPrimary);
    }

    [Fact]
    public void A_slot_that_gets_another_owner_is_noted_with_the_one_before()
    {
        ClusterTopology before = NodeList.Read($"{A} h 1 master - 0-10\n{B} h 2 master - 11-20\n{C} h 3 slave {A}", version: 7, Empty());
        ClusterTopology next = Reassignments.Note(before, before.WithOwner([0, 1, 30], B)).WithVersion(8);
        Assert.Equal(["|8|30-30", $"{A}|8|0-1"], Shown(next));
        Assert.Empty(Reassignments.Of(next, A));
        Assert.Equal(2, Reassignments.Of(next, B).Length);

        // One that is taken again before it was served may be served by the owner before alone, and one that has no owner is no more noted. The successor of a primary has what that one had.
        Assert.Equal([$"{A}|8|1-1", $"{A}|9|0-0"], Shown(Reassignments.Note(next, next.WithOwner([0], A).WithOwner([30], null))));
        Assert.Equal(Shown(next), Shown(Reassignments.Note(next, next.WithPrimary(C, epoch: 9))));
        Assert.Same(before, Reassignments.Note(before, before));

        byte[] document = TopologyDocument.WriteShared(next);
        Assert.Equal(Shown(next), Shown(TopologyDocument.ReadShared(document)));
        Assert.DoesNotContain("reassigned", Encoding.UTF8.GetString(TopologyDocument.WriteShared(Reassignments.Without(next, next.Terms.Reassigned))), StringComparison.Ordinal); // as versions before it wrote

        static IEnumerable<string> Shown(ClusterTopology topology) => topology.Terms.Reassigned.Select(static each => $"{each.FromId}|{each.Since}|{string.Join(' ', each.Slots.Ranges().Select(static range => $"{range.First}-{range.Last}"))}");
    }

    [Theory]
    [InlineData(7, true, true)]
    [InlineData(8, true, false)]
    [InlineData(7, false, false)]
    public void A_slot_is_awaited_while_its_former_owner_serves_by_an_older_topology(int version, bool serves, bool waits)
    {
        SlotSet slots = SlotSet.Of([new SlotRange(0, 0)]);
        NodeStatus Status(string id) => new() { Node = new ClusterNode(id) { ShardId = "" }, Incarnation = "", Version = version, Serves = serves };
        Assert.Equal(!waits, Reassignments.HasEnded(new Reassignment(slots, 8, A), [Status(A)]));
        Assert.Equal(!waits, Reassignments.HasEnded(new Reassignment(slots, 8, ""), [Status(B)]));
        Assert.True(Reassignments.HasEnded(new Reassignment(slots, 8, A), [Status(B)]));
    }

    [Theory]
    [InlineData("""{"since": 1, "from": "", "slots": []}""", "a slot that is reassigned")]
    [InlineData("""{"since": 1, "from": "", "slots": [[1, 2], [2, 3]]}, {"since": 1, "from": "", "slots": [[3, 4]]}""", "a slot that is reassigned")]
    [InlineData("""{"since": 1, "from": "x", "slots": [[1, 2]]}""", "is no id")]
    [InlineData("""{"since": 1, "from": "", "slots": [[1, 16384]]}""", "is invalid")]
    [InlineData("""{"since": 1, "from": "", "slots": [[1, 2]], "other": 1}""", "does not know")]
    public void A_broken_note_of_a_slot_is_refused(string notes, string reason)
    {
        string document = Encoding.UTF8.GetString(TopologyDocument.WriteJson(Empty()));
        Assert.Contains(reason, Assert.Throws<TopologyException>(() => TopologyDocument.ReadShared(Encoding.UTF8.GetBytes($"{document[..^1]},\"reassigned\":[{notes}]}}"))).Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "no JSON")]
    [InlineData("[]", "no object")]
    [InlineData("{}", "format")]
    [InlineData("{\"format\": 2}", "its format is 2")]
    [InlineData("{\"format\": \"1\"}", "format")]
    [InlineData("{\"format\": 1, \"other\": 1}", "does not know")]
    [InlineData("{\"format\": 1}", "'shards' is missing")]
    [InlineData("{\"format\": 1, \"shards\": 3}", "wrong type")]
    public void A_broken_document_is_refused(string document, string reason) =>
        Assert.Contains(reason, Assert.Throws<TopologyException>(() => TopologyDocument.Read(Encoding.UTF8.GetBytes(document))).Message, StringComparison.Ordinal);

    // Each place of a good document once torn off, and each of its numbers and ids replaced: it reads as before, or it is refused in one line.
    [Fact]
    public void Any_damage_is_refused_or_reads_as_a_whole_topology()
    {
        byte[] good = TopologyDocument.Write(new ClusterState(A, NodeList.Read($"{A} 10.0.0.1 7001 master - 0-100\n{B} 10.0.0.2 7002 slave {A}", version: 7, Empty())));
        var random = new Random(20261128);
        for (int i = 0; i < 600; i++)
        {
            byte[] bytes = [.. good];
            if (i % 3 == 0) bytes = bytes[..random.Next(bytes.Length)];
            else for (int changes = random.Next(1, 4); changes > 0; changes--) bytes[random.Next(bytes.Length)] = (byte)"0123456789abc\"{}[],:- "[random.Next(21)];
            try
            {
                ClusterState state = TopologyDocument.Read(bytes);
                Assert.NotNull(state.Self);
            }
            catch (TopologyException failure)
            {
                Assert.DoesNotContain('\n', failure.Message);
            }
        }
    }

    [Theory]
    [InlineData("", "no node")]
    [InlineData("x", "too few words")]
    [InlineData("x 10.0.0.1 7001 master -", "no id of a node")]
    [InlineData("@a 10.0.0.1 0 master -", "port")]
    [InlineData("@a 10.0.0.1 70000 master -", "port")]
    [InlineData("@a 10.0.0.1 7001 boss -", "role")]
    [InlineData("@a 10.0.0.1 7001 master @b", "of its own")]
    [InlineData("@a 10.0.0.1 7001 slave @b", "which is no node")]
    [InlineData("@a 10.0.0.1 7001 slave @a", "replica of a replica")]
    [InlineData("@a 10.0.0.1 7001 slave @b 1-2\n@b 10.0.0.2 7001 master -", "a replica has slots")]
    [InlineData("@a 10.0.0.1 7001 master - 1-x", "range of slots")]
    [InlineData("@a 10.0.0.1 7001 master - 5-1", "range of slots")]
    [InlineData("@a 10.0.0.1 7001 master - 16384", "range of slots")]
    [InlineData("@a 10.0.0.1 7001 master - -1", "range of slots")]
    [InlineData("@a 10.0.0.1 7001 master - 1-5 5", "two owners")]
    [InlineData("@a 10.0.0.1 7001 master - 1-5\n@b 10.0.0.2 7001 master - 5", "two owners")]
    [InlineData("@a 10.0.0.1 7001 master -\n@a 10.0.0.2 7001 master -", "two nodes")]
    [InlineData("@a 10.0.0.1,x 7001 master -", "address")]
    public void A_wrong_list_is_refused(string list, string reason)
    {
        list = list.Replace("@a", A, StringComparison.Ordinal).Replace("@b", B, StringComparison.Ordinal);
        Assert.Contains(reason, Assert.Throws<TopologyException>(() => NodeList.Read(list, 1, Empty())).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_node_that_goes_takes_its_slots_along()
    {
        ClusterTopology topology = NodeList.Read($"{A} h 1 master - 0-10\n{B} h 2 master - 11-20\n{C} h 3 slave {A}", version: 1, Empty()).Without(A);
        Assert.Equal([B, C], topology.Nodes.Select(static node => node.Id));
        Assert.Equal(10, topology.AssignedSlots);
        Assert.Equal(B, topology.OwnerOf(15)!.Id);
        Assert.True(topology.Find(C)!.IsPrimary);
    }

    [Fact]
    public void There_are_no_more_nodes_than_the_limit()
    {
        ImmutableArray<ClusterNode> nodes = [.. Enumerable.Range(0, ClusterLimits.NodesMax + 1).Select(static i => new ClusterNode(i.ToString("x40", null)) { ShardId = i.ToString("x40", null) })];
        Assert.Throws<TopologyException>(() => new ClusterTopology(0, 0, nodes, ClusterTopology.NoOwners()));
        Assert.NotNull(new ClusterTopology(0, 0, nodes.RemoveAt(0), ClusterTopology.NoOwners()));
    }

    // Half of the nodes are replicas, and no two slots that follow each other have the same owner: the most that a cluster can have.
    [Fact]
    public void The_largest_topology_fits_in_a_transaction_of_the_store()
    {
        ClusterTopology topology = Large(ClusterLimits.NodesMax / 2);
        byte[] shared = TopologyDocument.WriteShared(topology);
        Assert.InRange(shared.Length, 0, StoreLimits.TransactionBytesMax / 2);
        Assert.Equal(TopologyDocument.WriteJson(topology), TopologyDocument.WriteJson(TopologyDocument.ReadShared(shared)));
    }

    [Fact]
    public void A_small_shared_document_is_JSON_as_it_is()
    {
        ClusterTopology topology = Large(shards: 1);
        Assert.Equal(TopologyDocument.WriteJson(topology), TopologyDocument.WriteShared(topology));
    }

    [Fact]
    public void A_damaged_compressed_document_is_refused()
    {
        byte[] shared = TopologyDocument.WriteShared(Large(shards: 100));
        for (int i = 2; i < shared.Length; i += 97)
        {
            byte[] damaged = [.. shared];
            damaged[i] ^= 0x55;
            Assert.DoesNotContain('\n', Assert.Throws<TopologyException>(() => TopologyDocument.ReadShared(damaged)).Message);
        }

        foreach (int length in (int[])[2, 20, shared.Length / 2]) Assert.Throws<TopologyException>(() => TopologyDocument.ReadShared(shared.AsMemory(0, length)));
    }

    [Fact]
    public void A_compressed_document_that_would_become_too_large_is_refused()
    {
        using var bytes = new MemoryStream();
        using (var gzip = new GZipStream(bytes, CompressionLevel.Fastest))
        {
            byte[] blanks = new byte[1024 * 1024];
            blanks.AsSpan().Fill((byte)' ');
            for (int i = 0; i < 64; i++) gzip.Write(blanks);
        }

        long before = GC.GetAllocatedBytesForCurrentThread();
        Assert.Contains("more than", Assert.Throws<TopologyException>(() => TopologyDocument.ReadShared(bytes.ToArray())).Message, StringComparison.Ordinal);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 5L * ClusterLimits.DocumentBytesMax);
    }

    private static ClusterTopology Large(int shards)
    {
        var random = new Random(7);
        string NewId() => string.Concat(Enumerable.Range(0, 5).Select(_ => random.Next().ToString("x8", null)));
        List<ClusterNode> nodes = [];
        ClusterTerms terms = ClusterTerms.None with { ClusterId = NewId() };
        for (int i = 0; i < shards; i++)
        {
            string shard = NewId();
            var primary = new ClusterNode(NewId()) { ShardId = shard, Ip = $"10.0.{i / 256}.{i % 256}", Port = 6379, BusPort = 16379, Name = $"shard-{i}", Zone = "zone-a", Epoch = i + 1 };
            var replica = new ClusterNode(NewId()) { ShardId = shard, PrimaryId = primary.Id, Ip = $"10.1.{i / 256}.{i % 256}", Port = 6379, BusPort = 16379, Name = $"replica-{i}", Zone = "zone-b" };
            nodes.AddRange([primary, replica]);
            terms = terms with { Shards = terms.Shards.SetItem(shard, new ShardTerms { Incarnation = NewId(), Acks = 1, History = NewId(), TakenOverAt = random.NextInt64() }.WithInStep([replica.Id])) };
        }

        short[] owners = [.. Enumerable.Range(0, KeySlot.Count).Select(slot => (short)(2 * (slot % shards)))];
        return new ClusterTopology(1, shards, [.. nodes], owners, terms);
    }

    private static ClusterTopology Empty() => new(0, 0, [], ClusterTopology.NoOwners());
}
