namespace RedKite.Server.Metrics;

/// <summary>What the server counts besides its commands, and the rates of the last moments. Counted with interlocked adds: all rare.</summary>
internal sealed class ServerMetrics
{
    private const int Samples = 16;

    private readonly double[] _commands = new double[Samples];
    private readonly double[] _received = new double[Samples];
    private readonly double[] _sent = new double[Samples];
    private int _next;
    private long _lastCommands;
    private long _lastReceived;
    private long _lastSent;
    private long _lastMs;

    internal long ConnectionsReceived;
    internal long ConnectionsRejected;
    internal long QueryBufferDisconnections;
    internal long OutputBufferDisconnections;

    /// <summary>Failed logins: acl_access_denied_auth.</summary>
    internal long AuthenticationsDenied;

    /// <summary>Means over the last samples: operations, bytes in and bytes out in a second.</summary>
    internal (double Commands, double Received, double Sent) Rates => (Mean(_commands), Mean(_received), Mean(_sent));

    /// <summary>Takes a sample of the totals; called ten times a second or so by one loop.</summary>
    internal void Sample(long nowMs, long commands, long received, long sent)
    {
        double seconds = (nowMs - _lastMs) / 1000.0;
        if (_lastMs != 0 && seconds > 0)
        {
            _commands[_next] = Math.Max(0, commands - _lastCommands) / seconds;
            _received[_next] = Math.Max(0, received - _lastReceived) / seconds;
            _sent[_next] = Math.Max(0, sent - _lastSent) / seconds;
            _next = (_next + 1) % Samples;
        }

        (_lastCommands, _lastReceived, _lastSent, _lastMs) = (commands, received, sent, nowMs);
    }

    internal void Reset()
    {
        ConnectionsReceived = ConnectionsRejected = QueryBufferDisconnections = OutputBufferDisconnections = AuthenticationsDenied = 0;
        Array.Clear(_commands);
        Array.Clear(_received);
        Array.Clear(_sent);
    }

    private static double Mean(double[] samples)
    {
        double sum = 0;
        foreach (double sample in samples) sum += sample;
        return sum / samples.Length;
    }
}
