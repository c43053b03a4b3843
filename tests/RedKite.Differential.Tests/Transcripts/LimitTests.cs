using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>Limits that are set at the start of a server.</summary>
public sealed class LimitTests
{
    [Fact]
    public void Connection_above_maxclients_gets_an_error_and_is_closed()
    {
        using ServerPair pair = ServerPair.Start("--maxclients", "4");
        List<PairedConnection> connections = [.. Enumerable.Range(0, 3).Select(_ => new PairedConnection(pair))];
        foreach (PairedConnection connection in connections) connection.Run("PING").IsSimple("PONG");
        pair.Oracle.Control.Run("PING").IsSimple("PONG");
        pair.Subject.Control.Run("PING").IsSimple("PONG");

        using (PairedConnection refused = new(pair)) Assert.True(refused.Raw("").Closed);
        connections[0].Dispose();
        pair.WaitForConnections(3);
        using (PairedConnection accepted = new(pair)) accepted.Run("PING").IsSimple("PONG");

        Assert.Contains("rejected_connections:1\r\n", pair.Subject.Control.Run("INFO stats").Text, StringComparison.Ordinal);
        foreach (PairedConnection connection in connections) connection.Dispose();
    }

    [Theory]
    [InlineData("an argument that does not end", 1)]
    [InlineData("an argument that ends beyond the limit", 1)]
    [InlineData("many requests", 0)]
    [InlineData("many long requests", 0)]
    [InlineData("a long transaction", 1)]
    [InlineData("a transaction at the limit", 1)]
    [InlineData("a transaction below the limit", 0)]
    [InlineData("behind a blocked command", 1)]
    public void Query_buffer_limit_closes_the_same_clients(string what, int closed)
    {
        using ServerPair pair = ServerPair.Start("--client-query-buffer-limit", "1mb");
        string[] outcomes = [.. ((ServerPair.Side[])[pair.Oracle, pair.Subject]).Select(side => Outcome(side, what, closes: closed == 1))];
        Assert.Equal(outcomes[0], outcomes[1]);
        foreach (ServerPair.Side side in (ServerPair.Side[])[pair.Oracle, pair.Subject]) side.WaitUntil(control => ServerPair.Info(control, "stats", "client_query_buffer_limit_disconnections") == closed, $"{closed} disconnections");
    }

    [Theory]
    [InlineData("an argument that does not end")]
    [InlineData("a long transaction")]
    public void Largest_client_is_evicted(string what)
    {
        using ServerPair pair = ServerPair.Start("--maxmemory-clients", "800kb");
        foreach (ServerPair.Side side in (ServerPair.Side[])[pair.Oracle, pair.Subject])
        {
            using RespConnection small = RespConnection.Connect(side.Port);
            using RespConnection kept = RespConnection.Connect(side.Port);
            small.Run("PING").IsSimple("PONG");
            kept.Run("CLIENT NO-EVICT ON").IsOk();
            kept.Send("*2\r\n$4\r\nECHO\r\n$200000\r\n" + new string('x', 100_000));
            Assert.EndsWith("closed", Outcome(side, what, closes: true), StringComparison.Ordinal);
            small.Run("PING").IsSimple("PONG");
            kept.Send(new string('x', 100_000) + "\r\n");
            Assert.Equal(200_000, kept.Read().Text.Length);
            Assert.Equal(1, ServerPair.Info(side.Control, "stats", "evicted_clients"));
        }
    }

    // The replies and whether the connection is closed behind them. How long a close takes on a busy machine does not matter.
    private static string Outcome(ServerPair.Side side, string what, bool closes)
    {
        string echo = "*2\r\n$4\r\nECHO\r\n$100000\r\n" + new string('x', 100_000) + "\r\n";
        using RespConnection client = RespConnection.Connect(side.Port);
        int replies = 0, exchanged = 0;
        switch (what)
        {
            case "an argument that does not end":
                client.Send("*2\r\n$4\r\nECHO\r\n$4000000\r\n" + new string('x', 3_000_000));
                break;
            case "an argument that ends beyond the limit":
                client.Send("*2\r\n$4\r\nECHO\r\n$1048577\r\n" + new string('x', 1_048_577) + "\r\n");
                break;
            case "many requests":
                client.Send(string.Concat(Enumerable.Repeat("PING\r\n", 300_000)));
                replies = 300_000;
                break;
            case "many long requests":
                for (int i = 0; i < 20; i++) Exchange(echo);
                break;
            case "a long transaction":
                Exchange("MULTI\r\n");
                for (int i = 0; i < 10; i++) Exchange(echo);
                client.Send(echo);
                break;
            case "a transaction at the limit":
                Exchange("MULTI\r\n");
                for (int i = 0; i < 10; i++) Exchange(echo);
                Exchange("*2\r\n$4\r\nECHO\r\n$40000\r\n" + new string('x', 40_000) + "\r\n");
                client.Send("*2\r\n$4\r\nECHO\r\n$20000\r\n" + new string('x', 20_000) + "\r\n");
                break;
            case "a transaction below the limit":
                Exchange("MULTI\r\n");
                for (int i = 0; i < 10; i++) Exchange(echo);
                Exchange("EXEC\r\n");
                break;
            case "behind a blocked command":
                client.Send("BLPOP nokey 0\r\n");
                side.WaitUntil(control => ServerPair.Info(control, "clients", "blocked_clients") == 1, "a blocked client");
                client.Send(string.Concat(Enumerable.Repeat("PING\r\n", 500_000)));
                break;
        }

        for (int i = 0; i < replies; i++) client.Read();
        return $"{replies + exchanged} replies, {(client.ReadUntilQuiet(1000, expectClose: closes).Closed || !client.IsSilent ? "closed" : "open")}";

        void Exchange(string request)
        {
            client.Send(request);
            if (!client.Read().IsClosed) exchanged++;
        }
    }

    [Fact]
    public void Debug_is_refused_unless_enabled()
    {
        using ServerPair pair = ServerPair.Start();
        using PairedConnection connection = new(pair);
        connection.Run("DEBUG SLEEP 0");
        connection.Run("DEBUG");
        connection.Run("CONFIG SET enable-debug-command yes");
        connection.Run("CONFIG SET databases 4");
        connection.Run("CONFIG REWRITE");
    }

    [Fact]
    public void Number_of_databases_is_configurable()
    {
        using ServerPair pair = ServerPair.Start("--databases", "3");
        using PairedConnection connection = new(pair);
        foreach (string command in (string[])["SELECT 2", "SELECT 3", "MOVE k 3", "COPY a b DB 3", "SWAPDB 0 3", "SWAPDB 0 2", "CONFIG GET databases"]) connection.Run(command);
    }
}
