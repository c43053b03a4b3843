using RedKite.Server.Metrics;
using RedKite.Server.Tests.Execution.Eviction;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Sessions;

/// <summary>Jumps of the wall clock change no wait: neither timeouts, nor pauses, nor idle times.</summary>
public sealed class SteadyClockTests : TranscriptTests
{
    private const long HourMs = 3_600_000;

    [Theory]
    [InlineData(-HourMs)]
    [InlineData(HourMs)]
    public void Blocked_client_waits_as_long_as_it_said(long jumpMs)
    {
        using RespConnection client = RespConnection.Connect(Server.Port);
        client.SendCommand("BLPOP k 5");
        NetworkTests.WaitFor(() => Server.Info("blocked_clients") == 1, "the client to block");
        Clock.Jump(jumpMs);
        AwaitTicks();
        Clock.Advance(4900);
        AwaitTicks();
        Assert.Equal(1, Server.Info("blocked_clients"));
        Clock.Advance(101);
        Assert.True(client.Read().IsNull);
    }

    [Fact]
    public async Task Caller_in_the_process_waits_as_long_as_it_said()
    {
        Task<RedKiteReply> waiting = Task.Run(() => Server.Execute("BLPOP", "k", "5"), TestContext.Current.CancellationToken);
        NetworkTests.WaitFor(() => Server.Info("blocked_clients") == 1, "the caller to block");
        Clock.Jump(-HourMs);
        Clock.Advance(5001);
        Assert.True((await waiting).IsNull);
    }

    [Theory]
    [InlineData(-HourMs)]
    [InlineData(HourMs)]
    public void Pause_is_as_long_as_it_said(long jumpMs)
    {
        using RespConnection client = RespConnection.Connect(Server.Port);
        Run("CLIENT PAUSE 5000").IsOk();
        client.SendCommand("GET k");
        Clock.Jump(jumpMs);
        AwaitTicks();
        Assert.False(Server.Engine.Pause.EndIfOver(Server.Engine.Clock.SteadyMs));
        Clock.Advance(5001);
        Assert.True(client.Read().IsNull);
    }

    [Theory]
    [InlineData(-HourMs)]
    [InlineData(HourMs)]
    public void Idle_client_is_closed_when_it_has_been_idle(long jumpMs)
    {
        Run("CONFIG SET timeout 5").IsOk();
        using RespConnection client = RespConnection.Connect(Server.Port);
        client.Run("PING").IsSimple("PONG");
        Clock.Jump(jumpMs);
        Clock.Advance(4000);
        AwaitTicks();
        Assert.Contains(" idle=4 ", Run("CLIENT LIST").Text, StringComparison.Ordinal);
        client.Run("PING").IsSimple("PONG");
        Clock.Advance(7000);
        client.Read().IsClosed();
    }

    // Until the loop has looked at the time several times.
    private void AwaitTicks()
    {
        LoopMetrics loop = Server.Engine.Metrics.Loops[0];
        long from = loop.Cycles;
        NetworkTests.WaitFor(() => loop.Cycles >= from + 3, "turns of the loop");
    }
}
