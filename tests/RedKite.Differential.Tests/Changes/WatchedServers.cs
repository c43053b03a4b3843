using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Redis 8 and RedKite, both watched, for all tests of a class.</summary>
public sealed class WatchedServers : IDisposable
{
    private WatchedRedis? _oracle;
    private WatchedRedKite? _subject;

    internal IWatchedServer Oracle => _oracle ??= new WatchedRedis(OracleProgram.Redis8!);

    internal IWatchedServer Subject => _subject ??= new WatchedRedKite();

    public void Dispose()
    {
        TestContext.Current.SendDiagnosticMessage($"{EventStreamRunner.EventsCompared} events of streams compared with Redis 8");
        _oracle?.Dispose();
        _subject?.Dispose();
    }
}
