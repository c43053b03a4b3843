using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>A server in this process on a disk of the test's, which can be started again on what the disk holds.</summary>
internal sealed class DiskServer : IAsyncDisposable
{
    private const int PatienceMs = 60_000;

    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _settings;
    private readonly Func<(IKeylessData Data, CommandFamily Family)>? _newKeyless;
    private RedKiteServer? _server;

    private DiskServer(FaultyFiles files, Dictionary<string, string> settings, Func<(IKeylessData Data, CommandFamily Family)>? newKeyless)
    {
        _newKeyless = newKeyless;
        Files = files;
        _settings = settings;
        Files.CreateFolder(_folder.Path);
    }

    internal FaultyFiles Files { get; private set; }

    internal string Folder => _folder.Path;

    internal RedKiteServer Server => _server!;

    internal List<string> LogLines { get; } = [];

    /// <summary>Receives each line of the log, on the thread that writes it.</summary>
    internal Action<string>? Logged { get; set; }

    /// <summary>Receives a server before it starts.</summary>
    internal Action<RedKiteServer>? Creating { get; set; }

    internal static Task<DiskServer> StartAsync(params string[] settings) => StartAsync(null, settings);

    /// <summary>Starts a server that has further data that is no key.</summary>
    /// <param name="newKeyless">Makes that, with its commands, for each start.</param>
    /// <param name="settings">Names and values.</param>
    internal static async Task<DiskServer> StartAsync(Func<(IKeylessData Data, CommandFamily Family)>? newKeyless, params string[] settings)
    {
        var pairs = new Dictionary<string, string> { ["loops"] = "1", ["diagnostics"] = "no", ["enable-debug-command"] = "yes" };
        for (int i = 0; i < settings.Length; i += 2) pairs[settings[i]] = settings[i + 1];
        var disk = new DiskServer(new FaultyFiles(), pairs, newKeyless);
        await disk.StartAsync();
        return disk;
    }

    internal async Task StartAsync()
    {
        (IKeylessData Data, CommandFamily Family)? keyless = _newKeyless?.Invoke();
        var options = new RedKiteOptions
        {
            Port = 0,
            Files = Files,
            Log = Note,
            AllowShutdown = true,
            Keyless = keyless is { } more ? [more.Data] : [],
            Families = keyless is { } added ? [added.Family] : [],
        };
        options.Settings["dir"] = _folder.Path;
        foreach ((string name, string value) in _settings) options.Settings[name] = value;
        RedKiteServer server = RedKiteServer.Create(options);
        Creating?.Invoke(server);
        await server.StartAsync();
        _server = server;
    }

    internal void Set(string setting, string value) => _settings[setting] = value;

    /// <summary>Forgets the server, whose end has failed.</summary>
    internal void Abandon() => _server = null;

    internal async Task StopAsync()
    {
        if (_server is not null) await _server.StopAsync();
        _server = null;
    }

    /// <summary>Stops the server and starts it again with what the disk holds.</summary>
    internal async Task RestartAsync()
    {
        await StopAsync();
        await StartAsync();
    }

    /// <summary>Starts another server with what a power loss at this moment leaves. The one that runs goes on with its own disk until it is stopped here.</summary>
    internal async Task RestartAfterAsync(PowerLoss loss, Random random)
    {
        FaultyFiles image = Files.After(loss, random);
        await StopAsync();
        Files = image;
        await StartAsync();
    }

    internal RedKiteReply Run(string request) => Server.Execute(request.Split(' '));

    internal string Digest() => Run("DEBUG DIGEST").Text!;

    internal void WaitFor(Func<bool> condition, string what) => Assert.True(SpinWait.SpinUntil(condition, PatienceMs), $"timed out waiting for {what}; log: {string.Join(" | ", LogLines)}");

    internal string Info(string field)
    {
        string text = Run("INFO persistence").Text!;
        int start = text.IndexOf("\n" + field + ":", StringComparison.Ordinal) + field.Length + 2;
        return text[start..text.IndexOf('\r', start)];
    }

    private void Note(RedKiteLogEntry entry)
    {
        lock (LogLines) LogLines.Add(entry.Message);
        Logged?.Invoke(entry.Message);
    }

    public async ValueTask DisposeAsync()
    {
        Files.Plan = null;
        await StopAsync();
        _folder.Dispose();
    }
}
