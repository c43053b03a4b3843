using System.Globalization;
using System.Text;

namespace RedKite.Server.Tests.Following;

/// <summary>RedKite follows RedKite with arrays: what a synchronization brings, and every change after it, in transactions and scripts, too.</summary>
public sealed class ArrayFollowingTests
{
    private static readonly string[] Keys = ["array:1", "array:2", "ring:1", "ring:2"];

    [Fact]
    public async Task Arrays_follow()
    {
        await using ReplicationChain chain = await ReplicationChain.StartAsync("redkite");
        var random = new Random(4);
        for (int i = 0; i < 300; i++) Run(chain, Change(random));
        ChainNode follower = await chain.AddAsync("redkite");
        for (int round = 0; round < 3; round++)
        {
            // The first time what the synchronization has brought.
            for (int i = 0; round > 0 && i < 200; i++)
            {
                if (random.Next(10) == 0)
                {
                    Run(chain, ["MULTI"]);
                    Run(chain, Change(random));
                    Run(chain, Change(random));
                    Run(chain, ["EXEC"]);
                }
                else if (random.Next(10) == 0)
                {
                    Run(chain, ["EVAL", "redis.call('ARINSERT', KEYS[1], ARGV[1]) return redis.call('ARDEL', KEYS[1], 3)", "1", Keys[0], Text(random, 9)]);
                }
                else
                {
                    Run(chain, Change(random));
                }
            }

            chain.WaitFor(() => chain.Primary.Offset is var offset && follower.Offset == offset && chain.Primary.Offset == offset, "the replica");
            foreach (string key in Keys)
            {
                foreach (string[] question in (string[][])[["TYPE", key], ["ARINFO", key], ["ARSCAN", key, "0", "18446744073709551614"], ["DUMP", key]])
                {
                    Assert.Equal(chain.Primary.Client.Run(Bytes(question)).ToString(), follower.Client.Run(Bytes(question)).ToString());
                }
            }
        }
    }

    private static string[] Change(Random random)
    {
        string array = Keys[random.Next(2)], ring = Keys[2 + random.Next(2)];
        return random.Next(9) switch
        {
            0 => ["ARSET", array, Text(random, 3_000), Text(random, 9), new string('x', random.Next(100))],
            1 => ["ARMSET", array, Text(random, 3_000), "a", Text(random, int.MaxValue), "b"],
            2 => ["ARINSERT", array, "1", "text", ""],
            3 => ["ARSEEK", array, Text(random, 500)],
            4 => ["ARDEL", array, Text(random, 50), Text(random, 500)],
            5 => ["ARDELRANGE", array, Text(random, 3_000), Text(random, 3_000)],
            6 => ["COPY", array, ring, "REPLACE"],
            _ => ["ARRING", ring, random.Next(20) == 0 ? "50" : "20", Text(random, 100), "text"],
        };
    }

    private static string Text(Random random, int max) => random.Next(max).ToString(CultureInfo.InvariantCulture);

    private static byte[][] Bytes(string[] words) => [.. words.Select(Encoding.Latin1.GetBytes)];

    private static void Run(ReplicationChain chain, string[] command) => Assert.False(chain.Primary.Client.Run(Bytes(command)).IsError);
}
