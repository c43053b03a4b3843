using System.Buffers;
using System.Collections.Immutable;
using System.Globalization;
using System.IO.Compression;
using System.Text.Json;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// A node's state as a document of JSON:
/// <code>
/// {"format": 1, "self": id, "version": n, "epoch": n,
///  "shards": [{"id": id, "primary": id, "replicas": [id, ...], "slots": [[first, last], ...], "terms": {...}}, ...],
///  "nodes": [{"id": id, "ip": text, "port": n, "tlsPort": n, "busPort": n, "hostName": text, "name": text, "zone": text, "epoch": n}, ...],
///  "migrating": {"slot": id, ...}, "importing": {"slot": id, ...}, "giving": {"slot": id, ...}}
/// </code>
/// What nodes share by a store is the same without "self" and what moves, and with "cluster": id, "removed": [id, ...], "reassigned": [{"since": n, "from": id, "slots": [[first, last], ...]}, ...]. A large one is compressed (gzip) there: every node reads each change of it.
/// A document with an unknown format or member is refused: it may say what this version would lose.
/// </summary>
internal static class TopologyDocument
{
    internal const int Format = 1;

    /// <summary>From so many bytes on a shared document is compressed. Smaller ones can be read as they are.</summary>
    internal const int CompressedFrom = 16 * 1024;

    private const int DepthMax = 8;

    private static ReadOnlySpan<byte> GzipMark => [0x1f, 0x8b];

    internal static byte[] Write(ClusterState state) => Write(state.Topology, isIndented: true, json =>
    {
        json.WriteString("self"u8, state.SelfId);
        WriteMoves(json, "migrating", state.Migrating);
        WriteMoves(json, "importing", state.Importing);
        if (state.Giving.Count > 0) WriteMoves(json, "giving", state.Giving);
    });

    /// <summary>The document that nodes share, as JSON.</summary>
    internal static byte[] WriteJson(ClusterTopology topology) => Write(topology, isIndented: false, static _ => { });

    /// <summary>The document that nodes share, as it is in the store.</summary>
    internal static byte[] WriteShared(ClusterTopology topology)
    {
        byte[] json = WriteJson(topology);
        if (json.Length < CompressedFrom) return json;
        using var compressed = new MemoryStream();
        using (var gzip = new GZipStream(compressed, CompressionLevel.Optimal)) gzip.Write(json);
        return compressed.ToArray();
    }

    private static byte[] Write(ClusterTopology topology, bool isIndented, Action<Utf8JsonWriter> writeRest)
    {
        var bytes = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = isIndented }))
        {
            json.WriteStartObject();
            json.WriteNumber("format"u8, Format);
            if (topology.Terms.ClusterId.Length > 0) json.WriteString("cluster"u8, topology.Terms.ClusterId);
            json.WriteNumber("version"u8, topology.Version);
            json.WriteNumber("epoch"u8, topology.Epoch);
            WriteShards(json, topology);
            WriteNodes(json, topology);
            if (!topology.Terms.Removed.IsEmpty)
            {
                json.WriteStartArray("removed"u8);
                foreach (string id in topology.Terms.Removed) json.WriteStringValue(id);
                json.WriteEndArray();
            }

            WriteReassigned(json, topology.Terms);
            writeRest(json);
            json.WriteEndObject();
        }

        return bytes.WrittenSpan.ToArray();
    }

    /// <exception cref="TopologyException">It is no such document, or breaks a rule of topologies.</exception>
    internal static ClusterState Read(ReadOnlyMemory<byte> bytes) => Parse(bytes, static root =>
    {
        ClusterTopology topology = ReadTopology(root, "self", "migrating", "importing", "giving");
        string self = Text(root, "self");
        if (topology.Find(self) is null) throw new TopologyException("it does not describe the node itself");
        var state = new ClusterState(self, topology);
        foreach ((int slot, string id) in Moves(root, "migrating", topology)) state = state.WithMigrating(slot, id);
        foreach ((int slot, string id) in Moves(root, "importing", topology)) state = state.WithImporting(slot, id);
        if (!root.TryGetProperty("giving", out _)) return state;
        foreach ((int slot, string id) in Moves(root, "giving", topology)) state = state.WithGiving([slot], id);
        return state;
    });

    /// <summary>Reads the document that nodes share.</summary>
    /// <exception cref="TopologyException">It is no such document, or breaks a rule of topologies.</exception>
    internal static ClusterTopology ReadShared(ReadOnlyMemory<byte> bytes) => Parse(bytes.Span.StartsWith(GzipMark) ? Decompress(bytes) : bytes, static root => ReadTopology(root));

    // One byte more than is possible is enough to refuse it, however much it would become.
    private static ReadOnlyMemory<byte> Decompress(ReadOnlyMemory<byte> bytes)
    {
        try
        {
            using var gzip = new GZipStream(new MemoryStream(bytes.ToArray()), CompressionMode.Decompress);
            using var json = new MemoryStream();
            byte[] buffer = new byte[CompressedFrom];
            for (int read; json.Length <= ClusterLimits.DocumentBytesMax && (read = gzip.Read(buffer)) > 0;) json.Write(buffer, 0, read);
            return json.GetBuffer().AsMemory(0, (int)json.Length);
        }
        catch (InvalidDataException)
        {
            throw new TopologyException("its compressed form is damaged");
        }
    }

    /// <exception cref="TopologyException">It is no JSON, or the reader finds it wrong.</exception>
    internal static T Parse<T>(ReadOnlyMemory<byte> bytes, Func<JsonElement, T> read)
    {
        if (bytes.Length > ClusterLimits.DocumentBytesMax) throw new TopologyException($"it has more than {ClusterLimits.DocumentBytesMax} bytes");
        try
        {
            using var document = JsonDocument.Parse(bytes, new JsonDocumentOptions { MaxDepth = DepthMax });
            return read(document.RootElement);
        }
        catch (JsonException failure)
        {
            throw new TopologyException(string.Create(CultureInfo.InvariantCulture, $"it is no JSON, at line {(failure.LineNumber ?? 0) + 1}"));
        }
        catch (Exception failure) when (failure is InvalidOperationException or FormatException)
        {
            throw new TopologyException("a value has the wrong type"); // of JSON
        }
    }

    private static ClusterTopology ReadTopology(JsonElement root, params ReadOnlySpan<string> others)
    {
        CheckFormat(root, [.. (string[])["cluster", "version", "epoch", "shards", "nodes", "removed", "reassigned"], .. others]);
        short[] owners = ClusterTopology.NoOwners();
        Dictionary<string, (string Shard, string? Primary)> places = new(StringComparer.Ordinal);
        List<(string Primary, SlotRange Range)> ranges = [];
        ClusterTerms terms = ReadTerms(root);
        foreach (JsonElement shard in Member(root, "shards").EnumerateArray())
        {
            ReadShard(shard, places, ranges);
            if (shard.TryGetProperty("terms", out JsonElement of)) terms = terms with { Shards = terms.Shards.SetItem(Text(shard, "id"), ReadTermsOfShard(of)) };
        }

        var nodes = ImmutableArray.CreateBuilder<ClusterNode>();
        foreach (JsonElement node in Member(root, "nodes").EnumerateArray())
        {
            if (nodes.Count == ClusterLimits.NodesMax) throw new TopologyException($"a cluster has at most {ClusterLimits.NodesMax} nodes");
            nodes.Add(ReadNode(node, places));
        }

        if (places.Count != nodes.Select(static node => node.Id).Distinct().Count()) throw new TopologyException("a shard has a node that is not described");
        Dictionary<string, int> indexes = new(StringComparer.Ordinal);
        for (int i = 0; i < nodes.Count; i++) indexes[nodes[i].Id] = i;
        foreach ((string primary, SlotRange range) in ranges)
        {
            int index = indexes[primary];
            for (int slot = range.First; slot <= range.Last; slot++)
            {
                if (owners[slot] >= 0) throw new TopologyException($"the slot {slot} has two owners");
                owners[slot] = (short)index;
            }
        }

        return new ClusterTopology(Member(root, "version").GetInt64(), Member(root, "epoch").GetInt64(), nodes.ToImmutable(), owners, terms);
    }

    /// <summary>Checks that a document has this version's format, and only members that it knows.</summary>
    internal static void CheckFormat(JsonElement root, params ReadOnlySpan<string> members)
    {
        if (root.ValueKind != JsonValueKind.Object) throw new TopologyException("it is no object");
        if (!root.TryGetProperty("format", out JsonElement format) || format.ValueKind != JsonValueKind.Number || !format.TryGetInt32(out int number)) throw new TopologyException("it does not name its format");
        if (number != Format) throw new TopologyException($"its format is {number}, and this version reads {Format}");
        Expect(root, [.. members, "format"]);
    }

    private static ClusterTerms ReadTerms(JsonElement root)
    {
        ClusterTerms terms = ClusterTerms.None;
        if (root.TryGetProperty("cluster", out _)) terms = terms with { ClusterId = IdOf(Text(root, "cluster"), "the cluster's id") };
        if (root.TryGetProperty("removed", out JsonElement removed)) terms = terms with { Removed = terms.Removed.Union(removed.EnumerateArray().Select(static id => IdOf(id.GetString() ?? "", "a removed node"))) };
        if (root.TryGetProperty("reassigned", out JsonElement reassigned)) terms = terms with { Reassigned = ReadReassigned(reassigned) };
        return terms;
    }

    private static ImmutableArray<Reassignment> ReadReassigned(JsonElement reassigned)
    {
        var all = ImmutableArray.CreateBuilder<Reassignment>();
        SlotSet seen = SlotSet.Empty;
        foreach (JsonElement each in reassigned.EnumerateArray())
        {
            Expect(each, "since", "from", "slots");
            SlotSet slots = SlotSet.Of(ReadRanges(each));
            if (slots.IsEmpty || slots.Overlaps(seen)) throw new TopologyException("a slot that is reassigned is none, or is so twice");
            seen = seen.With(slots);
            string from = Text(each, "from");
            all.Add(new Reassignment(slots, Member(each, "since").GetInt64(), from.Length == 0 ? "" : IdOf(from, "the former owner of a slot")));
        }

        return all.ToImmutable();
    }

    private static IEnumerable<SlotRange> ReadRanges(JsonElement element)
    {
        foreach (JsonElement range in Member(element, "slots").EnumerateArray())
        {
            if (range.GetArrayLength() != 2) throw new TopologyException("a range of slots has no two ends");
            int first = range[0].GetInt32(), last = range[1].GetInt32();
            if (first < 0 || last >= KeySlot.Count || first > last) throw new TopologyException($"the range of slots {first} to {last} is invalid");
            yield return new SlotRange(first, last);
        }
    }

    private static ShardTerms ReadTermsOfShard(JsonElement terms)
    {
        Expect(terms, "incarnation", "acks", "history", "inStep", "sealedAt", "handoverTo", "acceptsLoss", "takenOverAt", "takenOverFrom", "takenOverIn");
        return new ShardTerms
        {
            Incarnation = Text(terms, "incarnation"),
            Acks = Member(terms, "acks").GetInt32(),
            History = Text(terms, "history"),
            InStep = Text(terms, "inStep"),
            SealedAt = Member(terms, "sealedAt").GetInt64(),
            HandoverTo = Text(terms, "handoverTo"),
            AcceptsLoss = Member(terms, "acceptsLoss").GetBoolean(),
            TakenOverAt = Member(terms, "takenOverAt").GetInt64(),
            TakenOverFrom = terms.TryGetProperty("takenOverFrom", out _) ? Text(terms, "takenOverFrom") : "",
            TakenOverIn = terms.TryGetProperty("takenOverIn", out JsonElement database) ? database.GetInt32() : 0,
        };
    }

    private static string IdOf(string text, string what) => ClusterNode.IsId(text) ? text : throw new TopologyException($"{what} is no id, which has {ClusterNode.IdLength} hexadecimal digits");

    private static void ReadShard(JsonElement shard, Dictionary<string, (string Shard, string? Primary)> places, List<(string Primary, SlotRange Range)> ranges)
    {
        Expect(shard, "id", "primary", "replicas", "slots", "terms");
        string id = Text(shard, "id"), primary = Text(shard, "primary");
        if (!places.TryAdd(primary, (id, null))) throw new TopologyException("a node is in two shards");
        foreach (JsonElement replica in Member(shard, "replicas").EnumerateArray())
        {
            if (!places.TryAdd(replica.GetString() ?? "", (id, primary))) throw new TopologyException("a node is in two shards");
        }

        foreach (SlotRange range in ReadRanges(shard)) ranges.Add((primary, range));
    }

    private static ClusterNode ReadNode(JsonElement element, Dictionary<string, (string Shard, string? Primary)> places)
    {
        ClusterNode node = ReadNode(element);
        if (!places.TryGetValue(node.Id, out (string Shard, string? Primary) place)) throw new TopologyException("a node is in no shard");
        return node with { ShardId = place.Shard, PrimaryId = place.Primary };
    }

    /// <summary>A node without its place among the others.</summary>
    internal static ClusterNode ReadNode(JsonElement node)
    {
        Expect(node, "id", "ip", "port", "tlsPort", "busPort", "hostName", "name", "zone", "epoch");
        return new ClusterNode(Text(node, "id"))
        {
            Ip = Text(node, "ip"),
            Port = Member(node, "port").GetInt32(),
            TlsPort = Member(node, "tlsPort").GetInt32(),
            BusPort = Member(node, "busPort").GetInt32(),
            HostName = Text(node, "hostName"),
            Name = Text(node, "name"),
            Zone = Text(node, "zone"),
            Epoch = Member(node, "epoch").GetInt64(),
            ShardId = "",
        };
    }

    private static IEnumerable<(int Slot, string Id)> Moves(JsonElement root, string name, ClusterTopology topology)
    {
        foreach (JsonProperty move in Member(root, name).EnumerateObject())
        {
            if (!int.TryParse(move.Name, NumberStyles.None, CultureInfo.InvariantCulture, out int slot) || slot >= KeySlot.Count) throw new TopologyException("a slot that moves is none");
            string id = move.Value.GetString() ?? "";
            if (topology.Find(id) is null) throw new TopologyException($"the slot {slot} moves to or from what is no node");
            yield return (slot, id);
        }
    }

    private static void Expect(JsonElement element, params ReadOnlySpan<string> names)
    {
        foreach (JsonProperty property in element.EnumerateObject())
        {
            if (!names.Contains(property.Name)) throw new TopologyException("it has a member that this version does not know");
        }
    }

    internal static JsonElement Member(JsonElement element, string name) =>
        element.TryGetProperty(name, out JsonElement member) ? member : throw new TopologyException($"'{name}' is missing");

    internal static string Text(JsonElement element, string name) => Member(element, name).GetString() ?? throw new TopologyException($"'{name}' is no text");

    private static void WriteReassigned(Utf8JsonWriter json, ClusterTerms terms)
    {
        if (terms.Reassigned.IsEmpty) return;
        json.WriteStartArray("reassigned"u8);
        foreach (Reassignment each in terms.Reassigned)
        {
            json.WriteStartObject();
            json.WriteNumber("since"u8, each.Since);
            json.WriteString("from"u8, each.FromId);
            WriteRanges(json, each.Slots.Ranges());
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteRanges(Utf8JsonWriter json, IEnumerable<SlotRange> ranges)
    {
        json.WriteStartArray("slots"u8);
        foreach (SlotRange range in ranges)
        {
            json.WriteStartArray();
            json.WriteNumberValue(range.First);
            json.WriteNumberValue(range.Last);
            json.WriteEndArray();
        }

        json.WriteEndArray();
    }

    private static void WriteShards(Utf8JsonWriter json, ClusterTopology topology)
    {
        json.WriteStartArray("shards"u8);
        foreach (ClusterNode primary in topology.Nodes.Where(static node => node.IsPrimary))
        {
            json.WriteStartObject();
            json.WriteString("id"u8, primary.ShardId);
            json.WriteString("primary"u8, primary.Id);
            json.WriteStartArray("replicas"u8);
            foreach (ClusterNode replica in topology.ReplicasOf(primary.Id)) json.WriteStringValue(replica.Id);
            json.WriteEndArray();
            WriteRanges(json, topology.RangesOf(primary.Id));
            if (topology.Terms.Shards.TryGetValue(primary.ShardId, out ShardTerms? terms)) WriteTerms(json, terms);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteTerms(Utf8JsonWriter json, ShardTerms terms)
    {
        json.WriteStartObject("terms"u8);
        json.WriteString("incarnation"u8, terms.Incarnation);
        json.WriteNumber("acks"u8, terms.Acks);
        json.WriteString("history"u8, terms.History);
        json.WriteString("inStep"u8, terms.InStep);
        json.WriteNumber("sealedAt"u8, terms.SealedAt);
        json.WriteString("handoverTo"u8, terms.HandoverTo);
        json.WriteBoolean("acceptsLoss"u8, terms.AcceptsLoss);
        json.WriteNumber("takenOverAt"u8, terms.TakenOverAt);
        if (terms.TakenOverFrom.Length > 0) json.WriteString("takenOverFrom"u8, terms.TakenOverFrom);
        if (terms.TakenOverIn > 0) json.WriteNumber("takenOverIn"u8, terms.TakenOverIn);
        json.WriteEndObject();
    }

    private static void WriteNodes(Utf8JsonWriter json, ClusterTopology topology)
    {
        json.WriteStartArray("nodes"u8);
        foreach (ClusterNode node in topology.Nodes) WriteNode(json, name: null, node);
        json.WriteEndArray();
    }

    internal static void WriteNode(Utf8JsonWriter json, string? name, ClusterNode node)
    {
        if (name is null) json.WriteStartObject();
        else json.WriteStartObject(name);
        json.WriteString("id"u8, node.Id);
        json.WriteString("ip"u8, node.Ip);
        json.WriteNumber("port"u8, node.Port);
        json.WriteNumber("tlsPort"u8, node.TlsPort);
        json.WriteNumber("busPort"u8, node.BusPort);
        json.WriteString("hostName"u8, node.HostName);
        json.WriteString("name"u8, node.Name);
        json.WriteString("zone"u8, node.Zone);
        json.WriteNumber("epoch"u8, node.Epoch);
        json.WriteEndObject();
    }

    private static void WriteMoves(Utf8JsonWriter json, string name, ImmutableSortedDictionary<int, string> moves)
    {
        json.WriteStartObject(name);
        foreach ((int slot, string id) in moves) json.WriteString(slot.ToString(CultureInfo.InvariantCulture), id);
        json.WriteEndObject();
    }
}
