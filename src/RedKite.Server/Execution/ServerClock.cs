namespace RedKite.Server.Execution;

/// <summary>The server's wall clock: the system's, or one that a test holds in its hands.</summary>
internal sealed class ServerClock(TimeProvider provider)
{
    private readonly bool _isSystem = ReferenceEquals(provider, TimeProvider.System);

    internal long NowMs => NowMicroseconds / 1000;

    internal long NowMicroseconds =>
        ((_isSystem ? DateTime.UtcNow.Ticks : provider.GetUtcNow().UtcTicks) - DateTime.UnixEpoch.Ticks) / TimeSpan.TicksPerMicrosecond;
}
