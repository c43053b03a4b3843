using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>MEMORY PURGE returns what clients have left in the managed heap.</summary>
public sealed class MemoryPurgeTests
{
    private const int Channels = 100_000;
    private const int ChannelsOfCommand = 1000;

    // Channels and subscriptions are some 300 bytes each.
    private const long GrowthMin = 100L * Channels;

    [Fact]
    public void Purge_returns_the_memory_of_a_subscriber_that_has_gone()
    {
        if (!ServerProgram.UnderTest.IsRedKite || !OperatingSystem.IsLinux()) return;
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection looks = server.Connect();
        looks.Run("MEMORY PURGE").IsOk();
        long before = Resident(looks);
        using (RespConnection subscriber = server.Connect())
        {
            for (int i = 0; i < Channels; i += ChannelsOfCommand)
            {
                subscriber.SendCommand("SUBSCRIBE " + string.Join(' ', Enumerable.Range(i, ChannelsOfCommand).Select(number => string.Create(CultureInfo.InvariantCulture, $"channel:{number}"))));
                for (int reply = 0; reply < ChannelsOfCommand; reply++) subscriber.ReadAny();
            }
        }

        Assert.True(SpinWait.SpinUntil(() => Info(looks, "pubsub_channels") == 0, 60_000));
        long grown = Resident(looks) - before;
        Assert.InRange(grown, GrowthMin, long.MaxValue);

        // One collection is made in a second.
        Assert.True(SpinWait.SpinUntil(() => IsReturned(), 60_000));

        bool IsReturned()
        {
            looks.Run("MEMORY PURGE").IsOk();
            return Resident(looks) - before <= grown / 2;
        }
    }

    private static long Resident(RespConnection connection) => Info(connection, "used_memory_rss");

    private static long Info(RespConnection connection, string field)
    {
        string line = connection.Run("INFO everything").Text.Split("\r\n").Single(line => line.StartsWith(field + ':', StringComparison.Ordinal));
        return long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture);
    }
}
