using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The pair of servers for all transcripts that need no special options, emptied before each.</summary>
public sealed class TranscriptServers : IDisposable
{
    private ServerPair? _pair;

    internal ServerPair Pair => _pair ??= ServerPair.Start("--enable-debug-command", "yes");

    public void Dispose() => _pair?.Dispose();
}

[CollectionDefinition(Name)]
public sealed class TranscriptCollection : ICollectionFixture<TranscriptServers>
{
    public const string Name = "transcripts";
}

/// <summary>The base of handwritten transcripts: servers and connections that end with the test.</summary>
public abstract class TranscriptTests : IDisposable
{
    private readonly ServerPair _pair;
    private readonly List<PairedConnection> _connections = [];

    protected TranscriptTests(TranscriptServers servers)
    {
        _pair = servers.Pair;
        _pair.Reset();
    }

    internal ServerPair Pair => _pair;

    public void Dispose()
    {
        foreach (PairedConnection connection in _connections) connection.Dispose();
        GC.SuppressFinalize(this);
    }

    internal PairedConnection Open()
    {
        PairedConnection connection = new(_pair);
        _connections.Add(connection);
        return connection;
    }
}
