using System.Buffers.Binary;
using System.Globalization;
using System.Text;

namespace RedKite.Persistence.Rdb;

/// <summary>What an RDB file says about itself.</summary>
internal sealed record RdbFileInfo
{
    /// <summary>The version of the format; from <see cref="RdbTypes.ValkeyVersionMin"/> on it is Valkey's.</summary>
    internal int Version { get; init; } = RdbFormat.Version;

    /// <summary>The version of Redis whose data this is.</summary>
    internal required string RedisVersion { get; init; }

    internal required long CreatedSeconds { get; init; }

    internal required long UsedMemoryBytes { get; init; }

    /// <summary>Whether the file is the base of an append-only file.</summary>
    internal bool IsLogBase { get; init; }

    /// <summary>The position in the stream of changes that the data belongs to; null: none.</summary>
    internal RdbReplication? Replication { get; init; }
}

/// <summary>
/// Writes RDB data as Redis 8.0 does, of version 12 unless values of another version are passed to it: header and fields, functions, then each database with its keys, and the checksum.
/// It needs the memory of a piece; the sink (a file, a socket) receives the pieces in order.
/// </summary>
/// <remarks>
/// A key is its head (<see cref="Key"/>) followed by its value, which an <see cref="RdbValueWriter"/> writes to <see cref="Output"/>, or
/// which was written before and is passed to <see cref="RdbOutput.Raw"/>.
/// </remarks>
internal sealed class RdbFileWriter : IDisposable
{
    private const int Bits = 64;

    private readonly RdbSink _sink;
    private readonly bool _sums;
    private ulong _crc;

    /// <param name="sink">Receives the bytes.</param>
    /// <param name="compresses">Whether strings are compressed (rdbcompression).</param>
    /// <param name="sums">Whether the data ends with its checksum (rdbchecksum); otherwise with 0.</param>
    internal RdbFileWriter(RdbSink sink, bool compresses, bool sums)
    {
        _sink = sink;
        _sums = sums;
        Output = new RdbOutput(Pass) { Compresses = compresses };
    }

    internal RdbOutput Output { get; }

    /// <summary>The number of bytes that the sink has received.</summary>
    internal long Bytes { get; private set; }

    internal void Begin(RdbFileInfo info)
    {
        bool isValkey = info.Version >= RdbTypes.ValkeyVersionMin;
        Output.Raw(isValkey ? "VALKEY"u8 : "REDIS"u8);
        Output.Raw(Encoding.ASCII.GetBytes(info.Version.ToString(isValkey ? "000" : "0000", CultureInfo.InvariantCulture)));
        Aux("redis-ver"u8, info.RedisVersion);
        Aux("redis-bits"u8, Bits);
        Aux("ctime"u8, info.CreatedSeconds);
        Aux("used-mem"u8, info.UsedMemoryBytes);
        if (info.Replication is { } replication)
        {
            Aux("repl-stream-db"u8, replication.Database);
            Aux("repl-id"u8, replication.Id);
            Aux("repl-offset"u8, replication.Offset);
        }

        Aux("aof-base"u8, info.IsLogBase ? 1 : 0);
    }

    /// <summary>Writes a library of functions. Libraries precede all databases.</summary>
    internal void Function(ReadOnlySpan<byte> code)
    {
        Output.Byte(RdbFormat.Function);
        Output.String(code);
    }

    /// <summary>Writes a field about the file.</summary>
    internal void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        Output.Byte(RdbFormat.Aux);
        Output.String(name);
        Output.String(value);
    }

    /// <summary>Begins a database. The sizes are hints.</summary>
    internal void Database(int database, long keys, long expiring)
    {
        Output.Byte(RdbFormat.Database);
        Output.Length(database);
        Output.Byte(RdbFormat.Size);
        Output.Length(keys);
        Output.Length(expiring);
    }

    /// <summary>Goes on with keys of another database, which has begun before.</summary>
    internal void Select(int database)
    {
        Output.Byte(RdbFormat.Database);
        Output.Length(database);
    }

    /// <summary>
    /// Says that the next key must not be evicted: a field about the file, because every server passes over fields that it does not know.
    /// </summary>
    internal static void Blessing(RdbOutput output)
    {
        output.Byte(RdbFormat.Aux);
        output.String(RdbFormat.Blessing);
        output.String("no-evict"u8);
    }

    /// <summary>Writes a key up to its value.</summary>
    /// <param name="output">Receives the bytes.</param>
    /// <param name="type">The form of the value that follows.</param>
    /// <param name="key">The key.</param>
    /// <param name="expiryMs">When it expires; -1: never.</param>
    /// <param name="idleSeconds">How long it was not used, if the eviction policy needs that; otherwise -1.</param>
    /// <param name="frequency">How often it was used, if the eviction policy needs that; otherwise -1.</param>
    internal static void Key(RdbOutput output, RdbType type, ReadOnlySpan<byte> key, long expiryMs, long idleSeconds = -1, int frequency = -1)
    {
        if (expiryMs >= 0)
        {
            output.Byte(RdbFormat.ExpiryMs);
            output.Int64(expiryMs);
        }

        if (idleSeconds >= 0)
        {
            output.Byte(RdbFormat.Idle);
            output.Length(idleSeconds);
        }

        if (frequency >= 0)
        {
            output.Byte(RdbFormat.Frequency);
            output.Byte(frequency);
        }

        output.Byte(RdbTypes.CodeOf(type));
        output.String(key);
    }

    /// <summary>Ends the data with its checksum and passes all of it to the sink.</summary>
    internal void End()
    {
        Output.Byte(RdbFormat.End);
        Output.Flush();
        Span<byte> sum = stackalloc byte[Crc64.Bytes];
        BinaryPrimitives.WriteUInt64LittleEndian(sum, _crc);
        Output.Raw(sum);
        Output.Flush();
    }

    public void Dispose() => Output.Dispose();

    private void Aux(ReadOnlySpan<byte> name, long value) => Aux(name, value.ToString(CultureInfo.InvariantCulture));

    private void Aux(ReadOnlySpan<byte> name, string value) => Aux(name, Encoding.UTF8.GetBytes(value));

    private void Pass(ReadOnlySpan<byte> piece)
    {
        if (_sums) _crc = Crc64.Append(_crc, piece);
        Bytes += piece.Length;
        _sink(piece);
    }
}
