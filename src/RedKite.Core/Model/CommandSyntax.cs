using System.Globalization;

namespace RedKite.Server.Model;

/// <summary>
/// Parses a documented command line into the argument tree that COMMAND DOCS returns. A row therefore states its arguments
/// once, in the form that people read. The notation:
/// <code>
/// key value            arguments; well-known names (key, pattern, seconds, ...) imply the type, other names are strings
/// name:integer         an argument with an explicit type: string, integer, double, pattern, unix-time, key
/// name:key#2           an argument with an explicit key specification; without one, keys take the specifications in order
/// name{text}:integer   an argument whose display text is not its name
/// NX                   a token: a word in capitals, or one without letters
/// name:ALPHA           a token whose name is not the token in lower case
/// ""                   the empty token
/// EX seconds           an argument with a token; several arguments after a token are a block with the token;
///                      &lt;EX seconds&gt; value separates them
/// [NX | XX]            optional, here a choice of two tokens
/// &lt;EX seconds | PERSIST&gt;  a required choice
/// condition:[NX | XX]  a named choice or block; without a name, it is composed of the names inside
/// key [key ...]        repeated; [GET pattern [GET pattern ...]] repeats the token as well
/// [key ...]            any number of times; &lt;IDS | USER name ...&gt; at least once
/// key value [key value ...]   a repeated block
/// (name ...)           a block, even of a single argument
/// GET@6.2.0  [NX | XX]@2.6.12   the version that added the argument; name@!6.2.0 the version that deprecated it
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

    /// <summary>Parses a command line.</summary>
    /// <param name="syntax">The command line without the command's name.</param>
    /// <param name="keySpecs">The number of the command's key specifications.</param>
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
            // The bracket may say that the previous arguments are repeated.
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

        (string text, string since, string deprecatedSince) = Versions(_words[_at++]);
        (string word, string display) = Display(text);
        int colon = word.LastIndexOf(':');
        string name = colon > 0 ? word[..colon] : word;
        string kind = colon > 0 ? word[(colon + 1)..] : word;
        if (!IsToken(kind)) return Plain(word) with { DisplayText = display, Since = since, DeprecatedSince = deprecatedSince };

        string token = kind == "\"\"" ? "" : kind;
        if (NextBelongsToToken()) return OfToken(token, since);
#pragma warning disable CA1308 // Names of tokens are in lower case in COMMAND DOCS.
        return new CommandArgument(colon > 0 ? name : token.ToLowerInvariant(), ArgumentType.PureToken) { Token = token, Since = since, DeprecatedSince = deprecatedSince };
#pragma warning restore CA1308
    }

    // The arguments that belong to a token: those up to the next token or optional part.
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
            // Not a type: the name contains a colon.
            return Keyed(new CommandArgument(word, TypesByName.GetValueOrDefault(word, ArgumentType.String)));
        }

        var argument = new CommandArgument(word[..colon], type);
        if (hash < 0) return Keyed(argument);
        return argument with { KeySpec = int.Parse(suffix.AsSpan(hash + 1), CultureInfo.InvariantCulture) };
    }

    // Keys take the command's key specifications in order; the last one finds all remaining keys.
    private CommandArgument Keyed(CommandArgument argument) =>
        argument.Type == ArgumentType.Key ? argument with { KeySpec = Math.Min(_keys++, _keySpecs - 1) } : argument;

    // The words inside the bracket at this position if they repeat the words before it; null for any other bracket.
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

    // Whether the next word is an argument of the token before it: a plain argument, a block or a required choice.
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

    private static string Bare(string word) => Display(Versions(word).Word).Word;

    // Splits "name{text}:type" into "name:type" and "text".
    private static (string Word, string Display) Display(string word)
    {
        int open = word.IndexOf('{', StringComparison.Ordinal);
        if (open <= 0) return (word, "");
        int close = word.IndexOf('}', open);
        if (close < 0) throw new FormatException($"a display text has no end: '{word}'");
        return (word[..open] + word[(close + 1)..], word[(open + 1)..close]);
    }

    private static (string Word, string Since, string DeprecatedSince) Versions(string word)
    {
        int at = word.LastIndexOf('@');
        if (at <= 0) return (word, "", "");
        string version = word[(at + 1)..];
        (string before, string since, string deprecatedSince) = Versions(word[..at]);
        return version.StartsWith('!') ? (before, since, version[1..]) : (before, version, deprecatedSince);
    }

    // Splits into words; brackets and bars are separate words, and a closing bracket includes its version.
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
