using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Runs a transcript of several clients on both servers and compares every reply. Each line completes on both servers before
/// the next begins; <see cref="ScriptLine"/> lists the forms.
/// </summary>
internal sealed class ClientScript(ServerPair pair) : IDisposable
{
    private readonly Dictionary<string, PairedConnection> _clients = [];

    public static void Run(ServerPair pair, string script)
    {
        using ClientScript runner = new(pair);
        foreach (ScriptLine line in ScriptLine.Parse(script)) runner.RunLine(line);
    }

    public void Dispose()
    {
        foreach (PairedConnection client in _clients.Values) client.Dispose();
    }

    private void RunLine(ScriptLine line)
    {
        if (!_clients.TryGetValue(line.Client, out PairedConnection? client)) _clients[line.Client] = client = new PairedConnection(pair);
        try
        {
            switch (line.Verb)
            {
                case ":": client.Run(line.Command); break;
                case " sends:": client.Send(line.Command); break;
                case " waits:": Wait(client, line.Command); break;
                case " gets": client.Read(line.Text); break;
                case " gets nothing": client.IsSilent(); break;
                default:
                    client.Dispose();
                    _clients.Remove(line.Client);
                    pair.WaitForConnections(_clients.Count + 1);
                    break;
            }
        }
        catch (Exception failure) when (failure is not FormatException)
        {
            throw new TranscriptException($"{line.Text}: {failure.Message}");
        }
    }

    private void Wait(PairedConnection client, string command)
    {
        int before = (int)ServerPair.Info(pair.Oracle.Control, "clients", "blocked_clients");
        client.Send(command);
        pair.WaitForBlocked(before + 1);
    }
}
