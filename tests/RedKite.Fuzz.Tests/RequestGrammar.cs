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
internal sealed class RequestGrammar(CommandTable commands)
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
        "-9223372036854775808", "9223372036854775808", "1.5", "-0.1", "3e5", "inf", "-inf", "nan", "1e400", "01", "+1", " 1", "0x1", "",
    ];

    private readonly Command[] _commands =
    [
        .. commands.All.Where(command => command.Subcommands.Length == 0 && !Excluded.Contains(command.FullName)),
    ];

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
        Command command = _commands[random.Next(_commands.Length)];
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
        byte[][] dumps = [.. RedisDumps.OfRedis70.Values, .. RedisDumps.OfRedis74.Values];
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
