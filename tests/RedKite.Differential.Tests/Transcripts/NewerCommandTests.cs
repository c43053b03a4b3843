using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The pair of servers whose oracle is Redis 8.6.</summary>
public sealed class NewerServers : IDisposable
{
    private ServerPair? _pair;

    internal ServerPair Pair => _pair ??= ServerPair.StartNewer("--enable-debug-command", "yes");

    public void Dispose() => _pair?.Dispose();
}

/// <summary>Commands and options that Redis 8.0 lacks, compared with Redis 8.6.</summary>
public sealed class NewerCommandTests : IClassFixture<NewerServers>, IDisposable
{
    private const int RandomLines = 3_000;
    private const int TestSeed = 20261122;

    private readonly ServerPair _pair;
    private readonly PairedConnection _client;

    public NewerCommandTests(NewerServers servers)
    {
        _pair = servers.Pair;
        _pair.Reset();
        _client = new PairedConnection(_pair);
    }

    public void Dispose() => _client.Dispose();

    [Fact]
    public void Entries_are_deleted_alike_with_regard_to_groups()
    {
        var random = new Random(TestSeed);
        int id = 0;
        for (int i = 0; i < RandomLines; i++)
        {
            if (i % 500 == 0) Run($"CONFIG SET stream-node-max-entries {(i % 1_000 == 0 ? 4 : 100)}");
            Run(StreamLine(random, ref id));
        }

        Run("XRANGE s - +");
        Run("CONFIG SET stream-node-max-entries 100");
    }

    [Fact]
    public void Strings_are_compared_and_digested_alike()
    {
        var random = new Random(TestSeed);
        for (int i = 0; i < RandomLines; i++) Run(StringLine(random));
    }

    [Theory]
    [InlineData("METRICS 1 CPU")]
    [InlineData("METRICS 2 CPU NET")]
    [InlineData("METRICS 2 NET CPU COUNT 3 COUNT 4 SAMPLE 2")]
    [InlineData("METRICS 2 CPU FOO")]
    [InlineData("METRICS 2 FOO NET")]
    [InlineData("METRICS 2 FOO BAR")]
    [InlineData("METRICS 1 CPU CPU")]
    [InlineData("METRICS 2 CPU CPU")]
    [InlineData("METRICS 2 NET NET")]
    [InlineData("METRICS 2 CPU COUNT 3")]
    [InlineData("METRICS 2 CPU")]
    [InlineData("METRICS 0")]
    [InlineData("METRICS x CPU")]
    [InlineData("METRICS 3 CPU NET FOO")]
    [InlineData("METRICS")]
    [InlineData("COUNT 3")]
    [InlineData("")]
    [InlineData("METRICS 1 CPU METRICS 1 CPU")]
    [InlineData("METRICS 1 CPU DURATION 0")]
    [InlineData("METRICS 1 CPU DURATION 1000000")]
    [InlineData("METRICS 1 CPU DURATION 1000001")]
    [InlineData("METRICS 1 CPU COUNT 0")]
    [InlineData("METRICS 1 CPU COUNT 64")]
    [InlineData("METRICS 1 CPU COUNT 65")]
    [InlineData("METRICS 1 CPU COUNT")]
    [InlineData("METRICS 1 CPU SAMPLE 0")]
    [InlineData("METRICS 1 CPU SLOTS 1 1")]
    public void Hot_keys_are_tracked_by_the_same_options(string options)
    {
        Run("HOTKEYS STOP");
        Run("HOTKEYS RESET");
        Run("HOTKEYS GET");
        Run("HOTKEYS START " + options);
        Run("HOTKEYS STOP");
        Run("HOTKEYS STOP");
        Run("HOTKEYS RESET");
    }

    [Fact]
    public void Repeated_entries_of_a_producer_are_recognised_alike()
    {
        var random = new Random(TestSeed);
        for (int i = 0; i < 300; i++)
        {
            string producer = random.Next(2) == 0 ? $"IDMPAUTO p{random.Next(2)}" : $"IDMP p{random.Next(2)} {random.Next(20)}";
            string fields = string.Join(' ', Enumerable.Range(0, 1 + random.Next(3)).Select(_ => $"{random.Next(3)} {random.Next(3)}"));
            Run($"XLEN s{random.Next(2)}");
            foreach (ServerPair.Side side in (ServerPair.Side[])[_pair.Oracle, _pair.Subject]) side.Control.Run($"XADD s0 {producer} * {fields}"); // ids are of each server's clock
            Run("XLEN s0");
        }
    }

    [Fact]
    public void Claims_deliver_the_same_entries()
    {
        var random = new Random(TestSeed);
        int id = 0;
        for (int i = 0; i < 400; i++)
        {
            switch (random.Next(8))
            {
                case 0: Run("XGROUP CREATE s g 0 MKSTREAM"); break;
                case 1: Run($"XDEL s {random.Next(id + 1)}-1"); break;
                case 2: Run($"XACK s g {random.Next(id + 1)}-1"); break;
                case 3 or 4: Run($"XADD s {++id}-1 f v"); break;
                default:
                    string line = $"XREADGROUP GROUP g c{random.Next(2)} CLAIM {(random.Next(3) == 0 ? 1_000_000 : 0)} {(random.Next(2) == 0 ? "NOACK " : "")}STREAMS s >";
                    Assert.Equal((i, Delivered(_pair.Oracle, line)), (i, Delivered(_pair.Subject, line)));
                    break;
            }

            Run("XPENDING s g");
        }
    }

    // What a read replies, without the times that entries were idle, which differ, and in the order of ids: that of idle times depends on the clock.
    private static string Delivered(ServerPair.Side side, string line)
    {
        RespValue reply = side.Control.Run(line);
        if (reply.IsError || reply.IsNull) return reply.ToString();
        return string.Join(", ", reply.Items[0].Items[1].Items.Select(entry => $"{entry.Items[0].Text} {entry.Items.Count} {entry.Items[^1]}").Order(StringComparer.Ordinal));
    }

    private static string StreamLine(Random random, ref int id)
    {
        string key = random.Next(12) == 0 ? "none" : "s";
        string policy = random.Next(5) switch { 0 => "KEEPREF ", 1 => "DELREF ", 2 or 3 => "ACKED ", _ => "" };
        int last = id;
        string Ids(int count) => $"IDS {count} {string.Join(' ', Enumerable.Range(0, count).Select(_ => $"{Math.Max(1, last - random.Next(25))}-1"))}";
        return random.Next(14) switch
        {
            0 => $"XGROUP CREATE s g{random.Next(3)} {(random.Next(2) == 0 ? "0" : "$")} MKSTREAM",
            1 => $"XDEL {key} {Math.Max(1, id - random.Next(25))}-1",
            2 => $"XACK {key} g{random.Next(3)} {Math.Max(1, id - random.Next(25))}-1",
            3 or 4 => $"XREADGROUP GROUP g{random.Next(3)} c{random.Next(2)} COUNT {1 + random.Next(4)} STREAMS s >",
            5 => $"XDELEX {key} {policy}{Ids(1 + random.Next(4))}",
            6 => $"XACKDEL {key} g{random.Next(3)} {policy}{Ids(1 + random.Next(4))}",
            7 => $"XPENDING {key} g{random.Next(3)}",
            8 => "XLEN s",
            9 => $"XTRIM {key} {Trimming(random, id)} {policy}".TrimEnd(),
            10 when random.Next(20) == 0 => "XGROUP DESTROY s g" + random.Next(3),
            10 => random.Next(6) switch
            {
                0 => $"XDELEX s {policy}IDS 0",
                1 => $"XDELEX s {policy}IDS 2 1-1",
                2 => $"XDELEX s {policy}IDS x 1-1",
                3 => $"XACKDEL s g0 {policy}IDS 1 x",
                4 => $"XACKDEL s g0 {policy}FOO 1 1-1",
                _ => $"XDELEX s IDS 1 {id}-1 {policy}".TrimEnd(),
            },
            _ => $"XADD s {(random.Next(4) == 0 ? $"{policy}{Trimming(random, id)} " : "")}{++id}-1 f v",
        };
    }

    private static string Trimming(Random random, int id)
    {
        string strictness = random.Next(4) switch { 0 => "= ", 1 or 2 => "~ ", _ => "" };
        string threshold = random.Next(3) == 0 ? $"MINID {strictness}{Math.Max(1, id - random.Next(20))}-1" : $"MAXLEN {strictness}{5 + random.Next(15)}";
        return strictness == "~ " && random.Next(2) == 0 ? $"{threshold} LIMIT {random.Next(12)}" : threshold;
    }

    private static string StringLine(Random random)
    {
        string Key() => "k" + random.Next(3);
        string Value() => random.Next(3) switch { 0 => "a", 1 => "12345", _ => new string('x', 1 + random.Next(40)) };
        string Condition() => random.Next(7) switch { 0 or 1 => "IFEQ " + Value(), 2 or 3 => "IFNE " + Value(), 4 => "IFDEQ 0000000000000000", 5 => "IFDNE 0000000000000000", _ => "IFDNE ffffffffffffffff" };
        return random.Next(9) switch
        {
            0 => $"SET {Key()} {Value()}",
            1 => $"SET {Key()} {Value()} {Condition()}",
            2 => $"SET {Key()} {Value()} IFEQ {Value()} GET",
            3 => $"DELEX {Key()} {Condition()}",
            4 => random.Next(3) == 0 ? $"DELEX {Key()}" : $"DELEX {Key()} {Condition()} x",
            5 => $"DIGEST {Key()}",
            6 => $"MSETEX 2 {Key()} {Value()} {Key()} {Value()}{random.Next(6) switch { 0 => " NX", 1 => " XX", 2 => " NX EX 100", 3 => " KEEPTTL", 4 => " EX 0", _ => "" }}",
            7 => random.Next(5) switch { 0 => $"MSETEX 0 {Key()} a", 1 => $"MSETEX 2 {Key()} a", 2 => $"MSETEX x {Key()} a", 3 => $"LPUSH l x", _ => "DIGEST l" },
            _ => random.Next(3) == 0 ? $"DELEX l {Condition()}" : $"GET {Key()}",
        };
    }

    private void Run(string line) => _client.Run(line);
}
