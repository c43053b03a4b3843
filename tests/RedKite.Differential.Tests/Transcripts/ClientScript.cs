using System.Text.RegularExpressions;
using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Runs a transcript of several clients on both servers and compares every reply. Each line is one client's step, which
/// completes on both servers before the next begins:
/// <code>
/// A: RPUSH k x          sends a command and reads its reply
/// A waits: BLPOP k 0    sends a command, and the server has one more blocked client
/// A sends: PING         sends a command and reads nothing
/// A gets                reads a reply
/// A gets nothing        no reply comes for a while
/// A closes              closes the connection, and both servers have noticed
/// </code>
/// </summary>
internal sealed partial class ClientScript(ServerPair pair) : IDisposable
{
    private readonly Dictionary<string, PairedConnection> _clients = [];

    public static void Run(ServerPair pair, string script)
    {
        using ClientScript runner = new(pair);
        foreach (string line in script.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)) runner.RunLine(line);
    }

    public void Dispose()
    {
        foreach (PairedConnection client in _clients.Values) client.Dispose();
    }

    private void RunLine(string line)
    {
        Match step = Step().Match(line);
        if (!step.Success) throw new FormatException($"This is no step of a script: {line}");
        string name = step.Groups["client"].Value;
        string command = step.Groups["command"].Value;
        if (!_clients.TryGetValue(name, out PairedConnection? client)) _clients[name] = client = new PairedConnection(pair);
        try
        {
            switch (step.Groups["verb"].Value)
            {
                case ":": client.Run(command); break;
                case " sends:": client.Send(command); break;
                case " waits:": Wait(client, command); break;
                case " gets": client.Read(line); break;
                case " gets nothing": client.IsSilent(); break;
                default:
                    client.Dispose();
                    _clients.Remove(name);
                    pair.WaitForConnections(_clients.Count + 1);
                    break;
            }
        }
        catch (Exception failure) when (failure is not FormatException)
        {
            throw new TranscriptException($"{line}: {failure.Message}");
        }
    }

    private void Wait(PairedConnection client, string command)
    {
        int before = (int)ServerPair.Info(pair.Oracle.Control, "clients", "blocked_clients");
        client.Send(command);
        pair.WaitForBlocked(before + 1);
    }

    [GeneratedRegex("^(?<client>[A-Z])(?<verb>:| sends:| waits:| gets nothing| gets| closes)(?: (?<command>.*))?$")]
    private static partial Regex Step();
}
