using System.Globalization;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>What a primary answers to the request for its stream.</summary>
/// <param name="IsFull">Whether all data follows; otherwise the stream goes on.</param>
/// <param name="Id">The id of the primary's history; null: it named none.</param>
/// <param name="Offset">The offset of the data that follows; -1: an old primary that names none.</param>
internal readonly record struct SyncAnswer(bool IsFull, string? Id, long Offset)
{
    /// <summary>The data follows on a second connection, which names the first one by this; 0: it follows here.</summary>
    internal long MainClientId { get; init; }
}

/// <summary>How a replica introduces itself to its primary, and asks for the stream.</summary>
internal sealed class PrimaryHandshake(PrimaryConnection connection, Settings settings, ServerLog log, int listeningPort, AgreedIdentity? identity = null)
{
    private const int IdLength = 40;
    private const int BulkBytesMax = 1 << 20;

    /// <summary>Introduces the replica.</summary>
    /// <exception cref="IOException">The primary refuses it, or the connection has ended.</exception>
    internal void Introduce()
    {
        string pong = Ask("PING");
        if (pong[0] != '+' && !pong.StartsWith("-NOAUTH", StringComparison.Ordinal) && !pong.StartsWith("-NOPERM", StringComparison.Ordinal) && !pong.StartsWith("-ERR operation not permitted", StringComparison.Ordinal))
        {
            throw new IOException($"Error reply to PING from master: '{pong}'");
        }

        Authenticate();
        AskOptional("REPLCONF", "listening-port", Port);
        string address = settings.ReplicaAnnounceIp.Length > 0 || !settings.ClusterEnabled ? settings.ReplicaAnnounceIp : settings.ClusterAnnounceIp; // by which the topology names it
        if (address.Length > 0) AskOptional("REPLCONF", "ip-address", address);
        if (identity is { } node) AskOptional("REPLCONF", "node-id", node.Id, "incarnation", node.Incarnation, "topology-version", node.Version.ToString(CultureInfo.InvariantCulture));
        if (settings.ReplicaRdbChannel) AskOptional("REPLCONF", "capa", "eof", "capa", "psync2", "capa", "rdb-channel-repl");
        else AskOptional("REPLCONF", "capa", "eof", "capa", "psync2");

        // Valkey 9 writes an older format, without expiries of fields, unless a replica says that it is as new.
        if (AskVersion() is { } version) AskOptional("REPLCONF", "version", version);
    }

    /// <summary>Introduces a second connection, for the data, and asks for it.</summary>
    /// <param name="mainClientId">What the primary calls the first connection.</param>
    /// <exception cref="IOException">The primary refuses it, or the connection has ended.</exception>
    internal SyncAnswer AskForData(long mainClientId)
    {
        Authenticate();
        string reply = Ask("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-channel", "1", "main-ch-client-id", mainClientId.ToString(CultureInfo.InvariantCulture), "listening-port", Port);
        if (reply[0] == '-') throw new IOException($"Master replied with error to REPLCONF of the second connection: {reply}");
        SyncAnswer answer = AskForStream(null, -1);
        return answer is { IsFull: true, Id: not null, MainClientId: 0 } ? answer : throw new IOException("the primary sends no data on the second connection");
    }

    private string Port => (settings.ReplicaAnnouncePort > 0 ? settings.ReplicaAnnouncePort : listeningPort).ToString(CultureInfo.InvariantCulture);

    private void Authenticate()
    {
        if (settings.MasterAuth.Length == 0) return;
        string reply = settings.MasterUser.Length > 0 ? Ask("AUTH", settings.MasterUser, settings.MasterAuth) : Ask("AUTH", settings.MasterAuth);
        if (reply[0] == '-') throw new IOException($"Unable to AUTH to MASTER: {reply}");
    }

    /// <summary>Asks for the stream from an offset on.</summary>
    /// <param name="id">The history that the replica has; null: none.</param>
    /// <param name="offset">The offset of its data.</param>
    /// <param name="handsOver">Whether the peer is to become the primary first.</param>
    /// <exception cref="IOException">The primary cannot serve it now, or the connection has ended.</exception>
    internal SyncAnswer AskForStream(string? id, long offset, bool handsOver = false)
    {
        (string history, long wanted) = Resumption.Request(id, offset);
        string first = wanted.ToString(CultureInfo.InvariantCulture);
        string reply = handsOver ? Ask("PSYNC", history, first, "FAILOVER") : Ask("PSYNC", history, first);
        string[] words = reply.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        switch (words[0])
        {
            case "+FULLRESYNC" when words.Length == 3 && words[1].Length == IdLength && long.TryParse(words[2], CultureInfo.InvariantCulture, out long start) && start >= 0:
                return new SyncAnswer(IsFull: true, words[1], start);
            case "+RDBCHANNELSYNC" when words.Length == 2 && long.TryParse(words[1], NumberStyles.None, CultureInfo.InvariantCulture, out long client) && client > 0:
                return new SyncAnswer(IsFull: true, null, -1) { MainClientId = client };
            case "+CONTINUE" when id is not null && (words.Length == 1 || words[1].Length == IdLength):
                return new SyncAnswer(IsFull: false, words.Length > 1 ? words[1] : null, offset);
            case "-NOMASTERLINK" or "-LOADING":
                throw new IOException($"Master is currently unable to PSYNC but should be in the future: {reply}");
            case ['-', ..] when handsOver:
                throw new IOException($"the replica does not take over: {reply}");
            case ['-', ..]:
                // A server from before Redis 2.8.
                log.Notice(LogEvents.PrimaryRefuses, $"Master does not support PSYNC or is in error state (reply: {reply})");
                connection.Send("SYNC");
                return new SyncAnswer(IsFull: true, null, -1);
            default:
                throw new IOException($"Unexpected reply to PSYNC from master: {reply}");
        }
    }

    private string Ask(params ReadOnlySpan<string> request)
    {
        connection.Send(request);
        return connection.ReceiveLine();
    }

    private void AskOptional(params ReadOnlySpan<string> request)
    {
        string reply = Ask(request);
        if (reply[0] == '-') log.Notice(LogEvents.PrimaryRefuses, $"(Non critical) Master does not understand REPLCONF {request[1]}: {reply}");
    }

    // The version of a Valkey; null: the primary is none, or does not say.
    private string? AskVersion()
    {
        const string Field = "valkey_version:";
        string head = Ask("INFO", "server");
        if (head[0] != '$' || !int.TryParse(head.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out int bytes)) return null;
        if (bytes > BulkBytesMax) throw new IOException("the primary's reply to INFO is too long");
        var text = new StringBuilder();
        for (int left = bytes + 2; left > 0;)
        {
            ReadOnlySpan<byte> received = connection.Receive();
            received = received[..Math.Min(received.Length, left)];
            text.Append(Encoding.Latin1.GetString(received));
            connection.Take(received.Length);
            left -= received.Length;
        }

        foreach (string line in text.ToString().Split('\n'))
        {
            if (line.StartsWith(Field, StringComparison.Ordinal)) return line[Field.Length..].Trim();
        }

        return null;
    }
}
