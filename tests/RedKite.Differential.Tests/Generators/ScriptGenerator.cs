using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Scripts over the commands of the families: alone, several in a row whose replies are returned together, in loops, with errors that
/// are caught or not, with keys that are declared or not.
/// </summary>
internal static class ScriptGenerator
{
    private static readonly string[] Undetermined = ["RAND", "SCAN", "TTL", "EXPIRETIME", "SPOP", "MEMORY", "OBJECT", "DEBUG", "CONFIG", "SINTER", "SUNION", "SDIFF", "SMEMBERS", "IDLETIME", "LEX", "COMMAND"];

    private static readonly CommandTemplate[] Inside =
    [
        .. new[] { StringGenerator.Family, ListGenerator.Family, BitmapGenerator.Family, SortedSetGenerator.Family, HyperLogLogGenerator.Family }
            .SelectMany(family => family.Templates)
            .Where(template => !Undetermined.Any(word => template.Name.Contains(word, StringComparison.Ordinal))),
    ];

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
        new("by its name", 10, random => Episode.Of(["SCRIPT", "LOAD", "return redis.pcall(unpack(ARGV))"]).Then(["EVALSHA", "b72d50ecdcafd5e07f3fca2060a111de46c547f9", "0", .. Request(random)])),
        new("in a transaction", 10, random => Episode.Of("MULTI").Then(["EVAL", "return redis.pcall(unpack(ARGV))", "0", .. Request(random)]).Then("EXEC")),
    ]);

    // The command's keys are mostly not declared.
    private static Episode Eval(RandomSource random, string script, string command = "EVAL") =>
        random.Chance(30) ? Episode.Of([command, script, "1", random.Key(), .. Request(random)]) : Episode.Of([command, script, "0", .. Request(random)]);

    private static Argument[] Request(RandomSource random)
    {
        while (true)
        {
            // Redis's answers to a negative offset among members by name are an allowed difference, which is told by the command.
            if (Inside[random.Below(Inside.Length)].Generate(random).Commands is [var request] && !request.Any(word => word.AsSpan().SequenceEqual("BYLEX"u8))) return [.. request.Select(word => new Argument(word))];
        }
    }
}
