using System.Globalization;
using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// Generates requests from the documented syntax of a row of the command table. Each request is about keys of one type in most cases, which are created
/// before it; some have expired by then. Its words are those of their values, numbers, and others that have a meaning somewhere.
/// </summary>
internal sealed class RowRequestGenerator
{
    private const string Library = "#!lua name=lib\nredis.register_function('f', function(keys, args) return redis.call('INCRBYFLOAT', keys[1], args[1]) end)";

    private const string Script = "return redis.call('SPOP', KEYS[1])";

    private static readonly KeyType[] Types =
    [
        new("string", "1 2 a 10 2.5 u8 i5", "SET K 17", "SET K 2.5 PX 900", "SET K abcdefghij", "SET K 5 PX 100000"),
        new("list", "a b 1", "RPUSH K a b 1 c a", "RPUSH K 3 2 1"),
        new("set", "a b 1 2", "SADD K 1 2 3 5", "SADD K a b c d 1", "SADDEX K PX 900 MEMBERS 3 a b 1; SADD K c 2", "SADDEX K PX 100000 MEMBERS 3 a b 1; SADD K c 2"),
        new("hash", "a b 1 2.5", "HSET K a 1 b 2 c 2.5", "HSETEX K PX 900 FIELDS 2 a 1 b 2", "HSETEX K PX 100000 FIELDS 1 a 7"),
        new("sorted-set", "a b 1 - + [a [c (1 -inf +inf", "ZADD K 1 a 2 b 3 c", "ZADD K 0 a 0 b 0 c 0 d"),
        new("geo", "a b m km", "GEOADD K 13.3 38.1 a 15.0 37.5 b 2.3 48.8 c"),
        new("hyperloglog", "a x TODENSE", "PFADD K a b c"),
        new("stream", "g g g g a 0 0 1-1 1-1 2-1 9-9 > *", "XADD K 1-1 a 1; XADD K 2-1 b 2; XADD K 3-1 c 3; XGROUP CREATE K g 0; XREADGROUP GROUP g a COUNT 2 STREAMS K >"),
        new("json", """$ $ $.n $.n $.s $.s $.s $.s "x" "x" "x" $.a $.a $.a $.b $.b $.o $..n .n 1 2 "x" [1] {"n":null,"z":1}""", """JSON.SET K $ "{\"n\":1,\"s\":\"x\",\"a\":[1,2.5,3],\"b\":true,\"o\":{\"n\":2}}" """),
        new("bloom", "a b c 100 0.01", "BF.RESERVE K 0.01 100; BF.ADD K a"),
        new("cuckoo", "a b c 100", "CF.RESERVE K 2 BUCKETSIZE 1; CF.INSERT K ITEMS a a a a; CF.DEL K a; CF.DEL K a"),
        new("cms", "a b 10 2 0.01", "CMS.INITBYDIM K 10 2; CMS.INCRBY K a 1"),
        new("topk", "a b 2 10", "TOPK.RESERVE K 2; TOPK.ADD K a b"),
        new("tdigest", "1 2.5 10", "TDIGEST.CREATE K; TDIGEST.ADD K 1 2 3"),
        new("timeseries", "1 2 10 1.5 * avg sum max a b", "TS.CREATE K LABELS a b; TS.ADD K 1 2; TS.ADD K 10 3"),
    ];

    private static readonly string[] Words = ["*", "-", "+", ">", "$", "0", "0-0", "1-1", "[a", "(1", "-inf", "+inf", "u8", "i5", "f", "lib", "g", "a", "b", "m", "km", "1", "2"];

    private readonly RandomSource _random;
    private readonly string[] _payloads; // byte for byte
    private string[] _own = []; // words of the keys' values
    private int _type;

    /// <param name="random">The source of all choices.</param>
    /// <param name="server">Makes the payloads of DUMP.</param>
    internal RowRequestGenerator(RandomSource random, RespConnection server)
    {
        _random = random;
        server.Run("RPUSH dumped a b 1");
        server.Run("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), "REPLACE"u8.ToArray(), Encoding.Latin1.GetBytes(Library));
        _payloads = [Latin1(server.Run("DUMP dumped")), Latin1(server.Run("FUNCTION DUMP"))];
        server.Run("FUNCTION FLUSH");
        server.Run("DEL dumped");
    }

    /// <summary>Commands that prepare the keys, and then a request of the row: the last command.</summary>
    internal Episode Next(Command row)
    {
        int ofFamily = Array.FindIndex(Types, type => type.Name == row.Group || type.Name == row.Category);
        _type = ofFamily >= 0 && !_random.Chance(20) ? ofFamily : _random.Below(Types.Length);
        _own = row.Keys.Length == 0 ? [.. Words, .. _payloads, Library] : Types[_type].Words.Split(' ');
        List<string> keys = [];
        List<string> request = [.. row.FullName.Split('|')];
        Add(row.Arguments, request, keys);
        List<byte[][]> before = [.. keys.Distinct().SelectMany(Create)];
        if (row.Is(CommandFlags.RunsScript)) before.Add([.. new[] { "FUNCTION", "LOAD", "REPLACE", Library }.Select(Encoding.Latin1.GetBytes)]);
        if (row.FullName == "himport|set") before.AddRange(((string[])["HIMPORT PREPARE a x", "HIMPORT PREPARE b x y"]).Select(CommandLine.Split));
        if (row.FullName == "ts.deleterule" && keys.Count == 2) before.Add(CommandLine.Split($"TS.CREATERULE {keys[0]} {keys[1]} AGGREGATION avg 10"));
        if (row.FullName == "bless|clear") before.AddRange(keys.Select(key => CommandLine.Split($"BLESS SET {key} NO-EVICT")));
        byte[][] command = [.. request.Select(Encoding.Latin1.GetBytes)];
        return new Episode(before)
        {
            WaitMs = _random.Below(6) == 0 ? 1_000 : 1,
            CommandsAfterWait = row.Is(CommandFlags.Blocking) ? [["MULTI"u8.ToArray()], command, ["EXEC"u8.ToArray()]] : [command],
        };
    }

    private void Add(CommandArgument[] arguments, List<string> request, List<string> keys)
    {
        int repetitions = 1 + _random.Below(2);
        for (int i = 0; i < arguments.Length; i++)
        {
            CommandArgument argument = arguments[i];
            if (argument.IsOptional && _random.Below(3) > 0) continue;

            // A number before a repeated argument is how often it is repeated.
            bool counts = argument.Type == ArgumentType.Integer && i + 1 < arguments.Length && arguments[i + 1].IsMultiple && _random.Below(10) > 0;
            for (int left = argument.IsMultiple ? repetitions : 1, first = left; left > 0; left--)
            {
                if (argument.Token is { } token && argument.Type != ArgumentType.PureToken && (left == first || argument.RepeatsToken)) request.Add(token);
                if (counts) request.Add(Text(repetitions));
                else AddOne(argument, request, keys);
            }
        }
    }

    private void AddOne(CommandArgument argument, List<string> request, List<string> keys)
    {
        switch (argument.Type)
        {
            case ArgumentType.PureToken:
                request.Add(argument.Token!);
                break;
            case ArgumentType.OneOf:
                Add([_random.Pick(argument.Arguments) with { IsOptional = false }], request, keys);
                break;
            case ArgumentType.Block:
                Add(argument.Arguments, request, keys);
                break;
            case ArgumentType.Key:
                keys.Add($"{(_random.Below(12) == 0 ? _random.Below(Types.Length) : _type)}:{_random.Below(4)}");
                request.Add(keys[^1]);
                break;
            case ArgumentType.Integer:
                request.Add(Text(_random.Pick<int>([0, 1, 1, 2, 3, 10, -1, 100_000])));
                break;
            case ArgumentType.Double:
                request.Add(_random.Pick<string>(["0", "0.01", "1.5", "2", "48.5", "500"]));
                break;
            case ArgumentType.UnixTime:
                request.Add(_random.Pick<string>(["1", "1800100000", "1800100000000"]));
                break;
            case ArgumentType.Pattern:
                request.Add(_random.Pick<string>(["*", "a*", "nosort"]));
                break;
            case ArgumentType.String:
                request.Add(Word());
                break;
            default:
                throw new InvalidOperationException($"no word for {argument.Type}");
        }
    }

    private string Word() => _random.Below(10) switch
    {
        < 5 => _random.Pick(_own),
        < 8 => _random.Pick(Words),
        8 => _random.Pick(_payloads),
        _ => _random.Pick<string>([Library, Script]),
    };

    // The last key of each type is missing.
    private List<byte[][]> Create(string key)
    {
        List<byte[][]> commands = [CommandLine.Split("DEL " + key)];
        int type = int.Parse(key[..key.IndexOf(':', StringComparison.Ordinal)], CultureInfo.InvariantCulture);
        if (key[^1] == '3') return commands;
        foreach (string line in _random.Pick(Types[type].Shapes).Split("; "))
        {
            commands.Add(CommandLine.Split(string.Join(' ', line.Split(' ').Select(word => word == "K" ? key : word))));
        }

        return commands;
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);

    private static string Latin1(RespValue reply) => Encoding.Latin1.GetString(reply.Payload!);

    /// <summary>A type of keys.</summary>
    /// <param name="Name">The group of its commands in COMMAND DOCS, or their access category.</param>
    /// <param name="Words">Words that its commands need.</param>
    /// <param name="Shapes">Commands that create a key, which is K, one for each shape.</param>
    private sealed record KeyType(string Name, string Words, params string[] Shapes);
}
