using System.Buffers.Binary;
using System.Globalization;
using System.Security.Cryptography;
using RedKite.Persistence.Rdb;

namespace RedKite.Host.Transfer;

/// <summary>
/// Writes RDB data from the dumps of a server's keys, one after the other, while the server goes on: each key is as it was when it was
/// read. SCAN may return a key twice, and a file must not have it twice, so 16 bytes of each key's SHA-256 are remembered.
/// </summary>
internal sealed class ScanExport(SourceServer source, RdbSink sink, TransferProgress progress) : IDumpTarget, IDisposable
{
    private const int VersionBytes = sizeof(ushort);
    private const int FooterBytes = VersionBytes + Crc64.Bytes;

    private readonly RdbFileWriter _writer = new(sink, compresses: true, sums: true);
    private readonly HashSet<UInt128> _seen = [];
    private readonly HeldTail _version = new(FooterBytes, _ => { });
    private HeldTail? _value;
    private byte[] _key = [];
    private long _expiry;
    private bool _hasType;
    private int _formatVersion;

    internal long Keys { get; private set; }

    internal int Databases { get; private set; }

    /// <summary>Reads everything and writes it.</summary>
    internal void Run()
    {
        _value = new HeldTail(FooterBytes, piece => _writer.Output.Raw(piece));
        Reply functions = source.Link.Run("FUNCTION", "DUMP");
        SortedDictionary<int, long> databases = source.Databases();
        progress.KeysTotal = databases.Values.Sum();
        _formatVersion = functions.Bytes is { Length: >= FooterBytes } dump && !functions.IsError ? VersionOf(dump) : VersionOfAnyKey(databases);
        _writer.Begin(new RdbFileInfo
        {
            Version = _formatVersion,
            RedisVersion = source.InfoField("redis_version"),
            CreatedSeconds = DateTimeOffset.UtcNow.ToUnixTimeSeconds(),
            UsedMemoryBytes = long.TryParse(source.InfoField("used_memory"), CultureInfo.InvariantCulture, out long used) ? used : 0,
        });
        if (functions.Bytes is { Length: > FooterBytes } libraries && !functions.IsError) _writer.Output.Raw(libraries.AsSpan(0, libraries.Length - FooterBytes));
        foreach ((int database, long keys) in databases)
        {
            source.Select(database);
            _writer.Database(database, keys, 0);
            _seen.Clear();
            Databases++;
            string cursor = "0";
            do source.ReadDumps(source.Scan(ref cursor), this);
            while (cursor != "0");
        }

        _writer.End();
    }

    public bool Begin(byte[] key, long expiry, long bytes)
    {
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(key, digest);
        if (!_seen.Add(BinaryPrimitives.ReadUInt128LittleEndian(digest))) return false;
        long now = source.HasAbsoluteTimes ? 0 : DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
        (_key, _expiry, _hasType) = (key, expiry < 0 ? -1 : expiry + now, false);
        _value!.Clear();
        return true;
    }

    public void Piece(ReadOnlySpan<byte> piece)
    {
        if (piece.IsEmpty) return;
        if (!_hasType)
        {
            RdbFileWriter.Key(_writer.Output, (RdbType)piece[0], _key, _expiry);
            _hasType = true;
            piece = piece[1..];
        }

        _value!.Append(piece);
    }

    public void End()
    {
        int version = VersionOf(_value!.Tail);
        if (version != _formatVersion) throw source.Link.Fail(string.Create(CultureInfo.InvariantCulture, $"a dump has version {version}, but others have {_formatVersion}"));
        Keys++;
        progress.Show(Keys, source.Link.Received, "");
    }

    public void Dispose() => _writer.Dispose();

    // The version is in every dump, but its writer has to know it first.
    private int VersionOfAnyKey(SortedDictionary<int, long> databases)
    {
        foreach (int database in databases.Keys)
        {
            source.Select(database);
            Reply key = source.Link.RunOrFail("RANDOMKEY");
            if (key.Bytes is null) continue;
            _version.Clear();
            source.ReadDumps([key.Bytes], new VersionTarget(_version));
            if (_version.Tail.Length == FooterBytes) return VersionOf(_version.Tail);
        }

        return RdbFormat.Version;
    }

    private static int VersionOf(ReadOnlySpan<byte> dump) => dump.Length < FooterBytes ? 0 : BinaryPrimitives.ReadUInt16LittleEndian(dump[^FooterBytes..]);

    private sealed class VersionTarget(HeldTail tail) : IDumpTarget
    {
        public bool Begin(byte[] key, long expiry, long bytes) => true;

        public void Piece(ReadOnlySpan<byte> piece) => tail.Append(piece);

        public void End()
        {
        }
    }
}
