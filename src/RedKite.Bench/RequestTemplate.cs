using System.Globalization;
using System.Text;

namespace RedKite.Bench;

/// <summary>One part of a request.</summary>
internal enum RequestPart
{
    /// <summary>Bytes that are the same in every request.</summary>
    Literal,

    /// <summary>The length of an argument that contains a key or a value.</summary>
    Header,

    Key,
    Data,
}

/// <param name="Bytes">The bytes of a literal.</param>
/// <param name="LiteralBytes">For a header: the number of literal bytes in its argument.</param>
internal readonly record struct RequestStep(RequestPart Part, byte[] Bytes, int LiteralBytes, int Keys, int Values);

/// <summary>
/// A request in which everything but keys and values is formatted once. An argument may contain __key__ and __data__
/// anywhere: <c>*2 $3 GET</c> is a literal, followed by a header, a key and the line end.
/// </summary>
internal sealed class RequestTemplate
{
    private const string KeyPlaceholder = "__key__";
    private const string DataPlaceholder = "__data__";

    private RequestTemplate(string name, RequestStep[] steps)
    {
        Name = name;
        Steps = steps;
        LiteralBytes = steps.Sum(step => step.Bytes.Length);
        Keys = steps.Count(step => step.Part == RequestPart.Key);
        Values = steps.Count(step => step.Part == RequestPart.Data);
    }

    /// <summary>The command's upper-case name.</summary>
    internal string Name { get; }

    internal RequestStep[] Steps { get; }

    internal int LiteralBytes { get; }

    internal int Keys { get; }

    internal int Values { get; }

    /// <summary>Parses a command as written on a command line.</summary>
    /// <exception cref="BenchException">The command is empty or has an unterminated quote.</exception>
    internal static RequestTemplate Parse(string command)
    {
        List<string> words = Split(command);
        if (words.Count == 0) throw new BenchException("redkite bench: --command is empty", BenchException.WrongOptions);

        List<RequestStep> steps = [];
        var literal = new StringBuilder().Append(CultureInfo.InvariantCulture, $"*{words.Count}\r\n");
        foreach (string word in words)
        {
            List<string> pieces = Pieces(word);
            int keys = pieces.Count(piece => piece == KeyPlaceholder), values = pieces.Count(piece => piece == DataPlaceholder);
            int literalBytes = pieces.Where(piece => piece is not (KeyPlaceholder or DataPlaceholder)).Sum(Encoding.UTF8.GetByteCount);
            if (keys + values == 0)
            {
                literal.Append(CultureInfo.InvariantCulture, $"${literalBytes}\r\n{word}\r\n");
                continue;
            }

            EndLiteral();
            steps.Add(new RequestStep(RequestPart.Header, [], literalBytes, keys, values));
            foreach (string piece in pieces)
            {
                if (piece is not (KeyPlaceholder or DataPlaceholder))
                {
                    literal.Append(piece);
                    continue;
                }

                EndLiteral();
                steps.Add(new RequestStep(piece == KeyPlaceholder ? RequestPart.Key : RequestPart.Data, [], 0, 0, 0));
            }

            literal.Append("\r\n");
        }

        EndLiteral();
        return new RequestTemplate(words[0].ToUpperInvariant(), [.. steps]);

        void EndLiteral()
        {
            if (literal.Length == 0) return;
            steps.Add(new RequestStep(RequestPart.Literal, Encoding.UTF8.GetBytes(literal.ToString()), 0, 0, 0));
            literal.Clear();
        }
    }

    // Splits a word at its placeholders.
    private static List<string> Pieces(string word)
    {
        List<string> pieces = [];
        int from = 0;
        for (int at = 0; at < word.Length;)
        {
            string? placeholder = StartsAt(KeyPlaceholder) ? KeyPlaceholder : StartsAt(DataPlaceholder) ? DataPlaceholder : null;
            if (placeholder is null)
            {
                at++;
                continue;
            }

            if (at > from) pieces.Add(word[from..at]);
            pieces.Add(placeholder);
            from = at += placeholder.Length;

            bool StartsAt(string text) => string.CompareOrdinal(word, at, text, 0, text.Length) == 0;
        }

        if (from < word.Length) pieces.Add(word[from..]);
        return pieces;
    }

    // Words are separated by spaces; single or double quotes keep spaces in a word.
    private static List<string> Split(string command)
    {
        List<string> words = [];
        var word = new StringBuilder();
        bool inWord = false;
        char quote = '\0';
        foreach (char next in command)
        {
            if (quote != '\0')
            {
                if (next == quote) quote = '\0';
                else word.Append(next);
            }
            else if (next is '"' or '\'')
            {
                quote = next;
                inWord = true;
            }
            else if (!char.IsWhiteSpace(next))
            {
                word.Append(next);
                inWord = true;
            }
            else if (inWord)
            {
                EndWord();
            }
        }

        if (quote != '\0') throw new BenchException($"redkite bench: --command: unterminated quote: {command}", BenchException.WrongOptions);
        if (inWord) EndWord();
        return words;

        void EndWord()
        {
            words.Add(word.ToString());
            word.Clear();
            inWord = false;
        }
    }
}
