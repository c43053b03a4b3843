using System.Diagnostics;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// Compares the contents of both servers after a stream: the keys of every database, and each key's type, encoding, expiry
/// and value. Also checks the system under test for consistency: a scan in small steps finds the same keys as KEYS, and every
/// value survives a save and reload.
/// </summary>
internal static class KeyspaceComparison
{
    private const int ScanStepsMax = 10_000;

    // By type: queries whose replies are the value of the key KEY, in an order that does not depend on the encoding.
    private static readonly Dictionary<string, string[]> ValueCommands = new()
    {
        ["string"] = ["GET KEY"],
        ["list"] = ["LRANGE KEY 0 -1"],
        ["zset"] = ["ZRANGE KEY 0 -1 WITHSCORES"],
        ["set"] = ["SMEMBERS KEY"],
        ["stream"] = ["XRANGE KEY - +", "XREVRANGE KEY + -", "XINFO STREAM KEY FULL COUNT 0"],
        ["hash"] = ["HGETALL KEY"],
        ["vectorset"] = ["VCARD KEY", "VDIM KEY", "VINFO KEY"],
    };

    public static Difference? Compare(ServerPair pair, int stepIndex)
    {
        RespConnection oracle = pair.Oracle.Control;
        RespConnection subject = pair.Subject.Control;
        Difference? Ask(params byte[][] command)
        {
            long start = Stopwatch.GetTimestamp();
            Comparison comparison = new(command, oracle.Run(command), subject.Run(command));
            ClockDistance.RecordExchange(start);
            bool same = comparison.Oracle.Equals(comparison.Subject) || AllowedDifferences.Allow(comparison);
            return same ? null : Difference.Of(stepIndex, comparison);
        }

        for (int database = 0; database < ServerPair.Databases; database++)
        {
            if ((Ask(CommandLine.Split($"SELECT {database}")) ?? Ask("KEYS"u8.ToArray(), "*"u8.ToArray())) is { } difference) return difference;
            if (Ask("DBSIZE"u8.ToArray()) is { } size) return size;

            RespValue keys = subject.Run("KEYS *");
            foreach (RespValue key in keys.Items)
            {
                string type = subject.Run("TYPE"u8.ToArray(), key.Payload!).Text;
                byte[][][] questions =
                [
                    ["TYPE"u8.ToArray(), key.Payload!],
                    ["OBJECT"u8.ToArray(), "ENCODING"u8.ToArray(), key.Payload!],
                    ["PEXPIRETIME"u8.ToArray(), key.Payload!],
                    .. ValueCommands.GetValueOrDefault(type, []).Select(command => (byte[][])[.. CommandLine.Split(command).Select(word => word.AsSpan().SequenceEqual("KEY"u8) ? key.Payload! : word)]),
                    .. type == "vectorset" ? [] : (byte[][][])[["DEBUG"u8.ToArray(), "DIGEST-VALUE"u8.ToArray(), key.Payload!]], // each server has its own
                ];
                foreach (byte[][] question in questions)
                {
                    if (Ask(question) is { } differs) return differs;
                }
            }

            if (CompareScan(subject, keys) is { } missed) return new Difference(stepIndex, CommandLine.Split("SCAN 0 COUNT 3"), keys.ToString(), missed);
        }

        // Last, because reloading may change a value's encoding.
        return CompareReloaded(subject) is { } changed ? new Difference(stepIndex, CommandLine.Split("DEBUG RELOAD"), "the same values", changed) : null;
    }

    private static string? CompareReloaded(RespConnection subject)
    {
        List<(int Database, byte[] Key, RespValue Digest)> values = [];

        // Sorted sets that become packed on reload: as in Redis, zeros lose their sign then.
        HashSet<(int Database, string Key)> signedZeros = [];
        for (int database = 0; database < ServerPair.Databases; database++)
        {
            subject.Run($"SELECT {database}");
            foreach (RespValue key in subject.Run("KEYS *").Items)
            {
                values.Add((database, key.Payload!, DigestOf(key.Payload!)));
                RespValue zeros = subject.Run("ZRANGE"u8.ToArray(), key.Payload!, "0"u8.ToArray(), "0"u8.ToArray(), "BYSCORE"u8.ToArray(), "WITHSCORES"u8.ToArray());
                if (zeros.Items.Any(zero => zero.Text == "-0")) signedZeros.Add((database, key.Text));
            }
        }

        RespValue reply = subject.Run("DEBUG RELOAD");
        if (reply.Text != "OK") return reply.ToString();
        foreach ((int database, byte[] key, RespValue digest) in values)
        {
            subject.Run($"SELECT {database}");
            if (DigestOf(key).Equals(digest)) continue;
            bool expired = subject.Run("EXISTS"u8.ToArray(), key).Number == 0;
            if (!expired && !signedZeros.Contains((database, Encoding.Latin1.GetString(key)))) return $"another value of {Encoding.Latin1.GetString(key)} in database {database}";
        }

        return null;

        RespValue DigestOf(byte[] key) => subject.Run("DEBUG"u8.ToArray(), "DIGEST-VALUE"u8.ToArray(), key);
    }

    private static string? CompareScan(RespConnection subject, RespValue keys)
    {
        HashSet<string> found = [];
        string cursor = "0";
        for (int steps = 0; steps < ScanStepsMax; steps++)
        {
            RespValue reply = subject.Run($"SCAN {cursor} COUNT 3");
            if (reply.Items.Count != 2) return reply.ToString();
            found.UnionWith(reply.Items[1].Items.Select(key => key.Text));
            cursor = reply.Items[0].Text;
            if (cursor == "0") return found.SetEquals(keys.Items.Select(key => key.Text)) ? null : "scan found " + string.Join(' ', found);
        }

        return $"the scan did not end within {ScanStepsMax} steps";
    }
}
