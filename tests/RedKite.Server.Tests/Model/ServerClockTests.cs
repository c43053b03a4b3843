using System.Diagnostics;
using RedKite.Server.Model;

namespace RedKite.Server.Tests;

public class ServerClockTests
{
    [Fact]
    public void Time_at_a_timestamp_is_the_wall_clock_after_each_synchronization()
    {
        var clock = new ServerClock(TimeProvider.System);
        for (int i = 0; i < 2_000; i++)
        {
            clock.Anchor();
            long before = clock.NowMicroseconds;
            long at = clock.MsAt(Stopwatch.GetTimestamp());
            long after = clock.NowMicroseconds;
            Assert.InRange(at, (before - 1_000) / 1_000, (after + 1_000) / 1_000);
        }
    }

    [Fact]
    public void Time_advances_evenly_between_synchronizations()
    {
        var clock = new ServerClock(TimeProvider.System);
        long timestamp = Stopwatch.GetTimestamp();
        long least = clock.MsAt(timestamp), most = least;
        for (int i = 0; i < 2_000; i++)
        {
            clock.Anchor();
            least = Math.Min(least, clock.MsAt(timestamp));
            most = Math.Max(most, clock.MsAt(timestamp));
        }

        // A timestamp has one time, up to the distance of the two readings of a synchronization.
        Assert.InRange(most - least, 0, 1);
    }
}
