using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Waits for what a server observes. Its seconds end at once, so that nothing waits for the wall clock.</summary>
internal static class ObservedSeconds
{
    private const int PatienceMs = 60_000;

    /// <summary>Lets seconds pass until a condition holds.</summary>
    internal static void Until(RedKiteServer server, Func<bool> condition, string what)
    {
        long start = Environment.TickCount64;
        while (!condition())
        {
            Assert.True(Environment.TickCount64 - start < PatienceMs, what);
            Pass(server, 1);
        }
    }

    /// <summary>Lets this many seconds pass, each with an observation.</summary>
    internal static void Pass(RedKiteServer server, int seconds)
    {
        DiagnosticsService diagnostics = server.Diagnostics!;
        for (int i = 0; i < seconds; i++)
        {
            long latest = diagnostics.History.LatestSecond;
            diagnostics.SkipSecond();
            Assert.True(SpinWait.SpinUntil(() => diagnostics.History.LatestSecond != latest, PatienceMs), "a second is observed");
        }
    }
}
