using System.Buffers.Binary;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The payload of DUMP and RESTORE: a serialized value with a footer that identifies the format and detects damage.
/// <code>
/// u8 type   the value   u16 version of the format   u64 CRC-64 of all preceding bytes
/// </code>
/// The written version is that of Redis 7.4 and 8.0; which ones are read, and what their bytes mean, is that of files (<see cref="RdbFileReader"/>). Redis refuses versions newer than its own, so 7.2 and earlier accept
/// neither Redis 8's payloads nor these.
/// </summary>
internal static class DumpPayload
{
    /// <summary>The size of a payload without its value: the type byte and the footer.</summary>
    internal const int FrameBytes = 1 + FooterBytes;

    private const int FooterBytes = sizeof(ushort) + Crc64.Bytes;

    /// <summary>Writes a value's payload to an empty output.</summary>
    internal static void Write(RdbOutput output, in RdbValueWriter value, RdbScratch scratch, int version = RdbFormat.Version)
    {
        output.Byte(RdbTypes.CodeOf(value.Type));
        value.Write(output, scratch);
        End(output, version);
    }

    /// <summary>Writes the footer of a payload.</summary>
    internal static void End(RdbOutput output, int version = RdbFormat.Version)
    {
        Span<byte> number = stackalloc byte[sizeof(ushort)];
        BinaryPrimitives.WriteUInt16LittleEndian(number, (ushort)version);
        output.Raw(number);
        output.Int64((long)Crc64.Append(0, output.Written));
    }

    /// <summary>Returns whether the footer is valid: a supported version and, unless it is skipped, the right checksum.</summary>
    internal static bool IsIntact(ReadOnlySpan<byte> payload, bool skipsChecksum = false)
    {
        if (payload.Length < FooterBytes) return false;
        ReadOnlySpan<byte> summed = payload[..^Crc64.Bytes];
        return IsReadable(VersionOf(payload)) && (skipsChecksum || BinaryPrimitives.ReadUInt64LittleEndian(payload[^Crc64.Bytes..]) == Crc64.Append(0, summed));
    }

    /// <summary>Whether a server takes a valid payload that reads files of a version at most: a server of either family takes what both had.</summary>
    internal static bool IsReadableBy(int version, ReadOnlySpan<byte> payload)
    {
        int written = VersionOf(payload);
        return written <= version && (version < RdbTypes.ValkeyVersionMin || written is <= RdbFormat.VersionWithoutFieldExpiries or >= RdbTypes.ValkeyVersionMin);
    }

    /// <summary>Whether a valid payload of a newer version has a value in a form that both families had: its version could be the one that all servers since 7.2 read.</summary>
    internal static bool HasCommonForm(ReadOnlySpan<byte> payload) =>
        VersionOf(payload) > RdbFormat.VersionWithoutFieldExpiries && payload[0] <= (byte)RdbType.StreamOfListPacks3 && (RdbType)payload[0] is not (RdbType.ModuleDraft or RdbType.Module);

    /// <summary>Writes such a payload, with that version, to an empty output.</summary>
    internal static void WriteCommon(RdbOutput output, ReadOnlySpan<byte> payload)
    {
        output.Raw(payload[..^FooterBytes]);
        End(output, RdbFormat.VersionWithoutFieldExpiries);
    }

    /// <summary>The same content in a payload of another version, whose bytes mean the same: libraries of functions.</summary>
    internal static byte[] WithVersion(ReadOnlySpan<byte> payload, int version)
    {
        byte[] other = payload.ToArray();
        BinaryPrimitives.WriteUInt16LittleEndian(other.AsSpan(other.Length - FooterBytes), (ushort)version);
        BinaryPrimitives.WriteUInt64LittleEndian(other.AsSpan(other.Length - Crc64.Bytes), Crc64.Append(0, other.AsSpan(0, other.Length - Crc64.Bytes)));
        return other;
    }

    // Beyond 12, versions belong to one family or the other.
    private static bool IsReadable(int version) => version <= RdbFileReader.RedisVersionMax || version is >= RdbTypes.ValkeyVersionMin and <= RdbFileReader.ValkeyVersionMax;

    private static int VersionOf(ReadOnlySpan<byte> payload) => BinaryPrimitives.ReadUInt16LittleEndian(payload[^FooterBytes..]);

    /// <summary>Returns the content of a valid payload, without its footer.</summary>
    internal static RdbInput Contents(ReadOnlySpan<byte> payload) => new(payload[..^FooterBytes]);

    /// <summary>Reads the value of a valid payload into a key.</summary>
    internal static RdbOutcome Read(ReadOnlySpan<byte> payload, in RdbTarget target, RdbScratch scratch)
    {
        var input = new RdbInput(payload[..^FooterBytes]);
        RdbFamily family = VersionOf(payload) >= RdbTypes.ValkeyVersionMin ? RdbFamily.Valkey : RdbFamily.Redis;
        return input.TryByte(out byte code) && RdbTypes.TryGet(code, family, out RdbType type) ? RdbValueReader.Read(type, ref input, target, scratch) : RdbOutcome.Corrupt;
    }
}
