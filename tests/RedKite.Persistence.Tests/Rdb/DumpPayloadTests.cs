using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Persistence.Tests.Rdb;

public sealed class DumpPayloadTests
{
    // Redis 7.0's DUMP of the string "1", with version 10 and its checksum.
    private const string DumpOfOne = "00c0010c00ed0ed3762b2b8fb5";

    [Fact]
    public void Dump_bytes_match_redis_where_the_form_is_unique()
    {
        using var world = new ValueWorld();
        using var output = new RdbOutput();
        using var scratch = new RdbScratch();
        "1"u8.CopyTo(world.Database.WriteString("source"u8, world.Store.Hash("source"u8), default, 1, ValueEncoding.Integer, Database.NoExpiry, 0).Value);
        Assert.True(RdbValueWriter.TryOpenRemovingExpired(world.Database, world.Find("source"), ExpiryClock.RemovingAt(ValueWorld.NowMs), out RdbValueWriter writer));
        DumpPayload.Write(output, writer, scratch);
        Assert.Equal(DumpOfOne, Convert.ToHexStringLower(output.Written));
    }

    [Fact]
    public void Every_flipped_bit_is_detected()
    {
        byte[] payload = Convert.FromHexString(DumpOfOne);
        Assert.True(DumpPayload.IsIntact(payload));
        for (int bit = 0; bit < payload.Length * 8; bit++)
        {
            payload[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.False(DumpPayload.IsIntact(payload));
            payload[bit / 8] ^= (byte)(1 << (bit % 8));
        }

        for (int length = 0; length < payload.Length; length++) Assert.False(DumpPayload.IsIntact(payload.AsSpan(0, length)));
    }

    [Theory]
    [InlineData(1, true)]
    [InlineData(10, true)]
    [InlineData(12, true)]
    [InlineData(13, true)]
    [InlineData(16, true)]
    [InlineData(17, false)]
    [InlineData(79, false)]
    [InlineData(80, true)]
    [InlineData(81, true)]
    [InlineData(82, false)]
    [InlineData(256, false)]
    public void Documented_versions_are_read(int version, bool known)
    {
        byte[] payload = [0, 0xC0, 1, (byte)version, (byte)(version >> 8)];
        Assert.Equal(known, DumpPayload.IsIntact([.. payload, .. BitConverter.GetBytes(Crc64.Append(0, payload))]));
    }
}
