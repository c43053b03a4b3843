using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>The fields of INFO are Redis's, apart from those that rows of <see cref="NotCopied"/> name.</summary>
public sealed partial class InfoFieldsTests
{
    // One line for each command, error, database, loop or open finding: as many as there are.
    private static readonly string[] Numbered = ["cmdstat_", "latency_percentiles_usec_", "errorstat_", "db", "io_thread_", "finding_"];

    private static readonly string[] OfNewerVersions =
    [
        "acl_access_denied_tls_cert", "backup_in_progress", "expired_keys_active", "expired_subkeys_active", "io_threaded_total_prefetch_batches", "io_threaded_total_prefetch_entries",
        "master_current_sync_attempts", "master_total_sync_attempts", "mem_cluster_slot_migration_input_buffer", "mem_cluster_slot_migration_input_buffer_peak",
        "mem_cluster_slot_migration_output_buffer", "rdb_saves_consecutive_failures", "total_disconnect_time_sec", "used_memory_peak_time",
    ];

    [Theory]
    [InlineData("")]
    [InlineData("all")]
    [InlineData("everything")]
    public void Fields_of_both_servers_are_the_same_but_for_the_documented_ones(string section)
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "the fields of INFO: " + OracleProgram.Redis8Missing);
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "this is what RedKite does");
        (string Field, string Section)[] here = FieldsOf(ServerProgram.UnderTest, section);
        (string Field, string Section)[] inRedis = FieldsOf(OracleProgram.Redis8!, section);
        string[] documented = [.. NotCopied.Rows.Where(row => row.Command == NotCopied.InfoFields).SelectMany(row => CodeSpan().Matches(row.Here)).Select(match => match.Groups[1].Value)];
        Assert.NotEmpty(documented);
        Assert.Equal(documented.Order(), here.Select(line => line.Field).Except(inRedis.Select(line => line.Field)).Except(OfNewerVersions).Order());
        Assert.Empty(inRedis.Select(line => line.Field).Except(here.Select(line => line.Field)));
        Assert.Empty(inRedis.Except(here)); // each in its section
    }

    private static (string Field, string Section)[] FieldsOf(ServerProgram program, string section)
    {
        using ServerProcess server = ServerProcess.Start(program);
        using RespConnection client = server.Connect();
        foreach (string line in (string[])["CONFIG SET maxmemory 1gb", "SET k v EX 100", "HSET h a 1", "EVAL \"return 1\" 0", "INCR h", "SUBSCRIBE c", "UNSUBSCRIBE", "XADD s * a 1", "BGREWRITEAOF nosuch"]) client.Run(line);
        var fields = new List<(string, string)>();
        string current = "";
        foreach (string line in client.Run(("INFO " + section).TrimEnd()).Text.Split("\r\n"))
        {
            if (line.StartsWith("# ", StringComparison.Ordinal)) current = line;
            else if (line.IndexOf(':', StringComparison.Ordinal) is > 0 and var colon && !Array.Exists(Numbered, prefix => line.StartsWith(prefix, StringComparison.Ordinal))) fields.Add((line[..colon], current));
        }

        return [.. fields.Distinct()];
    }

    [GeneratedRegex("`([a-z_]+)`")]
    private static partial Regex CodeSpan();
}
