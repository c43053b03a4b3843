using System.Globalization;
using System.Text;

namespace RedKite.Bench;

/// <summary>The options of <c>redkite bench</c>, one row each, from which the manual is generated. Names are memtier_benchmark's.</summary>
internal static class BenchArguments
{
    private const int ClientsMax = 100_000;
    private const int ThreadsMax = 1024;
    private const int PipelineMax = 100_000;
    private const int DataBytesMax = 512 << 20;
    private const int HelpColumn = 41;

    private static readonly Row[] Rows =
    [
        new("-s", "--server", "HOST", "the server (localhost)", (o, v) => o.Server = v),
        new("-p", "--port", "PORT", "its port (6379)", (o, v) => o.Port = ParseInt(v, 1, 65_535)),
        new("-S", "--unix-socket", "PATH", "a Unix socket instead of both", (o, v) => o.UnixSocket = v),
        new("-c", "--clients", "N", "connections per thread (50)", (o, v) => o.Clients = ParseInt(v, 1, ClientsMax)),
        new("-t", "--threads", "N", "threads (4)", (o, v) => o.Threads = ParseInt(v, 1, ThreadsMax)),
        new("-n", "--requests", "N|allkeys", "requests per connection (10000), or one per key",
            (o, v) => o.Requests = v == "allkeys" ? null : ParseLong(v, 1, long.MaxValue)),
        new(null, "--test-time", "SECONDS", "duration instead of a number of requests", (o, v) => o.TestTime = ParseInt(v, 1, 1_000_000)),
        new("-x", "--run-count", "N", "repetitions of the whole run (1)", (o, v) => o.RunCount = ParseInt(v, 1, 1000)),
        new(null, "--ratio", "SET:GET", "SETs per GETs (1:10)", SetRatio),
        new(null, "--pipeline", "N", "pipeline depth (1)", (o, v) => o.Pipeline = ParseInt(v, 1, PipelineMax)),
        new(null, "--rate-limiting", "N", "maximum requests per second and connection", (o, v) => o.RateLimit = ParseDouble(v, 1e-3, 1e9)),
        new(null, "--target-rate", "N", "open loop: total requests per second, sent when due even if replies are late", (o, v) => o.TargetRate = ParseDouble(v, 1e-3, 1e9)),
        new(null, "--arrival", "even|poisson", "open loop: gaps between requests (even)", (o, v) => o.PoissonArrival = OneOf(v, "even", "poisson") == "poisson"),
        new("-d", "--data-size", "BYTES", "value size (32)", (o, v) => o.DataSizeMin = o.DataSizeMax = ParseInt(v, 1, DataBytesMax)),
        new(null, "--data-size-range", "MIN-MAX", "uniformly distributed value sizes", SetSizeRange),
        new("-R", "--random-data", null, "random bytes as values instead of x", (o, _) => o.RandomData = true),
        new(null, "--key-prefix", "TEXT", "prefix of keys (memtier-)", (o, v) => o.KeyPrefix = v),
        new(null, "--key-minimum", "N", "lowest key number (0)", (o, v) => o.KeyMinimum = ParseLong(v, 0, long.MaxValue - 1)),
        new(null, "--key-maximum", "N", "highest key number (10000000)", (o, v) => o.KeyMaximum = ParseLong(v, 0, long.MaxValue - 1)),
        new(null, "--key-pattern", "SET:GET", "a letter each (R:R): R random, S sequential, P sequential with a part per connection, G Gaussian, Z Zipf", SetPatterns),
        new(null, "--key-median", "N", "G: the median (the middle of the range)", (o, v) => o.KeyMedian = ParseDouble(v, 0, long.MaxValue)),
        new(null, "--key-stddev", "N", "G: the standard deviation (a sixth of the range)", (o, v) => o.KeyStandardDeviation = ParseDouble(v, 1e-9, long.MaxValue)),
        new(null, "--key-zipf-exp", "N", "Z: the exponent, up to 5 (1)", (o, v) => o.ZipfExponent = ParseDouble(v, 1e-3, 5)),
        new(null, "--distinct-client-seed", null, "different random keys per connection", (o, _) => o.DistinctClientSeed = true),
        new(null, "--randomize", null, "different random keys per run", (o, _) => o.Randomize = true),
        new(null, "--command", "TEXT", "a command instead of SET and GET; __key__ and __data__ are placeholders; may be repeated",
            (o, v) => o.Commands.Add(new BenchCommand(v, 1, KeyPattern.Random))),
        new(null, "--command-ratio", "N", "turns of the preceding command (1)", (o, v) => ChangeCommand(o, c => c with { Ratio = ParseInt(v, 1, 1_000_000) })),
        new(null, "--command-key-pattern", "LETTER", "its key pattern (R)", (o, v) => ChangeCommand(o, c => c with { Pattern = Pattern(v) })),
        new("-a", "--authenticate", "[USER:]PASSWORD", "authenticate first", SetCredentials),
        new(null, "--select-db", "N", "the database (0)", (o, v) => o.Database = ParseInt(v, 0, int.MaxValue)),
        new("-P", "--protocol", "2|3", "RESP version (2); also --resp, resp2, resp3, redis", SetProtocol),
        new(null, "--resp", "2|3", null, SetProtocol),
        new(null, "--tls", null, "encrypt", (o, _) => o.Tls = true),
        new(null, "--tls-skip-verify", null, "accept any server certificate", (o, _) => o.TlsSkipVerify = true),
        new(null, "--cert", "FILE", "client certificate (PEM)", (o, v) => o.TlsCertificate = v),
        new(null, "--key", "FILE", "client private key (PEM)", (o, v) => o.TlsKey = v),
        new(null, "--cacert", "FILE", "trusted certificate authorities (PEM)", (o, v) => o.TlsAuthority = v),
        new(null, "--sni", "NAME", "server name in the handshake", (o, v) => o.TlsServerName = v),
        new(null, "--json-out-file", "FILE", "also write the results to this file", (o, v) => o.JsonFile = v),
        new(null, "--hide-histogram", null, "omit the latency distribution", (o, _) => o.HideHistogram = true),
        new(null, "--print-percentiles", "LIST", "percentiles of the table (50,99,99.9)", SetPercentiles),
        new(null, "--transport", "default|epoll|sockets", "socket implementation", (o, v) => o.Transport = OneOf(v, "default", "epoll", "sockets")),
        new("-h", "--help", null, "show this list", (o, _) => o.ShowHelp = true),
    ];

    internal static string Usage
    {
        get
        {
            var text = new StringBuilder($"Usage: redkite bench [ADDRESS] [options]\n\nADDRESS is {ServerAddress.Forms}.\n\n");
            foreach (Row row in Rows.Where(row => row.Help is not null))
            {
                string names = $"  {(row.Short is null ? "   " : row.Short + ",")} {row.Long}{(row.Argument is null ? "" : " " + row.Argument)}";
                text.Append(names.PadRight(HelpColumn)).Append("  ").AppendLine(row.Help);
            }

            return text.Append("\nExit status: 0 finished, 1 the run failed, 2 invalid options.").ToString();
        }
    }

    /// <exception cref="BenchException">An option is invalid.</exception>
    internal static BenchOptions Parse(IReadOnlyList<string> arguments)
    {
        var options = new BenchOptions();
        HashSet<string> given = [];
        for (int i = 0; i < arguments.Count; i++)
        {
            if (!arguments[i].StartsWith('-'))
            {
                SetAddress(options, given, arguments[i]);
                continue;
            }

            (Row row, string? value) = Find(arguments[i]);
            if (row.Argument is null)
            {
                if (value is not null) throw Wrong($"{row.Long} takes no value");
                value = "";
            }
            else if (value is null)
            {
                value = ++i < arguments.Count ? arguments[i] : throw Wrong($"{row.Long} needs a value");
            }

            given.Add(row.Long);
            try
            {
                row.Apply(options, value);
            }
            catch (FormatException wrong)
            {
                throw Wrong($"{row.Long}: {wrong.Message}");
            }
        }

        if (!options.ShowHelp) Check(options, given);
        return options;
    }

    // -c 50, -c50, --clients 50, --clients=50
    private static (Row Row, string? Value) Find(string argument)
    {
        if (argument.StartsWith("--", StringComparison.Ordinal))
        {
            int equals = argument.IndexOf('=', StringComparison.Ordinal);
            string name = equals < 0 ? argument : argument[..equals];
            Row? row = Array.Find(Rows, row => row.Long == name);
            return row is null ? throw Wrong($"unknown option {name}") : (row, equals < 0 ? null : argument[(equals + 1)..]);
        }

        if (argument is not ['-', _, ..]) throw Wrong($"unexpected argument {argument}");
        Row? shortRow = Array.Find(Rows, row => row.Short == argument[..2]);
        return shortRow is null ? throw Wrong($"unknown option {argument}") : (shortRow, argument.Length > 2 ? argument[2..] : null);
    }

    private static void Check(BenchOptions options, HashSet<string> given)
    {
        if (given.Contains("ADDRESS") && (given.Contains("--server") || given.Contains("--port") || given.Contains("--unix-socket"))) throw Wrong("ADDRESS and --server, --port or --unix-socket exclude each other");
        if (given.Contains("--requests") && given.Contains("--test-time")) throw Wrong("--requests and --test-time exclude each other");
        if (given.Contains("--rate-limiting") && given.Contains("--target-rate")) throw Wrong("--rate-limiting and --target-rate exclude each other");
        if (given.Contains("--arrival") && !options.IsOpenLoop) throw Wrong("--arrival needs --target-rate");
        if (given.Contains("--command") && given.Contains("--ratio")) throw Wrong("--command and --ratio exclude each other");
        if (options.KeyMinimum > options.KeyMaximum) throw Wrong("--key-minimum is above --key-maximum");
        if (options.KeyMedian is { } median && (median < options.KeyMinimum || median > options.KeyMaximum)) throw Wrong("--key-median is outside the range of keys");
        if (options.Tls && options.UnixSocket is not null) throw Wrong("--tls and --unix-socket exclude each other");
        if ((options.TlsCertificate is null) != (options.TlsKey is null)) throw Wrong("--cert and --key need each other");
        if (options.Transport == "epoll" && !Net.EventLoop.EpollIsSupported) throw Wrong("--transport: there is no epoll here");
        foreach (BenchCommand command in options.Commands) _ = RequestTemplate.Parse(command.Text);
    }

    private static void SetRatio(BenchOptions options, string value)
    {
        string[] sides = value.Split(':');
        if (sides.Length != 2) throw new FormatException($"{value} is not SET:GET");
        options.SetRatio = ParseInt(sides[0], 0, 1_000_000);
        options.GetRatio = ParseInt(sides[1], 0, 1_000_000);
        if (options.SetRatio + options.GetRatio == 0) throw new FormatException("both sides are zero");
    }

    private static void SetSizeRange(BenchOptions options, string value)
    {
        string[] ends = value.Split('-');
        if (ends.Length != 2) throw new FormatException($"{value} is not MIN-MAX");
        options.DataSizeMin = ParseInt(ends[0], 1, DataBytesMax);
        options.DataSizeMax = ParseInt(ends[1], options.DataSizeMin, DataBytesMax);
    }

    private static void SetPatterns(BenchOptions options, string value)
    {
        string[] sides = value.Split(':');
        if (sides.Length != 2) throw new FormatException($"{value} is not SET:GET");
        options.SetPattern = Pattern(sides[0]);
        options.GetPattern = Pattern(sides[1]);
    }

    private static KeyPattern Pattern(string letter) => letter switch
    {
        "R" => KeyPattern.Random,
        "S" => KeyPattern.Sequential,
        "P" => KeyPattern.Parallel,
        "G" => KeyPattern.Gaussian,
        "Z" => KeyPattern.Zipf,
        _ => throw new FormatException($"{letter} is not one of R, S, P, G, Z"),
    };

    private static void ChangeCommand(BenchOptions options, Func<BenchCommand, BenchCommand> change)
    {
        if (options.Commands.Count == 0) throw new FormatException("no --command precedes it");
        options.Commands[^1] = change(options.Commands[^1]);
    }

    private static void SetAddress(BenchOptions options, HashSet<string> given, string text)
    {
        try
        {
            var address = ServerAddress.Parse(text);
            if (!given.Add("ADDRESS")) throw Wrong($"unexpected argument {text}: the server is named already");
            (options.Server, options.Port, options.Tls) = (address.Host, address.Port, options.Tls || address.Tls is not null);
            if (address.Database >= 0) options.Database = address.Database;
            if (address.Password.Length > 0) (options.User, options.Password) = (address.User, address.Password);
        }
        catch (FormatException wrong)
        {
            throw Wrong($"ADDRESS: {wrong.Message}");
        }
    }

    private static void SetCredentials(BenchOptions options, string value)
    {
        int colon = value.IndexOf(':', StringComparison.Ordinal);
        options.User = colon > 0 ? value[..colon] : null;
        options.Password = colon >= 0 ? value[(colon + 1)..] : value;
    }

    private static void SetProtocol(BenchOptions options, string value) =>
        options.Protocol = OneOf(value, "2", "3", "redis", "resp2", "resp3") is "3" or "resp3" ? 3 : 2;

    private static void SetPercentiles(BenchOptions options, string value) =>
        options.Percentiles = [.. value.Split(',').Select(text => ParseDouble(text, 0, 100))];

    private static int ParseInt(string text, int least, int most) => (int)ParseLong(text, least, most);

    private static long ParseLong(string text, long least, long most) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long number) && number >= least && number <= most
            ? number
            : throw new FormatException(string.Create(CultureInfo.InvariantCulture, $"{text} is not an integer from {least} to {most}"));

    private static double ParseDouble(string text, double least, double most) =>
        double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double number) && number >= least && number <= most
            ? number
            : throw new FormatException(string.Create(CultureInfo.InvariantCulture, $"{text} is not a number from {least} to {most}"));

    private static string OneOf(string text, params string[] known) =>
        known.Contains(text) ? text : throw new FormatException($"{text} is not one of {string.Join(", ", known)}");

    private static BenchException Wrong(string message) => new($"redkite bench: {message}", BenchException.WrongOptions);

    private sealed record Row(string? Short, string Long, string? Argument, string? Help, Action<BenchOptions, string> Apply);
}
