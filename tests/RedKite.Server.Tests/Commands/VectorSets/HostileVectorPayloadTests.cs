using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.VectorSets;

/// <summary>
/// Payloads of vector sets with a checksum that is right and anything else wrong, on guarded memory: each is refused, or makes a set that every
/// command can work with. Nothing is left of what is refused.
/// </summary>
public sealed class HostileVectorPayloadTests : IAsyncLifetime
{
    private const int Version = 12;
    private const long GrowthBytesMax = 1 << 20;

    private static readonly int Rounds = TestScale.Of(gate: 3_000, full: 100_000);

    private readonly CommandTranscript _transcript = new() { GuardsMemory = true };

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("vectors of bytes")]
    [InlineData("vectors of floats")]
    [InlineData("vectors of signs")]
    [InlineData("vectors that are projected")]
    public void Damaged_sets_are_refused_or_work(string form)
    {
        var random = new Random(TestScale.GivenSeed ?? 1);
        byte[] whole = RedisDumps.ValueOf(RedisDumps.OfRedis80[form]);
        Assert.True(Restore(whole));
        Use();
        long before = _transcript.Keyspace.UsedBytes;
        int taken = 0;
        for (int i = 0; i < Rounds; i++)
        {
            if (!Restore(Damaged(random, whole))) continue;
            taken++;
            Use();
        }

        Assert.InRange(taken, 1, Rounds - 1);
        Run("DEL"u8.ToArray(), "k"u8.ToArray());
        while (_transcript.Keyspace.Stripes[0].FreeDroppedSlice())
        {
        }

        Assert.InRange(_transcript.Keyspace.UsedBytes, 0, before + 1_000);
    }

    // Each number of the payload as a length that promises more than there is.
    [Theory]
    [InlineData("vectors of bytes")]
    [InlineData("vectors of floats")]
    [InlineData("vectors of signs")]
    [InlineData("vectors that are projected")]
    public void Numbers_beyond_the_payload_reserve_nothing(string form)
    {
        byte[] whole = RedisDumps.ValueOf(RedisDumps.OfRedis80[form]);
        Run("DEL"u8.ToArray(), "k"u8.ToArray());
        long before = _transcript.Keyspace.UsedBytes;
        for (int at = 1; at < whole.Length; at++)
        {
            foreach (ulong number in (ulong[])[64, 1_000, 65_536, int.MaxValue, uint.MaxValue, 1UL << 40, 1UL << 62, ulong.MaxValue])
            {
                if (Restore([.. whole[..at], 0x81, .. BitConverter.GetBytes(System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(number)), .. whole[(at + 1)..]])) Use();
                Run("DEL"u8.ToArray(), "k"u8.ToArray());
                while (_transcript.Keyspace.Stripes[0].FreeDroppedSlice())
                {
                }

                Assert.InRange(_transcript.Keyspace.UsedBytes - before, -GrowthBytesMax, GrowthBytesMax);
                _transcript.Keyspace.CheckGuards();
            }
        }
    }

    private static byte[] Damaged(Random random, byte[] whole)
    {
        List<byte> value = [.. whole];
        for (int damages = random.Next(1, 4); damages > 0; damages--)
        {
            int at = random.Next(10, value.Count); // behind the module's id
            switch (random.Next(5))
            {
                case 0: value[at] = (byte)random.Next(256); break;
                case 1: value[at] ^= (byte)(1 << random.Next(8)); break;
                case 2: value.Insert(at, (byte)random.Next(256)); break;
                case 3: value.RemoveAt(at); break;
                default: value[at] = value[random.Next(10, value.Count)]; break;
            }
        }

        return [.. value];
    }

    private bool Restore(byte[] value)
    {
        RespValue reply = Run("RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), RedisDumps.Seal(value, Version), "REPLACE"u8.ToArray());
        Assert.True(reply.Text is "OK" or "ERR Bad data format", reply.ToString());
        return reply.Text == "OK";
    }

    private void Use()
    {
        if (Run("TYPE k").Text != "vectorset") return;
        string dimensions = Run("VDIM k").Text;
        foreach (RespValue name in Run("VRANGE k - +").Items)
        {
            foreach (string command in (string[])["VSIM", "VEMB", "VLINKS", "VGETATTR"])
            {
                Assert.False(command == "VSIM" ? Run("VSIM"u8.ToArray(), "k"u8.ToArray(), "ELE"u8.ToArray(), name.Payload!, "FILTER"u8.ToArray(), "1"u8.ToArray()).IsError : Run(System.Text.Encoding.ASCII.GetBytes(command), "k"u8.ToArray(), name.Payload!).IsError);
            }
        }

        Assert.False(Run("VSIM k ELE e1 TRUTH WITHSCORES").IsClosed);
        Run($"VADD k VALUES 3 1 2 3 new M 4");
        Run("DUMP k");
        Run("VREM k e1");
        Assert.NotEqual("", dimensions);
    }

    private RespValue Run(string line) => _transcript.Run(line);

    private RespValue Run(params byte[][] arguments) => _transcript.Run(arguments);
}
