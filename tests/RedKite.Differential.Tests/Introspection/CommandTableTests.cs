using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>
/// COMMAND and COMMAND DOCS of every row equal those of Redis 8: flags, categories, tips, key specifications, versions,
/// deprecations and argument trees. Sentences are RedKite's own.
/// </summary>
public sealed partial class CommandTableTests(IntrospectionServers servers) : IClassFixture<IntrospectionServers>
{
    // Complexities that Redis explains at length and RedKite in its own words. They still name no other order than Redis does.
    private static readonly string[] ComplexityInOwnWords =
    [
        "append", "dump", "getrange", "restore", "restore-asking", "setrange", "substr", "xadd", "xclaim", "xdel", "xgroup|destroy",
        "xpending", "xrange", "xreadgroup", "xrevrange", "xtrim",
    ];

    // What is as in Redis 8.6 (NewerIntrospectionTests). Vector sets' commands, in capitals, have a number of arguments and documentation there.
    private static readonly string[] AsInRedis86 = ["psubscribe flags", "ssubscribe flags", "subscribe flags"];

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Command_info_of_every_row_matches_redis(int protocol)
    {
        Assert.SkipWhen(OracleProgram.Redis8TooOld is not null, OracleProgram.Redis8TooOld ?? "");
        (RespConnection oracle, RespConnection subject) = servers.Connect(protocol);
        using (oracle)
        using (subject)
        {
            Dictionary<string, Dictionary<string, string>> rows = CommandEntries.Info(subject);
            Assert.InRange(rows.Count, 200, 1000);
            AssertNone(CommandEntries.Differences(CommandEntries.Info(oracle), rows).Where(difference => !IsAsInRedis86(difference, "arity")));
        }
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Command_docs_of_every_row_match_redis(int protocol)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect(protocol);
        using (oracle)
        using (subject)
        {
            Dictionary<string, Dictionary<string, string>> rows = CommandEntries.Docs(subject);
            Assert.InRange(rows.Count, 200, 1000);
            List<string> differences = [.. CommandEntries.Differences(CommandEntries.Docs(oracle), rows).Where(difference => !IsAsInRedis86(difference, "fields", "summary", "since", "arguments"))];
            AssertNone(differences.Where(difference => !ComplexityInOwnWords.Any(name => difference.StartsWith($"{name} complexity\n", StringComparison.Ordinal))));
            Assert.Equal(ComplexityInOwnWords.Order(StringComparer.Ordinal), differences.Select(difference => difference.Split(' ')[0]).Order(StringComparer.Ordinal));
        }
    }

    [Fact]
    public void Reworded_complexities_have_the_same_orders()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            Dictionary<string, string> expected = CommandEntries.Field(oracle, "complexity");
            Dictionary<string, string> actual = CommandEntries.Field(subject, "complexity");
            foreach (string name in ComplexityInOwnWords)
            {
                string[] orders = [.. Orders(actual[name])];
                Assert.NotEmpty(orders);
                Assert.Empty(orders.Except(Orders(expected[name])));
            }
        }
    }

    [Fact]
    public void Every_row_has_a_summary_in_its_own_words()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            Dictionary<string, string> theirs = CommandEntries.Field(oracle, "summary");
            Dictionary<string, string> ours = CommandEntries.Field(subject, "summary");
            Assert.Equal(CommandEntries.Info(subject).Keys.Order(StringComparer.Ordinal), ours.Keys.Order(StringComparer.Ordinal));
            AssertNone(ours.Where(row => !Sentence().IsMatch(row.Value)).Select(row => $"{row.Key}: not a sentence: {row.Value}"));

            // Short descriptions of simple commands coincide; long ones do not by chance.
            AssertNone(ours.Where(row => row.Value.Length > 60 && row.Value == theirs.GetValueOrDefault(row.Key)).Select(row => $"{row.Key}: the same words: {row.Value}"));
        }
    }

    [Fact]
    public void Comparison_sees_every_part()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            Dictionary<string, Dictionary<string, string>> info = CommandEntries.Info(oracle);
            Assert.Equal(
                ["arity", "categories", "first key", "flags", "keys", "last key", "name", "shape", "step", "subcommands", "tips"],
                info["set"].Keys.Order(StringComparer.Ordinal));
            Dictionary<string, Dictionary<string, string>> docs = CommandEntries.Docs(oracle);
            Assert.Equal(
                ["arguments", "complexity", "deprecated_since", "doc_flags", "fields", "group", "replaced_by", "since", "summary"],
                docs["getset"].Keys.Order(StringComparer.Ordinal));
            Assert.Equal("~*2 $2.6.12 *2 $6.0.0 *2 $6.2.0 *2 $7.0.0", docs["set"]["history"]);

            foreach (Dictionary<string, Dictionary<string, string>> entries in (Dictionary<string, Dictionary<string, string>>[])[info, docs])
            {
                foreach (string part in entries["set"].Keys)
                {
                    Dictionary<string, string> changed = new(entries["set"]) { [part] = "other" };
                    Assert.Single(CommandEntries.Differences(entries, new() { ["set"] = changed }));
                    changed.Remove(part);
                    Assert.Single(CommandEntries.Differences(entries, new() { ["set"] = changed }));
                }
            }
        }
    }

    private static bool IsAsInRedis86(string difference, params string[] partsOfModules)
    {
        string[] words = difference.Split(' ', '\n');
        return AsInRedis86.Contains($"{words[0]} {words[1]}") || (char.IsAsciiLetterUpper(words[0][0]) && partsOfModules.Contains(words[1]));
    }

    private static void AssertNone(IEnumerable<string> differences)
    {
        string[] lines = [.. differences];
        Assert.True(lines.Length == 0, $"{lines.Length} differences\n{string.Join('\n', lines)}");
    }

    private static IEnumerable<string> Orders(string complexity) => Order().Matches(complexity).Select(order => order.Value);

    // O(N), O(log(N)+M), O(N*M*log(N)).
    [GeneratedRegex(@"O\((?:[^()]|\([^()]*\))*\)")]
    private static partial Regex Order();

    [GeneratedRegex(@"^[A-Z].*\.$")]
    private static partial Regex Sentence();
}
