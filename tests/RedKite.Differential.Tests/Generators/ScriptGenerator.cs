using System.Globalization;
using System.Text;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Scripts over the commands of the families: alone, several in a row whose replies are returned together, in loops, with errors that
/// are caught or not, with keys that are declared or not.
/// </summary>
internal static class ScriptGenerator
{
    /// <summary>Takes longer than a brief expiry.</summary>
    internal const string Spin = "local start = os.clock() while os.clock() - start < 0.003 do end return 1";

    public static readonly CommandFamily Family = new("scripts",
    [
        new("one command", 60, random => Eval(random, "return redis.call(unpack(ARGV))")),
        new("one command, caught", 40, random => Eval(random, "return redis.pcall(unpack(ARGV))")),
        new("its reply's type", 20, random => Eval(random, "local r = redis.pcall(unpack(ARGV)) return {type(r), tostring(type(r) == 'table' and (r.ok or r.err or #r) or r)}")),
        new("in RESP3", 20, random => Eval(random, "redis.setresp(3) local r = redis.pcall(unpack(ARGV)) return {type(r), type(r) == 'table' and (r.double or r.ok or r.err)}")),
        new("with pcall", 20, random => Eval(random, "local ok, r = pcall(redis.call, unpack(ARGV)) return {tostring(ok), r}")),
        new("twice", 20, random => Eval(random, "local r = {} for i = 1, 2 do r[i] = redis.pcall(unpack(ARGV)) end return r")),
        new("read-only", 20, random => Eval(random, "return redis.call(unpack(ARGV))", "EVAL_RO")),
        new("as JSON", 15, random => Eval(random, "local r = redis.pcall(unpack(ARGV)) if type(r) == 'table' and not (r.ok or r.err) then return cjson.encode(r) end return tostring(type(r))")),
        new("by its name", 10, random => Episode.Of(["SCRIPT", "LOAD", "return redis.pcall(unpack(ARGV))"]).Then(["EVALSHA", "b72d50ecdcafd5e07f3fca2060a111de46c547f9", "0", .. DeterminedCommands.Request(random)])),
        new("an expiry", 20, random => Eval(random, "return redis.pcall(unpack(ARGV))", request: [.. TransactionGenerator.Expiry(random).Commands[0].Select(word => new Argument(word))])),
        new("time stands still", 2, random => Episode.Of("EVAL", "redis.call('SET', 'brief', 'v', 'PX', 1) " + Spin.Replace("return 1", "return redis.call('GET', 'brief')", StringComparison.Ordinal), "0").Then("GET", "brief")),
        new("statements around commands", 80, Generated),
        new("in a transaction", 10, random => Episode.Of("MULTI").Then(["EVAL", "return redis.pcall(unpack(ARGV))", "0", .. DeterminedCommands.Request(random)]).Then("EXEC")),
    ]);

    // The command's keys are mostly not declared.
    private static Episode Eval(RandomSource random, string script, string command = "EVAL", Argument[]? request = null)
    {
        request ??= DeterminedCommands.Request(random);
        return random.Chance(30) ? Episode.Of([command, script, "1", random.Key(), .. request]) : Episode.Of([command, script, "0", .. request]);
    }

    // Statements of all kinds around commands of all families, which collect what these reply.
    private static Episode Generated(RandomSource random)
    {
        var text = new StringBuilder("local r = {}\n");
        for (int i = 1 + random.Below(5); i > 0; i--) AppendStatement(text, random, depth: 0);
        text.Append("return r");
        return Episode.Of(random.Word("EVAL"), text.ToString(), random.Chance(50) ? "0" : "1", random.Key());
    }

    private static void AppendStatement(StringBuilder text, RandomSource random, int depth)
    {
        string call = $"redis.{(random.Chance(80) ? "pcall" : "call")}({Literals(DeterminedCommands.Request(random))})";
        switch (depth > 2 ? 0 : random.Below(9))
        {
            case 1:
                Block($"for i = 1, {random.Below(4)} do", "end");
                break;
            case 2:
                Block($"if {call} then", $"else r[#r + 1] = {random.Below(9)} end");
                break;
            case 3:
                Block("local ok, e = pcall(function()", "end) r[#r + 1] = tostring(ok)");
                break;
            case 4:
                Block($"local n = {random.Below(3)} while n > 0 do n = n - 1", "end");
                break;
            case 5:
                Block("local function f(a, ...) r[#r + 1] = select('#', ...)", $"end f({random.Below(9)}, 'x', nil)");
                break;
            case 6:
                text.Append(CultureInfo.InvariantCulture, $"local v = {call} r[#r + 1] = type(v) == 'table' and #v or tostring(v)\n");
                break;
            case 7:
                text.Append(CultureInfo.InvariantCulture, $"r[#r + 1] = redis.pcall('SET', 'script:' .. {random.Below(3)}, {random.Below(99)} / {1 + random.Below(8)}) r[#r + 1] = redis.call('GET', 'script:' .. {random.Below(3)})\n");
                break;
            default:
                text.Append(CultureInfo.InvariantCulture, $"r[#r + 1] = {call}\n");
                break;
        }

        void Block(string begin, string end)
        {
            text.Append(begin).Append('\n');
            AppendStatement(text, random, depth + 1);
            text.Append(end).Append('\n');
        }
    }

    // Bytes other than letters and digits are written as their numbers.
    private static string Literals(Argument[] words) => string.Join(", ", words.Select(word =>
        "'" + string.Concat(word.Bytes.Select(value => char.IsAsciiLetterOrDigit((char)value) ? ((char)value).ToString() : string.Create(CultureInfo.InvariantCulture, $"\\{value:000}"))) + "'"));
}
