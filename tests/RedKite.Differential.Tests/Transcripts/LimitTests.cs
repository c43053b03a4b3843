using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

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
