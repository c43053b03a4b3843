using System.Text;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

/// <summary>Inline requests parsed by the parser and by the oracle, which returns the words as the reply of a script.</summary>
public class InlineRequestTests
{
    // EVAL <script> 0 <words>: replies with the words that the server parsed.
    private const string Echo = "EVAL \"return ARGV\" 0 ";

    private static readonly string[] Cases =
    [
        "", "a", "a b", "  a\t b  ", "\"\"", "''", "\"\" ''", "\"a b\"", "'a b'", "a\"b c\"", "a'b c'", "\"a\" 'b'", "\"a\"b", "'a'b",
        "\"a\"'b'", "\"", "'", "a\"", "\"a\\\"b\"", "'a\\'b'", "'a\\\"b'", "\"a\\'b\"", "\"\\n\\r\\t\\b\\a\\q\\\\\"", "'\\n'", "a\\nb", "\\\"a\\\"",
        "\"\\x41\\xff\\xFG\\x4\"", "\"\\x\"", "\"\\x4\"", "\"\\\"", "\"a\\", "'a\\", "'a\\'", "a\vb", "\va\f b\v", "\"a\"\vb", "\"a\"\fb", "a\rb", "\"a\rb\"", "a\r",
        "\u00FF\u00A0b", "'\u00E9'", "a'", "a''b", "a\"\"b", "\"\"\"\"", "\\", "\\\\", "'\\\\'", "\"\\\\\"", "#", "$5", ":1 +2",
    ];

    [Fact]
    public void Words_match_the_oracle()
    {
        using ServerProcess oracle = OracleServer.Start();
        foreach (string line in Cases) AssertSame(oracle, line);
    }

    [Fact]
    public void Words_of_random_lines_match_the_oracle()
    {
        using ServerProcess oracle = OracleServer.Start();
        var random = new Random(20_240_605);
        const string Alphabet = "\"\"'' \\\\abx4\t\v\f\r\u00FF";
        for (int i = 0; i < 3_000; i++)
        {
            string line = new([.. Enumerable.Range(0, random.Next(1, 14)).Select(_ => Alphabet[random.Next(Alphabet.Length)])]);
            AssertSame(oracle, line);
        }
    }

    private static void AssertSame(ServerProcess oracle, string line)
    {
        using RespConnection client = oracle.Connect();
        client.Send(Echo + line + "\r\n");
        RespValue reply = client.Read();
        string expected = reply.IsError ? reply.Text : string.Join('|', reply.Items.Select(item => item.Text));
        Assert.Equal($"{CommandLine.Format(Encoding.Latin1.GetBytes(line))}: {expected}", $"{CommandLine.Format(Encoding.Latin1.GetBytes(line))}: {Parse(Echo + line + "\r\n")}");
    }

    private static string Parse(string text)
    {
        byte[] input = Encoding.Latin1.GetBytes(text);
        var parser = new RequestParser();
        PartialRequest? partial = null;
        int position = 0;
        ParseStatus status = parser.Parse(input, ref position, new RequestLimits(1024, true), ref partial, out int first, out int count);
        if (status == ParseStatus.Error) return parser.ErrorText;
        Assert.Equal(ParseStatus.Complete, status);
        Assert.Equal(input.Length, position);
        return string.Join('|', parser.Arguments(first, count)[3..].ToArray().Select(word => Encoding.Latin1.GetString(input, word.Start, word.Length)));
    }
}
