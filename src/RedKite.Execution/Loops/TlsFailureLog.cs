using RedKite.Net.Tls;
using RedKite.Server.Logging;

namespace RedKite.Server.Loops;

/// <summary>
/// Logs TLS handshakes that failed. A client that is refused, and one that speaks no TLS, are warnings with its address: of each kind at most one line a second, which
/// counts those before it that had none. Others, such as connections that end within the handshake, are for level verbose. From any thread.
/// </summary>
/// <param name="log">The server's log.</param>
/// <param name="nowMs">The steady time.</param>
internal sealed class TlsFailureLog(ServerLog log, Func<long> nowMs)
{
    /// <summary>The shortest time between two lines of a kind.</summary>
    internal const int IntervalMs = 1000;

    private readonly Kind _refused = new();
    private readonly Kind _plain = new();

    internal void Note(TlsFailure failure)
    {
        if (failure.Refusal is null && !failure.IsPlain)
        {
            log.Verbose(LogEvents.TlsHandshakeFailed, $"A TLS handshake with {failure.Client} failed: {failure.Reason}");
            return;
        }

        if (!(failure.IsPlain ? _plain : _refused).MayLog(nowMs(), out long unlogged)) return;
        string others = unlogged == 0 ? "" : FormattableString.Invariant($" ({unlogged} others before)");
        if (failure.IsPlain) log.Warning(LogEvents.TlsHandshakeFailed, $"Client {failure.Client} speaks no TLS, but is connected to tls-port{others}");
        else if (failure.Refusal!.Subject.Length == 0) log.Warning(LogEvents.TlsClientRefused, $"TLS client {failure.Client} is refused: {failure.Refusal.Reason}{others}");
        else log.OfClient(LogEvents.TlsClientRefused, isWarning: true, $"TLS client {failure.Client} is refused: {failure.Refusal.Reason}{others}, subject ", failure.Refusal.Subject);
    }

    private sealed class Kind
    {
        private long _nextMs = long.MinValue;
        private long _unlogged;

        internal bool MayLog(long nowMs, out long unlogged)
        {
            unlogged = 0;
            long next = Volatile.Read(ref _nextMs);
            if (nowMs < next || Interlocked.CompareExchange(ref _nextMs, nowMs + IntervalMs, next) != next)
            {
                Interlocked.Increment(ref _unlogged);
                return false;
            }

            unlogged = Interlocked.Exchange(ref _unlogged, 0);
            return true;
        }
    }
}
