using System.Text;
using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>
/// Proves that the comparison can fail. The oracle plays both parts, so every difference was injected: these tests are
/// independent of RedKite.
/// </summary>
public sealed class CanaryTests(CanaryTests.Servers servers) : IClassFixture<CanaryTests.Servers>
{
    private const int Seed = 11;
    private const int StepCount = 400;

    private static readonly List<Step> WriteAndRead =
    [
        Single(Episode.Of("SET", "k", "v")),
        Single(Episode.Of("SET", "other", "w")),
        Single(Episode.Of("PING")),
    ];

    [Fact]
    public void Oracle_matches_itself() =>
        Assert.Null(StreamTest.Run(servers.Pair, Seed, 4 * StepCount, CommandTable.Mixed));

    [Fact]
    public void Flipped_byte_in_a_reply_is_found()
    {
        int replies = 0;
        Difference? difference = RunSpoiled(StreamGenerator.Generate(Seed, StepCount, [StringGenerator.Family]), onReply: bytes =>
        {
            if (++replies == 40) bytes[^3] ^= 1;
            return bytes;
        });
        Assert.NotNull(difference);
    }

    [Fact]
    public void Dropped_write_is_found_in_the_keyspace()
    {
        // Replaces SET with a command that also replies OK but writes nothing.
        Difference? difference = RunSpoiled(WriteAndRead, onRequest: bytes => Replace(bytes, "$3\r\nSET\r\n$1\r\nk\r\n", "$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n"));
        Assert.Equal(WriteAndRead.Count, difference?.StepIndex);
    }

    [Fact]
    public void Write_to_the_wrong_database_is_found_in_the_keyspace()
    {
        List<Step> steps = [Single(Episode.Of("SELECT", "1")), .. WriteAndRead];
        Difference? difference = RunSpoiled(steps, onRequest: bytes => Replace(bytes, "SELECT\r\n$1\r\n1", "SELECT\r\n$1\r\n2"));
        Assert.Equal(steps.Count, difference?.StepIndex);
    }

    [Fact]
    public void Lost_expiry_is_found_in_the_keyspace()
    {
        List<Step> steps = [.. WriteAndRead, Single(Episode.Of("EXPIRE", "k", "5000"))];
        Difference? difference = RunSpoiled(steps, onRequest: bytes => Replace(bytes, "EXPIRE\r\n$1\r\nk\r\n$4\r\n5000", "EXISTS\r\n$1\r\nk\r\n$4\r\nnone"));
        Assert.Equal(steps.Count, difference?.StepIndex);
    }

    [Fact]
    public void Changed_word_in_an_error_is_found()
    {
        Difference? difference = RunSpoiled([Single(Episode.Of("SET", "k"))], onReply: bytes => Replace(bytes, "wrong number", "wrong amount"));
        Assert.Equal(0, difference?.StepIndex);
    }

    [Fact]
    public void Wrong_error_code_is_found()
    {
        Difference? difference = RunSpoiled([Single(Episode.Of("NOSUCH"))], onReply: bytes => Replace(bytes, "-ERR", "-BAD"));
        Assert.Equal(0, difference?.StepIndex);
    }

    [Fact]
    public void Simple_string_instead_of_bulk_string_is_found()
    {
        Difference? difference = RunSpoiled([Single(Episode.Of("ECHO", "x"))], onReply: bytes => Replace(bytes, "$1\r\nx", "+x"));
        Assert.Equal(0, difference?.StepIndex);
    }

    [Fact]
    public void Null_of_the_wrong_protocol_is_found()
    {
        Difference? difference = RunSpoiled([Single(Episode.Of("HELLO", "3")), Single(Episode.Of("GET", "none"))], onReply: bytes => Replace(bytes, "_\r\n", "$-1\r\n"));
        Assert.Equal(1, difference?.StepIndex);
    }

    [Fact]
    public void Allowed_difference_above_its_bound_is_found()
    {
        List<Step> steps = [Single(Episode.Of("SETEX", "k", "5000", "v")), Single(Episode.Of("TTL", "k"))];
        Assert.Equal(1, RunSpoiled(steps, onReply: bytes => Replace(bytes, ":5000", ":5090"))?.StepIndex);
    }

    [Fact]
    public void Key_missing_from_KEYS_is_found()
    {
        List<Step> steps = [.. WriteAndRead, Single(Episode.Of("KEYS", "*"))];
        Assert.Equal(steps.Count - 1, RunSpoiled(steps, onReply: bytes => Replace(bytes, "$5\r\nother\r\n", "$5\r\nOTHER\r\n"))?.StepIndex);
    }

    [Fact]
    public void Failing_stream_shrinks_to_the_relevant_commands()
    {
        List<Step> steps = StreamGenerator.Generate(Seed, StepCount, [KeyGenerator.Family]);
        steps.Insert(100, Single(Episode.Of("SELECT", "9")));
        steps.Insert(101, Single(Episode.Of("SET", "needle", "1")));
        steps.Insert(250, Single(Episode.Of("SELECT", "9")));
        steps.Insert(251, Single(Episode.Of("INCRBY", "needle", "41")));
        Func<byte[], byte[]> fault = bytes => Replace(bytes, ":42\r\n", ":43\r\n");
        Difference difference = RunSpoiled(steps, onReply: fault)!;

        (List<Step> smallest, Difference last) = Shrinker.Shrink(steps, difference, candidate => RunSpoiled(candidate, onReply: fault));

        Assert.InRange(smallest.Count, 1, 4);
        Assert.Equal("INCRBY", Encoding.ASCII.GetString(last.Command[0]));
    }

    private Difference? RunSpoiled(IReadOnlyList<Step> steps, Func<byte[], byte[]>? onRequest = null, Func<byte[], byte[]>? onReply = null)
    {
        using SpoilingProxy proxy = new(servers.Pair.Subject.Server.Port, onRequest, onReply);
        servers.Pair.Subject.UseProxy(proxy.Port);
        try
        {
            return StreamRunner.Run(servers.Pair, steps, Seed, chunksMax: 1);
        }
        finally
        {
            servers.Pair.Subject.UseProxy(null);
        }
    }

    private static Step Single(Episode episode) => new(0, episode, EndsBatch: true);

    private static byte[] Replace(byte[] bytes, string from, string to) =>
        Encoding.Latin1.GetBytes(Encoding.Latin1.GetString(bytes).Replace(from, to, StringComparison.Ordinal));

    public sealed class Servers : IDisposable
    {
        private ServerPair? _pair;

        internal ServerPair Pair => _pair ??= ServerPair.StartTwins(ServerProgram.Oracle, "--enable-debug-command", "yes");

        public void Dispose() => _pair?.Dispose();
    }
}
