using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

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
        List<ScriptLine> lines = ScriptLine.Parse(script);
        for (int i = 0; i < lines.Count; i++)
        {
            ScriptLine line = lines[i];
            runner.Connect(line.Client, isNamed: script.Contains($"{{{line.Client}}}", StringComparison.Ordinal));
            runner.RunLine(line, i + 1);
        }
    }

    public void Dispose()
    {
        foreach (PairedConnection client in _clients.Values) client.Dispose();
    }

    // A client whose id is used is asked for it first: later it may lack the permission for CLIENT ID.
    private void Connect(string name, bool isNamed)
    {
        if (_clients.ContainsKey(name)) return;
        _clients[name] = new PairedConnection(pair);
        if (isNamed) _clients[name].NoteFacts();
    }

    private void RunLine(ScriptLine line, int number)
    {
        PairedConnection client = _clients[line.Client];
        try
        {
            switch (line.Verb)
            {
                case ":": client.RunWithIds(line.Command, _clients); break;
                case " sends:": client.Send(line.Command); break;
                case " pipelines:": client.SendTogether(line.Command.Split(" ; ")); break;
                case " waits:": Wait(client, line.Command); break;
                case " gets push": client.ReadPush(); break;
                case " gets all": client.ReadAll(isOrdered: true); break;
                case " gets any order": client.ReadAll(isOrdered: false); break;
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
            throw new TranscriptException($"line {number}, {line.Text}: {failure.Message}");
        }
    }

    private void Wait(PairedConnection client, string command)
    {
        int before = (int)ServerPair.Info(pair.Oracle.Control, "clients", "blocked_clients");
        client.Send(command);
        pair.WaitForBlocked(before + 1);
    }
}
