using System.Text;

namespace RedKite.Bench.Tests;

/// <summary>The bytes of requests.</summary>
public class RequestTemplateTests
{
    [Theory]
    [InlineData("GET __key__", "*2 $3 GET $3 k-0 ")]
    [InlineData("SET __key__ __data__ EX 9", "*5 $3 SET $3 k-0 $2 xx $2 EX $1 9 ")]
    [InlineData("MSET __key__ __data__ __key__ __data__", "*5 $4 MSET $3 k-0 $2 xx $3 k-1 $2 xx ")]
    [InlineData("ZADD z{__key__}: 1 'a __data__ é'", "*4 $4 ZADD $7 z{k-0}: $1 1 $7 a xx é ")]
    [InlineData("PING \"\"", "*2 $4 PING $0  ")]
    public void Placeholders_are_found_anywhere(string command, string expected)
    {
        Assert.Equal(expected, Write(command));
    }

    private static string Write(string command)
    {
        BenchOptions options = BenchArguments.Parse(["--key-prefix", "k-", "-d", "2", "--key-pattern", "S:S"]);
        var writer = new RequestWriter(options, new RandomSource(1));
        int bytes = writer.Append(RequestTemplate.Parse(command), new KeySequence(KeyPattern.Sequential, options, 0, 1, new RandomSource(1)));
        Assert.Equal(bytes, writer.Bytes.Length);
        return Encoding.UTF8.GetString(writer.Bytes).Replace("\r\n", " ", StringComparison.Ordinal);
    }
}
