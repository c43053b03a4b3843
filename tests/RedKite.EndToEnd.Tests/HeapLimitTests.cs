using System.Diagnostics;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Clients fill a managed heap of 48 MiB. The server replies with an error, closes the connection, or reports why it ends and ends.
/// It never hangs.
/// </summary>
[Long]
public sealed class HeapLimitTests
{
    private const string HeapBytesMax = "0x3000000";
    private const int ProvocationMs = 60_000;
    private const int EndMs = 60_000;

    [Theory]
    [InlineData("CLIENT SETNAME", 200)] // no stripe is locked when memory is exhausted
    [InlineData("BLPOP of a large key", 100)] // the key's stripe is locked
    [InlineData("BLPOP of 2000 keys", 300)] // many stripes are locked
    [InlineData("SLOWLOG", 20_000)]
    [InlineData("COMMAND DOCS", 500)]
    [InlineData("MGET", 6)]
    [InlineData("EVAL", 5)] // the interpreter's memory is not the heap's, the arguments of its commands are
    public void Exhausted_heap_never_leaves_a_process_that_hangs(string provocation, int times)
    {
        if (!ServerProgram.UnderTest.IsRedKite || !OperatingSystem.IsLinux()) return;
        ServerProgram program = ServerProgram.UnderTest with { CommandLine = $"env DOTNET_GCHeapHardLimit={HeapBytesMax} {ServerProgram.UnderTest.CommandLine}" };
        using ServerProcess server = ServerProcess.Start(program, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "100000000");
        List<RespConnection> connections = [];
        try
        {
            Provoke(server, provocation, times, connections);
        }
        catch (Exception failure) when (failure is SocketException or IOException or InvalidOperationException)
        {
            // A connection was closed, or the process has ended.
        }

        string outcome = OutcomeOf(server);
        foreach (RespConnection connection in connections) connection.Dispose();
        string[] lines = [.. server.Output.SkipWhile(line => !line.Contains("Ready to accept connections", StringComparison.Ordinal)).Skip(1)];
        TestContext.Current.TestOutputHelper!.WriteLine($"{provocation}: {outcome}\n{string.Join('\n', lines)}");
        foreach (string line in lines) DeleteReport(line);
        if (outcome == "ended") Assert.Contains(lines, ReportsFailure);
        else Assert.Equal("replies", outcome);
    }

    private static void Provoke(ServerProcess server, string provocation, int times, List<RespConnection> connections)
    {
        string large = new('x', 2_000_000);
        var clock = Stopwatch.StartNew();
        for (int i = 0; i < times && clock.ElapsedMilliseconds < ProvocationMs && !server.HasExited; i++)
        {
            bool isNew = connections.Count == 0 || provocation.StartsWith("CLIENT", StringComparison.Ordinal) || provocation.StartsWith("BLPOP", StringComparison.Ordinal);
            if (isNew) connections.Add(server.Connect());
            RespConnection connection = connections[^1];
            switch (provocation)
            {
                case "CLIENT SETNAME":
                    connection.Run("CLIENT SETNAME " + large);
                    break;
                case "BLPOP of a large key":
                    connection.SendCommand($"BLPOP {i}{large} 0");
                    break;
                case "BLPOP of 2000 keys":
                    connection.SendCommand($"BLPOP {string.Join(' ', Enumerable.Range(0, 2000).Select(key => $"{i}-{key}"))} 0");
                    break;
                case "SLOWLOG":
                    connection.Run("EXISTS " + string.Join(' ', Enumerable.Repeat(large[..120], 30)));
                    break;
                case "EVAL":
                    connection.Run("EVAL \"return redis.call('SET', KEYS[1], string.rep('x', 60000000))\" 1 k");
                    break;
                case "COMMAND DOCS":
                    connection.SendCommand("COMMAND DOCS");
                    break;
                default:
                    connection.Run("SET k " + large);
                    connection.SendCommand("MGET " + string.Join(' ', Enumerable.Repeat("k", 1000)));
                    break;
            }
        }
    }

    // A crash report if keys were locked, the log's line of a loop that has failed, or .NET's own last words.
    private static bool ReportsFailure(string line) =>
        line.Contains("Crash report: ", StringComparison.Ordinal) || line.Contains("A bug ended an event loop: System.OutOfMemoryException", StringComparison.Ordinal)
        || line.StartsWith("Out of memory", StringComparison.Ordinal) || line.StartsWith("Unhandled exception. System.OutOfMemoryException", StringComparison.Ordinal);

    private static void DeleteReport(string line)
    {
        const string Announcement = "Crash report: ";
        int start = line.IndexOf(Announcement, StringComparison.Ordinal);
        if (start >= 0) File.Delete(line[(start + Announcement.Length)..].TrimEnd());
    }

    private static string OutcomeOf(ServerProcess server)
    {
        var clock = Stopwatch.StartNew();
        while (clock.ElapsedMilliseconds < EndMs)
        {
            if (server.HasExited && server.WaitForExit(EndMs) is not null) return "ended";
            try
            {
                using RespConnection connection = RespConnection.Connect(server.Port, timeoutMs: 5000);
                if (connection.Run("PING").Text == "PONG") return "replies";
            }
            catch (Exception failure) when (failure is SocketException or IOException)
            {
                // It is about to end.
            }

            Thread.Sleep(100);
        }

        return "hangs";
    }
}
