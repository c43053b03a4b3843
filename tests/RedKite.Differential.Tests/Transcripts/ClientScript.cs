using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Runs a transcript of several clients on both servers and compares every reply. Each line is one client's step, which
/// has happened on both servers before the next begins:
/// <code>
/// A: RPUSH k x          sends a command and reads its reply
/// A waits: BLPOP k 0    sends a command, and the server has one more client that waits
/// A sends: PING         sends a command and reads nothing
/// A gets                reads a reply
/// A gets nothing        no reply comes for a while
/// A closes              the connection ends, and the client waits no more
/// sleep 20              milliseconds
/// </code>
/// </summary>
internal sealed partial class ClientScript(ServerPair pair) : IDisposable
{
    private const int PatienceMs = 3_000;

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
        if (step.Groups["sleep"].Success)
        {
            Thread.Sleep(int.Parse(step.Groups["sleep"].Value, CultureInfo.InvariantCulture));
            return;
        }

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
        long oracle = Blocked(pair.Oracle);
        long subject = Blocked(pair.Subject);
        client.Send(command);
        Stopwatch clock = Stopwatch.StartNew();
        while (Blocked(pair.Oracle) == oracle || Blocked(pair.Subject) == subject)
        {
            if (clock.ElapsedMilliseconds > PatienceMs) Assert.Fail($"Waiting clients: oracle {Blocked(pair.Oracle)}, subject {Blocked(pair.Subject)}, before {oracle} and {subject}");
            Thread.Sleep(1);
        }
    }

    private static long Blocked(ServerPair.Side side)
    {
        string info = side.Control.Run("INFO clients").Text;
        return long.Parse(BlockedClients().Match(info).Groups[1].Value, CultureInfo.InvariantCulture);
    }

    [GeneratedRegex("blocked_clients:([0-9]+)")]
    private static partial Regex BlockedClients();

    [GeneratedRegex("^(?:sleep (?<sleep>[0-9]+)|(?<client>[A-Z])(?<verb>:| sends:| waits:| gets nothing| gets| closes)(?: (?<command>.*))?)$")]
    private static partial Regex Step();
}
