using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Vector sets against Redis 8.6, whose filters and EPSILON differ from those of 8.0: every reply that chance has no part in. Scores and components may differ in their last digits, because sums are
/// added in another order; links and levels are drawn.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class VectorSetTests(TranscriptServers servers, VectorSetTests.NewerOracle newer) : TranscriptTests(servers), IClassFixture<VectorSetTests.NewerOracle>
{
    private const double Tolerance = 1e-5;

    private static readonly string[] Arguments =
    [
        "VADD", "vadd k", "VADD k VALUES 2 1 2", "VADD k VALUES 2 1 a e", "VADD k VALUES 0 e", "VADD k VALUES 0 1 1 e", "VADD k VALUES x 1 1 e",
        "VADD k VALUES 3 1 1 e", "VADD k VALUES -1 1 1 e", "VADD k FP32 abc e", "VADD k FP32 '' e", "VADD k3 foo aaaa e", "VADD k3 REDUCE x VALUES 2 1 1 e",
        "VADD k3 REDUCE 0 VALUES 2 1 1 e", "VADD k3 REDUCE -1 VALUES 2 1 1 e", "VADD k3 REDUCE 3 VALUES 2 1 1 e", "VADD k3 REDUCE 2 VALUES 2 1 1 e",
        "VADD k3 REDUCE 1 VALUES 2 1 1 f", "VADD k3 VALUES 2 1 1 f", "VADD k3 VALUES 3 1 1 1 f", "VADD k3 REDUCE 3 VALUES 3 1 1 1 f", "VADD k3 VALUES 1 1 f",
        "VDIM k3", "VADD k4 VALUES 2 1 1 e FOO", "VADD k4 VALUES 2 1 1 e EF", "VADD k4 VALUES 2 1 1 e EF 0", "VADD k4 VALUES 2 1 1 e EF x",
        "VADD k4 VALUES 2 1 1 e EF 1000001", "VADD k4 VALUES 2 1 1 e EF 1000000", "VADD k4 REDUCE 1 VALUES 2 1 1 f", "VADD k4 REDUCE 2 VALUES 3 1 1 1 f",
        "VADD k4 VALUES 2 1 1 e M 3", "VADD k4 VALUES 2 1 1 g M 4", "VADD k4 VALUES 2 1 -1 g M 16", "VADD k5 VALUES 2 1 1 g M 4097", "VADD k5 VALUES 2 1 1 g M 4096",
        "VADD k6 VALUES 2 1 1 g M 4 Q8 BIN", "VADD k6 VALUES 2 1 1 h M 4 BIN Q8", "VADD k6 VALUES 2 1 1 i NOQUANT Q8", "VADD k6 VALUES 2 1 1 i SETATTR",
        "VADD k6 VALUES 2 1 1 i SETATTR {} BIN", "VADD k6 VALUES 3 1 1 1 j BIN M 4", "VADD k6 VALUES 2 nan 1 nn BIN M 4", "VADD k6 VALUES 2 inf 1 nn2 BIN M 4",
        "VADD k6 VALUES 2 1e400 0 nn3 BIN M 4", "VADD k6 VALUES 2 '' 0 nn3 BIN M 4", "VADD k6 VALUES 2 0x10 0 nn4 BIN M 4", "VADD k6 VALUES 2 0 0 nn5 BIN M 4 CAS",
        "VCARD k6", "SET s 1", "VADD s VALUES 2 1 1 e", "VSIM s ELE e", "VCARD s", "VDIM s", "VREM s e", "VEMB s e", "VINFO s", "VLINKS s e", "VRANDMEMBER s", "VISMEMBER s e",
        "VGETATTR s e", "VSETATTR s e x", "VCARD nx", "VDIM nx", "VREM nx e", "VEMB nx e", "VEMB nx e RAW", "VINFO nx", "VLINKS nx e", "VLINKS nx e WITHSCORES", "VRANDMEMBER nx",
        "VRANDMEMBER nx 3", "VRANDMEMBER nx x", "VISMEMBER nx e", "VGETATTR nx e", "VSETATTR nx e x", "VSIM nx ELE e", "VSIM nx VALUES 2 1 1", "VSIM nx VALUES 2 1 x",
        "VSIM nx FOO", "VSIM nx ELE e FOO", "VSIM nx ELE e WITHSCORES", "VSIM k4 ELE nosuch", "VSIM k4 ELE e COUNT 1", "VSIM k4 VALUES 3 1 1 1", "VSIM k4 VALUES 2 1",
        "VSIM k4 VALUES 2 1 x", "VSIM k4 FOO 2 1 x", "VSIM k4", "VSIM k4 ELE", "VSIM k4 VALUES", "VSIM k4 VALUES 2", "VSIM k4 FP32 xx", "VSIM k4 FP32", "VSIM k4 FP32 aaaabbbbc",
        "VSIM k4 ELE e COUNT", "VSIM k4 ELE e COUNT 0", "VSIM k4 ELE e COUNT -1", "VSIM k4 ELE e COUNT x", "VSIM k4 ELE e EF", "VSIM k4 ELE e EF 0", "VSIM k4 ELE e EF x",
        "VSIM k4 ELE e EPSILON", "VSIM k4 ELE e EPSILON x", "VSIM k4 ELE e EPSILON 0", "VSIM k4 ELE e EPSILON -1", "VSIM k4 ELE e EPSILON nan", "VSIM k4 ELE e FILTER",
        "VSIM k4 ELE e FILTER-EF", "VSIM k4 ELE e FILTER-EF -1", "VSIM k4 ELE e FILTER-EF 0", "VSIM k4 ELE e FILTER-EF x", "VSIM k4 ELE e NOPE", "VSIM k3 VALUES 1 1",
        "VSIM k4 VALUES 3 1 1 1 COUNT x", "VREM k4 zz", "VREM k4 g h", "VREM k4 g", "VREM k4 e", "EXISTS k4", "VDIM k4", "VEMB k3 zz", "VEMB k3 e FOO", "VEMB k3 zz RAW RAW", "VLINKS k3 e FOO",
        "VLINKS k3 e WITHSCORES x", "VLINKS k3 zz", "VRANDMEMBER k3 0", "VRANDMEMBER k3 x", "VRANDMEMBER k3 2 3", "VRANDMEMBER k3 5", "VRANDMEMBER k3 -2", "VRANDMEMBER k3",
        "VISMEMBER k3 e", "VISMEMBER k3 zz", "VISMEMBER k3", "VISMEMBER k3 e f", "VSETATTR k3 zz x", "VSETATTR k3 e", "VSETATTR k3 e {\"a\":1}", "VGETATTR k3 e", "VSETATTR k3 e ''",
        "VGETATTR k3 e", "VGETATTR k3 zz", "VGETATTR k3", "VINFO k3 x", "VCARD k3 x", "VDIM k3 x", "TYPE k3", "OBJECT ENCODING k3", "OBJECT REFCOUNT k3", "COPY k3 k9", "RENAME k3 k10",
        "VCARD k10", "SCAN 0 TYPE nosuch", "SORT k10", "GET k10", "LPUSH k10 a", "EXPIRE k10 100", "PERSIST k10", "DEL k10", "EXISTS k10", "UNLINK k6",
        "VADD e VALUES 3 1 2 3 ''", "VISMEMBER e ''", "VADD a VALUES 2 1 2 x SETATTR one", "VADD a VALUES 2 3 4 x", "VGETATTR a x", "VADD a VALUES 2 3 4 x SETATTR ''", "VGETATTR a x",
        "VADD r VALUES 2 1 1 a", "VADD r REDUCE 70000 VALUES 2 1 1 b", "VADD nx REDUCE 70000 VALUES 2 1 1 b", "VSIM r ELE a EF 1000000", "VSIM r ELE a EF 1000001", "VRANGE r", "VRANGE r -",
        "VRANGE r - + x", "VRANGE r + - x", "VRANGE r + -", "VRANGE r - -", "VRANGE r + +", "VRANGE r + a", "VRANGE r a +", "VRANGE r - a", "VRANGE r [ +", "VRANGE r - (", "VRANGE r ( [", "VRANGE r '' +",
        "VRANGE r - ''", "VRANGE r [a [a", "VRANGE r (a +", "VRANGE r - + 0", "VRANGE r - + -1", "VRANGE r - + 1 2", "VRANGE nx - +", "VRANGE s - +", "VRANGE s a +",
        "COMMAND GETKEYS VADD q VALUES 3 1 2 3 g", "COMMAND LIST FILTERBY MODULE nosuch",
    ];

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Replies_and_errors_agree(int protocol)
    {
        using Sides client = ConnectNewer();
        Both(client, $"HELLO {protocol}", compares: false);
        foreach (string line in Arguments) Both(client, line);
    }

    [Fact]
    public void Command_tables_agree()
    {
        using Sides client = ConnectNewer();
        const string Names = "VADD VSIM VREM VDIM VCARD VEMB VGETATTR VSETATTR VINFO VLINKS VRANDMEMBER VISMEMBER VRANGE";
        Both(client, "COMMAND INFO " + Names);
        foreach (string name in Names.Split(' '))
        {
            foreach (string line in (string[])["COMMAND GETKEYS {0}", "COMMAND GETKEYS {0} k", "COMMAND GETKEYS {0} k a b c d e", "ACL DRYRUN default {0} k", "ACL DRYRUN default {0} k a b c d e", "{0}", "{0} k", "{0} k a b c d e f"])
            {
                Both(client, string.Format(CultureInfo.InvariantCulture, line, name));
            }

            // As many as it needs at least are queued.
            Both(client, "MULTI");
            Both(client, $"{name} k");
            Both(client, "DISCARD");
        }
    }

    // Sets so small that a search finds all: what a stream of commands leaves, and what it replies.
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public void Streams_of_commands_agree(int seed)
    {
        using Sides client = ConnectNewer();
        var stream = new VectorStream(new Random(seed));
        for (int i = 0; i < 3_000; i++)
        {
            if (i % 300 == 0) Both(client, "FLUSHALL");
            string[] words = stream.Next();
            RespValue expected = Sorted(words, client.Oracle.Run([.. words.Select(Encoding.Latin1.GetBytes)]));
            RespValue actual = Sorted(words, client.Subject.Run([.. words.Select(Encoding.Latin1.GetBytes)]));
            Assert.True(IsNear(expected, actual, hasTies: false), $"{i}: {string.Join(' ', words.Select(word => $"'{word}'"))}\n    {expected} (oracle)\n    {actual}");
        }

        // Elements of the same score come in any order; what each server draws or numbers is its own.
        static RespValue Sorted(string[] words, RespValue reply)
        {
            if (!reply.IsAggregate) return reply;
            if (words[0] == "VINFO") return RespValue.Aggregate('*', [.. reply.Items.Chunk(2).Where(pair => pair[0].Text is not ("max-level" or "vset-uid")).SelectMany(pair => pair)]);
            if (words[0] != "VSIM") return reply;
            int width = 1 + (words.Contains("WITHSCORES") ? 1 : 0) + (words.Contains("WITHATTRIBS") ? 1 : 0);
            return RespValue.Aggregate('*', [.. reply.Items.Chunk(width).OrderBy(item => item[0].Text, StringComparer.Ordinal).SelectMany(item => item)]);
        }
    }

    // At most M above the lowest level, at most twice M there, and the top is that of the elements that are left.
    [Fact]
    public void Levels_have_at_most_as_many_links_and_sink_with_their_elements()
    {
        const int Count = 400;
        using Sides client = ConnectNewer();
        foreach (RespConnection server in (RespConnection[])[client.Oracle, client.Subject])
        {
            var random = new Random(5);
            for (int i = 0; i < Count; i++) server.Run($"VADD k VALUES 4 {Vector(random, 4)} e{i} M 4 NOQUANT");
            int[] levels = new int[Count];
            for (int i = 0; i < Count; i++)
            {
                IReadOnlyList<RespValue> links = server.Run($"VLINKS k e{i}").Items;
                levels[i] = links.Count - 1;
                for (int level = 0; level < links.Count; level++) Assert.InRange(links[^(level + 1)].Items.Count, level == 0 ? 1 : 0, level == 0 ? 8 : 4);
            }

            Assert.InRange(levels.Max(), 2, 20);
            while (levels.Max() > 0)
            {
                int top = levels.Max();
                Assert.Equal(top, server.Run("VINFO k")["max-level"]!.Number);
                for (int i = 0; i < Count; i++)
                {
                    if (levels[i] != top) continue;
                    server.Run($"VREM k e{i}").IsInteger(1);
                    levels[i] = 0;
                }
            }
        }
    }

    [Theory]
    [InlineData("Q8")]
    [InlineData("NOQUANT")]
    [InlineData("BIN")]
    public void Vectors_scores_and_the_order_of_exact_searches_agree(string quantization)
    {
        const int Dimensions = 40;
        using Sides client = ConnectNewer();
        var random = new Random(4);
        bool hasTies = quantization == "BIN"; // which comes first is chance
        for (int i = 0; i < 200; i++) Both(client, $"VADD k VALUES {Dimensions} {Vector(random, Dimensions)} e{i} {quantization}");
        for (int i = 0; i < 20; i++)
        {
            Both(client, $"VEMB k e{i}");
            Both(client, $"VSIM k ELE e{i} COUNT 5 WITHSCORES TRUTH", hasTies);
            Both(client, $"VSIM k VALUES {Dimensions} {Vector(random, Dimensions)} COUNT 7 WITHSCORES TRUTH", hasTies);
            foreach (string epsilon in (string[])[$"0.{45 + i}", $"0.{20 + i}", "0.5", "1", "1.5"]) Both(client, $"VSIM k ELE e{i} COUNT 200 TRUTH EPSILON {epsilon} WITHSCORES", hasTies);
        }

        Both(client, "HELLO 3", compares: false);
        Both(client, "VSIM k ELE e7 COUNT 5 WITHSCORES TRUTH", hasTies);
        if (quantization != "NOQUANT") Both(client, "VEMB k e3 RAW");
    }

    [Fact]
    public void Filters_agree()
    {
        using Sides client = ConnectNewer();
        Both(client, ["VADD", "k", "VALUES", "2", "1", "2", "e", "SETATTR", """{"n":5,"s":"v5","arr":[1,2,"v3"],"b":true,"nu":null,"o":{"x":1},"e":"","a-b":3,"x_y":4}"""]);
        foreach (string filter in FilterTexts.All) Both(client, ["VSIM", "k", "ELE", "e", "FILTER", filter]);
        foreach ((string attributes, string filter) in FilterTexts.WithAttributes)
        {
            Both(client, ["VSETATTR", "k", "e", attributes]);
            Both(client, ["VSIM", "k", "ELE", "e", "FILTER", filter]);
        }
    }

    // Texts of the parts that filters are made of, in any order: what compiles, where errors are, and what matches.
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Random_filters_agree(int seed)
    {
        string[] parts =
        [
            "1", "0", "2.5", "-3", "\"v5\"", "'5'", ".n", ".s", ".arr", ".nope", "[1,2]", "[]", "['v5',5]", "(", ")", "(", ")", "not", "!", "and", "or", "&&", "||", "in", "==", "!=",
            "<", ">=", "+", "-", "*", "/", "%", "**", " ", " ", "  ", "x", "=", ",", "]", ".", "~", "5e1", "e", "\"", "[",
            "null", "'v'", "''",
        ];
        using Sides client = ConnectNewer();
        var random = new Random(seed);
        Both(client, ["VADD", "k", "VALUES", "2", "1", "2", "e", "SETATTR", """{"n":5,"s":"v5","arr":[1,"v5",5]}"""]);
        for (int i = 0; i < 3_000; i++)
        {
            // Half of them alternate between values and operators, so that many are valid.
            var text = new StringBuilder();
            int length = random.Next(1, 12);
            for (int j = 0; j < length; j++)
            {
                string part = i % 2 == 0 ? parts[random.Next(parts.Length)] : j % 2 == 0 ? parts[random.Next(13)] : parts[random.Next(17, 32)];
                text.Append(part);
                if (random.Next(2) == 0) text.Append(' ');
            }

            Both(client, ["VSIM", "k", "ELE", "e", "FILTER", text.ToString()]);
        }
    }

    [Theory]
    [InlineData("Q8", "")]
    [InlineData("NOQUANT", "")]
    [InlineData("BIN", "")]
    [InlineData("Q8", "REDUCE 10 ")]
    public void Each_server_restores_the_others_dump(string quantization, string reduce)
    {
        const int Dimensions = 30;
        using Sides client = Connect();
        var random = new Random(5);
        for (int i = 0; i < 300; i++)
        {
            string attributes = i % 3 == 0 ? $" SETATTR '{{\"n\":{i}}}'" : "";
            Both(client, $"VADD k {reduce}VALUES {Dimensions} {Vector(random, Dimensions)} e{i} {quantization}{attributes}");
        }

        Both(client, "VREM k e7");
        foreach ((RespConnection from, RespConnection to) in ((RespConnection, RespConnection)[])[(client.Oracle, client.Subject), (client.Subject, client.Oracle)])
        {
            byte[] dump = from.Run("DUMP k").Payload!;
            to.Run("RESTORE"u8.ToArray(), "copy"u8.ToArray(), "0"u8.ToArray(), dump, "REPLACE"u8.ToArray()).IsOk();
            foreach (string line in (string[])["VCARD {0}", "VDIM {0}", "VEMB {0} e5", "VEMB {0} e5 RAW", "VGETATTR {0} e6", "VSIM {0} ELE e9 COUNT 8 TRUTH WITHSCORES", "VSIM {0} ELE e9 COUNT 300 EF 300", "VSIM {0} ELE e9 FILTER .n<100 COUNT 20 EF 300", "VISMEMBER {0} e7"])
            {
                RespValue expected = from.Run(string.Format(CultureInfo.InvariantCulture, line, "k"));
                RespValue actual = to.Run(string.Format(CultureInfo.InvariantCulture, line, "copy"));
                Assert.True(IsNear(expected, actual, hasTies: quantization == "BIN"), $"{line}: {expected} / {actual}");
            }

            // Its graph is whole: elements are removed and added.
            for (int i = 100; i < 200; i++) to.Run($"VREM copy e{i}").IsInteger(1);
            Assert.False(to.Run($"VADD copy {reduce}VALUES {Dimensions} {Vector(random, Dimensions)} new {quantization}").IsError);
            Assert.Equal("new", to.Run("VSIM copy ELE new COUNT 1").Items[0].Text);
        }
    }

    private Sides ConnectNewer()
    {
        var sides = new Sides(newer.Server.Connect(), RespConnection.Connect(Pair.Subject.Port));
        sides.Oracle.Run("FLUSHALL").IsOk();
        return sides;
    }

    private Sides Connect() => new(RespConnection.Connect(Pair.Oracle.Port), RespConnection.Connect(Pair.Subject.Port));

    private static string Vector(Random random, int dimensions) =>
        string.Join(' ', Enumerable.Range(0, dimensions).Select(_ => (random.NextDouble() - 0.5).ToString("F6", CultureInfo.InvariantCulture)));

    private static void Both(Sides client, string line, bool hasTies = false, bool compares = true) => Both(client, [.. CommandLine.Split(line).Select(Encoding.Latin1.GetString)], hasTies, compares);

    private static void Both(Sides client, string[] words, bool hasTies = false, bool compares = true)
    {
        byte[][] command = [.. words.Select(Encoding.Latin1.GetBytes)];
        RespValue expected = client.Oracle.Run(command);
        RespValue actual = client.Subject.Run(command);
        if (compares) Assert.True(IsNear(expected, actual, hasTies), $"{string.Join(' ', words)}\n    {expected} (oracle)\n    {actual}");
    }

    // Numbers may differ a little, whether they are doubles or, in RESP2, strings.
    // With ties, any name is as good as another.
    private static bool IsNear(RespValue expected, RespValue actual, bool hasTies)
    {
        if (expected.Equals(actual)) return true;
        if (expected.Marker != actual.Marker || expected.Items.Count != actual.Items.Count) return false;
        if (expected.Items.Count > 0) return expected.Items.Zip(actual.Items).All(pair => IsNear(pair.First, pair.Second, hasTies));
        if (hasTies && expected.Text.StartsWith('e') && actual.Text.StartsWith('e')) return true;
        return expected.Marker is '$' or ',' && double.TryParse(expected.Text, CultureInfo.InvariantCulture, out double first)
            && double.TryParse(actual.Text, CultureInfo.InvariantCulture, out double second) && Math.Abs(first - second) <= Tolerance;
    }

    /// <summary>Redis 8.6, for all tests of the class.</summary>
    public sealed class NewerOracle : IDisposable
    {
        private ServerProcess? _server;

        internal ServerProcess Server
        {
            get
            {
                Assert.SkipWhen(OracleProgram.Redis86 is null, OracleProgram.Redis86Missing);
                return _server ??= ServerProcess.Start(OracleProgram.Redis86!);
            }
        }

        public void Dispose() => _server?.Dispose();
    }

    private sealed record Sides(RespConnection Oracle, RespConnection Subject) : IDisposable
    {
        public void Dispose()
        {
            Oracle.Dispose();
            Subject.Dispose();
        }
    }
}
