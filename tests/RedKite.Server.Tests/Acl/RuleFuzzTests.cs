using RedKite.Server.Acl;
using RedKite.Server.Config;
using RedKite.Server.Model;

namespace RedKite.Server.Tests.Acl;

/// <summary>
/// Random rules: none may throw, a user is changed as a whole or not at all, and what is shown, in ACL LIST, in the file and in
/// redis.conf, gives the same user again.
/// </summary>
public sealed class RuleFuzzTests
{
    private const int Rounds = 20_000;
    private const string Letters = "+-@~%&()<>#!|*?[]\\RWrw~ abc:0\"'\u0001\u00ff\t\0";

    private static readonly string[] Words =
    [
        "on", "off", "nopass", "resetpass", "reset", "clearselectors", "allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands", "sanitize-payload",
        "skip-sanitize-payload", ">p", "<p", ">\"", "#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "+get", "-get", "+get|a", "+select|0", "+config|get", "-config", "-config|set", "+@all", "-@all",
        "+@read", "-@dangerous", "+acl|whoami", "~a*", "~*", "%R~b", "%W~b", "%RW~c", "&c", "&*", "(", ")", "(+get", "~x)", "(+@all ~k %R~l)", "(-get)", "~\"q", "&'q", "~a\\b", "+client|id",
    ];

    [Fact]
    public async Task Shown_rules_give_the_same_user()
    {
        int seed = int.TryParse(Environment.GetEnvironmentVariable("REDKITE_SEED"), out int given) ? given : Random.Shared.Next();
        var random = new Random(seed);
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }, TestContext.Current.CancellationToken);
        UserRegistry users = server.Engine.Users;
        int applied = 0, refused = 0;
        for (int round = 0; round < Rounds; round++)
        {
            string[] words = [.. Enumerable.Range(0, random.Next(1, 7)).Select(_ => random.Next(4) == 0 ? Noise() : Words[random.Next(Words.Length)])];
            string before = Describe("u");
            if (users.Set("u", words) is not null)
            {
                Assert.Equal(before, Describe("u"));
                refused++;
                continue;
            }

            applied++;
            string shown = Describe("u");
            Assert.Null(users.Set("v", ["reset", .. shown.Split(' ')[1..]]));
            Assert.True(shown[1..] == Describe("v")[1..], $"REDKITE_SEED={seed}: {string.Join(' ', words)}\n{shown}\n{Describe("v")}");
            Assert.Null(users.Set("v", ["reset", "resetchannels", "-@all"]));
            Assert.Equal(Compiled("u"), CompiledOf(shown));
            Assert.True(ConfigLine.TrySplit(UserDeclarations.LinesOf(server.Engine.Configuration, server.Engine.Users)![1], out List<string> read));
            Assert.Equal(shown, string.Join(' ', read[1..]));
        }

        Assert.InRange(applied, 2000, Rounds);
        Assert.InRange(refused, 2000, Rounds);

        string Describe(string name) => users.Find(name)?.Describe() ?? "";

        string Noise() => new([.. Enumerable.Range(0, random.Next(1, 8)).Select(_ => Letters[random.Next(Letters.Length)])]);

        // What every command is worth to the user: bits, keys, channels.
        string Compiled(string name) => Verdicts(users.Find(name)!);

        string CompiledOf(string text)
        {
            UserRules rules = users.NewRules("w");
            Assert.True(UserRules.MergeSelectors(text.Split(' ')[1..], out List<string> merged, out _));
            Assert.Null(rules.Apply(merged, out _));
            return Verdicts(rules);
        }
    }

    private static string Verdicts(UserRules rules)
    {
        if (rules.Compile() is null) return "everything";
        IEnumerable<PermissionSelector> selectors = ((IEnumerable<SelectorRules>)[rules.Own, .. rules.Selectors]).Select(selector => selector.Compile());
        return string.Join('/', selectors.Select(selector => string.Concat(Commands.CommandRows.Table.All.Select(command => selector.Allows(command) ? '1' : '0'))
            + string.Concat(((string[])["a", "ab", "b", "c", "k", "l", "x"]).Select(key => (Allows(selector, key, KeyAccess.Read) ? 'r' : '-', Allows(selector, key, KeyAccess.Write) ? 'w' : '-')))
            + (AllowsChannel(selector) ? 'c' : '-')));
    }

    private static bool Allows(PermissionSelector selector, string key, KeyAccess access)
    {
        long steps = AccessPattern.RequestStepsMax;
        return selector.AllowsKey(System.Text.Encoding.ASCII.GetBytes(key), access, ref steps);
    }

    private static bool AllowsChannel(PermissionSelector selector)
    {
        long steps = AccessPattern.RequestStepsMax;
        return selector.AllowsChannel("c"u8, isPattern: false, ref steps);
    }
}
