namespace RedKite.Differential.Tests.Changes;

/// <summary>A clock that only the test moves, backwards too.</summary>
internal sealed class HeldClock : TimeProvider
{
    private long _nowMs = 1_800_000_000_000;

    public long NowMs
    {
        get => Interlocked.Read(ref _nowMs);
        set => Interlocked.Exchange(ref _nowMs, value);
    }

    public override long TimestampFrequency => 1000;

    public override long GetTimestamp() => NowMs;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.FromUnixTimeMilliseconds(NowMs);

    public void Advance(long ms) => Interlocked.Add(ref _nowMs, ms);
}
