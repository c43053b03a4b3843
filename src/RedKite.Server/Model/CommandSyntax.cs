using System.Globalization;

namespace RedKite.Server.Model;

/// <summary>
/// Reads the arguments of a command from its documented command line, so that they are written once, in the form that
/// people read. The notation:
/// <code>
/// key value            arguments: the type follows from well-known names (key, pattern, seconds, ...), else string
/// name:integer         an argument whose type does not: string, integer, double, pattern, unix-time, key
/// name:key#2           an argument that another key specification finds than the next one in order
/// NX                   a word in capitals, or one without letters: a token
/// name:ALPHA           a token whose name is not the token in lower case
/// ""                   the empty token
/// EX seconds           a token before an argument belongs to it; before several, they are a block with the token;
///                      &lt;EX seconds&gt; value keeps them apart
/// [NX | XX]            optional, here one of two tokens
/// &lt;EX seconds | PERSIST&gt;  one of them is needed
/// condition:[NX | XX]  the name of a choice or block, which else is made of the names in it
/// key [key ...]        several times; [GET pattern [GET pattern ...]] with the token each time
/// [key ...]            any number of times; &lt;IDS | USER name ...&gt; at least once
/// key value [key value ...]   a block several times
/// (name ...)           a block, even of a single argument
/// GET@6.2.0  [NX | XX]@2.6.12 since when there is such an argument; name@!6.2.0 since when it is deprecated
/// </code>
/// </summary>
internal sealed class CommandSyntax
{
    private const string Ellipsis = "...";

    private static readonly Dictionary<string, ArgumentType> TypesByName = TypeTable();
    private static readonly Dictionary<string, ArgumentType> ArgumentTypes = new()
    {
        ["string"] = ArgumentType.String,
        ["integer"] = ArgumentType.Integer,
        ["double"] = ArgumentType.Double,
        ["key"] = ArgumentType.Key,
        ["pattern"] = ArgumentType.Pattern,
        ["unix-time"] = ArgumentType.UnixTime,
    };

    private readonly List<string> _words;
    private readonly int _keySpecs;
    private int _at;
    private int _keys;

    private CommandSyntax(string text, int keySpecs)
    {
        _words = Split(text);
        _keySpecs = keySpecs;
    }

    /// <summary>Reads a command line.</summary>
    /// <param name="syntax">The command line without the command's name.</param>
    /// <param name="keySpecs">How many key specifications the command has.</param>
    /// <exception cref="FormatException">The text does not follow the notation: a mistake in a command's row.</exception>
    internal static CommandArgument[] Parse(string syntax, int keySpecs)
    {
        var reader = new CommandSyntax(syntax, keySpecs);
        CommandArgument[] arguments = reader.ReadSequence();
        if (reader._at < reader._words.Count) throw new FormatException($"'{syntax}': '{reader._words[reader._at]}' stands alone");
        return arguments;
    }

    // Arguments up to a bar, a closing bracket or the end.
    private CommandArgument[] ReadSequence()
    {
        var arguments = new List<CommandArgument>();
        while (_at < _words.Count && !IsEnd(_words[_at]))
        {
            // What was read last may come again, and the bracket says what exactly.
            if (_words[_at] == "[" && RepeatedWords() is { } repeated)
            {
                Repeat(arguments, repeated);
                continue;
            }

            arguments.Add(ReadArgument());
        }

        return [.. arguments];
    }

    private CommandArgument ReadArgument()
    {
        string label = "";
        if (_words[_at].EndsWith(':') && _at + 1 < _words.Count && IsOpening(_words[_at + 1])) label = _words[_at++][..^1];
        if (IsOpening(_words[_at])) return ReadGroup(label);

        (string word, string since, string deprecatedSince) = Versions(_words[_at++]);
        int colon = word.LastIndexOf(':');
        string name = colon > 0 ? word[..colon] : word;
        string kind = colon > 0 ? word[(colon + 1)..] : word;
        if (!IsToken(kind)) return Plain(word) with { Since = since, DeprecatedSince = deprecatedSince };

        string token = kind == "\"\"" ? "" : kind;
        if (NextBelongsToToken()) return OfToken(token, since);
#pragma warning disable CA1308 // Names of tokens are in lower case in COMMAND DOCS.
        return new CommandArgument(colon > 0 ? name : token.ToLowerInvariant(), ArgumentType.PureToken) { Token = token, Since = since, DeprecatedSince = deprecatedSince };
#pragma warning restore CA1308
    }

    // The arguments that follow a token: the plain ones before the next token or optional part.
    private CommandArgument OfToken(string token, string since)
    {
        var arguments = new List<CommandArgument>();
        string version = since;
        while (NextBelongsToToken())
        {
            arguments.Add(ReadArgument());
            if (_at < _words.Count && _words[_at] == "[" && RepeatedWords() is { } repeated && !repeated.Contains(token)) Repeat(arguments, repeated);
        }

        CommandArgument argument = arguments.Count == 1 ? arguments[0] : Block(arguments);
        return argument with { Token = token, Since = argument.Since.Length > 0 && arguments.Count == 1 ? argument.Since : version };
    }

    private CommandArgument ReadGroup(string label)
    {
        string opening = _words[_at++];
        bool multiple = false;
        var alternatives = new List<CommandArgument>();
        while (true)
        {
            CommandArgument[] sequence = ReadSequence();
            alternatives.Add(sequence.Length == 1 && opening != "(" ? sequence[0] : Block(sequence));
            if (Next() is "|") continue;
            _at--;
            if (_words[_at] == Ellipsis)
            {
                multiple = true;
                _at++;
            }

            break;
        }

        string closing = Next();
        if (closing.Length == 0 || closing[0] is not (']' or '>' or ')')) throw new FormatException($"a bracket is open: '{string.Join(' ', _words)}'");
        (_, string since, string deprecatedSince) = Versions(closing);
        CommandArgument group = alternatives.Count == 1
            ? alternatives[0]
            : new CommandArgument(JoinedName(alternatives), ArgumentType.OneOf) { Arguments = [.. alternatives] };
        return group with
        {
            Name = label.Length > 0 ? label : group.Name,
            IsOptional = opening == "[" || group.IsOptional,
            IsMultiple = multiple || group.IsMultiple,
            Since = since.Length > 0 ? since : group.Since,
            DeprecatedSince = deprecatedSince.Length > 0 ? deprecatedSince : group.DeprecatedSince,
        };
    }

    private CommandArgument Plain(string word)
    {
        int colon = word.LastIndexOf(':');
        string suffix = colon > 0 ? word[(colon + 1)..] : "";
        int hash = suffix.IndexOf('#', StringComparison.Ordinal);
        string typeName = hash < 0 ? suffix : suffix[..hash];
        if (!ArgumentTypes.TryGetValue(typeName, out ArgumentType type))
        {
            // Not a type: a name with a colon in it, such as ip:port.
            return Keyed(new CommandArgument(word, TypesByName.GetValueOrDefault(word, ArgumentType.String)));
        }

        var argument = new CommandArgument(word[..colon], type);
        if (hash < 0) return Keyed(argument);
        return argument with { KeySpec = int.Parse(suffix.AsSpan(hash + 1), CultureInfo.InvariantCulture) };
    }

    // Keys belong to the command's key specifications in turn; the last one finds all that are left.
    private CommandArgument Keyed(CommandArgument argument) =>
        argument.Type == ArgumentType.Key ? argument with { KeySpec = Math.Min(_keys++, _keySpecs - 1) } : argument;

    // The words in the bracket at this place if it only says that what stands before it may come again; else null.
    private List<string>? RepeatedWords()
    {
        int end = _words.IndexOf(Ellipsis, _at);
        int open = _words.FindIndex(_at + 1, word => IsOpening(word) || IsEnd(word));
        if (end < 0 || open != end || end + 1 >= _words.Count || !_words[end + 1].StartsWith(']')) return null;
        List<string> repeated = _words.GetRange(_at + 1, end - _at - 1);
        if (repeated.Count > _at) return null;
        List<string> before = _words.GetRange(_at - repeated.Count, repeated.Count);
        return before.Select(Bare).SequenceEqual(repeated.Select(Bare)) ? repeated : null;
    }

    private void Repeat(List<CommandArgument> arguments, List<string> words)
    {
        _at += words.Count + 3; // the brackets and the ellipsis too
        bool hasToken = words.Exists(word => IsToken(word));
        int count = hasToken ? 1 : Math.Min(words.Count, arguments.Count);
        List<CommandArgument> last = arguments.GetRange(arguments.Count - count, count);
        arguments.RemoveRange(arguments.Count - count, count);
        CommandArgument argument = last.Count == 1 ? last[0] : Block(last);
        arguments.Add(argument with { IsMultiple = true, RepeatsToken = hasToken });
    }

    // What follows a token and is its argument: a plain argument or a choice that must be made.
    private bool NextBelongsToToken()
    {
        if (_at >= _words.Count) return false;
        string word = _words[_at];
        if (word.EndsWith(':')) return _words[_at + 1] is "<" or "(";
        string bare = Bare(word);
        return word is "<" or "(" || (word != "[" && !IsEnd(word) && !IsToken(bare[(bare.LastIndexOf(':') + 1)..]));
    }

    private string Next() => _at < _words.Count ? _words[_at++] : throw new FormatException($"a bracket is open: '{string.Join(' ', _words)}'");

    private static CommandArgument Block(IReadOnlyList<CommandArgument> arguments) =>
        new(JoinedName(arguments), ArgumentType.Block) { Arguments = [.. arguments] };

    private static string JoinedName(IReadOnlyList<CommandArgument> arguments) => string.Join('_', arguments.Select(argument => argument.Name));

    private static bool IsOpening(string word) => word is "[" or "<" or "(";

    private static bool IsEnd(string word) => word is "|" or Ellipsis || (word.Length > 0 && word[0] is ']' or '>' or ')');

    private static bool IsToken(string word) => word == "\"\"" || (word.Length > 0 && !word.Any(char.IsLower));

    private static string Bare(string word) => Versions(word).Word;

    private static (string Word, string Since, string DeprecatedSince) Versions(string word)
    {
        int at = word.LastIndexOf('@');
        if (at <= 0) return (word, "", "");
        string version = word[(at + 1)..];
        (string before, string since, string deprecatedSince) = Versions(word[..at]);
        return version.StartsWith('!') ? (before, since, version[1..]) : (before, version, deprecatedSince);
    }

    // Words; brackets and bars are words of their own, a closing bracket with the version behind it.
    private static List<string> Split(string text)
    {
        var words = new List<string>();
        foreach (string part in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            int start = 0;
            for (int i = 0; i < part.Length; i++)
            {
                if (part[i] is '[' or '<' or '(' or '|')
                {
                    if (i > start) words.Add(part[start..i]);
                    words.Add(part[i].ToString());
                    start = i + 1;
                }
                else if (part[i] is ']' or '>' or ')')
                {
                    if (i > start) words.Add(part[start..i]);
                    start = i;
                    if (i + 1 < part.Length && part[i + 1] == '@')
                    {
                        while (i + 1 < part.Length && part[i + 1] is not (']' or '>' or ')')) i++;
                    }

                    words.Add(part[start..(i + 1)]);
                    start = i + 1;
                }
            }

            if (start < part.Length) words.Add(part[start..]);
        }

        return words;
    }

    private static Dictionary<string, ArgumentType> TypeTable()
    {
        var types = new Dictionary<string, ArgumentType>();
        Add(ArgumentType.Key, "key", "key1", "key2", "newkey", "source", "destination", "sourcekey", "destkey", "src", "dst");
        Add(ArgumentType.Pattern, "pattern");
        Add(ArgumentType.UnixTime, "unix-time-seconds", "unix-time-milliseconds");
        Add(ArgumentType.Double, "timeout", "longitude", "latitude", "radius", "width", "height", "score");
        Add(
            ArgumentType.Integer,
            "bit", "bits", "client-id", "count", "cursor", "db", "decrement", "destination-db", "end", "frequency", "increment",
            "index", "index1", "index2", "len", "limit", "milliseconds", "ms", "num-matches", "numkeys", "numreplicas", "offset",
            "port", "protover", "rank", "seconds", "slot", "start", "stop", "ttl", "version", "weight");
        return types;

        void Add(ArgumentType type, params ReadOnlySpan<string> names)
        {
            foreach (string name in names) types.Add(name, type);
        }
    }
}
