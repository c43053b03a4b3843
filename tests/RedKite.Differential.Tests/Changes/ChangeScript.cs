using RedKite.Differential.Tests.Streams;
using RedKite.Differential.Tests.Transcripts;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Runs a script of several clients (<see cref="ScriptLine"/>) on one watched server.</summary>
internal sealed class ChangeScript : IDisposable
{
    private const int PatienceMs = 60_000;
    private const int QuietMs = 30;

    private readonly IWatchedServer _server;
    private readonly Dictionary<string, RespConnection> _clients = [];

    private ChangeScript(IWatchedServer server) => _server = server;

    /// <summary>Runs a script on an emptied server and returns all its events.</summary>
    /// <param name="afterLine">Called with each line that has happened; nothing may still be under way then but what waits.</param>
    public static List<string> Run(IWatchedServer server, string script, Action<ScriptLine>? afterLine = null)
    {
        server.Reset();
        using ChangeScript runner = new(server);
        List<string> events = [];
        foreach (ScriptLine line in ScriptLine.Parse(script))
        {
            runner.RunLine(line);
            events.AddRange(server.TakeEvents());
            afterLine?.Invoke(line);
        }

        return events;
    }

    public void Dispose()
    {
        foreach (RespConnection client in _clients.Values) client.Dispose();
    }

    private void RunLine(ScriptLine line)
    {
        if (!_clients.TryGetValue(line.Client, out RespConnection? client)) _clients[line.Client] = client = RespConnection.Connect(_server.Port);
        switch (line.Verb)
        {
            case ":": client.Run(line.Command); break;
            case " sends:": client.SendCommand(line.Command); break;
            case " waits:": Wait(client, line.Command); break;
            case " gets": client.Read(); break;
            case " gets nothing": Thread.Sleep(QuietMs); break;
            default: Close(line.Client, client); break;
        }
    }

    private void Wait(RespConnection client, string command)
    {
        long before = Info("blocked_clients");
        client.SendCommand(command);
        WaitUntil(() => Info("blocked_clients") == before + 1, command);
    }

    private void Close(string name, RespConnection client)
    {
        long before = Info("connected_clients");
        client.Dispose();
        _clients.Remove(name);
        WaitUntil(() => Info("connected_clients") == before - 1, "the end of a connection");
    }

    private long Info(string field) => ServerPair.Info(_server.Control, "clients", field);

    private static void WaitUntil(Func<bool> condition, string what)
    {
        if (!SpinWait.SpinUntil(condition, PatienceMs)) throw new TimeoutException($"timed out waiting for {what}");
    }
}
