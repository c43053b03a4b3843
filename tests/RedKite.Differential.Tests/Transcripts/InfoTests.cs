using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>INFO has the sections and fields of the oracle: monitoring tools look them up by name.</summary>
[Collection(TranscriptCollection.Name)]
public sealed class InfoTests(TranscriptServers servers) : TranscriptTests(servers)
{
    // Fields of the oracle that RedKite lacks, with reasons.
    private static readonly Dictionary<string, string> Missing = new()
    {
        ["gcc_version"] = "RedKite is not compiled by it",
        ["atomicvar_api"] = "a detail of compilers",
    };

    [Theory]
    [InlineData("INFO")]
    [InlineData("INFO everything")]
    [InlineData("INFO all")]
    [InlineData("INFO default")]
    [InlineData("INFO server")]
    [InlineData("INFO clients")]
    [InlineData("INFO memory")]
    [InlineData("INFO persistence")]
    [InlineData("INFO stats")]
    [InlineData("INFO replication")]
    [InlineData("INFO cpu")]
    [InlineData("INFO commandstats")]
    [InlineData("INFO latencystats")]
    [InlineData("INFO errorstats")]
    [InlineData("INFO cluster")]
    [InlineData("INFO keyspace")]
    [InlineData("INFO modules")]
    [InlineData("INFO nosuch")]
    [InlineData("INFO CPU Memory cpu")]
    [InlineData("INFO keyspace nosuch")]
    public void Info_has_redis_sections_and_fields(string command)
    {
        foreach (RespConnection side in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control])
        {
            side.Run("SET k v EX 1000").IsOk();
            side.Run("GET");
        }

        RespValue oracle = Pair.Oracle.Control.Run(command);
        RespValue subject = Pair.Subject.Control.Run(command);

        Assert.Equal(oracle.Marker, subject.Marker);
        Assert.Equal(Sections(oracle.Text), Sections(subject.Text).Where(Sections(oracle.Text).Contains));
        Assert.Empty(Fields(oracle.Text).Except(Fields(subject.Text)).Except(Missing.Keys));
        Assert.DoesNotContain('\n', subject.Text.Replace("\r\n", "", StringComparison.Ordinal));
    }

    [Fact]
    public void Keyspace_section_matches_redis()
    {
        PairedConnection connection = Open();
        connection.Run("SET a 1").IsOk();
        connection.Run("SELECT 7").IsOk();
        connection.Run("SET a 1 EX 100000").IsOk();
        connection.Run("SET b 1").IsOk();
        string[] Lines(RespConnection side) =>
            [.. side.Run("INFO keyspace").Text.Split("\r\n").Select(line => line.Split(",avg_ttl=")[0])];
        Assert.Equal(Lines(Pair.Oracle.Control), Lines(Pair.Subject.Control));
    }

    [Fact]
    public void Counters_count_executed_commands()
    {
        PairedConnection connection = Open();
        connection.Run("CONFIG RESETSTAT").IsOk();
        connection.Run("SET k v").IsOk();
        connection.Run("GET k");
        connection.Run("GET none");
        connection.Run("GET");
        connection.Run("NOSUCH");
        connection.Run("SET x y PX 1");
        Thread.Sleep(20);
        connection.Run("GET x").IsNull();
        string[] Counters(RespConnection side) =>
        [
            .. side.Run("INFO everything").Text.Split("\r\n").Where(line =>
                line.StartsWith("keyspace_hits:", StringComparison.Ordinal) || line.StartsWith("keyspace_misses:", StringComparison.Ordinal)
                || line.StartsWith("total_error_replies:", StringComparison.Ordinal) || line.StartsWith("expired_keys:", StringComparison.Ordinal)
                || line.StartsWith("errorstat_", StringComparison.Ordinal))
        ];
        Assert.Equal(Counters(Pair.Oracle.Control), Counters(Pair.Subject.Control));
    }

    private static IEnumerable<string> Sections(string info) => info.Split("\r\n").Where(line => line.StartsWith('#'));

    // Lines per command, error and database depend on the workload, not on the server.
    private static IEnumerable<string> Fields(string info) => info.Split("\r\n")
        .Where(line => line.Contains(':', StringComparison.Ordinal)).Select(line => line.Split(':')[0])
        .Where(name => !name.StartsWith("cmdstat_", StringComparison.Ordinal) && !name.StartsWith("latency_percentiles_usec_", StringComparison.Ordinal));
}
