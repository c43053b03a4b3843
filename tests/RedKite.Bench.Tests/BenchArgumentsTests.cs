namespace RedKite.Bench.Tests;

/// <summary>Option parsing, and the one-line errors of invalid options.</summary>
public class BenchArgumentsTests
{
    [Theory]
    [InlineData("cache.example", "cache.example", 6379, 0, null, null, false)]
    [InlineData("cache.example:7000", "cache.example", 7000, 0, null, null, false)]
    [InlineData("[::1]:7000", "::1", 7000, 0, null, null, false)]
    [InlineData("::1", "::1", 6379, 0, null, null, false)]
    [InlineData("redis://bob:s%40@127.0.0.1:7000/3", "127.0.0.1", 7000, 3, "bob", "s@", false)]
    [InlineData("rediss://cache.example", "cache.example", 6379, 0, null, null, true)]
    public void Server_is_named_by_its_address(string address, string host, int port, int database, string? user, string? password, bool tls)
    {
        BenchOptions options = BenchArguments.Parse([address, "-c", "7"]);
        Assert.Equal((host, port, database, user, password, tls), (options.Server, options.Port, options.Database, options.User, options.Password, options.Tls));
    }

    [Fact]
    public void Defaults_match_memtier()
    {
        BenchOptions options = BenchArguments.Parse([]);
        Assert.Equal(("localhost", 6379, 50, 4, 10_000L), (options.Server, options.Port, options.Clients, options.Threads, options.RequestsPerClient));
        Assert.Equal((1, 10, 1, 32, "memtier-", 0L, 10_000_000L), (options.SetRatio, options.GetRatio, options.Pipeline, options.DataSizeMax, options.KeyPrefix, options.KeyMinimum, options.KeyMaximum));
    }

    [Theory]
    [InlineData("-c 7")]
    [InlineData("-c7")]
    [InlineData("--clients 7")]
    [InlineData("--clients=7")]
    public void Option_value_has_four_spellings(string line)
    {
        Assert.Equal(7, BenchArguments.Parse(line.Split(' ')).Clients);
    }

    [Fact]
    public void Options_set_their_properties()
    {
        BenchOptions options = BenchArguments.Parse(
            ["-s", "::1", "-p", "7", "--ratio", "3:0", "--key-pattern=Z:P", "--data-size-range", "10-20", "-a", "kite:red", "--protocol", "resp3",
             "--print-percentiles", "90,99.99", "--target-rate", "1000", "--arrival", "poisson", "--select-db", "3"]);
        Assert.Equal((3, 0, KeyPattern.Zipf, KeyPattern.Parallel, 10, 20), (options.SetRatio, options.GetRatio, options.SetPattern, options.GetPattern, options.DataSizeMin, options.DataSizeMax));
        Assert.Equal(("kite", "red", 3, 3, true), (options.User, options.Password, options.Protocol, options.Database, options.PoissonArrival));
        Assert.Equal([90, 99.99], options.Percentiles);
    }

    [Fact]
    public void Ratio_and_pattern_apply_to_the_preceding_command()
    {
        BenchOptions options = BenchArguments.Parse(["--command", "PING", "--command", "HSET __key__ f __data__", "--command-ratio", "4", "--command-key-pattern", "S"]);
        Assert.Equal([new BenchCommand("PING", 1, KeyPattern.Random), new BenchCommand("HSET __key__ f __data__", 4, KeyPattern.Sequential)], options.Commands);
    }

    [Theory]
    [InlineData("R:R", 101)]
    [InlineData("S:S", 101)]
    [InlineData("P:P", 11)]
    public void Allkeys_sends_one_request_per_key(string pattern, long requests)
    {
        BenchOptions options = BenchArguments.Parse(["-n", "allkeys", "--key-maximum", "100", "-c", "5", "-t", "2", "--key-pattern", pattern]);
        Assert.Equal(requests, options.RequestsPerClient);
    }

    [Theory]
    [InlineData("--colour red", "unknown option --colour")]
    [InlineData("-z", "unknown option -z")]
    [InlineData("a:b:c/d", "ADDRESS: an address has the form HOST[:PORT], or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS; special characters of a password are written as %XX")]
    [InlineData("one two", "unexpected argument two: the server is named already")]
    [InlineData("one -p 7", "ADDRESS and --server, --port or --unix-socket exclude each other")]
    [InlineData("-c", "--clients needs a value")]
    [InlineData("-c 0", "--clients: 0 is not an integer from 1 to 100000")]
    [InlineData("-c many", "--clients: many is not an integer from 1 to 100000")]
    [InlineData("-p 65536", "--port: 65536 is not an integer from 1 to 65535")]
    [InlineData("--tls=yes", "--tls takes no value")]
    [InlineData("--ratio 1", "--ratio: 1 is not SET:GET")]
    [InlineData("--ratio 0:0", "--ratio: both sides are zero")]
    [InlineData("--key-pattern R:X", "--key-pattern: X is not one of R, S, P, G, Z")]
    [InlineData("--data-size-range 9-3", "--data-size-range: 3 is not an integer from 9 to 536870912")]
    [InlineData("--key-minimum 5 --key-maximum 4", "--key-minimum is above --key-maximum")]
    [InlineData("--key-median 11 --key-maximum 10", "--key-median is outside the range of keys")]
    [InlineData("-n 5 --test-time 5", "--requests and --test-time exclude each other")]
    [InlineData("--rate-limiting 5 --target-rate 5", "--rate-limiting and --target-rate exclude each other")]
    [InlineData("--arrival even", "--arrival needs --target-rate")]
    [InlineData("--command-ratio 5", "--command-ratio: no --command precedes it")]
    [InlineData("--command ''", "--command is empty")]
    [InlineData("--command \"x", "--command: unterminated quote: \"x")]
    [InlineData("--protocol 4", "--protocol: 4 is not one of 2, 3, redis, resp2, resp3")]
    [InlineData("--print-percentiles 50,101", "--print-percentiles: 101 is not a number from 0 to 100")]
    public void Invalid_option_is_one_line_of_error(string line, string expected)
    {
        var output = new StringWriter();
        var errors = new StringWriter();
        string[] arguments = [.. line.Split(' ').Select(word => word == "''" ? "" : word)];
        Assert.Equal(2, BenchProgram.Run(arguments, output, errors));
        Assert.Equal($"redkite bench: {expected}{Environment.NewLine}", errors.ToString());
        Assert.Equal("", output.ToString());
    }

    [Fact]
    public void Help_lists_memtier_options()
    {
        var output = new StringWriter();
        Assert.Equal(0, BenchProgram.Run(["--help"], output, TextWriter.Null));
        foreach (string name in (string[])["--ratio", "--pipeline", "--key-pattern", "--json-out-file", "--target-rate"]) Assert.Contains(name, output.ToString(), StringComparison.Ordinal);
    }
}
