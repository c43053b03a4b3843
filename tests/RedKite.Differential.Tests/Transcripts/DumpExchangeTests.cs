using System.Globalization;
using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Both servers have the same values; then each restores the other's dumps, and they still have the same values. Limits are
/// small, so that every encoding occurs.
/// </summary>
public sealed class DumpExchangeTests
{
    private const int StepCount = 2_500;

    private static readonly string[] SmallLimits =
    [
        "--hash-max-listpack-entries", "6", "--hash-max-listpack-value", "30", "--zset-max-listpack-entries", "8", "--zset-max-listpack-value", "30",
        "--set-max-intset-entries", "16", "--list-max-listpack-size", "12", "--stream-node-max-entries", "5",
    ];

    private static readonly string[] FamiliesOfValues = ["string", "bitmap", "hyperloglog", "set", "sorted-set", "geo", "list", "stream", "hash", "dump"];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    public void Data_from_command_streams_survives_the_exchange(int seed)
    {
        using ServerPair pair = ServerPair.Start([.. SmallLimits, "--enable-debug-command", "yes"]);
        List<Step> steps = StreamGenerator.Generate(seed, StepCount, [.. CommandTable.Families.Where(family => FamiliesOfValues.Contains(family.Name))]);
        Assert.Null(StreamRunner.Run(pair, steps, seed));
        Assert.True(Exchange(pair, compresses: seed % 2 == 0) > 10);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Large_values_survive_the_exchange(bool compresses)
    {
        using ServerPair pair = ServerPair.Start("--enable-debug-command", "yes");
        var random = new Random(8);
        for (int batch = 0; batch < 40; batch++)
        {
            Both(pair, ["RPUSH", "list", .. Several(random, i => $"member:{(batch * 100) + i:000000}", i => new string('x', random.Next(2_000)), i => $"{random.Next()}")]);
            Both(pair, ["HSET", "hash", .. Several(random, i => $"field:{batch}:{i}", i => $"{i}").SelectMany(field => new[] { field, new string('v', random.Next(80)) })]);
            Both(pair, ["SADD", "set:large", .. Several(random, i => $"m{batch}:{i}", i => $"{random.Next()}")]);
            Both(pair, ["SADD", "set:numbers", .. Several(random, i => $"{random.Next(-50_000, 50_000)}").Take(12)]);
            Both(pair, ["ZADD", "zset", .. Several(random, i => $"m{batch}:{i}").SelectMany(member => new[] { (random.Next(-4_000, 4_000) / 16.0).ToString(CultureInfo.InvariantCulture), member })]);
            Both(pair, ["APPEND", "string", string.Concat(Several(random, i => $"{i % 7}", i => "text"))]);
            Both(pair, ["SETRANGE", "bytes", $"{batch * 5_000}", new string((char)random.Next(32, 127), 3_000)]);
            for (int i = 1; i < 40; i++) Both(pair, ["XADD", "stream", $"{(batch * 10) + (i / 4)}-{i}", "temperature", $"{random.Next(300)}", "place", new string('p', random.Next(30)), .. i % 9 == 0 ? new[] { "more", "1" } : []]);
            Both(pair, ["XDEL", "stream", $"{batch * 10}-1", $"{(batch * 10) + 2}-9"]);
        }

        Both(pair, ["ZADD", "zset", "inf", "a", "-inf", "b", "1e300", "c", "-0.1", "d"]);
        for (int group = 0; group < 5; group++)
        {
            Both(pair, ["XGROUP", "CREATE", "stream", $"g{group}", $"{group * 20}-0"]);
            for (int reader = 0; reader < 6; reader++) Both(pair, ["XREADGROUP", "GROUP", $"g{group}", $"c{reader % 4}", "COUNT", $"{(reader + 1) * 10}", "STREAMS", "stream", ">"]);
            Both(pair, ["XACK", "stream", $"g{group}", "20-2", "21-4", "40-1"]);
        }

        Assert.Null(KeyspaceComparison.Compare(pair, 0));
        Assert.Equal(8, Exchange(pair, compresses));
    }

    // Replaces each server's values with the other's dumps, compares the keyspaces, and returns the number of values.
    private static int Exchange(ServerPair pair, bool compresses)
    {
        RespConnection oracle = pair.Oracle.Control;
        RespConnection subject = pair.Subject.Control;
        foreach (RespConnection side in (RespConnection[])[oracle, subject]) side.Run($"CONFIG SET rdbcompression {(compresses ? "yes" : "no")}").IsOk();
        int values = 0;
        for (int database = 0; database < ServerPair.Databases; database++)
        {
            oracle.Run($"SELECT {database}").IsOk();
            subject.Run($"SELECT {database}").IsOk();
            foreach (RespValue key in subject.Run("KEYS *").Items)
            {
                byte[] byOracle = oracle.Run("DUMP"u8.ToArray(), key.Payload!).Payload!;
                byte[] bySubject = subject.Run("DUMP"u8.ToArray(), key.Payload!).Payload!;
                Restore(oracle, key.Payload!, bySubject);
                Restore(subject, key.Payload!, byOracle);
                values++;
            }
        }

        Difference? difference = KeyspaceComparison.Compare(pair, 0);
        Assert.True(difference is null, $"{difference}");
        return values;
    }

    private static void Restore(RespConnection side, byte[] key, byte[] dump)
    {
        long expiryMs = Math.Max(0, side.Run("PEXPIRETIME"u8.ToArray(), key).Number);
        RespValue reply = side.Run("RESTORE"u8.ToArray(), key, Encoding.ASCII.GetBytes(expiryMs.ToString(CultureInfo.InvariantCulture)), dump, "REPLACE"u8.ToArray(), "ABSTTL"u8.ToArray());
        Assert.True(reply.Text == "OK", $"{reply} to RESTORE of {Convert.ToHexString(dump)}");
    }

    private static void Both(ServerPair pair, IEnumerable<string> words)
    {
        byte[][] command = [.. words.Select(Encoding.Latin1.GetBytes)];
        RespValue reply = pair.Oracle.Control.Run(command);
        Assert.False(reply.IsError, $"{reply}");
        pair.Subject.Control.Run(command);
    }

    // Fifty words, each generated in one of several ways.
    private static string[] Several(Random random, params Func<int, string>[] makers) => [.. Enumerable.Range(0, 50).Select(i => makers[random.Next(makers.Length)](i))];
}
