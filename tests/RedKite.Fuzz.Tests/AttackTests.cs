using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Requests whose arguments are at borders (numbers of 31 and 63 bits, hostile patterns, expressions and filters, the same key again and again), for every
/// command, alone, in transactions and in scripts: each is answered, another client's PING, too, and none allocates more than a bound.
/// <c>./dev fuzz attack</c> runs it for longer.
/// </summary>
public class AttackTests
{
    private const int GateRounds = 400;
    private const int RoundsBetweenFills = 100;
    private const int HangMs = 60_000;

    // Of one request, a transaction of ten commands or a script.
    private const long AllocatedBytesMax = 512L << 20;

    // The replies whose size is the client's number, as a server with 64 MiB of maxmemory builds them.
    private const long RepeatedBytesMax = 8 << 20;

    // A match ends behind the class that exceeds what it may take.
    private const long LongestClass = 1 << 20;

    private static readonly string[] Numbers =
    [
        "0", "1", "-1", "3", "10", "1000000", "-1000000", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "1000000000000",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "1e308", "-inf", "nan", "0.1",
    ];

    private static readonly string[] Keys = ["string", "large", "number", "list", "hash", "set", "zset", "stream", "vector", "array", "hll", "geo", "none", new('a', 20_000)];

    private static readonly string[] Patterns =
    [
        "*" + new string('a', 30) + "b", "*" + new string('a', 300) + "b", string.Concat(Enumerable.Repeat("*a", 400)) + "b", "*[" + new string('x', 2_000) + "]b", "[" + new string('x', 100_000) + "]",
        new('?', 500), string.Concat(Enumerable.Repeat("*?", 500)) + "b", new string('*', 5_000) + "b", "[^" + string.Concat(Enumerable.Repeat("a-z", 1_000)) + "]*", "*a*a*a*b",
    ];

    private static readonly string[] Expressions = ["(.*a|.*b|.*ab){300}c", "((a*)*)*b", "(a|aa)+$", string.Concat(Enumerable.Repeat("[a-z]*", 100)), "(a?){400}a{400}", ".*.*.*.*x"];

    private static readonly string[] Filters =
    [
        string.Join(" and ", Enumerable.Repeat(".a", 2_000)), string.Concat(Enumerable.Repeat(".a == .b or ", 1_000)) + "1", string.Concat(Enumerable.Repeat("2 in .c or ", 1_000)) + "1",
        new string('(', 3_000) + "1" + new string(')', 3_000), string.Join("**", Enumerable.Repeat("9", 1_000)), string.Concat(Enumerable.Repeat("not ", 2_000)) + ".a",
    ];

    // Commands that stop, block or reconfigure the server, or whose purpose is to take time.
    private static readonly string[] Excluded = ["shutdown", "save", "bgsave", "bgrewriteaof", "replicaof", "slaveof", "failover", "debug", "migrate", "monitor", "sync", "psync", "replconf", "wait", "waitaof", "quit", "multi", "exec", "discard", "watch", "hello", "auth", "reset", "select", "swapdb", "flushall", "flushdb"];
    private static readonly string[] ExcludedGroups = ["config", "client", "acl", "cluster", "module", "backup"];

    [Fact]
    public async Task Hostile_sizes_are_answered_and_bounded()
    {
        await using FuzzedServer server = await FuzzedServer.StartAsync("epoll");
        Command[] commands = [.. server.Server.Engine.Commands.All.Where(IsAttacked)];
        using RedKiteSession client = server.Server.CreateSession();
        using RedKiteSession witness = server.Server.CreateSession();
        client.Reply.RepeatedBytesMax = RepeatedBytesMax;
        int rounds = 0;
        await FuzzRun.RunAsync(GateRounds, seed =>
        {
            if (rounds++ % RoundsBetweenFills == 0) Fill(witness);
            var random = new Random(seed);
            string[] request = Request(commands, random);
            Exception? failure = null;
            var attack = new Thread(() => failure = RecordOf(() => Attack(client, request, random))) { IsBackground = true };
            attack.Start();
            if (!attack.Join(HangMs)) throw new FuzzFailureException($"No answer to {Shown(request)}");
            if (failure is not null) throw new FuzzFailureException($"{failure.Message}\n{Shown(request)}", failure);
            if (witness.Execute("PING").Text != "PONG" || server.Server.Failure is not null) throw new FuzzFailureException($"No PONG after {Shown(request)}");
            return Task.CompletedTask;
        });
        Assert.NotEmpty(commands);
    }

    private static Exception? RecordOf(Action action)
    {
        try
        {
            action();
            return null;
        }
#pragma warning disable CA1031 // Told with its request.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            return failure;
        }
    }

    private static void Attack(RedKiteSession client, string[] request, Random random)
    {
        UnitWork work = client.UnitWork;
        (long steps, long patterns, long messages) = (work.Taken, work.Patterns.Taken, work.MessagePatterns.Taken);
        int times = random.Next(2) == 0 ? 1 : 10;
        byte[] encoded = Encode(request);
        byte[][] sent = random.Next(5) switch
        {
            0 => [Encode("MULTI"), .. Enumerable.Range(0, times).Select(_ => (byte[])encoded.Clone()), Encode("EXEC")], // read in place, and changed
            1 => [Encode(["EVAL", "for i = 1, tonumber(ARGV[1]) do redis.pcall(unpack(ARGV, 2)) end", "0", times.ToString(CultureInfo.InvariantCulture), .. request])],
            _ => [encoded],
        };
        long allocated = GC.GetAllocatedBytesForCurrentThread();
        foreach (byte[] each in sent) Send(client, each);
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        if (allocated > AllocatedBytesMax) throw new FuzzFailureException($"{allocated} bytes were allocated");

        // Each command is bounded, and all of a unit together; the last one may take what one command may.
        Check("steps", work.Taken - steps, UnitWork.StepsMax + UnitWork.CommandStepsMax);
        Check("steps of patterns", work.Patterns.Taken - patterns, GlobBudget.StepsMax + LongestClass);
        Check("steps of subscribed patterns", work.MessagePatterns.Taken - messages, GlobBudget.StepsMax + LongestClass);
        client.Reset();
    }

    private static void Send(RedKiteSession client, byte[] request)
    {
        try
        {
            int executed = client.Execute(request, new NoReplies());
            if (executed != request.Length) throw new FuzzFailureException($"{executed} of {request.Length} bytes were executed");
        }
        catch (InsufficientMemoryException)
        {
            // The reply is larger than allowed: a connection would be closed.
        }
    }

    private static void Check(string what, long taken, long max)
    {
        if (taken > max) throw new FuzzFailureException($"{taken} {what} were taken, of {max}");
    }

    private static byte[] Encode(params string[] request) => CommandLine.Encode([.. request.Select(Encoding.Latin1.GetBytes)]);

    private static bool IsAttacked(Command command) =>
        command.Subcommands.Length == 0 && !Excluded.Contains(command.FullName) && !ExcludedGroups.Contains(command.FullName.Split('|')[0])
        && !command.Is(CommandFlags.Blocking) && !command.FullName.Contains("subscribe", StringComparison.Ordinal) && !command.FullName.StartsWith("script|", StringComparison.Ordinal);

    private static string[] Request(Command[] commands, Random random)
    {
        if (random.Next(3) == 0) return Known(random);
        Command command = Pick(commands, random);
        List<string> request = [.. command.FullName.Split('|')];
        int count = Math.Abs(command.Arity) + (command.Arity < 0 ? random.Next(6) : 0);
        string[] words = [.. command.Doc.Syntax.Split(' ', '[', ']', '|', '<', '>', '(', ')').Where(word => word.Length > 1 && word.All(c => char.IsAsciiLetterUpper(c) || c == '-')).Distinct()];
        if (request.Count < count && command.FirstKey > 0) request.Add(Pick(Keys, random));
        while (request.Count < count) request.Add(Argument(words, random));
        return [.. request];
    }

    // What is known to have two sizes.
    private static string[] Known(Random random)
    {
        string pattern = Pick(Patterns, random);
        string number = Pick(Numbers, random);
        return random.Next(30) switch
        {
            0 => ["KEYS", pattern],
            1 => ["SCAN", "0", "MATCH", pattern, "COUNT", number],
            2 => ["HSCAN", "hash", "0", "MATCH", pattern, "COUNT", number],
            3 => ["SSCAN", "set", "0", "MATCH", pattern, "COUNT", number],
            4 => ["ZSCAN", "zset", "0", "MATCH", pattern],
            5 => ["PUBSUB", "CHANNELS", pattern],
            6 => ["CONFIG", "GET", pattern, Pick(Patterns, random)],
            7 => ["COMMAND", "LIST", "FILTERBY", "PATTERN", pattern],
            8 => ["ARGREP", "array", "-", "+", .. (string[])(random.Next(2) == 0 ? ["RE", Pick(Expressions, random)] : ["GLOB", pattern])],
            9 => ["VSIM", "vector", "ELE", "e1", "FILTER", Pick(Filters, random), .. (string[])(random.Next(2) == 0 ? ["TRUTH"] : [])],
            10 => ["LCS", "large", "large"],
            11 => ["SORT", "list", "BY", new string('w', random.Next(2) == 0 ? 5 : 50_000) + "*", .. Enumerable.Repeat("GET", random.Next(3) == 0 ? 200 : 2).SelectMany(word => (string[])[word, "x*"])],
            12 => ["SINTER", .. Enumerable.Repeat("set", random.Next(2) == 0 ? 2 : 5_000)],
            13 => ["BITOP", "OR", "d", .. Enumerable.Repeat("large", random.Next(2) == 0 ? 2 : 500)],
            14 => ["PFCOUNT", .. Enumerable.Repeat("hll", 2_000)],
            15 => ["SRANDMEMBER", "set", number],
            16 => ["HRANDFIELD", "hash", number, .. (string[])(random.Next(2) == 0 ? ["WITHVALUES"] : [])],
            17 => ["ZRANDMEMBER", "zset", number, .. (string[])(random.Next(2) == 0 ? ["WITHSCORES"] : [])],
            18 => ["VRANDMEMBER", "vector", number],
            19 => ["SDIFF", "set", .. Missing(random)],
            20 => ["ZDIFF", "5000", "zset", .. Enumerable.Range(0, 4_999).Select(i => $"missing{i}")],
            21 => ["BITOP", Pick(["AND", "OR", "XOR", "ONE", "DIFF", "ANDOR"], random), "d", "large", .. Missing(random)],
            22 => ["ACL", "DRYRUN", "limited", "MGET", .. Enumerable.Repeat(new string('a', 300), 2_000)],
            23 => ["LATENCY", "HISTOGRAM", .. Enumerable.Repeat("set", random.Next(2) == 0 ? 2 : 5_000)],
            24 => ["XREADGROUP", "GROUP", "e1", "c", "CLAIM", "0", "STREAMS", .. Enumerable.Repeat("stream", 1_000), .. Enumerable.Repeat(">", 1_000)],
            25 => ["PUBLISH", Pick(Keys, random), "m"],
            26 => ["LPOS", "list", "x", "RANK", number, "COUNT", Pick(Numbers, random), "MAXLEN", Pick(Numbers, random)],
            27 => ["XADD", "stream", "MAXLEN", "~", number, "LIMIT", Pick(Numbers, random), "*", "a", "b"],
            28 => ["GEOSEARCH", "geo", "FROMLONLAT", "0", "0", "BYBOX", number, Pick(Numbers, random), "km", "COUNT", Pick(Numbers, random)],
            _ => ["FUNCTION", "LIST", "LIBRARYNAME", pattern],
        };
    }

    private static IEnumerable<string> Missing(Random random) => Enumerable.Range(0, random.Next(2) == 0 ? 2 : 5_000).Select(i => $"missing{i}");

    private static string Argument(string[] words, Random random) => random.Next(20) switch
    {
        < 7 => Pick(Numbers, random),
        < 10 when words.Length > 0 => Pick(words, random),
        < 13 => Pick(Keys, random),
        13 or 14 => Pick(Patterns, random),
        15 => Pick(Expressions, random),
        16 => Pick(Filters, random),
        17 => Pick(["", "-", "+", "(", "[a", "*", "$", "0-0", "\0\xff", new string('a', 50_000)], random),
        _ => $"e{random.Next(10)}",
    };

    private static void Fill(RedKiteSession client)
    {
        string text = new('a', 2_000);
        client.Execute("FLUSHALL");
        client.Execute(["ACL", "SETUSER", "limited", "reset", "on", "+@all", .. Enumerable.Range(0, 100).Select(i => $"~{string.Concat(Enumerable.Repeat("*a", 20))}{i}b")]);
        client.Execute("SET", "string", "v");
        client.Execute("SETRANGE", "large", "200000", "x");
        client.Execute("SET", "number", "9223372036854775807");
        client.Execute("SET", Keys[^1], "v");
        client.Execute(["RPUSH", "list", .. Enumerable.Range(0, 1_000).Select(i => $"{i}")]);
        client.Execute(["HSET", "hash", .. Enumerable.Range(0, 100).SelectMany(i => (string[])[text + i, "v"])]);
        client.Execute(["SADD", "set", .. Enumerable.Range(0, 100).Select(i => text + i)]);
        client.Execute(["ZADD", "zset", .. Enumerable.Range(0, 100).SelectMany(i => (string[])[$"{i}", text + i])]);
        client.Execute("XADD", "stream", "*", "a", "b");
        client.Execute("XGROUP", "CREATE", "stream", "e1", "0");
        client.Execute("PFADD", "hll", "a", "b");
        client.Execute("GEOADD", "geo", "13", "38", "e1");
        client.Execute(["ARSET", "array", "0", .. Enumerable.Repeat(string.Concat(Enumerable.Repeat("ab", 500)), 5)]);
        for (int i = 0; i < 4; i++) client.Execute("VADD", "vector", "VALUES", "2", $"{i}", "1", $"e{i}", "SETATTR", $"{{\"a\":\"{new string('1', 20_000)}\",\"b\":3,\"c\":[{string.Join(',', Enumerable.Repeat("2", 5_000))}]}}");
    }

    private static string Shown(string[] request) => FuzzedServer.Shown(CommandLine.Encode([.. request.Select(Encoding.Latin1.GetBytes)]));

    // Takes replies and drops them.
    private sealed class NoReplies : IBufferWriter<byte>
    {
        private readonly byte[] _part = new byte[64 << 10];

        public void Advance(int count)
        {
        }

        public Memory<byte> GetMemory(int sizeHint = 0) => sizeHint <= _part.Length ? _part : new byte[sizeHint];

        public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
    }

    private static T Pick<T>(T[] choices, Random random) => choices[random.Next(choices.Length)];
}
