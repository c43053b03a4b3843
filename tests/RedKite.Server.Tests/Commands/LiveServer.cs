using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>A server in this process with a network client, for behaviour that in-process callers do not have.</summary>
public sealed class LiveServer : IAsyncDisposable
{
    private LiveServer(RedKiteServer server)
    {
        Server = server;
        Client = RespConnection.Connect(server.Port);
    }

    internal RedKiteServer Server { get; }

    public RespConnection Client { get; }

    public List<string> LogLines { get; private init; } = [];

    /// <param name="settings">Alternating names and values, in addition to a free loopback port and two loops.</param>
    public static Task<LiveServer> StartAsync(params string[] settings) => StartAsync(ownsProcess: false, settings);

    /// <summary>As the program does it: the process's memory is the server's.</summary>
    public static Task<LiveServer> StartAsProgramAsync(params string[] settings) => StartAsync(ownsProcess: true, settings);

    private static async Task<LiveServer> StartAsync(bool ownsProcess, string[] settings)
    {
        var lines = new List<string>();
        var options = new RedKiteOptions { Port = 0, Log = entry => { lock (lines) lines.Add(entry.Message); }, OwnsProcess = ownsProcess, AllowShutdown = true };
        options.Settings["bind"] = "127.0.0.1";
        options.Settings["loops"] = "2";
        for (int i = 0; i < settings.Length; i += 2) options.Settings[settings[i]] = settings[i + 1];
        return new LiveServer(await RedKiteServer.StartAsync(options)) { LogLines = lines };
    }

    public RespValue Run(string line) => Client.Run(line);

    /// <summary>Switches the current clients to RESP3.</summary>
    public void UseResp3()
    {
        Run("DBSIZE"); // registers the client
        foreach (Session session in Server.Engine.Clients.InOrder) session.Resp3 = true;
    }

    /// <summary>A field of INFO.</summary>
    public string Info(string section, string field)
    {
        string start = field + ":";
        foreach (string line in Run("INFO " + section).Text.Split("\r\n"))
        {
            if (line.StartsWith(start, StringComparison.Ordinal)) return line[start.Length..];
        }

        throw new TranscriptException($"INFO {section} has no {field}");
    }

    public long Number(string section, string field) => long.Parse(Info(section, field), System.Globalization.CultureInfo.InvariantCulture);

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await Server.DisposeAsync();
    }
}
