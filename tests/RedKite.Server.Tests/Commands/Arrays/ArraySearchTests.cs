using System.Globalization;
using System.Text;
using RedKite.Server.Commands.Arrays;
using RedKite.Server.Tests.Execution.Slices;

namespace RedKite.Server.Tests.Commands.Arrays;

/// <summary>ARGREP. The first tests are the examples of redis.io/commands/argrep.</summary>
public sealed class ArraySearchTests : TranscriptTests
{
    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        Server.Execute(["ARMSET", "log", "0", "boot: ok", "1", "warn: disk", "2", "ERROR: cpu", "3", "info: ready", "4", "error: net"]);
    }

    [Theory]
    [InlineData("- + MATCH error NOCASE", "[2 4]")]
    [InlineData("- + MATCH error NOCASE WITHVALUES", "[[2 ERROR: cpu] [4 error: net]]")]
    [InlineData("0 4 GLOB warn:* OR GLOB error:*", "[1 4]")]
    [InlineData("0 4 RE ^[A-Za-z]+:_(cpu|net)$ NOCASE WITHVALUES", "[[2 ERROR: cpu] [4 error: net]]")]
    [InlineData("0 4 EXACT info:_ready", "[3]")]
    [InlineData("- + MATCH error NOCASE LIMIT 1", "[2]")]
    [InlineData("4 0 MATCH error NOCASE LIMIT 1", "[4]")]
    [InlineData("+ - MATCH :", "[4 3 2 1 0]")]
    [InlineData("3 2 MATCH :", "[3 2]")]
    [InlineData("- + MATCH o AND MATCH b", "[0]")]
    [InlineData("- + EXACT INFO:_READY", "[]")]
    [InlineData("- + EXACT INFO:_READY NOCASE", "[3]")]
    [InlineData("- + GLOB ERROR*", "[2]")]
    [InlineData("- + GLOB ERROR* NOCASE", "[2 4]")]
    [InlineData("- + RE [[:upper:]]{5}", "[2]")]
    [InlineData("- + RE [^[:alpha:]:_]", "[]")]
    [InlineData("- + MATCH ''", "[0 1 2 3 4]")]
    [InlineData("5 18446744073709551614 MATCH :", "[]")]
    public void Elements_are_found(string arguments, string found) => Search("log", arguments).Shows(found);

    [Theory]
    [InlineData("- +", "ERR wrong number of arguments for 'argrep' command")]
    [InlineData("- + NOCASE WITHVALUES", "ERR syntax error")]
    [InlineData("- + EXACT", "ERR wrong number of arguments for 'argrep' command")]
    [InlineData("- + EXACT a MATCH", "ERR syntax error")]
    [InlineData("- + EXACT a AND MATCH b OR", "ERR syntax error")]
    [InlineData("- + EXACT a LIMIT 0", "ERR LIMIT must be a positive integer")]
    [InlineData("- + EXACT a LIMIT x", "ERR LIMIT must be a positive integer")]
    [InlineData("- + RE (", "ERR invalid regular expression")]
    [InlineData("- + RE (a)\\1", "ERR invalid regular expression")]
    [InlineData("- + RE (?=a)", "ERR invalid regular expression")]
    [InlineData("- + RE ((a{900}){900}){900}", "ERR invalid regular expression")]
    public void Mistakes_are_errors(string arguments, string error) => Search("log", arguments).Shows(error);

    [Fact]
    public void Bytes_are_characters()
    {
        Execute("ARSET bytes 0 \u00e9 \u00c9 12 -7 x");
        Search("bytes", "- + RE ^.$").Shows("[0 1 4]");
        Execute("ARGREP bytes - + EXACT \u00e9 NOCASE").Shows("[0]");
        Search("bytes", "- + MATCH 7").Shows("[3]");
        Search("bytes", "- + RE ^[[:digit:]]+$").Shows("[2]");
        Search("bytes", "- + GLOB ?2").Shows("[2]");
        Search("missing", "- + EXACT a").Shows("[]");
    }

    [Fact]
    public void Patterns_and_predicates_have_limits()
    {
        string many = string.Concat(Enumerable.Repeat(" EXACT a", ArrayPredicates.CountMax));
        Search("log", "- +" + many).Shows("[]");
        Search("log", "- + EXACT b" + many).Shows("ERR more than 250 predicates");
        string pattern = new('a', ArrayPredicates.PatternBytesMax);
        Search("log", $"- + RE {pattern}").Shows("[]");
        Search("log", $"- + RE {pattern}a").Shows("ERR a pattern has more than 2048 bytes");
        Search("log", $"- + GLOB {pattern}a").Shows("ERR a pattern has more than 2048 bytes");
        Search("log", "- +" + string.Concat(Enumerable.Repeat($" GLOB {pattern}", 4)) + " GLOB a").Shows("ERR the patterns have more than 8192 bytes");
        Search("log", $"- + MATCH {new string('a', ArrayPredicates.MatchBytesMax + 1)}").Shows("ERR what MATCH looks for has more than 1048576 bytes");
        Run($"ARSET large 0 {new string('a', ArrayPredicates.PatternTextMax + 1)}");
        Search("large", "- + MATCH aa").Shows("[0]");
        Search("large", "- + GLOB a*").Shows("ERR an element of more than 1048576 bytes can't be compared with a pattern");
    }

    // What backtracking would take longer for than there is time.
    [Theory]
    [InlineData("RE ^(a|aa|a?a)*(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")]
    [InlineData("RE ^(([a-z])+.)+[A-Z]([a-z])+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    [InlineData("GLOB *a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    public void Hostile_patterns_take_linear_time(string predicate, string element)
    {
        Run($"ARSET hostile 0 {element}");
        Search("hostile", $"- + {predicate}").Shows("[]");
    }

    // Against the search of .NET, on texts of few letters, in which prefixes come again.
    [Fact]
    public void Needle_agrees_with_a_simple_search()
    {
        var random = new Random(3);
        for (int i = 0; i < 20_000; i++)
        {
            byte[] text = Letters(random, 120);
            byte[] needle = Letters(random, 45);
            bool ignoresCase = random.Next(2) == 0;
            StringComparison comparison = ignoresCase ? StringComparison.OrdinalIgnoreCase : StringComparison.Ordinal;
            bool expected = Encoding.ASCII.GetString(text).Contains(Encoding.ASCII.GetString(needle), comparison);
            Assert.Equal(expected, new ArrayNeedle(needle, ignoresCase).IsIn(text));
        }
    }

    [Theory]
    [InlineData("DEL large", "*0", 1)]
    [InlineData("RENAME large other", "*0", 1)]
    [InlineData("SET large text", "-WRONGTYPE Operation against a key holding the wrong kind of value", 1)]
    [InlineData("ARSET large 0 needle", "*2 :0 :199999", 1)]
    [InlineData("ARDEL large 199999", "*0", 1)]
    [InlineData("ARSEEK large 5", "*1 :199999", 0)]
    [InlineData("SET unrelated text", "*1 :199999", 0)]
    public void Search_begins_again_when_its_array_changes(string change, string reply, int restarts)
    {
        FillLarge();
        using var search = new SlicedCommand(Server.Engine, ["ARGREP", "large", "-", "+", "MATCH", "needle"]);
        Assert.True(search.RunSlice());
        Run(change);
        Assert.Equal(reply, search.RunToEnd()!.ReplaceLineEndings(" "));
        Assert.Equal(restarts, search.Restarts);
    }

    // In a transaction it is done at once.
    [Theory]
    [InlineData("- + MATCH 9999 WITHVALUES")]
    [InlineData("+ - RE ^1.7*7$")]
    [InlineData("150000 10 GLOB *123")]
    public void Search_in_slices_finds_what_it_does_at_once(string arguments)
    {
        FillLarge();
        using RedKiteSession client = Server.CreateSession();
        string[] command = ["ARGREP", "large", .. arguments.Split(' ')];
        client.Execute("MULTI");
        client.Execute(command);
        RedKiteReply atOnce = client.Execute("EXEC").Items[0];
        using var search = new SlicedCommand(Server.Engine, command);
        string[] found = [.. search.RunToEnd()!.Split("\r\n").Where(line => line[0] == ':').Select(line => line[1..])];
        Assert.InRange(search.Slices, 2, 500);
        Assert.NotEmpty(found);
        Assert.Equal(atOnce.Items.Select(item => item.Items.Count > 0 ? item.Items[0].Text : item.Text), found);
    }

    // A pattern that took .NET's automata 1 to 2.4 s for one element, ten times in a transaction.
    [Fact]
    public void Unit_has_a_limit_for_patterns_and_folds()
    {
        Run($"ARSET hostile 0 {string.Concat(Enumerable.Repeat("abxdab", 300))}");
        Run("ARSET numbers 0 " + string.Join(' ', Enumerable.Range(0, 60_000)));
        using RedKiteSession client = Server.CreateSession();
        string[] search = ["ARGREP", "hostile", "-", "+", "RE", "(.*a|.*b|.*ab){300}c"];
        string[] fold = ["AROP", "numbers", "0", "60000", "SUM"];
        Assert.Equal("1799970000", client.Execute(fold).Text); // in slices
        Assert.Empty(client.Execute(search).Items);
        client.UnitWork.Limits = (4 << 20, 8 << 20);
        const string TooLong = "ERR the command takes too long for a transaction or script";
        Assert.Equal([TooLong, TooLong], Exec(search, 2));
        Assert.Equal(["1799970000", "1799970000", TooLong], Exec(fold, 3));
        Assert.Equal("PONG", client.Execute("PING").Text);

        string[] Exec(string[] command, int times)
        {
            client.Execute("MULTI");
            for (int i = 0; i < times; i++) client.Execute(command);
            return [.. client.Execute("EXEC").Items.Select(item => item.Text ?? "")];
        }
    }

    // 64 elements of 100 KB took minutes.
    [Theory]
    [InlineData("ARGREP hostile - + RE (.*a|.*b|.*ab){300}c", true)]
    [InlineData("ARGREP hostile - + GLOB *[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]b", true)]
    [InlineData("ARGREP hostile - + MATCH xyz", false)]
    [InlineData("ARGREP hostile - + MATCH xyz GLOB *xyz", false)]
    [InlineData("AROP hostile 0 300000 SUM", false)]
    public void Search_in_slices_has_a_limit_beyond_what_data_explains(string command, bool takesTooLong)
    {
        Run("ARSET hostile 0 " + string.Join(' ', Enumerable.Range(1_000_000, 300_000)));
        using var search = new SlicedCommand(Server.Engine, command.Split(' '));
        ((ArrayWalkWork)search.Client.Work!).ExcessMax = 4 * ArrayWalk.SliceSteps;
        string reply = search.RunToEnd()!;
        Assert.Equal(takesTooLong, reply == "-ERR the command takes too long");
        Assert.InRange(search.Slices, 2, takesTooLong ? 12 : 100);
        Assert.Equal("PONG", Server.Execute("PING").Text);
    }

    // Commands that end within their first slice took as long as there were any.
    [Fact]
    public void Unit_has_a_limit_for_commands_that_end_in_their_first_slice()
    {
        Run("ARSET numbers 0 " + string.Join(' ', Enumerable.Range(0, 20_000)));
        using RedKiteSession client = Server.CreateSession();
        client.UnitWork.Limits = (4 << 20, 6 << 20);
        Assert.InRange(Exec("12000", 100).Count(text => text == "72006000"), 6, 12); // more than half a slice each
        Assert.Equal(1000, Exec("100", 1000).Count(text => text == "5050")); // cheap
        Assert.Contains("takes too long for a transaction or script", client.Execute("EVAL", "for i = 1, 1000 do redis.call('AROP', 'numbers', '0', '12000', 'SUM') end", "1", "numbers").Text, StringComparison.Ordinal);

        string[] Exec(string to, int times)
        {
            client.Execute("MULTI");
            for (int i = 0; i < times; i++) client.Execute("AROP", "numbers", "0", to, "SUM");
            return [.. client.Execute("EXEC").Items.Select(item => item.Text ?? "")];
        }
    }

    // Bytes that are compared count, not elements.
    [Theory]
    [InlineData("ARGREP large - + MATCH xay")]
    [InlineData("ARGREP large - + GLOB *aaaaaaaaaaaaaaaaaaaaaaaab")]
    [InlineData("ARGREP large - + RE a{20}b")]
    public void Search_stops_within_a_large_element(string command)
    {
        Run($"ARSET large 0 {new string('a', 1 << 20)} {new string('a', 1 << 20)}");
        using var search = new SlicedCommand(Server.Engine, command.Split(' '));
        Assert.Equal("*0", search.RunToEnd());
        Assert.InRange(search.Slices, 2, 400); // an instruction of an expression is four steps
    }

    // More than may keep what they have found.
    [Fact]
    public void Searches_wait_for_each_other()
    {
        const int RoundsMax = 100_000;
        FillLarge();
        SlicedCommand[] searches = [.. Enumerable.Range(0, ArrayWalkWork.StoppedMax + 4).Select(_ => new SlicedCommand(Server.Engine, ["ARGREP", "large", "-", "+", "MATCH", "needle"]))];
        int waited = 0;
        for (int round = 0; round < RoundsMax && Array.Exists(searches, search => search.Reply is null); round++)
        {
            foreach (SlicedCommand search in searches) search.RunSlice();
            if (searches[0].Reply is not null && searches[^1].Reply is null) waited++;
        }

        Assert.All(searches, search => Assert.Equal("*1 :199999", search.Reply!.ReplaceLineEndings(" ")));
        Assert.NotEqual(0, waited);
        foreach (SlicedCommand search in searches) search.Dispose();
    }

    // As bytes of Latin-1.
    private RedKiteReply Execute(string line)
    {
        using RedKiteSession client = Server.CreateSession();
        return client.Execute([.. line.Split(' ').Select(word => (ReadOnlyMemory<byte>)Encoding.Latin1.GetBytes(word))]);
    }

    private void FillLarge()
    {
        string[] command = ["ARINSERT", "large", .. Enumerable.Range(0, 199_999).Select(i => i.ToString(CultureInfo.InvariantCulture)), "the needle"];
        Server.Execute(command);
    }

    // Blanks in arguments are written as _.
    private RedKiteReply Search(string key, string arguments) =>
        Server.Execute(["ARGREP", key, .. arguments.Split(' ').Select(word => word == "''" ? "" : word.Replace('_', ' '))]);

    private static byte[] Letters(Random random, int lengthMax)
    {
        byte[] letters = new byte[random.Next(lengthMax)];
        for (int i = 0; i < letters.Length; i++) letters[i] = (byte)("aAb"[random.Next(20) == 0 ? 2 : random.Next(2)]);
        return letters;
    }
}
