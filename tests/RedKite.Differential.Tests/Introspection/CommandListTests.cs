using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>COMMAND LIST, COMMAND COUNT and HELP against Redis 8, and the list of what RedKite lacks.</summary>
public sealed class CommandListTests(IntrospectionServers servers) : IClassFixture<IntrospectionServers>
{
    // Containers whose subcommands are rows. DEBUG has none.
    private static readonly string[] Containers = ["ACL", "CLIENT", "COMMAND", "CONFIG", "LATENCY", "MEMORY", "OBJECT", "SLOWLOG", "XGROUP", "XINFO"];

    // Redis's text lacks the bracket at the end.
    private const string UnclosedHelp = "STREAM <key> [FULL [COUNT <count>]";

    [Fact]
    public void Absent_commands_are_exactly_those_listed()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            Dictionary<string, string> groups = CommandEntries.Field(oracle, "group");
            HashSet<string> present = [.. CommandEntries.Info(subject).Keys];
            Assert.All(present.Except(groups.Keys), name => Assert.True(AddedCommands.Contains(name), name));

            // A container that is absent as a whole stands for its subcommands.
            IEnumerable<string> absent = groups.Keys.Where(name => !present.Contains(name) && (!name.Contains('|', StringComparison.Ordinal) || present.Contains(name.Split('|')[0])));
            Assert.Equal(Lines(absent.GroupBy(name => groups[name]).Select(group => (group.Key, (IEnumerable<string>)group))), Lines(AbsentCommands.ByGroup.Select(group => (group.Key, (IEnumerable<string>)group.Value))));
        }

        static IEnumerable<string> Lines(IEnumerable<(string Group, IEnumerable<string> Names)> groups) =>
            groups.Select(group => $"{group.Group}: {string.Join(' ', group.Names.Order(StringComparer.Ordinal))}").Order(StringComparer.Ordinal);
    }

    [Fact]
    public void Counts_and_lists_agree()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            foreach (RespConnection server in (RespConnection[])[oracle, subject])
            {
                long count = server.Run("COMMAND COUNT").Number;
                Assert.Equal(count, server.Run("COMMAND").Items.Count);
                Assert.Equal(count, server.Run("COMMAND INFO").Items.Count);
                Assert.Equal(count * 2, server.Run("COMMAND DOCS").Items.Count);
                Assert.Equal(CommandEntries.Info(server).Keys.Order(StringComparer.Ordinal), Names(server.Run("COMMAND LIST")));
            }
        }
    }

    [Theory]
    [InlineData("COMMAND LIST FILTERBY PATTERN *")]
    [InlineData("COMMAND LIST FILTERBY PATTERN GET*")]
    [InlineData("COMMAND LIST FILTERBY PATTERN client|*")]
    [InlineData("COMMAND LIST FILTERBY PATTERN [xz]?e*")]
    [InlineData("command list filterby pattern nosuch")]
    [InlineData("COMMAND LIST FILTERBY PATTERN ''")]
    [InlineData("COMMAND LIST FILTERBY MODULE nosuch")]
    [InlineData("COMMAND LIST FILTERBY ACLCAT STRING")]
    [InlineData("COMMAND LIST FILTERBY ACLCAT @string")]
    [InlineData("COMMAND LIST FILTERBY ACLCAT nosuch")]
    [InlineData("COMMAND LIST FILTERBY ACLCAT")]
    [InlineData("COMMAND LIST FILTERBY PATTERN a b")]
    [InlineData("COMMAND LIST FILTERBY nosuch a")]
    [InlineData("COMMAND LIST PATTERN get")]
    [InlineData("COMMAND COUNT a")]
    [InlineData("COMMAND nosuch")]
    [InlineData("COMMAND INFO nosuch client|nosuch client| |list get|x a|b|c GET client|LIST")]
    [InlineData("COMMAND GETKEYS")]
    [InlineData("COMMAND GETKEYSANDFLAGS")]
    public void Replies_agree_on_common_commands(string command)
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            Compare(command, oracle, subject);
        }
    }

    [Fact]
    public void Every_category_lists_the_same_common_commands()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            RespValue categories = oracle.Run("ACL CAT");
            Assert.InRange(categories.Items.Count, 21, 100);
            int filled = categories.Items.Count(category => Compare($"COMMAND LIST FILTERBY ACLCAT {category.Text}", oracle, subject) > 0);
            Assert.InRange(filled, 15, categories.Items.Count);
        }
    }

    [Fact]
    public void Help_lists_the_subcommands_in_the_form_of_redis()
    {
        (RespConnection oracle, RespConnection subject) = servers.Connect();
        using (oracle)
        using (subject)
        {
            foreach (string container in Containers)
            {
                RespValue theirs = oracle.Run($"{container} HELP");
                RespValue ours = subject.Run($"{container} HELP");
                Assert.Equal(theirs.Marker, ours.Marker);
                Assert.All(ours.Items, line => Assert.Equal('+', line.Marker));
                Assert.Equal(theirs.Items[0], ours.Items[0]);
                Assert.Equal(["HELP", "    Prints this help."], ours.Items.TakeLast(2).Select(line => line.Text));
                IEnumerable<string> expected = Syntax(theirs).Where(line => !AbsentCommands.Contains(CommandOf(container, line))).Select(line => line == UnclosedHelp ? line + "]" : line);
                Assert.Equal(expected.Order(StringComparer.Ordinal), Syntax(ours).Order(StringComparer.Ordinal));

                // Every subcommand is explained, without the words of Redis.
                Assert.All(Enumerable.Range(1, ours.Items.Count - 2).Where(i => !IsExplanation(ours.Items[i])), i => Assert.True(IsExplanation(ours.Items[i + 1]), ours.Items[i].Text));
            }
        }

        static bool IsExplanation(RespValue line) => line.Text.StartsWith("    ", StringComparison.Ordinal);

        static IEnumerable<string> Syntax(RespValue help) => help.Items.Skip(1).Where(line => !IsExplanation(line)).Select(line => line.Text);

        static string CommandOf(string container, string line) => $"{container}|{line.Split(' ')[0]}".ToLowerInvariant();
    }

    // Compares replies apart from the commands that RedKite lacks, and returns the number of names in the reply.
    private static int Compare(string command, RespConnection oracle, RespConnection subject)
    {
        RespValue expected = oracle.Run(command);
        RespValue actual = subject.Run(command);
        Assert.Equal(expected.Marker, actual.Marker);
        if (expected.IsError || !command.Contains(" LIST ", StringComparison.OrdinalIgnoreCase))
        {
            Assert.Equal(expected, actual);
            return 0;
        }

        HashSet<string> common = [.. CommandEntries.Info(subject).Keys];
        string[] names = [.. Names(expected).Where(common.Contains)];
        Assert.Equal(names, Names(actual).Where(name => !AddedCommands.Contains(name)));
        return names.Length;
    }

    private static string[] Names(RespValue list) => [.. list.Items.Select(name => name.Text).Order(StringComparer.Ordinal)];
}
