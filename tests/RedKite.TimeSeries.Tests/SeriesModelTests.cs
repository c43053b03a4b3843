using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;
using RedKite.Types.Tests;
using static RedKite.TimeSeries.Tests.SeriesCommandTests;

namespace RedKite.TimeSeries.Tests;

/// <summary>Series against a sorted dictionary, with memory that is guarded.</summary>
public sealed class SeriesModelTests
{
    [Theory]
    [InlineData("COMPRESSED", "48")]
    [InlineData("COMPRESSED", "4096")]
    [InlineData("UNCOMPRESSED", "128")]
    public async Task Samples_in_any_order_are_those_of_a_model(string encoding, string chunk)
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        var random = new Random(45);
        var model = new SortedDictionary<long, double>();
        server.Run("TS.CREATE", "a", "ENCODING", encoding, "CHUNK_SIZE", chunk, "DUPLICATE_POLICY", "LAST");
        long end = 1_000_000;
        for (int i = 0; i < 1500; i++)
        {
            long time = random.Next(4) == 0 ? random.Next((int)end) : end += random.Next(8) == 0 ? 1L << random.Next(0, 20) : 100;
            double value = random.Next(3) switch { 0 => random.Next(10), 1 => random.NextDouble(), _ => BitConverter.Int64BitsToDouble(random.NextInt64() & ~(1L << 62)) };
            model[time] = value;
            server.Run("TS.ADD", "a", Text(time), value.ToString("R", CultureInfo.InvariantCulture));
            if (i % 100 != 99) continue;
            long from = random.NextInt64(end), to = from + random.NextInt64(end / 20);
            long[] removed = [.. model.Keys.Where(key => key >= from && key <= to)];
            foreach (long key in removed) model.Remove(key);
            Assert.Equal(Text(removed.Length), server.Run("TS.DEL", "a", Text(from), Text(to)));
        }

        AssertSame(server, "a", model);
        server.Run("COPY", "a", "b");
        server.Run("DEL", "a");
        AssertSame(server, "b", model);
        using LockScope locked = server.Server.Engine.Keyspace.LockAll();
        server.Server.Engine.Keyspace.CheckGuards();
    }

    // Times that differ as much as they can, and values of which no bit is like the one before.
    [Fact]
    public async Task Extreme_samples_come_back()
    {
        await using TypeServer server = await TypeServer.StartAsync(guardsMemory: true);
        (long, double)[] samples =
            [(0, double.MaxValue), (1, double.Epsilon), (2, -0.0), (long.MaxValue / 2, -double.MaxValue), ((long.MaxValue / 2) + 1, 1), (long.MaxValue - 1, 1.0 / 3), (long.MaxValue, 0.1)];
        var model = new SortedDictionary<long, double>(samples.ToDictionary(sample => sample.Item1, sample => sample.Item2));
        foreach ((long time, double value) in model) server.Run("TS.ADD", "a", Text(time), value.ToString("R", CultureInfo.InvariantCulture), "CHUNK_SIZE", "4096");
        AssertSame(server, "a", model);
    }

    [Fact]
    public async Task Slowly_changing_samples_take_two_bytes()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server, 50_000);
        long bytes = long.Parse(server.Run("MEMORY", "USAGE", "a"), CultureInfo.InvariantCulture);
        Assert.InRange(bytes / 50_000.0, 0.1, 2);
        Assert.Equal("50000", Info(server, "a")["totalSamples"]!.Text);
    }

    [Fact]
    [Long]
    public async Task Ten_million_samples_take_two_bytes_each()
    {
        const int Count = 10_000_000;
        await using TypeServer server = await TypeServer.StartAsync();
        Fill(server, Count);
        double bytes = long.Parse(server.Run("MEMORY", "USAGE", "a"), CultureInfo.InvariantCulture) / (double)Count;
        TestContext.Current.TestOutputHelper?.WriteLine($"{bytes} bytes a sample");
        Assert.InRange(bytes, 0.1, 2);
    }

    internal static void Fill(TypeServer server, int count)
    {
        var random = new Random(7);
        int level = 500;
        for (int i = 0; i < count;)
        {
            var words = new List<byte[]> { "TS.MADD"u8.ToArray() };
            if (i == 0) server.Run("TS.CREATE", "a");
            for (int n = 0; n < 5000 && i < count; n++, i++)
            {
                if (random.Next(4) == 0) level += random.Next(-2, 3);
                words.AddRange(["a"u8.ToArray(), Bytes(1_700_000_000_000 + (i * 1000L)), Bytes(level)]);
            }

            Assert.True(server.Client.Run([.. words]).IsAggregate);
        }
    }

    private static void AssertSame(TypeServer server, string key, SortedDictionary<long, double> model)
    {
        Assert.Equal(model.Select(sample => (sample.Key, BitConverter.DoubleToInt64Bits(sample.Value))), Read(server, "TS.RANGE", key));
        Assert.Equal(model.Reverse().Select(sample => (sample.Key, BitConverter.DoubleToInt64Bits(sample.Value))), Read(server, "TS.REVRANGE", key));
    }

    private static List<(long Time, long Value)> Read(TypeServer server, string command, string key) =>
        [.. server.Client.Run($"{command} {key} - +").Items.Select(item => (long.Parse(item.Items[0].Text, CultureInfo.InvariantCulture), BitConverter.DoubleToInt64Bits(double.Parse(item.Items[1].Text, CultureInfo.InvariantCulture))))];

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);

    private static byte[] Bytes(long number) => System.Text.Encoding.ASCII.GetBytes(Text(number));
}
