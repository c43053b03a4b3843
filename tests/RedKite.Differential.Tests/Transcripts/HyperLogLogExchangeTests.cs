using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// HyperLogLogs that one server creates and the other continues; and thousands of damaged ones, which get the same reply
/// as in Redis and never crash the server.
/// </summary>
public sealed class HyperLogLogExchangeTests
{
    private static readonly int DamagedValues = TestScale.Of(gate: 300, full: 3_000);

    [Theory]
    [InlineData(3000)]
    [InlineData(150)]
    public void Values_are_exchanged_in_both_directions(int sparseBytesMax)
    {
        using ServerPair pair = ServerPair.Start();
        RespConnection[] sides = [pair.Oracle.Control, pair.Subject.Control];
        foreach (RespConnection side in sides) side.Run($"CONFIG SET hll-sparse-max-bytes {sparseBytesMax}").IsOk();
        Random random = new(3);
        for (int round = 0; round < 60; round++)
        {
            // One server counts some elements, the other takes over the value and counts more; a twin counts all on one side.
            RespConnection first = sides[round % 2];
            RespConnection second = sides[1 - (round % 2)];
            byte[][] some = Elements(random, 1 << random.Next(1, 13));
            byte[][] more = Elements(random, 1 << random.Next(1, 13));
            first.Run("DEL k twin");
            second.Run("DEL k twin");
            first.Run(["PFADD"u8.ToArray(), "k"u8.ToArray(), .. some]);
            if (random.Next(2) == 0) first.Run("PFCOUNT k");
            second.Run("SET"u8.ToArray(), "k"u8.ToArray(), first.Run("GET k").Payload!).IsOk();
            second.Run(["PFADD"u8.ToArray(), "k"u8.ToArray(), .. more]);
            first.Run(["PFADD"u8.ToArray(), "k"u8.ToArray(), .. more]);

            RespValue value = first.Run("GET k");
            second.Run("GET k").Is(value);
            RespValue count = first.Run("PFCOUNT k");
            second.Run("PFCOUNT k").Is(count);
            second.Run("GET k").Is(first.Run("GET k"));

            first.Run(["PFADD"u8.ToArray(), "twin"u8.ToArray(), .. Elements(random, 300)]);
            second.Run("SET"u8.ToArray(), "twin"u8.ToArray(), first.Run("GET twin").Payload!).IsOk();
            second.Run("PFCOUNT k twin").Is(first.Run("PFCOUNT k twin"));
            first.Run("PFMERGE twin k").IsOk();
            second.Run("PFMERGE twin k").IsOk();
            second.Run("GET twin").Is(first.Run("GET twin"));
        }
    }

    [Fact]
    public void Damaged_values_are_handled_as_in_redis()
    {
        using ServerPair pair = ServerPair.Start();
        Random random = new(5);
        byte[][] valid = ValidValues(pair.Subject.Control, random);
        int crashes = 0;
        for (int i = 0; i < DamagedValues; i++)
        {
            byte[] value = Damage(valid[random.Next(valid.Length)], random);
            foreach (ServerPair.Side side in (ServerPair.Side[])[pair.Oracle, pair.Subject]) side.Control.Run("DEL k merged");
            foreach (byte[][] command in Commands(value, random))
            {
                RespValue subject = pair.Subject.Control.Run(command);
                Assert.False(subject.IsClosed || subject.IsTimeout, $"{CommandLine.Format(command)} ended the server: {CommandLine.Escape(value)}");
                if (EndsInsideARun(value)) continue;
                if (Ask(pair.Oracle, command) is { } oracle)
                {
                    Assert.True(oracle.Equals(subject), $"value {i} {CommandLine.Escape(value)}\n{new Difference(i, command, oracle.ToString(), subject.ToString())}");
                    continue;
                }

                crashes++;
                pair.Reset();
                break;
            }
        }

        TestContext.Current.SendDiagnosticMessage($"{DamagedValues} damaged HyperLogLogs; {crashes} ended {ServerProgram.Oracle.Name}");
    }

    // A long run of zeros without its second byte: Redis reads beyond the string there, so its result is meaningless.
    private static bool EndsInsideARun(byte[] value)
    {
        if (value.Length <= 16 || !value.AsSpan().StartsWith("HYLL\u0001"u8)) return false;
        int at = 16;
        while (at < value.Length) at += (value[at] & 0xC0) == 0x40 ? 2 : 1;
        return at > value.Length;
    }

    // Null: the server has exited.
    private static RespValue? Ask(ServerPair.Side side, byte[][] command)
    {
        try
        {
            RespValue reply = side.Control.Run(command);
            return reply.IsClosed || reply.IsTimeout ? null : reply;
        }
        catch (IOException)
        {
            return null;
        }
    }

    private static byte[][] Elements(Random random, int count) => [.. Enumerable.Range(0, count).Select(_ => Encoding.ASCII.GetBytes($"element:{random.Next(20_000)}"))];

    // Empty, sparse of several sizes, and dense ones, with and without a cached count.
    private static byte[][] ValidValues(RespConnection server, Random random)
    {
        List<byte[]> values = [];
        foreach (int count in (int[])[0, 1, 2, 10, 50, 300, 1_000, 5_000])
        {
            server.Run("DEL k");
            server.Run(["PFADD"u8.ToArray(), "k"u8.ToArray(), .. Elements(random, count)]);
            values.Add(server.Run("GET k").Payload!);
            server.Run("PFCOUNT k");
            values.Add(server.Run("GET k").Payload!);
        }

        return [.. values];
    }

    private static byte[] Damage(byte[] valid, Random random)
    {
        List<byte> value = [.. valid];
        for (int damages = random.Next(1, 5); damages > 0 && value.Count > 0; damages--)
        {
            int at = random.Next(4) == 0 ? random.Next(value.Count) : Math.Min(value.Count - 1, 16 + random.Next(40));
            switch (random.Next(8))
            {
                case 0: value.RemoveRange(at, value.Count - at); break;
                case 1: value.Insert(at, (byte)random.Next(256)); break;
                case 2: value.RemoveAt(at); break;
                case 3: value[at] = (byte)random.Next(256); break;
                case 4: value[Math.Min(15, value.Count - 1)] ^= 0x80; break;
                default: value[at] ^= (byte)(1 << random.Next(8)); break;
            }
        }

        return [.. value];
    }

    private static List<byte[][]> Commands(byte[] value, Random random)
    {
        List<byte[][]> commands = [["SET"u8.ToArray(), "k"u8.ToArray(), value]];
        string[] choices = ["PFCOUNT k", "PFCOUNT k k", "PFMERGE merged k", "PFMERGE k", "PFDEBUG ENCODING k", "PFDEBUG TODENSE k", "PFDEBUG GETREG k", "add"];
        for (int i = 0; i < 4; i++)
        {
            string choice = choices[random.Next(choices.Length)];
            commands.Add(choice == "add" ? ["PFADD"u8.ToArray(), "k"u8.ToArray(), .. Elements(random, 5)] : CommandLine.Split(choice));
        }

        commands.Add(CommandLine.Split("GET k"));
        commands.Add(CommandLine.Split("GET merged"));
        return commands;
    }
}
