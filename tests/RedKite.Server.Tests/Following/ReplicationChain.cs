using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>Servers that follow each other: RedKite in this process, redis-server, and valkey-server.</summary>
internal sealed class ReplicationChain : IAsyncDisposable
{
    private const int PatienceMs = 60_000;

    private readonly List<ChainNode> _nodes = [];
    private readonly TimeProvider _clock;

    private ReplicationChain(TimeProvider clock) => _clock = clock;

    internal IReadOnlyList<ChainNode> Nodes => _nodes;

    internal ChainNode Primary => _nodes[0];

    /// <summary>Starts servers, each of which follows the one before it.</summary>
    /// <param name="kinds">redkite, redis, valkey 8 or valkey 9.</param>
    internal static Task<ReplicationChain> StartAsync(params string[] kinds) => StartAsync(TimeProvider.System, kinds);

    /// <summary>Starts servers, of which those of RedKite have a clock of the test's.</summary>
    internal static async Task<ReplicationChain> StartAsync(TimeProvider clock, params string[] kinds)
    {
        var chain = new ReplicationChain(clock);
        try
        {
            foreach (string kind in kinds) await chain.AddAsync(kind);
        }
        catch
        {
            await chain.DisposeAsync();
            throw;
        }

        return chain;
    }

    /// <summary>Adds a server that follows another one.</summary>
    /// <param name="kind">redkite, redis, valkey 8 or valkey 9.</param>
    /// <param name="followed">The server that it follows; null: the last one.</param>
    internal async Task<ChainNode> AddAsync(string kind, ChainNode? followed = null)
    {
        followed ??= _nodes.LastOrDefault();
        ChainNode node = kind == "redkite" ? await ChainNode.StartAsync(_clock) : ChainNode.StartPeer(kind);
        _nodes.Add(node);
        if (followed is null) return node;
        node.Follow(followed.Port);
        WaitFor(() => node.Offset != ChainNode.NoLink, "the link");
        return node;
    }

    /// <summary>Adds a RedKite that follows none yet.</summary>
    internal async Task<ChainNode> StartAloneAsync()
    {
        ChainNode node = await ChainNode.StartAsync(_clock);
        _nodes.Add(node);
        return node;
    }

    internal void WaitFor(Func<bool> condition, string what, int patienceMs = PatienceMs) => Assert.True(SpinWait.SpinUntil(condition, patienceMs), $"timed out waiting for {what}{Logs()}");

    /// <summary>Waits until all servers have the same data at the same offset.</summary>
    internal void WaitForSame()
    {
        string state = "";
        bool isSame = SpinWait.SpinUntil(
            () =>
            {
                string offset = Primary.Offset, digest = Primary.Digest;
                string[] others = [.. _nodes.Skip(1).Select(static node => $"{node.Offset} {node.Digest}")];
                state = $"{offset} {digest}, then {string.Join(", ", others)}";
                if (Primary.Offset != offset) return false;
                if (Array.TrueForAll(others, other => other == $"{offset} {digest}")) return true;
                return _nodes.Exists(static node => node.IsValkey) && Array.TrueForAll(others, other => other.StartsWith(offset + " ", StringComparison.Ordinal)) && Differences().Length == 0;
            },
            PatienceMs);
        if (!isSame) Assert.Fail($"{state}{Differences()}{Logs()}");
    }

    public async ValueTask DisposeAsync()
    {
        for (int i = _nodes.Count - 1; i >= 0; i--) await _nodes[i].DisposeAsync();
    }

    private string Differences()
    {
        var differences = new System.Text.StringBuilder();
        foreach (int database in (int[])[0, 3, 15])
        {
            foreach (ChainNode node in _nodes) node.Client.Run($"SELECT {database}");
            foreach (byte[] key in _nodes.SelectMany(static node => node.Client.Run("KEYS *").Items).Select(static item => item.Payload!).DistinctBy(Convert.ToHexString))
            {
                string[] digests = [.. _nodes.Select(node => node.DigestOf(key))];
                if (digests.Distinct().Count() > 1 && _nodes.Exists(static node => node.IsValkey)) digests = [.. _nodes.Select((node, i) => node.FieldsOf(key) ?? digests[i])];
                if (digests.Distinct().Count() > 1) differences.Append(CultureInfo.InvariantCulture, $"\n{database} {CommandLine.Format(key)} {Primary.Client.Run("TYPE"u8.ToArray(), key).Text}: {string.Join(", ", digests)}");
            }
        }

        return differences.ToString();
    }

    private string Logs() => string.Concat(_nodes.Select(static (node, i) => $"\nserver {i}: {node.Log}"));
}

/// <summary>A server of a chain.</summary>
internal sealed class ChainNode : IAsyncDisposable
{
    internal const string NoLink = "no link";

    private readonly List<string> _lines = [];
    private readonly Oracle? _peer;

    private ChainNode(Oracle? peer) => _peer = peer;

    /// <summary>The server, if it is RedKite.</summary>
    internal RedKiteServer? Server { get; private set; }

    internal int Port { get; private set; }

    internal RespConnection Client { get; private set; } = null!;

    internal static ChainNode StartPeer(string kind)
    {
        var peer = Oracle.Of(kind switch { "valkey 9" => OracleProgram.Valkey9, "valkey 8" => OracleProgram.Valkey8, _ => OracleProgram.Redis8 }, "--save", "", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0", "--databases", "16");
        return new ChainNode(peer) { IsValkey = kind.StartsWith("valkey", StringComparison.Ordinal), Port = peer.Port, Client = RespConnection.Connect(peer.Port) };
    }

    internal static async Task<ChainNode> StartAsync(TimeProvider clock)
    {
        var node = new ChainNode(null);
        var options = new RedKiteOptions { Port = 0, Log = node.Note, TimeProvider = clock };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "2"), ("diagnostics", "no"), ("enable-debug-command", "yes"), ("repl-diskless-sync-delay", "0"), ("save", "")]) options.Settings[name] = value;
        node.Server = await RedKiteServer.StartAsync(options);
        node.Port = node.Server.Port;
        node.Client = RespConnection.Connect(node.Port);
        return node;
    }

    internal void Follow(int port) => Client.Run($"REPLICAOF 127.0.0.1 {port}");

    /// <summary>What it has executed of the stream; of a replica without a link: that.</summary>
    internal string Offset => IsUp ? Field("master_repl_offset") : NoLink;

    internal string Digest => Client.Run("DEBUG DIGEST").Text;

    /// <summary>Whether it is Valkey: its DEBUG DIGEST leaves out that fields of a hash expire.</summary>
    internal bool IsValkey { get; private init; }

    internal string DigestOf(byte[] key) => Client.Run("DEBUG"u8.ToArray(), "DIGEST-VALUE"u8.ToArray(), key).Items[0].Text + " " + Client.Run("PEXPIRETIME"u8.ToArray(), key);

    /// <summary>The fields of a hash with their values and expiries; null: the key is none.</summary>
    internal string? FieldsOf(byte[] key)
    {
        if (Client.Run("TYPE"u8.ToArray(), key).Text != "hash") return null;
        byte[][] words = [.. Client.Run("HGETALL"u8.ToArray(), key).Items.Select(static item => item.Payload!)];
        IEnumerable<byte[]> fields = words.Where(static (_, i) => i % 2 == 0).OrderBy(Convert.ToHexString);
        IEnumerable<string> lines = fields.Select(field => $"{Convert.ToHexString(field)}={Convert.ToHexString(Client.Run("HGET"u8.ToArray(), key, field).Payload ?? [])} {Client.Run("HPEXPIRETIME"u8.ToArray(), key, "FIELDS"u8.ToArray(), "1"u8.ToArray(), field)}");
        return Client.Run("PEXPIRETIME"u8.ToArray(), key) + " " + string.Join(' ', lines);
    }

    internal string Field(string name, string section = "replication")
    {
        RespValue info = Client.Run("INFO " + section);
        Assert.True(info.Text.Length > 0, $"INFO replies {info}, {Log}");
        return Replication.ReplicatedServer.Field(info.Text, name);
    }

    internal string Log
    {
        get
        {
            lock (_lines) return _peer is null ? string.Join(" | ", _lines) : _peer.Log;
        }
    }

    private bool IsUp => Field("role") == "master" || Field("master_link_status") == "up";

    private void Note(RedKiteLogEntry entry)
    {
        lock (_lines) _lines.Add(entry.Message);
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        _peer?.Dispose();
        if (Server is not null) await Server.DisposeAsync();
    }
}

/// <summary>The system's clock, which a test advances.</summary>
internal sealed class ShiftedClock : TimeProvider
{
    private long _shiftMs;

    public override DateTimeOffset GetUtcNow() => base.GetUtcNow().AddMilliseconds(Interlocked.Read(ref _shiftMs));

    internal void Advance(long milliseconds) => Interlocked.Add(ref _shiftMs, milliseconds);
}
