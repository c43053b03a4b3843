using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests;

/// <summary>
/// Requests generated from the server's command table: names with about as many arguments as their arity requires, which
/// are keys, numbers, patterns and the keywords of the command's syntax.
/// </summary>
/// <param name="commands">The server's commands.</param>
/// <param name="only">Those that are generated; null: all.</param>
/// <param name="often">The name of the one that half of the requests are of.</param>
internal sealed class RequestGrammar(CommandTable commands, Func<Command, bool>? only = null, string? often = null)
{
    // Commands that would stop or block the server or break the tests' assumptions: CONFIG SET could set a password, and
    // RESETSTAT would lose which commands were reached.
    private static readonly HashSet<string> Excluded = ["shutdown", "client|pause", "config|set", "config|rewrite", "config|resetstat", "save", "bgsave", "bgrewriteaof", "replicaof", "slaveof", "failover"];

    // DEBUG has no rows for its subcommands. SLEEP and POPULATE are excluded, because they take any amount.
    private static readonly string[] DebugSubcommands = ["object", "protocol", "stringmatch-len", "set-active-expire", "error", "log", "change-repl-id", "reload", "help", "none"];
    private static readonly string[] DebugProtocols = ["string", "integer", "double", "null", "array", "set", "map", "attrib", "push", "verbatim", "true", "false", "bignum"];

    private static readonly string[] Numbers =
    [
        "0", "1", "-1", "2", "10", "100", "-100", "1000000", "2147483647", "2147483648", "-2147483648", "4294967296", "9223372036854775807",
        "-9223372036854775808", "9223372036854775808", "18446744073709551614", "18446744073709551615", "1.5", "-0.1", "3e5", "inf", "-inf", "nan", "1e400", "01", "+1", " 1", "0x1", "",
    ];

    private static readonly string[] Attributes = ["""{"n":5,"s":"v5","arr":[1,"v3"],"b":true}""", """{"n":[[[[""", "{}", "", """{"a":"\\u00""", """{"n":1e999,"s":{"x":[}}}""", """{"n":-,"s":"\""", "[", "1"];

    private static readonly string[] FilterParts = [".n", ".s", "(", ")", " and ", " or ", "not ", "[1,2,\"a\"]", " in ", "==", "!=", "<", ">=", "+", "-", "*", "/", "%", "**", "1", "\"x\"", "'", "[", " ", "5e400", "\xff"];

    private static readonly string[][] AddOptions = [["CAS"], ["EF", "1", "5", "1000000"]];

    // Of a set by its key, so that most commands fit.
    private static readonly string[][] Forms = [["Q8", "M", "4"], ["NOQUANT", "M", "5"], ["BIN", "M", "7"], ["Q8", "M", "4096"], ["NOQUANT"], []];

    private static readonly string[][] SearchOptions =
        [["TRUTH"], ["WITHSCORES"], ["WITHATTRIBS"], ["NOTHREAD"], ["COUNT", "1", "30", "1000000"], ["EF", "1", "7", "1000000"], ["EPSILON", "0.1", "2"], ["FILTER-EF", "0", "1", "9"]];

    private readonly Command[] _commands =
    [
        .. commands.All.Where(command => command.Subcommands.Length == 0 && !Excluded.Contains(command.FullName) && (only is null || only(command))),
    ];

    private readonly Command? _often = often is null ? null : commands.All.First(command => command.Name == often);

    private readonly ConcurrentDictionary<Command, string[]> _words = new(); // several clients of a test generate at once

    /// <summary>The commands of the generated requests.</summary>
    internal IReadOnlyList<Command> Commands => _commands;

    /// <summary>A stream of requests as RESP arrays, some of them inline.</summary>
    internal byte[] Stream(Random random, int requests)
    {
        using var stream = new MemoryStream();
        for (int i = 0; i < requests; i++)
        {
            byte[][] request = Request(random);
            if (random.Next(10) == 0) stream.Write(Encoding.Latin1.GetBytes(CommandLine.Format(request) + (random.Next(2) == 0 ? "\r\n" : "\n")));
            else stream.Write(CommandLine.Encode(request));
        }

        return stream.ToArray();
    }

    private byte[][] Request(Random random)
    {
        Command command = _often is not null && random.Next(2) == 0 ? _often : _commands[random.Next(_commands.Length)];
        if (IsOfVectorSets(command) && (command.Name == "vrandmember" || random.Next(4) > 0)) return command.Name is "vadd" or "vsim" ? VectorRequest(command, random) : ElementRequest(command, random);
        if (random.Next(100) == 0) return [.. Enumerable.Range(0, random.Next(1, 5)).Select(_ => Bytes(random))];

        List<byte[]> request = [];
        string[] names = command.FullName.Split('|');
        foreach (string name in names) request.Add(Encoding.Latin1.GetBytes(random.Next(2) == 0 ? name : name.ToUpperInvariant()));
        if (command.FullName.StartsWith("command|getkeys", StringComparison.Ordinal) && random.Next(4) > 0) return [.. request, .. Request(random)];
        if (command.FullName == "debug")
        {
            request.Add(Text(Pick(DebugSubcommands, random)));
            if (random.Next(2) == 0) return [.. request, Text(random.Next(2) == 0 ? Pick(DebugProtocols, random) : $"key:{random.Next(20)}")];
        }

        int count = Math.Abs(command.Arity);
        if (command.Arity < 0) count += random.Next(random.Next(4) == 0 ? 12 : 4);
        if (random.Next(20) == 0) count += random.Next(-2, 3);
        while (request.Count < count) request.Add(Argument(command, request.Count, random));
        return [.. request];
    }

    /// <summary>Whether it is a command of vector sets.</summary>
    internal static bool IsOfVectorSets(Command command) => command.Module is not null;

    private byte[][] ElementRequest(Command command, Random random)
    {
        List<byte[]> request = [Text(command.Name), Text($"key:{random.Next(20)}")];
        if (command.Name is not ("vinfo" or "vcard" or "vdim" or "vrandmember")) request.Add(Text(command.Name == "vrange" ? Pick(["-", "+", "[e", "(e1", "e"], random) : $"e{random.Next(60)}"));
        if (command.Name == "vsetattr") request.Add(Text(Pick(Attributes, random)));
        if (command.Name == "vrange") request.Add(Text(Pick(["+", "-", "[e3", "(e"], random)));
        if (command.Name == "vrandmember") request.Add(Text(random.Next(-200, 200).ToString(CultureInfo.InvariantCulture))); // a caller in the process takes any
        else if (random.Next(4) == 0) request.Add(Argument(command, request.Count, random));
        return [.. request];
    }

    // With a vector that is one, in few keys, so that sets grow; the options are random.
    private byte[][] VectorRequest(Command command, Random random)
    {
        int key = random.Next(20);
        int dimensions = random.Next(30) == 0 ? random.Next(1, 40) : 1 + (key * 3);
        List<byte[]> request = [Text(command.Name), Text($"key:{key}")];
        if (command.Name == "vadd" && random.Next(30) == 0) request.AddRange([Text("REDUCE"), Text(random.Next(1, 9).ToString(CultureInfo.InvariantCulture))]);
        if (command.Name == "vsim" && random.Next(2) == 0)
        {
            request.AddRange([Text("ELE"), Text($"e{random.Next(60)}")]);
        }
        else if (random.Next(3) == 0)
        {
            byte[] vector = new byte[dimensions * sizeof(float)];
            random.NextBytes(vector);
            request.AddRange([Text("FP32"), vector]);
        }
        else
        {
            request.AddRange([Text("VALUES"), Text(dimensions.ToString(CultureInfo.InvariantCulture))]);
            for (int i = 0; i < dimensions; i++) request.Add(random.Next(80) == 0 ? Text(Pick(Numbers, random)) : Text(random.Next(-9, 10).ToString(CultureInfo.InvariantCulture)));
        }

        if (command.Name == "vadd")
        {
            request.Add(Text($"e{random.Next(60)}"));
            request.AddRange((random.Next(20) == 0 ? Pick(Forms, random) : Forms[key % Forms.Length]).Select(Text));
        }

        for (int options = random.Next(4); options > 0; options--)
        {
            string[] option = Pick(command.Name == "vadd" ? AddOptions : SearchOptions, random);
            request.Add(Text(option[0]));
            if (option.Length > 1) request.Add(Text(random.Next(8) == 0 ? Pick(Numbers, random) : Pick(option[1..], random)));
        }

        if (random.Next(10) == 0) request.Add(Argument(command, request.Count, random));
        if (random.Next(3) == 0) request.AddRange(command.Name == "vadd" ? [Text("SETATTR"), Text(Pick(Attributes, random))] : [Text("FILTER"), Text(string.Concat(Enumerable.Range(0, random.Next(1, 9)).Select(_ => Pick(FilterParts, random))))]);
        return [.. request];
    }

    private byte[] Argument(Command command, int at, Random random)
    {
        if (at >= command.FirstKey && command.FirstKey > 0 && at <= command.FirstKey + 1 && random.Next(4) > 0) return Text($"key:{random.Next(20)}");
        string[] words = _words.GetOrAdd(command, WordsOf);
        if (command.Name is "restore" or "restore-asking" && at < 4 && random.Next(10) > 0) return at == 2 ? Text("0") : Dump(random);
        switch (random.Next(8))
        {
            case < 3 when words.Length > 0: return Text(Pick(words, random));
            case < 5: return Text(Pick(Numbers, random));
            case 5: return Text(random.Next(-5, 2_000).ToString(CultureInfo.InvariantCulture));
            case 6: return Text(random.Next(3) switch { 0 => "*", 1 => "key:[0-9]*", _ => "[^a-\\" });
            default: return Bytes(random);
        }
    }

    // The upper-case words of "key value [NX | XX] [EX seconds]".
    private static string[] WordsOf(Command command) =>
        [.. command.Doc.Syntax.Split(' ', '[', ']', '|', '<', '>', '(', ')').Where(word => word.Length > 1 && word.All(c => char.IsAsciiLetterUpper(c) || c == '-')).Distinct()];

    // One of each form, most of them damaged and then given a valid checksum.
    internal static byte[] Dump(Random random)
    {
        byte[][] dumps = [.. RedisDumps.OfRedis70.Values, .. RedisDumps.OfRedis74.Values, .. RedisDumps.OfRedis80.Values];
        List<byte> value = [.. RedisDumps.ValueOf(Pick(dumps, random))];
        for (int damages = random.Next(4); damages > 0; damages--)
        {
            int at = random.Next(value.Count);
            if (random.Next(2) == 0) value[at] = (byte)random.Next(256);
            else if (random.Next(2) == 0) value.Insert(at, (byte)random.Next(256));
            else value[at] ^= (byte)(1 << random.Next(8));
        }

        return RedisDumps.Seal(value);
    }

    private static byte[] Bytes(Random random)
    {
        byte[] bytes = new byte[random.Next(50) == 0 ? random.Next(70_000) : random.Next(40)];
        random.NextBytes(bytes);
        return bytes;
    }

    private static T Pick<T>(T[] choices, Random random) => choices[random.Next(choices.Length)];

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);
}
