using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Generators;

/// <summary>
/// Requests made from the argument trees of COMMAND DOCS, most of them wrong: with an argument too few or too many, with one of another kind, or
/// with a number out of bounds.
/// </summary>
internal sealed class DocumentedRequestGenerator
{
    private static readonly string[] Integers = ["0", "1", "-1", "2", "100", "x", "", "1.5", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "00", "+1", " 1", "1e3", "4294967296", "2147483648"];
    private static readonly string[] Numbers = [.. Integers, "inf", "nan", "0x10"];
    private static readonly string[] Keys = ["k", "s", "v", "z", "l", "h", "none"];
    private static readonly string[] Patterns = ["*", "a*", "[", "?"];
    private static readonly string[] Words = ["a", "k", "v", "nosuch", "*", "HELP", "GET", "SET", "WITHSCORES", "COUNT", "LIMIT", "TYPE", "all", "MAXLEN", "NX", "XX", "", "e", "f", "return 1", "1", "0", "-1", "2"];

    private readonly Random _random;
    private readonly List<(string Name, RespValue? Arguments)> _commands = [];
    private readonly List<string> _tokens = [];

    /// <summary>Reads the table of a server.</summary>
    /// <param name="server">The server.</param>
    /// <param name="groups">The groups of commands.</param>
    /// <param name="leftOut">Commands without those that end or change what the comparison needs.</param>
    /// <param name="seed">The seed.</param>
    public DocumentedRequestGenerator(RespConnection server, string[] groups, HashSet<string> leftOut, int seed)
    {
        _random = new Random(seed);
        AddCommands(server.Run("COMMAND DOCS"));
        _commands.Sort((one, other) => string.CompareOrdinal(one.Name, other.Name));
        foreach ((_, RespValue? arguments) in _commands) AddTokens(arguments);

        void AddCommands(RespValue docs)
        {
            for (int i = 0; i < docs.Items.Count; i += 2)
            {
                RespValue entry = docs.Items[i + 1];
                string name = docs.Items[i].Text;
                if (groups.Contains(entry["group"]?.Text) && !leftOut.Contains(name)) _commands.Add((name, entry["arguments"]));
                if (entry["subcommands"] is { } subcommands) AddCommands(subcommands);
            }
        }
    }

    public int Commands => _commands.Count;

    public string[] Next()
    {
        (string name, RespValue? tree) = _commands[_random.Next(_commands.Count)];
        List<string> arguments = [];
        foreach (RespValue argument in tree?.Items ?? []) Add(arguments, argument);
        switch (_random.Next(20))
        {
            case < 3 when arguments.Count > 0:
                arguments.RemoveAt(_random.Next(arguments.Count));
                break;
            case < 6:
                arguments.Insert(_random.Next(arguments.Count + 1), Any());
                break;
            case < 8 when arguments.Count > 0:
                arguments[_random.Next(arguments.Count)] = _random.Next(3) == 0 && _tokens.Count > 0 ? Pick(_tokens) : Any();
                break;
            case 8:
                arguments = arguments[.._random.Next(arguments.Count + 1)];
                break;
            case 9 when arguments.Count > 0:
                arguments.Add(arguments[^1]);
                break;
        }

        return [.. name.ToUpperInvariant().Split('|'), .. arguments];
    }

    private void Add(List<string> request, RespValue argument)
    {
        string[] flags = [.. argument["flags"]?.Items.Select(flag => flag.Text) ?? []];
        if (flags.Contains("optional") && _random.Next(2) == 0) return;
        int count = flags.Contains("multiple") ? 1 + _random.Next(2) : 1;
        for (int i = 0; i < count; i++)
        {
            if (argument["token"] is { } token && (i == 0 || flags.Contains("multiple_token"))) request.Add(_random.Next(10) == 0 ? token.Text.ToLowerInvariant() : token.Text);
            switch (argument["type"]!.Text)
            {
                case "oneof":
                    Add(request, Pick(argument["arguments"]!.Items));
                    break;
                case "block":
                    foreach (RespValue inner in argument["arguments"]!.Items) Add(request, inner);
                    break;
                case "pure-token":
                    break;
                case "integer":
                    request.Add(Pick(Integers));
                    break;
                case "double" or "unix-time":
                    request.Add(Pick(Numbers));
                    break;
                case "key":
                    request.Add(Pick(Keys));
                    break;
                case "pattern":
                    request.Add(Pick(Patterns));
                    break;
                default:
                    request.Add(Pick(Words));
                    break;
            }
        }
    }

    private void AddTokens(RespValue? arguments)
    {
        foreach (RespValue argument in arguments?.Items ?? [])
        {
            if (argument["token"] is { } token) _tokens.Add(token.Text);
            AddTokens(argument["arguments"]);
        }
    }

    private string Any() => _random.Next(2) == 0 ? Pick(Words) : Pick(Integers);

    private T Pick<T>(IReadOnlyList<T> values) => values[_random.Next(values.Count)];
}
