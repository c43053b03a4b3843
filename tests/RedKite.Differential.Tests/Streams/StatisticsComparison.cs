using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// The values of INFO that a stream determines, compared after it: calls of every command, and how many failed or were refused,
/// errors by their code, and the keys of every database. Hits and misses are compared for each command by KeyspaceHitTests: a
/// command that fails may look its key up before it finds the error or afterwards.
/// </summary>
internal static class StatisticsComparison
{
    private static readonly string[] Counters = ["total_error_replies", "unexpected_error_replies"];

    // The runner sends these to one server alone, or one of them more often.
    private static readonly Dictionary<string, string> NotCompared = new()
    {
        ["cmdstat_info"] = "asked until a condition holds",
        ["cmdstat_srem"] = "removes what only the other server popped",
    };

    public static Difference? Compare(ServerPair pair, int stepIndex)
    {
        string[] expected = Values(pair.Oracle.Control), actual = Values(pair.Subject.Control);
        string[] missing = [.. expected.Except(actual)], wrong = [.. actual.Except(expected)];
        return missing.Length + wrong.Length == 0
            ? null : new Difference(stepIndex, CommandLine.Split("INFO everything"), string.Join("; ", missing), string.Join("; ", wrong));
    }

    private static string[] Values(RespConnection server) => [.. server.Run("INFO everything").Text.Split("\r\n").Select(Comparable).Where(line => line.Length > 0)];

    private static string Comparable(string line)
    {
        string name = line.Split(':')[0];
        if (NotCompared.ContainsKey(name)) return "";
        if (name.StartsWith("cmdstat_", StringComparison.Ordinal))
        {
            string[] fields = line[(name.Length + 1)..].Split(',');
            return $"{name}:{string.Join(',', fields.Where(field => !field.StartsWith("usec", StringComparison.Ordinal)))}";
        }

        if (name.StartsWith("db", StringComparison.Ordinal) && line.Contains("keys=", StringComparison.Ordinal))
            return line.Split(",avg_ttl=")[0]; // subexpiry, behind it, falls when each server's own expiry cycle has removed the last such field of a hash
        return name.StartsWith("errorstat_", StringComparison.Ordinal) || Counters.Contains(name) ? line : "";
    }
}
