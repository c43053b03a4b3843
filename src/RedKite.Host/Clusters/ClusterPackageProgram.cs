using System.Globalization;
using System.IO.Compression;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using RedKite.Host.Transfer;
using RedKite.Persistence.Files;
using RedKite.Server;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Planning;
using RedKite.Server.Cluster.Store;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host.Clusters;

/// <summary>
/// <c>redkite debug-package --cluster</c>: the packages of all nodes, the topology and what nodes say of themselves in the store, in one file. As in a server's package, addresses and names are hashed, all with one
/// key. A node that does not answer is listed with the reason. Exit status 0: the file is written; 1: not, with one line.
/// </summary>
internal static class ClusterPackageProgram
{
    private const int NodesAtOnce = 8;
    private const int PackagePatienceMs = 120_000; // it collects the log, and a trace
    private const int HashDigits = 12;

    internal static async Task<int> Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        try
        {
            var options = new TransferArguments(arguments, [.. ClusterArguments.Connection, "--output", "--log", "--trace"], ["--cluster"]);
            if (options.Unnamed.Count > 0) throw new FormatException("--cluster excludes ADDRESS: --node ADDRESS or --cluster-etcd URL says where the cluster is");
            string file = options["--output"] ?? throw new FormatException("--output FILE is required");
            await using IClusterStore store = ClusterStores.Open(ClusterArguments.StoreSettings(options))!;
            var links = new NodeLinks(options);
            ClusterView view = await ClusterView.Read(store, CancellationToken.None);
            ClusterNode[] nodes = [.. (view.Topology?.Nodes ?? []).Concat(view.Alive.Values.Select(static status => status.Node)).DistinctBy(static node => node.Id)];
            IReadOnlyDictionary<string, NodeAnswer> answers = links.Ask(nodes);
            (ClusterNode Node, byte[]? Package, string Failure)[] packages = await Fetch(links, nodes, options);
            var redaction = new Redaction(nodes, view.Controller);
            await using (FileStream stream = File.Create(file)) Write(stream, redaction.Of(view), answers, packages, redaction);
            int missing = packages.Count(static package => package.Package is null);
            await output.WriteLineAsync($"{file}: {Times(packages.Length - missing, "node")}{(missing > 0 ? $", and {missing} without a package, which unreachable.txt lists" : "")}, {Times(new FileInfo(file).Length, "byte")}");
            return 0;
        }
        catch (Exception failure) when (failure is FormatException or TransferException or StoreException or TopologyException or IOException or UnauthorizedAccessException)
        {
            await errors.WriteLineAsync("redkite debug-package: " + (failure is IOException or UnauthorizedAccessException ? FileFailure.ReasonOf(failure) : failure.Message));
            return 1;
        }
    }

    private static async Task<(ClusterNode Node, byte[]? Package, string Failure)[]> Fetch(NodeLinks links, ClusterNode[] nodes, TransferArguments options)
    {
        using var places = new SemaphoreSlim(NodesAtOnce);
        return await Task.WhenAll(nodes.Select(node => Task.Run(async () =>
        {
            await places.WaitAsync();
            try
            {
                using ServerLink link = links.Open(node, PackagePatienceMs);
                return (node, (byte[]?)DebugPackageProgram.Fetch(link, options["--log"], options["--trace"]), "");
            }
            catch (TransferException failure)
            {
                return (node, null, failure.Message);
            }
            finally
            {
                places.Release();
            }
        })));
    }

    private static void Write(Stream stream, ClusterView view, IReadOnlyDictionary<string, NodeAnswer> answers, (ClusterNode Node, byte[]? Package, string Failure)[] packages, Redaction redaction)
    {
        using var zip = new ZipArchive(stream, ZipArchiveMode.Create, leaveOpen: true);
        if (view.Topology is { } topology) Add(zip, "topology.json", TopologyDocument.WriteJson(topology));
        Add(zip, "status.json", Json(json => ClusterReport.Write(json, view, answers, ClusterFaults.Of(view))));
        Add(zip, "members.json", Json(json => WriteMembers(json, view, packages)));
        foreach ((ClusterNode node, byte[]? package, _) in packages)
        {
            if (package is not null) Add(zip, $"nodes/{node.Id}.zip", package, CompressionLevel.NoCompression);
        }

        string[] missing = [.. packages.Where(static package => package.Package is null).Select(package => $"{package.Node.Id}: {redaction.Of(package.Failure)}")];
        if (missing.Length > 0) Add(zip, "unreachable.txt", Encoding.UTF8.GetBytes(string.Join('\n', missing) + "\n"));
    }

    private static void WriteMembers(Utf8JsonWriter json, ClusterView view, (ClusterNode Node, byte[]? Package, string Failure)[] packages)
    {
        json.WriteStartObject();
        json.WriteString("redkite"u8, ServerVersion.Text);
        json.WriteString("taken"u8, DateTime.UtcNow.ToString("O", CultureInfo.InvariantCulture));
        json.WriteString("controller"u8, view.Controller);
        json.WriteStartArray("nodes"u8);
        foreach ((ClusterNode node, byte[]? package, _) in packages)
        {
            NodeStatus? status = view.Alive.GetValueOrDefault(node.Id);
            json.WriteStartObject();
            json.WriteString("id"u8, node.Id);
            json.WriteBoolean("leaseLasts"u8, status is not null);
            json.WriteBoolean("hasPackage"u8, package is not null);
            if (status is not null)
            {
                json.WritePropertyName("status"u8);
                json.WriteRawValue(status.Write());
            }

            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void Add(ZipArchive zip, string name, byte[] bytes, CompressionLevel level = CompressionLevel.Optimal)
    {
        using Stream entry = zip.CreateEntry(name, level).Open();
        entry.Write(bytes);
    }

    private static byte[] Json(Action<Utf8JsonWriter> write)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = true })) write(json);
        return bytes.ToArray();
    }

    /// <summary>What replaces addresses and names of nodes: the same for the same one in this file, and in no other file.</summary>
    private sealed class Redaction
    {
        private readonly byte[] _key = RandomNumberGenerator.GetBytes(32);
        private readonly Dictionary<string, string> _hashes = new(StringComparer.Ordinal);

        internal Redaction(IEnumerable<ClusterNode> nodes, string controller)
        {
            foreach (ClusterNode node in nodes)
            {
                foreach (string text in (string[])[node.Ip, node.HostName, node.Name]) Add(text);
            }

            if (!ClusterNode.IsId(controller)) Add(controller); // it names its machine
        }

        internal ClusterView Of(ClusterView view) => new(
            view.Shared is { } shared ? shared with { Topology = shared.Topology.Nodes.Aggregate(shared.Topology, (topology, node) => topology.WithNode(node.Id, Of(node))) } : null,
            view.Alive.ToDictionary(static pair => pair.Key, pair => pair.Value with { Node = Of(pair.Value.Node) }, StringComparer.Ordinal),
            Hash(view.Controller));

        /// <summary>A message that names a node's address.</summary>
        internal string Of(string message) => _hashes.OrderByDescending(static pair => pair.Key.Length).Aggregate(message, static (text, pair) => text.Replace(pair.Key, pair.Value, StringComparison.Ordinal));

        private ClusterNode Of(ClusterNode node) => node with { Ip = Hash(node.Ip), HostName = Hash(node.HostName), Name = Hash(node.Name) };

        private string Hash(string text) => _hashes.GetValueOrDefault(text, text);

        private void Add(string text)
        {
            if (text.Length > 0) _hashes[text] = "#" + Convert.ToHexStringLower(HMACSHA256.HashData(_key, Encoding.UTF8.GetBytes(text)))[..HashDigits];
        }
    }
}
