using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Types.Tests;

/// <summary>A server in this process with a folder and a client, which can be started again on what the folder holds.</summary>
internal sealed class TypeServer : IAsyncDisposable
{
    private const int PatienceMs = 60_000;

    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _settings = new()
    {
        ["loops"] = "2",
        ["stripes"] = "4",
        ["diagnostics"] = "no",
        ["enable-debug-command"] = "yes",
        ["appendfsync"] = "no",
    };

    private readonly List<string> _lines = [];
    private readonly bool _guardsMemory;
    private readonly int _boundsDivisor;
    private RedKiteServer? _server;
    private RespConnection? _client;

    private TypeServer(bool guardsMemory, int boundsDivisor) => (_guardsMemory, _boundsDivisor) = (guardsMemory, boundsDivisor);

    internal RedKiteServer Server => _server!;

    internal RespConnection Client => _client!;

    internal string Folder => _folder.Path;

    internal string Port => Server.Port.ToString(CultureInfo.InvariantCulture);

    internal long UsedBytes => Server.Engine.Keyspace.UsedBytes;

    /// <summary>The digest of all data.</summary>
    internal string Digest => Run("DEBUG", "DIGEST");

    internal string Log
    {
        get
        {
            lock (_lines) return string.Join(" | ", _lines);
        }
    }

    internal static Task<TypeServer> StartAsync(params string[] settings) => StartAsync(guardsMemory: false, settings);

    internal static Task<TypeServer> StartAsync(bool guardsMemory, params string[] settings) => StartAsync(guardsMemory, boundsDivisor: 1, settings);

    internal static async Task<TypeServer> StartAsync(bool guardsMemory, int boundsDivisor, params string[] settings)
    {
        var server = new TypeServer(guardsMemory, boundsDivisor);
        for (int i = 0; i < settings.Length; i += 2) server._settings[settings[i]] = settings[i + 1];
        await server.StartAsync();
        return server;
    }

    internal async Task StartAsync()
    {
        var options = new RedKiteOptions { Port = 0, GuardsMemory = _guardsMemory, BoundsDivisor = _boundsDivisor, Log = Note, AllowShutdown = true };
        options.Settings["dir"] = _folder.Path;
        foreach ((string name, string value) in _settings) options.Settings[name] = value;
        _server = await RedKiteServer.StartAsync(options);
        _client = RespConnection.Connect(_server.Port);
    }

    internal async Task StopAsync()
    {
        _client?.Dispose();
        if (_server is not null) await _server.DisposeAsync();
        (_client, _server) = (null, null);
    }

    internal async Task RestartAsync()
    {
        await StopAsync();
        await StartAsync();
    }

    internal string Run(params string[] words)
    {
        RespValue reply = Client.Run([.. words.Select(System.Text.Encoding.Latin1.GetBytes)]);
        return reply.IsNull ? "(nil)" : reply.IsAggregate ? string.Join(' ', reply.Items.Select(item => item.Text)) : reply.Text;
    }

    internal string DigestOf(string key) => Run("DEBUG", "DIGEST-VALUE", key);

    internal void WaitForInfo(string line) =>
        Assert.True(SpinWait.SpinUntil(() => Run("INFO", "persistence").Contains(line, StringComparison.Ordinal), PatienceMs), $"timed out waiting for {line}; log: {Log}");

    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        _folder.Dispose();
    }

    private void Note(RedKiteLogEntry entry)
    {
        lock (_lines) _lines.Add(entry.Message);
    }
}
