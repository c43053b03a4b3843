using System.Globalization;

namespace RedKite.Server.Tests.Commands;

/// <summary>Every test runs with one stripe and with 64.</summary>
public abstract class ScanCommandsTests : TranscriptTests
{
    private const double LargestExactDouble = 1L << 53;

    [Fact]
    public void Keys_lists_matching_unexpired_keys()
    {
        Run("KEYS *").IsBag();
        foreach (string key in new[] { "one", "two", "three", "''" }) Run($"SET {key} 1").IsOk();
        Run("PEXPIRE three 10").IsInteger(1);
        Run("KEYS *").IsBag("", "one", "two", "three");
        Run("KEYS t*").IsBag("two", "three");
        Clock.Advance(10);
        Run("KEYS t*").IsBag("two");
        Run("KEYS t[^w]*").IsBag();
    }

    [Fact]
    public void Keys_lists_a_large_database_completely()
    {
        for (int i = 0; i < 20_000; i++) Run($"SET k{i} 1").IsOk();
        Assert.Equal(20_000, Run("KEYS *").Items.Select(item => item.Text).Distinct().Count());
        Assert.Equal(11, Run("KEYS k1999*").Items.Count);
    }

    [Fact]
    public void Scan_of_fewer_keys_than_count_ends_with_the_first_call()
    {
        RedKiteReply empty = Run("SCAN 0");
        empty.Items[0].IsText("0");
        empty.Items[1].IsBag();
        for (int i = 0; i < 9; i++) Run($"SET k{i} 1").IsOk();
        RedKiteReply reply = Run("SCAN 0");
        reply.Items[0].IsText("0");
        Assert.Equal(9, reply.Items[1].Items.Count);
    }

    [Fact]
    public void Scan_honours_count_approximately_and_returns_each_key_once_without_changes()
    {
        for (int i = 0; i < 30_000; i++) Run($"SET k{i} 1").IsOk();
        var seen = new HashSet<string>();
        int calls = 0;
        string cursor = "0";
        do
        {
            RedKiteReply reply = Run($"SCAN {cursor} COUNT 100");
            cursor = reply.Items[0].Text!;
            Assert.InRange(reply.Items[1].Items.Count, cursor == "0" ? 0 : 100, 130);
            Assert.InRange(double.Parse(cursor, CultureInfo.InvariantCulture), 0, LargestExactDouble);
            foreach (RedKiteReply key in reply.Items[1].Items) Assert.True(seen.Add(key.Text!));
            calls++;
        }
        while (cursor != "0");

        Assert.Equal(30_000, seen.Count);
        Assert.InRange(calls, 230, 301);
        Assert.Equal(30_000, Run("SCAN 0 COUNT 9223372036854775807").Items[1].Items.Count);
    }

    [Fact]
    public void Scan_filters_by_pattern_and_type_and_omits_expired_keys()
    {
        foreach (string key in new[] { "one", "two", "three" }) Run($"SET {key} 1").IsOk();
        Run("PEXPIRE three 10").IsInteger(1);
        Run("SCAN 0 MATCH t*").Items[1].IsBag("two", "three");
        Run("SCAN 0 TYPE StRing MATCH x MATCH t*").Items[1].IsBag("two", "three");
        Run("SCAN 0 TYPE list").Items[1].IsBag();
        Run("SCAN 0 TYPE nonsense").Items[1].IsBag();
        Run("SCAN 0 TYPE ''").Items[1].IsBag();
        Clock.Advance(10);
        Run("SCAN 0 MATCH t*").Items[1].IsBag("two");
    }

    [Fact]
    public void Scan_refuses_unknown_options()
    {
        Run("SCAN 0 COUNT 0").IsError("ERR syntax error");
        Run("SCAN 0 COUNT -1").IsError("ERR syntax error");
        Run("SCAN 0 COUNT x").IsError("ERR value is not an integer or out of range");
        Run("SCAN 0 COUNT").IsError("ERR syntax error");
        Run("SCAN 0 FOO").IsError("ERR syntax error");
        Run("SCAN 0 NOVALUES").IsError("ERR NOVALUES option can only be used in HSCAN");
    }

    [Theory]
    [InlineData("x")]
    [InlineData("''")]
    [InlineData("-1")]
    [InlineData("1.5")]
    [InlineData("0x10")]
    [InlineData("18446744073709551616")]
    public void Non_numeric_cursor_is_refused(string cursor) => Run($"SCAN {cursor}").IsError("ERR invalid cursor");

    [Fact]
    public void Forged_cursor_is_harmless()
    {
        for (int i = 0; i < 5_000; i++) Run($"SET k{i} 1").IsOk();
        var random = new Random(7);
        for (int i = 0; i < 20_000; i++)
        {
            ulong cursor = (ulong)random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64);
            RedKiteReply reply = Run($"SCAN {cursor}");
            Assert.Equal(2, reply.Items.Count);
            Assert.InRange(reply.Items[1].Items.Count, 0, 40);
        }

        Run("SCAN 18446744073709551615").Items[0].IsText("0");
    }

    [Theory]
    [InlineData(1, 20)]
    [InlineData(2, 40)]
    [InlineData(3, 80)]
    [InlineData(4, 500)]
    public void Scan_returns_every_key_that_stays_while_tables_grow_and_shrink(int seed, int count)
    {
        const int Stable = 3_000;

        // Enough keys to split every stripe's table.
        int swarm = Stripes == 1 ? 40_000 : 120_000;
        for (int i = 0; i < Stable; i++) Run($"SET stable{i} 1").IsOk();
        var random = new Random(seed);
        int present = 0, rounds = 0, splits = 0, joins = 0, segments = Segments();
        while (splits < 100 || joins < 100)
        {
            Assert.True(++rounds < 100, $"only {splits} splits and {joins} joins");
            var seen = new HashSet<string>();
            string cursor = "0";
            do
            {
                RedKiteReply reply = Run($"SCAN {cursor} COUNT {count}");
                cursor = reply.Items[0].Text!;
                foreach (RedKiteReply key in reply.Items[1].Items)
                {
                    if (key.Text!.StartsWith("stable", StringComparison.Ordinal)) seen.Add(key.Text);
                }

                // Occasionally most keys of the swarm are added, so that segments split, or removed, so that they join.
                if (random.Next(4_000 / count) > 0) continue;
                int wanted = random.Next(2) == 0 ? random.Next(swarm / 20) : swarm - random.Next(swarm / 10);
                for (; present < wanted; present++) Run($"SET swarm{present} 1").IsOk();
                for (; present > wanted; present--) Run($"DEL swarm{present - 1}").IsInteger(1);
                int before = segments;
                segments = Segments();
                splits += Math.Max(0, segments - before);
                joins += Math.Max(0, before - segments);
            }
            while (cursor != "0");

            Assert.Equal(Stable, seen.Count);
        }
    }

    [Fact]
    public void Scan_returns_every_key_that_stays_while_another_thread_adds_and_removes()
    {
        const int Stable = 5_000;
        for (int i = 0; i < Stable; i++) Run($"SET stable{i} 1").IsOk();
        using var stop = new CancellationTokenSource();
        RedKiteSession other = Server.CreateSession();
        var swarm = new Thread(() =>
        {
            while (!stop.IsCancellationRequested)
            {
                for (int i = 0; i < 30_000 && !stop.IsCancellationRequested; i++) other.Execute("SET", "swarm" + i, "1");
                for (int i = 0; i < 30_000 && !stop.IsCancellationRequested; i++) other.Execute("DEL", "swarm" + i);
            }
        });
        swarm.Start();
        try
        {
            for (int round = 0; round < 10; round++)
            {
                var seen = new HashSet<string>();
                string cursor = "0";
                do
                {
                    RedKiteReply reply = Run($"SCAN {cursor} COUNT 50 MATCH stable*");
                    cursor = reply.Items[0].Text!;
                    foreach (RedKiteReply key in reply.Items[1].Items) seen.Add(key.Text!);
                }
                while (cursor != "0");

                Assert.Equal(Stable, seen.Count);
            }
        }
        finally
        {
            stop.Cancel();
            swarm.Join();
        }
    }

    [Fact]
    public void Randomkey_is_about_uniform()
    {
        Run("RANDOMKEY").IsNil();
        const int Keys = 2_000;
        const int Samples = 40_000;
        for (int i = 0; i < Keys; i++) Run($"SET k{i} 1").IsOk();
        var counts = new Dictionary<string, int>();
        for (int i = 0; i < Samples; i++)
        {
            string key = Run("RANDOMKEY").Text!;
            counts[key] = counts.GetValueOrDefault(key) + 1;
        }

        // 20 samples per key on average: a key is missed with a probability of 2e-9, and sampled 60 times with 1e-12.
        Assert.Equal(Keys, counts.Count);
        Assert.InRange(counts.Values.Max(), 20, 60);
    }

    [Fact]
    public void Randomkey_finds_the_only_unexpired_key_among_thousands()
    {
        for (int i = 0; i < 20_000; i++)
        {
            Run($"SET k{i} 1").IsOk();
            Run($"PEXPIRE k{i} 10").IsInteger(1);
        }

        Server.Engine.Run.ExpiresActively = false;
        Run("PERSIST k777").IsInteger(1);
        Clock.Advance(10);
        for (int i = 0; i < 100; i++) Run("RANDOMKEY").IsText("k777");
        Run("DEL k777").IsInteger(1);
        Run("RANDOMKEY").IsNil();
    }

    private int Segments()
    {
        int segments = 0;
        for (int i = 0; i < Server.Engine.Keyspace.Stripes.Length; i++) segments += Server.Engine.Keyspace.Databases[0].TableIn(i)?.Segments ?? 0;
        return segments;
    }

    public sealed class WithOneStripe : ScanCommandsTests
    {
        protected override int Stripes => 1;
    }

    public sealed class WithManyStripes : ScanCommandsTests;
}
