using System.Buffers.Binary;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// What DUMP replies and RESTORE takes: a value, and what it can be recognized by.
/// <code>
/// u8 type   the value   u16 version of the format   u64 CRC-64 of all that is in front of it
/// </code>
/// The version is that of Redis 7.4 and 8.0. Redis refuses versions that are newer than its own, so 7.2 and earlier take
/// neither Redis 8's payloads nor these.
/// </summary>
internal static class DumpPayload
{
    /// <summary>The bytes of a payload besides its value: the type's number and the footer.</summary>
    internal const int FrameBytes = 1 + FooterBytes;

    private const int FooterBytes = sizeof(ushort) + Crc64.Bytes;

    /// <summary>Writes the payload of a value into an empty output.</summary>
    internal static void Write(RdbOutput output, in RdbValueWriter value, RdbScratch scratch)
    {
        output.Byte((byte)value.Type);
        value.Write(output, scratch);
        End(output);
    }

    /// <summary>Writes what payloads end with.</summary>
    internal static void End(RdbOutput output)
    {
        Span<byte> version = stackalloc byte[sizeof(ushort)];
        BinaryPrimitives.WriteUInt16LittleEndian(version, RdbFormat.Version);
        output.Raw(version);
        output.Int64((long)Crc64.Append(0, output.Written));
    }

    /// <summary>Whether bytes end as a payload does that is no newer than what is known here and came undamaged.</summary>
    internal static bool IsIntact(ReadOnlySpan<byte> payload)
    {
        if (payload.Length < FooterBytes) return false;
        ReadOnlySpan<byte> summed = payload[..^Crc64.Bytes];
        return BinaryPrimitives.ReadUInt16LittleEndian(summed[^sizeof(ushort)..]) <= RdbFormat.Version
            && BinaryPrimitives.ReadUInt64LittleEndian(payload[^Crc64.Bytes..]) == Crc64.Append(0, summed);
    }

    /// <summary>What is in an intact payload, without its footer.</summary>
    internal static RdbInput Contents(ReadOnlySpan<byte> payload) => new(payload[..^FooterBytes]);

    /// <summary>Reads the value of an intact payload and gives it to a key.</summary>
    internal static RdbOutcome Read(ReadOnlySpan<byte> payload, in RdbTarget target, RdbScratch scratch)
    {
        var input = new RdbInput(payload[..^FooterBytes]);
        return input.TryByte(out byte type) ? RdbValueReader.Read((RdbType)type, ref input, target, scratch) : RdbOutcome.Corrupt;
    }
}
