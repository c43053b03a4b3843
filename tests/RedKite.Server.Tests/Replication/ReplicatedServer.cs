using System.Globalization;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>A server in this process, and redis-servers that follow it.</summary>
internal sealed class ReplicatedServer : IAsyncDisposable
{
    private const int PatienceMs = 60_000;

    private readonly List<IDisposable> _parts = [];
    private readonly List<string> _lines = [];
    private readonly TemporaryFolder _folder = new();

    private ReplicatedServer()
    {
    }

    internal RedKiteServer Server { get; private set; } = null!;

    internal RespConnection Client { get; private set; } = null!;

    internal static async Task<ReplicatedServer> StartAsync(params string[] settings)
    {
        Assert.SkipWhen(OracleProgram.Redis8Path is null, OracleProgram.Redis8Missing);
        var replicated = new ReplicatedServer();
        Directory.CreateDirectory(replicated._folder.Path);
        var options = new RedKiteOptions { Port = 0, Log = replicated.Note, AllowShutdown = true };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "2"), ("diagnostics", "no"), ("enable-debug-command", "yes"), ("repl-diskless-sync-delay", "0"), ("repl-ping-replica-period", "3600"), ("save", ""), ("dir", replicated._folder.Path)]) options.Settings[name] = value;
        for (int i = 0; i < settings.Length; i += 2)
        {
            if (settings[i] == "config-file") options.ConfigFile = settings[i + 1];
            else if (settings[i] == "port") options.Port = int.Parse(settings[i + 1], CultureInfo.InvariantCulture);
            else options.Settings[settings[i]] = settings[i + 1];
        }

        replicated.Server = await RedKiteServer.StartAsync(options);
        replicated.Client = replicated.Connect();
        return replicated;
    }

    internal RespConnection Connect() => Keep(RespConnection.Connect(Server.Port));

    /// <summary>Starts a redis-server that follows the server.</summary>
    internal Oracle Follow(params string[] arguments) =>
        Keep(new Oracle([.. arguments, "--save", "", "--enable-debug-command", "yes", "--databases", "16", "--replicaof", "127.0.0.1", Server.Port.ToString(CultureInfo.InvariantCulture)]));

    internal RespConnection ConnectTo(Oracle oracle) => Keep(RespConnection.Connect(oracle.Port));

    internal void WaitFor(Func<bool> condition, string what)
    {
        Assert.True(SpinWait.SpinUntil(condition, PatienceMs), $"timed out waiting for {what}; log: {Log}");
    }

    /// <summary>Waits until so many replicas get the stream.</summary>
    internal void WaitForOnline(int replicas) => WaitFor(() => Server.Parts.Replicas.Replicas.Count(static replica => replica.State == ReplicaState.Online) == replicas, $"{replicas} replicas");

    /// <summary>Waits until all replicas have executed everything.</summary>
    internal void WaitForAll()
    {
        int replicas = Server.Parts.Replicas.Replicas.Count;
        WaitFor(() => Server.Parts.Replicas.CountAcknowledged(Server.Parts.ReplicaStream.Offset, onDisk: false) == replicas, "acknowledgements");
    }

    /// <summary>Checks that a replica has the same data at the same offset.</summary>
    internal void AssertEqual(Oracle oracle)
    {
        WaitForAll();
        Assert.Equal(Client.Run("DEBUG DIGEST").Text, oracle.RunText("DEBUG", "DIGEST"));
    }

    internal string Log
    {
        get
        {
            lock (_lines) return string.Join(" | ", _lines);
        }
    }

    /// <summary>A field of a section of INFO, of either server.</summary>
    internal static string Field(string info, string name)
    {
        int start = info.IndexOf("\n" + name + ":", StringComparison.Ordinal);
        Assert.True(start >= 0, $"no {name} in {info}");
        start += name.Length + 2;
        return info[start..info.IndexOf('\r', start)];
    }

    internal string Info(string field, string section = "replication") => Field(Client.Run("INFO " + section).Text, field);

    private T Keep<T>(T part)
        where T : IDisposable
    {
        _parts.Add(part);
        return part;
    }

    private void Note(RedKiteLogEntry entry)
    {
        lock (_lines) _lines.Add(entry.Message);
    }

    public async ValueTask DisposeAsync()
    {
        for (int i = _parts.Count - 1; i >= 0; i--) _parts[i].Dispose();
        await Server.DisposeAsync();
        _folder.Dispose();
    }
}
