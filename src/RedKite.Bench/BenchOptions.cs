namespace RedKite.Bench;

/// <summary>An arbitrary command to send.</summary>
/// <param name="Text">As on a command line, with __key__ and __data__ as placeholders for keys and values.</param>
internal sealed record BenchCommand(string Text, int Ratio, KeyPattern Pattern);

/// <summary>The load to generate. Names and defaults are memtier_benchmark's; <see cref="BenchArguments"/> is the manual.</summary>
internal sealed record BenchOptions
{
    internal string Server { get; set; } = "localhost";
    internal int Port { get; set; } = 6379;
    internal string? UnixSocket { get; set; }
    internal string Transport { get; set; } = "default";

    /// <summary>Connections per thread.</summary>
    internal int Clients { get; set; } = 50;
    internal int Threads { get; set; } = 4;

    /// <summary>Requests per connection; null: one per key.</summary>
    internal long? Requests { get; set; } = 10_000;

    /// <summary>Duration in seconds instead of a number of requests; 0: not set.</summary>
    internal int TestTime { get; set; }
    internal int SetRatio { get; set; } = 1;
    internal int GetRatio { get; set; } = 10;
    internal int Pipeline { get; set; } = 1;
    internal int RunCount { get; set; } = 1;

    /// <summary>Requests per second and connection; 0: no limit.</summary>
    internal double RateLimit { get; set; }

    /// <summary>Requests per second over all connections, whether or not replies arrive in time; 0: not set.</summary>
    internal double TargetRate { get; set; }
    internal bool PoissonArrival { get; set; }

    internal int DataSizeMin { get; set; } = 32;
    internal int DataSizeMax { get; set; } = 32;
    internal bool RandomData { get; set; }

    internal string KeyPrefix { get; set; } = "memtier-";
    internal long KeyMinimum { get; set; }
    internal long KeyMaximum { get; set; } = 10_000_000;
    internal KeyPattern SetPattern { get; set; } = KeyPattern.Random;
    internal KeyPattern GetPattern { get; set; } = KeyPattern.Random;
    internal double? KeyMedian { get; set; }
    internal double? KeyStandardDeviation { get; set; }
    internal double ZipfExponent { get; set; } = 1;
    internal bool DistinctClientSeed { get; set; }
    internal bool Randomize { get; set; }

    /// <summary>Sent instead of SET and GET if there are any.</summary>
    internal List<BenchCommand> Commands { get; } = [];

    internal string? User { get; set; }
    internal string? Password { get; set; }
    internal int Database { get; set; }
    internal int Protocol { get; set; } = 2;

    internal bool Tls { get; set; }
    internal bool TlsSkipVerify { get; set; }
    internal string? TlsCertificate { get; set; }
    internal string? TlsKey { get; set; }
    internal string? TlsAuthority { get; set; }
    internal string? TlsServerName { get; set; }

    internal string? JsonFile { get; set; }
    internal bool HideHistogram { get; set; }
    internal double[] Percentiles { get; set; } = [50, 99, 99.9];
    internal bool ShowHelp { get; set; }

    internal bool IsOpenLoop => TargetRate > 0;

    internal bool IsPaced => IsOpenLoop || RateLimit > 0;

    internal int Connections => Clients * Threads;

    /// <summary>Requests that each connection sends; unlimited if a duration is set.</summary>
    internal long RequestsPerClient
    {
        get
        {
            if (TestTime > 0) return long.MaxValue;
            if (Requests is { } requests) return requests;
            long range = KeyMaximum - KeyMinimum + 1;
            KeyPattern pattern = Commands.Count > 0 ? Commands[0].Pattern : SetPattern;
            return pattern == KeyPattern.Parallel ? ((range - 1) / Connections) + 1 : range;
        }
    }
}
