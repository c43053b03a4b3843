using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The numbers that commands accept, the errors for those out of range, and the digits that they write.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class NumberTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private static readonly string[] Numbers =
    [
        "1", "+1", "' 1'", "'1 '", "0x10", "-0x10", "1e400", "-1e400", "1e-400", "''", "\"1\\x00\"", "\"\\x00\"", "\"\\x001\"", "inf", "+inf", "-inf", "infinity",
        "-Infinity", "INF", "nan", "-nan", "nan(1)", "5.", ".5", ".", "1e", "1e+", "1E5", "+.5e1", "00.5", "--1", "e5", "infx", "1_0", "\"\\t1\"", "1e99999999999",
        "4.9e-324", "1e-320", "2.4e-324", "(1", "1d5", "0x1p3", "1,5", "-", "+", "1e23", "-51.4610284", "1e16", "123456789012345678", "-0",
    ];

    [Fact]
    public void Numbers_are_read_and_written_as_in_redis()
    {
        PairedConnection client = Open();
        foreach (string protocol in (string[])["2", "3"])
        {
            client.Run($"HELLO {protocol}");
            foreach (string number in Numbers)
            {
                client.Run("FLUSHALL").IsOk();
                client.Run("ZADD one 1 m");
                client.Run($"ZCOUNT one {number} 10");
                client.Run($"ZRANGEBYSCORE one -inf ({number}");
                client.Run($"ZADD z {number} m");
                client.Run("ZSCORE z m");
                client.Run("ZADD z 3 a");
                client.Run($"ZINCRBY z {number} a");
                client.Run($"RPUSH l {number} 3");
                client.Run("SORT l");
                client.Run($"SET w_a {number}");
                client.Run("RPUSH by a b");
                client.Run("SORT by BY w_*");
                client.Run($"INCRBYFLOAT s {number}");
                client.Run($"HINCRBYFLOAT h f {number}");
                client.Run("DEBUG DIGEST");
            }
        }
    }

    [Fact]
    public void Scores_of_a_table_have_17_digits_in_zscan()
    {
        PairedConnection client = Open();
        client.Run("ZADD z 1234567.891 a 0.1 b 3.5 d inf e 1e23 f 100 g 1e300 h 123456789012345678 j 1e-5 k -0.0001 l");
        client.Run("ZSCAN z 0 COUNT 100");
        client.Run($"ZADD z 5 {new string('x', 100)}").IsInteger(1);
        client.Run("ZSCAN z 0 COUNT 100");
        client.Run("ZRANGE z 0 -1 WITHSCORES");
    }

    [Theory]
    [InlineData("ZRANK z m WITHSCORE")]
    [InlineData("ZRANK z m WITHSCORE x")]
    [InlineData("ZRANK z m NOPE")]
    [InlineData("ZREVRANK nokey m NOPE x")]
    [InlineData("LREM l -9223372036854775808 a")]
    [InlineData("LREM nokey -9223372036854775808 a")]
    [InlineData("LREM z -9223372036854775808 a")]
    [InlineData("LREM l -9223372036854775807 a")]
    [InlineData("WAIT 0 9223372036854775807")]
    [InlineData("WAIT -1 9223372036854775807")]
    [InlineData("WAIT 0 9223370241479737946")]
    [InlineData("WAIT 0 9223372036854775808")]
    [InlineData("WAIT 0 -1")]
    [InlineData("WAIT abc -1")]
    [InlineData("WAITAOF 0 0 9223372036854775807")]
    [InlineData("WAITAOF 0 -1 9223372036854775807")]
    [InlineData("WAITAOF 1 0 9223372036854775807")]
    [InlineData("WAITAOF 2 0 -1")]
    [InlineData("XREAD BLOCK 9223372036854775807 STREAMS s 0")]
    [InlineData("XREAD BLOCK 9223372036854775808 STREAMS s 0")]
    [InlineData("BLPOP nokey 9223372036854775.807")]
    [InlineData("CLIENT PAUSE 9223372036854775807")]
    public void Limits_and_their_errors(string command)
    {
        PairedConnection client = Open();
        client.Run("ZADD z 1 m 2 n");
        client.Run("RPUSH l a b a");
        client.Run(command);
    }

    [Fact]
    public void Coordinates_have_the_digits_of_their_doubles()
    {
        PairedConnection client = Open();
        client.Run("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania").IsInteger(2);
        foreach (string protocol in (string[])["2", "3"])
        {
            client.Run($"HELLO {protocol}");
            client.Run("GEOPOS g Palermo Catania nosuch");
            client.Run("GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHCOORD WITHDIST WITHHASH");
            client.Run("GEODIST g Palermo Catania km");
        }
    }
}
