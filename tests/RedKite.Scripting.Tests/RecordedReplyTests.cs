using System.Globalization;
using System.Text;

namespace RedKite.Scripting.Tests;

/// <summary>
/// Scripts and the replies of redis-server 8.0.2 to them (Recorded.txt; RecordedErrors.txt: most of these fail, in expressions over several
/// lines that were generated, and at the end of calls; RecordedLengths.txt: generated tables with holes and operations on them): a line with the script, a line with the reply, both with escapes
/// as in \x0d.
/// </summary>
public class RecordedReplyTests
{
    [Theory]
    [InlineData("Recorded.txt")]
    [InlineData("RecordedErrors.txt")]
    [InlineData("RecordedLengths.txt")]
    public void Scripts_reply_as_recorded(string file)
    {
        var wrong = new List<string>();
        string[] lines = Lines(file);
        for (int i = 0; i + 1 < lines.Length; i += 2)
        {
            // Each has an interpreter of its own: settings of cjson stay, and so does the state of math.random.
            using var bench = new ScriptBench();
            string reply = bench.Run(Unescape(lines[i]));
            if (reply != Unescape(lines[i + 1])) wrong.Add($"{lines[i]}\n  Redis   {lines[i + 1]}\n  RedKite {Escape(reply)}");
        }

        Assert.True(lines.Length > 400, "too few scripts");
        Assert.True(wrong.Count == 0, $"{wrong.Count} of {lines.Length / 2} differ:\n{string.Join('\n', wrong)}");
    }

    // The same in every process: Lua's own seed would be another one each time.
    [Fact]
    public void Order_of_keys_is_fixed()
    {
        using var bench = new ScriptBench();
        Assert.Equal("$16\r\nlmnopabcdefghijk\r\n", bench.Run("local t,r={},{} for c in string.gmatch('abcdefghijklmnop','.') do t[c]=1 end for k in pairs(t) do r[#r+1]=k end return table.concat(r)"));
    }

    private static string[] Lines(string file)
    {
        using Stream stream = typeof(RecordedReplyTests).Assembly.GetManifestResourceStream(file)!;
        using var reader = new StreamReader(stream, Encoding.Latin1);
        return reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }

    private static string Escape(string text)
    {
        var result = new StringBuilder();
        foreach (char c in text) result.Append(c is < ' ' or > '~' ? $"\\x{(int)c:x2}" : c == '\\' ? "\\\\" : c.ToString());
        return result.ToString();
    }

    private static string Unescape(string text)
    {
        var result = new StringBuilder();
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] != '\\')
            {
                result.Append(text[i]);
            }
            else if (text[i + 1] == 'x')
            {
                result.Append((char)int.Parse(text.AsSpan(i + 2, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
                i += 3;
            }
            else
            {
                result.Append(text[++i]);
            }
        }

        return result.ToString();
    }
}
