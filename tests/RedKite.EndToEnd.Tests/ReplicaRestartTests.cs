using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>A replica whose process ends at any moment, and comes back: in the end it has its primary's data.</summary>
public sealed class ReplicaRestartTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public Task A_replica_that_is_killed_comes_back() => Run(TestScale.GivenSeed ?? 1, restarts: 2);

    [Fact]
    [Long]
    public Task A_replica_is_killed_a_hundred_times() => Run(TestScale.GivenSeed ?? 2, restarts: 100);

    private static async Task Run(int seed, int restarts)
    {
        var random = new Random(seed);
        using var folder = new TemporaryFolder();
        using ServerProcess primary = Transfers.Start("redkite", "--repl-diskless-sync-delay", "0");
        using RespConnection client = primary.Connect();
        RandomData.Fill(client, new Random(seed), keys: 20, hasFieldExpiry: true);
        using var end = new CancellationTokenSource();
        var writer = Task.Run(() => Write(primary, end.Token), TestContext.Current.CancellationToken);
        int port = LoopbackPort.Next();
        var program = new ServerProgram("replica", $"dotnet \"{Transfers.Program}\" --port {port} --dir \"{folder.Path}\" --enable-debug-command yes --replicaof 127.0.0.1 {primary.Port}", IsRedKite: true);
        for (int i = 0; i < restarts; i++)
        {
            // Some keep what they have in a file, some in a log, some not.
            string[] options = random.Next(3) switch { 0 => ["--save", ""], 1 => ["--save", "1 1"], _ => ["--save", "", "--appendonly", "yes"] };
            using ServerProcess replica = ServerProcess.StartUnchecked(program, port, options);
            WaitFor(() => replica.HasExited || IsUp(port), "the link", replica);
            Assert.False(replica.HasExited, string.Join('\n', replica.Output));
            int bytes = random.Next(200_000);
            string offset = Field(client, "master_repl_offset");
            WaitFor(() => long.Parse(Field(client, "master_repl_offset"), CultureInfo.InvariantCulture) - long.Parse(offset, CultureInfo.InvariantCulture) >= bytes, "writes", replica);
            if (random.Next(3) > 0) continue; // disposal kills it
            replica.Signal("TERM");
            Assert.Equal(0, replica.WaitForExit(PatienceMs));
        }

        using ServerProcess last = ServerProcess.StartUnchecked(program, port, "--save", "");
        WaitFor(() => IsUp(port), "the link", last);
        await end.CancelAsync();
        await writer;
        using RespConnection other = RespConnection.Connect(port);
        WaitFor(() => Field(client, "master_repl_offset") == Field(other, "master_repl_offset") && client.Run("DEBUG DIGEST").Text == other.Run("DEBUG DIGEST").Text, "the same data", last);
        Assert.True(SameData.Check(client, other) > 60);
    }

    private static void Write(ServerProcess primary, CancellationToken end)
    {
        using RespConnection client = primary.Connect();
        for (int i = 0; !end.IsCancellationRequested; i++)
        {
            foreach (string write in (string[])[$"INCR n:{i % 50}", $"RPUSH l:{i % 7} {i}", $"LTRIM l:{i % 7} -100 -1", $"HSET h:{i % 9} f{i % 30} {i}", $"SET soon:{i % 20} v PX 20", $"ZINCRBY z:{i % 5} 1.5 m{i % 40}", "MULTI", $"INCR u:{i % 3}", $"SADD s:{i % 5} {i % 500}", "EXEC"]) client.Run(write);
        }
    }

    private static bool IsUp(int port)
    {
        try
        {
            using RespConnection client = RespConnection.Connect(port);
            return client.Run("INFO replication").Text.Contains("master_link_status:up", StringComparison.Ordinal);
        }
        catch (System.Net.Sockets.SocketException)
        {
            return false;
        }
    }

    private static string Field(RespConnection client, string name)
    {
        string text = client.Run("INFO replication").Text;
        int start = text.IndexOf("\n" + name + ":", StringComparison.Ordinal) + name.Length + 2;
        return text[start..text.IndexOf('\r', start)];
    }

    private static void WaitFor(Func<bool> condition, string what, ServerProcess replica) =>
        Assert.True(SpinWait.SpinUntil(condition, PatienceMs), $"timed out waiting for {what}\n{string.Join('\n', replica.Output.TakeLast(40))}");
}
