using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Arrays;

/// <summary>
/// Payloads of arrays with a checksum that is right and anything else wrong, on guarded memory: each is refused, or makes an array that every
/// command can work with. Nothing is left of what is refused.
/// </summary>
public sealed class HostileArrayPayloadTests : IAsyncLifetime
{
    private const int Version = 12;
    private const int IdBytes = 10; // the type, and the module's id
    private const long GrowthBytesMax = 1 << 20;

    private static readonly int Rounds = TestScale.Of(gate: 3_000, full: 100_000);

    private static readonly string[] Commands =
    [
        "ARINFO k FULL", "ARLEN k", "ARCOUNT k", "ARNEXT k", "ARSCAN k 0 18446744073709551614", "ARSCAN k 18446744073709551614 0 LIMIT 3", "ARGETRANGE k 0 20", "ARLASTITEMS k 10",
        "AROP k 0 18446744073709551614 SUM", "ARGREP k - + MATCH a WITHVALUES", "COPY k other REPLACE", "DUMP k", "ARSET k 3 new", "ARRING k 4 x y", "ARDELRANGE k 0 1",
        "ARDEL k 3 5 7", "ARSEEK k 2", "ARINSERT k z",
    ];

    private readonly CommandTranscript _transcript = new() { GuardsMemory = true };

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Damaged_arrays_are_refused_or_work()
    {
        var random = new Random(TestScale.GivenSeed ?? 1);
        byte[] whole = Whole();
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
        Run("DEL k other");
        FreeDropped();
        Assert.InRange(_transcript.Keyspace.UsedBytes, 0, before + 1_000);
    }

    // Each number of the payload as a length, or a gap, that promises more than there is.
    [Fact]
    public void Numbers_beyond_the_payload_reserve_nothing()
    {
        byte[] whole = Whole();
        Run("DEL k other");
        long before = _transcript.Keyspace.UsedBytes;
        for (int at = IdBytes; at < whole.Length; at++)
        {
            foreach (ulong number in (ulong[])[64, 1_000, 65_536, int.MaxValue, uint.MaxValue, 1UL << 40, 1UL << 62, ulong.MaxValue - 1, ulong.MaxValue])
            {
                if (Restore([.. whole[..at], 0x81, .. BitConverter.GetBytes(System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(number)), .. whole[(at + 1)..]])) Use();
                Run("DEL k other");
                FreeDropped();
                Assert.InRange(_transcript.Keyspace.UsedBytes - before, -GrowthBytesMax, GrowthBytesMax);
                _transcript.Keyspace.CheckGuards();
            }
        }
    }

    private byte[] Whole()
    {
        Run("DEL k");
        Run("ARMSET k 0 a 1 12345 2 a-text-of-a-block 300 '' 18446744073709551614 last");
        Run("ARRING k 18446744073709551615 ring");
        return RedisDumps.ValueOf(Run("DUMP k").Payload!);
    }

    private static byte[] Damaged(Random random, byte[] whole)
    {
        List<byte> value = [.. whole];
        for (int damages = random.Next(1, 4); damages > 0; damages--)
        {
            int at = random.Next(IdBytes, value.Count);
            switch (random.Next(5))
            {
                case 0: value[at] = (byte)random.Next(256); break;
                case 1: value[at] ^= (byte)(1 << random.Next(8)); break;
                case 2: value.Insert(at, (byte)random.Next(256)); break;
                case 3: value.RemoveAt(at); break;
                default: value[at] = value[random.Next(IdBytes, value.Count)]; break;
            }
        }

        return [.. value];
    }

    private bool Restore(byte[] value)
    {
        RespValue reply = _transcript.Run(["RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), RedisDumps.Seal(value, Version), "REPLACE"u8.ToArray()]);
        Assert.True(reply.Text is "OK" or "ERR Bad data format", reply.ToString());
        return reply.Text == "OK";
    }

    private void Use()
    {
        foreach (string command in Commands) Assert.False(Run(command).IsClosed, command);
        _transcript.Keyspace.CheckGuards();
    }

    private void FreeDropped()
    {
        while (_transcript.Keyspace.Stripes[0].FreeDroppedSlice())
        {
        }
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
