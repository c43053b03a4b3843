using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>Short runs of redis-benchmark: every test reports a rate, and no reply is an error.</summary>
[Collection(RunningServersCollection.Name)]
public sealed class RedisBenchmarkTests(RunningServers servers)
{
    public static TheoryData<string> Transports => RunningServers.Transports;

    [Theory]
    [MemberData(nameof(Transports))]
    public Task No_pipelining(string transport) => Run(transport, "-P", "1", "-n", "10000");

    [Theory]
    [MemberData(nameof(Transports))]
    public Task Pipeline_16(string transport) => Run(transport, "-P", "16", "-n", "50000", "-r", "1000");

    [Theory]
    [MemberData(nameof(Transports))]
    public Task Resp3(string transport) => Run(transport, "-3", "-P", "16", "-n", "20000");

    [Theory]
    [MemberData(nameof(Transports))]
    public Task Several_threads(string transport) => Run(transport, "--threads", "2", "-P", "4", "-n", "20000", "-r", "1000");

    [Theory]
    [MemberData(nameof(Transports))]
    public Task New_connection_per_request(string transport) => Run(transport, "-k", "0", "-n", "1000");

    [Theory]
    [MemberData(nameof(Transports))]
    public Task Large_values(string transport) => Run(transport, "-d", "100000", "-n", "1000", "-P", "4");

    private async Task Run(string transport, params string[] options)
    {
        ServerProcess server = servers.On(transport);
        ChildProgram benchmark = await ChildProgram.Run(OracleProgram.Benchmark, ["-p", $"{server.Port}", "-t", "set,get,incr,mset", "--csv", .. options]);
        Assert.True(benchmark.ExitCode == 0, benchmark.Errors + benchmark.Output);
        // The only accepted warning is redis-benchmark's advice about its own option.
        string all = (benchmark.Output + benchmark.Errors).Replace("WARNING: Keepalive disabled", "", StringComparison.Ordinal);
        Assert.DoesNotContain("error", all, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain("WARNING", all, StringComparison.Ordinal);

        // "SET","12345.67",... after a header line.
        List<string[]> rows = [.. benchmark.Lines.Skip(1).Select(line => line.Replace("\"", "", StringComparison.Ordinal).Split(','))];
        Assert.Equal(["SET", "GET", "INCR", "MSET (10 keys)"], rows.Select(row => row[0]));
        Assert.All(rows, row => Assert.True(double.Parse(row[1], CultureInfo.InvariantCulture) > 0));
    }
}
