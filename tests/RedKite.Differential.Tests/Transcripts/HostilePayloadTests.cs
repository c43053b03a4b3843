using System.Buffers.Binary;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Payloads of RESTORE whose counts and lengths promise far more than they hold, in every form, with a checksum that is right: what Redis
/// refuses is refused, at once and without the memory that it asks for. Redis takes more: it reads on into the checksum.
/// </summary>
[Collection(TranscriptCollection.Name)]
public sealed class HostilePayloadTests(TranscriptServers servers) : TranscriptTests(servers)
{
    private const int Version = 12;
    private const int LastType = 26; // beyond those that Redis 8.0 knows
    private const long GrowthBytesMax = 64 << 20;

    private static readonly ulong[] Counts = [0, 1, 2, 1000, int.MaxValue, uint.MaxValue, 1UL << 32, 1UL << 40, long.MaxValue, ulong.MaxValue];

    // With counts between these Redis reserves a table of that size, and looks through it for minutes or hours.
    private const ulong OracleCountMax = 1 << 20;
    private const ulong OracleCountMin = 1UL << 62;

    // What follows the first number: nothing, strings, another number that is too large, packed lists and compressed strings with wrong sizes.
    private static readonly byte[][] Tails =
    [
        [], [1, (byte)'a'], [1, (byte)'a', 1, (byte)'b', 1, (byte)'c'], Length(ulong.MaxValue), [.. Length(2), .. Length(OracleCountMin), 1, (byte)'a'], [0xC3, 5, .. Length(1 << 29), 1, 2, 3, 4, 5],
        Packed(count: 0xFFFF, bytes: 7), Packed(count: 2, bytes: int.MaxValue), [.. Length(1), .. Length(2), .. Packed(count: 0xFFFE, bytes: 7)], [16, .. new byte[16], .. Packed(count: 3, bytes: 7), .. Length(long.MaxValue)],
    ];

    [Fact]
    public void Counts_beyond_the_payload_are_refused_at_once()
    {
        Pair.Oracle.Control.Run("CONFIG SET sanitize-dump-payload yes").IsOk();
        long before = Pair.Subject.Server.ResidentBytes;
        for (int type = 0; type <= LastType; type++)
        {
            bool isDraft = type is 22 or 23; // of hashes: RedKite drops fields that have expired before it looks for the same field again
            foreach (ulong count in Counts)
            {
                foreach (byte[] tail in Tails) AssertRefusedAlike([(byte)type, .. Length(count), .. tail], asksOracle: !isDraft && (count is <= OracleCountMax or >= OracleCountMin));
            }
        }

        Assert.InRange(Pair.Subject.Server.ResidentBytes - before, long.MinValue, GrowthBytesMax);
    }

    // Streams have numbers within numbers: of groups, pending entries and consumers.
    [Theory]
    [InlineData("stream")]
    [InlineData("list")]
    [InlineData("sorted")]
    [InlineData("hash")]
    public void Each_byte_of_a_value_as_a_large_number(string kind)
    {
        foreach (RespConnection control in (RespConnection[])[Pair.Oracle.Control, Pair.Subject.Control]) control.Run("CONFIG SET sanitize-dump-payload yes").IsOk();
        (string Form, byte[] Dump)[] dumps = [.. RedisDumps.OfRedis70.Where(dump => dump.Key.Contains(kind, StringComparison.Ordinal)).Select(dump => (dump.Key, dump.Value))];
        Assert.NotEmpty(dumps);
        long before = Pair.Subject.Server.ResidentBytes;
        foreach ((_, byte[] dump) in dumps)
        {
            byte[] value = RedisDumps.ValueOf(dump);
            for (int at = 1; at < Math.Min(value.Length, 200); at++)
            {
                foreach (ulong number in (ulong[])[OracleCountMin, ulong.MaxValue]) AssertRefusedAlike([.. value[..at], .. Length(number), .. value[(at + 1)..]], asksOracle: true);
            }
        }

        Assert.InRange(Pair.Subject.Server.ResidentBytes - before, long.MinValue, GrowthBytesMax);
    }

    private void AssertRefusedAlike(byte[] value, bool asksOracle)
    {
        byte[][] request = ["RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), RedisDumps.Seal(value, Version), "REPLACE"u8.ToArray()];
        RespValue subject = Pair.Subject.Control.Run(request), oracle = asksOracle ? Pair.Oracle.Control.Run(request) : subject;
        string shown = $"{CommandLine.Format(value)}: {oracle} and {subject}";
        if (asksOracle && oracle.IsError) Assert.True(oracle.Equals(subject), shown);
        else Assert.True(subject.Text == "OK" || subject.Text == "ERR Bad data format", shown);
    }

    private static byte[] Length(ulong value)
    {
        byte[] bytes = new byte[9];
        bytes[0] = 0x81;
        BinaryPrimitives.WriteUInt64BigEndian(bytes.AsSpan(1), value);
        return value < 64 ? [(byte)value] : value <= uint.MaxValue ? [0x80, .. bytes[5..]] : bytes;
    }

    // A string with a packed list that says how many elements and bytes it has.
    private static byte[] Packed(int count, int bytes)
    {
        byte[] list = new byte[7];
        BinaryPrimitives.WriteInt32LittleEndian(list, bytes);
        BinaryPrimitives.WriteUInt16LittleEndian(list.AsSpan(4), (ushort)count);
        list[6] = 0xFF;
        return [7, .. list];
    }
}
