using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Values that shrink from 1 KiB to 100 bytes and grow back, in a full server: its resident memory stays near maxmemory. Without
/// active defragmentation it reaches twice as much.
/// </summary>
[Alone]
public sealed class MemoryChurnTests
{
    private const long LimitBytes = 128 << 20;
    private const int CommandsPerBatch = 1000;

    // At a steady rate that leaves most of a core free, 1.1 (bench churn). This one comes as fast as it can: 170,000 SET a second, for which
    // the bounded share of CPU that moves values is too small. It reached 1.22 to 1.27 on two busy cores, and 1.45 with hashes, lists and sets among the strings.
    private const double ResidentByLimitMax = 1.35;

    // On a busy machine the load waits at times until values were moved: how fast that is, is measured by the bench.
    private const int FollowTimeoutMs = 60_000;

    // The commands of half a period, in which sizes go from one end to the other; there are three halves.
    private const int HalfCommands = 600_000;

    [Fact]
    public void Resident_memory_follows_the_limit_while_sizes_change()
    {
        if (!ServerProgram.UnderTest.IsRedKite || !OperatingSystem.IsLinux()) return;
        using ServerProcess server = ServerProcess.Start(
            ServerProgram.UnderTest, "--maxmemory", LimitBytes.ToString(CultureInfo.InvariantCulture), "--maxmemory-policy", "allkeys-lru");
        using RespConnection connection = server.Connect();
        var random = new Random(7);
        long peak = 0;
        var clock = Stopwatch.StartNew();
        for (int done = 0; done < 3 * HalfCommands; done += CommandsPerBatch)
        {
            double position = (double)done / HalfCommands % 2;
            int middle = (int)(1024 - (924 * (position <= 1 ? position : 2 - position)));
            SendBatch(connection, random, middle);
            if (done <= HalfCommands / 2 || done % 20_000 != 0) continue;
            long resident = 0;
            Assert.True(SpinWait.SpinUntil(() => (resident = server.ResidentBytes) < LimitBytes * ResidentByLimitMax, FollowTimeoutMs), $"The resident memory stays at {resident >> 20} MiB with maxmemory {LimitBytes >> 20} MiB. {Figures()}");
            peak = Math.Max(peak, resident);
        }

        TestContext.Current.TestOutputHelper!.WriteLine($"peak {peak >> 20} MiB in {clock.ElapsedMilliseconds} ms; {Figures()}");
        Assert.True(peak > LimitBytes, "The server was full.");

        string Figures()
        {
            string[] interesting = ["used_memory:", "allocator_", "active_defrag", "total_active_defrag", "evicted_keys"];
            return string.Join(' ', connection.Run("INFO everything").Text!.Split("\r\n").Where(line => interesting.Any(name => line.StartsWith(name, StringComparison.Ordinal))));
        }
    }

    private static void SendBatch(RespConnection connection, Random random, int middle)
    {
        var text = new StringBuilder();
        for (int i = 0; i < CommandsPerBatch; i++)
        {
            string key = $"key:{random.Next(1_000_000)}";
            int length = random.Next(middle * 4 / 5, middle * 6 / 5);
            text.Append(CultureInfo.InvariantCulture, $"*3\r\n$3\r\nSET\r\n${key.Length}\r\n{key}\r\n${length}\r\n").Append('x', length).Append("\r\n");
        }

        connection.Send(text.ToString());
        for (int i = 0; i < CommandsPerBatch; i++) connection.ReadAny().IsOk();
    }
}
