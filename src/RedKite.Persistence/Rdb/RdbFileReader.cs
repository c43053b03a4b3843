using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using RedKite.Persistence.Files;
using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>How a file is read.</summary>
internal sealed record RdbReadOptions
{
    /// <summary>Whether the checksum at the end is compared (rdbchecksum).</summary>
    internal bool ChecksSum { get; init; } = true;

    /// <summary>Whether modules' keys and data are passed over; otherwise they are an error.</summary>
    internal bool SkipsModules { get; init; }

    /// <summary>The number of databases.</summary>
    internal int Databases { get; init; } = int.MaxValue;
}

/// <summary>
/// Reads an RDB file from its first byte to its last: one thread slices it into records, which it checks as far as possible without
/// building values, and hands them over in batches, from which other threads build values on their stripes. Memory stays within a batch's
/// window: larger values are read again from the file where they are built.
/// <code>
/// "REDIS" 4 digits, or "VALKEY" 3 digits: the version   records   255   version 5 and later: u64 CRC-64 of all preceding bytes, 0 = none
/// </code>
/// Everything that is not understood stops with an <see cref="RdbFileException"/> that names the place.
/// </summary>
internal sealed class RdbFileReader : IDisposable
{
    /// <summary>The newest version of Redis's format that is documented.</summary>
    internal const int RedisVersionMax = 16;

    /// <summary>The newest version of Valkey's format that is documented.</summary>
    internal const int ValkeyVersionMax = 81;

    internal const int HeaderBytes = 9;

    private const int FirstVersionWithSum = 5;
    private const int RecordBytesMax = (1 << 30) - 1;
    private const int SecondMs = 1000;
    private const long NoExpiry = -1;

    private readonly IOpenFile _file;
    private readonly RdbReadOptions _options;
    private readonly NativeBuffer _scratch = new();
    private readonly RdbTemplates _templates = new();
    private readonly NativeBuffer _tail = new(); // read, but not part of a batch yet
    private long _length; // of data that is still arriving, it may become known at its end
    private long _position;
    private ulong _crc;
    private int _database;
    private bool _ended;

    // What precedes the next key.
    private long _recordStart = -1;
    private long _expiryMs = -1;
    private long _idleSeconds = -1;
    private long _frequency = -1;
    private long _pin = -1;

    private RdbFileReader(IOpenFile file, long start, RdbReadOptions options)
    {
        _file = file;
        _options = options;
        _length = file.Length;
        _position = start;
    }

    internal RdbFamily Family { get; private set; }

    internal int Version { get; private set; }

    /// <summary>The position of the first byte that is not read yet; after the end, that of the first byte behind the RDB data.</summary>
    internal long Position => _position;

    /// <summary>The file's size.</summary>
    internal long Length => _length;

    /// <summary>Whether the file has a checksum that was compared; known at the end.</summary>
    internal bool IsSumChecked { get; private set; }

    /// <summary>
    /// Begins to read a file that the caller owns. What follows the RDB data, as in an append-only file with a preamble, is left unread.
    /// </summary>
    /// <param name="file">The file.</param>
    /// <param name="options">How to read it.</param>
    /// <param name="start">The position of the RDB data's first byte.</param>
    internal static RdbFileReader Open(IOpenFile file, RdbReadOptions options, long start = 0)
    {
        var reader = new RdbFileReader(file, start, options);
        reader.ReadHeader();
        return reader;
    }

    /// <summary>Whether a file begins as RDB files do.</summary>
    internal static bool Begins(ReadOnlySpan<byte> bytes) => bytes.StartsWith("REDIS"u8) || bytes.StartsWith("VALKEY"u8);

    /// <summary>Reads the next records; false at the end, when the checksum has been compared.</summary>
    /// <param name="batch">Receives the records; what it had is discarded.</param>
    internal bool TryRead(RdbBatch batch)
    {
        batch.Clear();
        batch.File = _file;
        while (!_ended && batch.Items.IsEmpty) ReadWindow(batch);
        return !batch.Items.IsEmpty;
    }

    public void Dispose()
    {
        _scratch.Dispose();
        _tail.Dispose();
    }

    private void ReadHeader()
    {
        Span<byte> header = stackalloc byte[HeaderBytes];
        if (_file.Read(_position, header) < header.Length || !Begins(header)) throw Invalid("not an RDB file: it begins neither with REDIS nor with VALKEY");
        Family = header.StartsWith("VALKEY"u8) ? RdbFamily.Valkey : RdbFamily.Redis;
        int digits = Family == RdbFamily.Valkey ? "VALKEY".Length : "REDIS".Length;
        (int first, int last) = Family == RdbFamily.Valkey ? (RdbTypes.ValkeyVersionMin, ValkeyVersionMax) : (1, RedisVersionMax);
        if (!int.TryParse(header[digits..], NumberStyles.None, CultureInfo.InvariantCulture, out int version)) throw Invalid("not an RDB file: its version is no number");
        if (version < first || version > last) throw Invalid(string.Create(CultureInfo.InvariantCulture, $"version {version} of {Family}'s format; RedKite reads {first} to {last}"));
        Version = version;
        _crc = Crc64.Append(0, header);
        _position += header.Length;
    }

    private void ReadWindow(RdbBatch batch)
    {
        NativeBuffer window = batch.Window;
        batch.Start = _position;
        window.Clear();
        window.Write(_tail.Written);
        _tail.Clear();
        Fill(batch, RdbFeed.WindowBytes);
        int read = 0;
        while (!_ended)
        {
            var input = new RdbInput(window.Written[read..]);
            var key = default(RdbItem);
            if (TryRecord(ref input, batch, ref key))
            {
                read += input.Position;
                _position = batch.Start + read;
                continue;
            }

            if (!input.Starved) throw Damaged(batch, key);
            if (read > 0) break;
            if (key.ValueOffset > 0 && !IsOfTemplate(key.Type))
            {
                ReadLargeValue(batch, key);
                return;
            }

            if (batch.Start + window.Length == _length) throw EndsEarly(batch, key);
            if (window.Length > RecordBytesMax) throw Invalid("a record of more than 1 GiB besides its value");
            Fill(batch, window.Length * 2);
        }

        _tail.Write(window.Written[read..]);
        if (_ended) ReadEnd(window.Written[..read]);
        else _crc = Crc64.Append(_crc, window.Written[..read]);
    }

    private void Fill(RdbBatch batch, int bytes)
    {
        NativeBuffer window = batch.Window;
        bytes = (int)Math.Min(bytes - window.Length, _length - batch.Start - window.Length);
        if (bytes <= 0) return;
        int read = _file.Read(batch.Start + window.Length, window.Room(bytes));
        window.Advance(read);
        if (read == bytes) return;
        _length = _file.Length;
        if (batch.Start + window.Length < _length) throw new RdbFileException(_file.Path, batch.Start + window.Length, "the file became shorter while it was read");
    }

    // One opcode with its operands, or one key. What is returned of a key in spite of a failure is known of it: its offset and name,
    // and where its value begins.
    private bool TryRecord(ref RdbInput input, RdbBatch batch, ref RdbItem key)
    {
        if (!input.TryByte(out byte code)) return false;
        switch (code)
        {
            case RdbFormat.Expiry when input.TryRaw(sizeof(int), out ReadOnlySpan<byte> seconds):
                return Precede(ref _expiryMs, Math.Max(NoExpiry, BinaryPrimitives.ReadInt32LittleEndian(seconds) * (long)SecondMs));
            case RdbFormat.ExpiryMs when input.TryInt64(out long expiryMs):
                return Precede(ref _expiryMs, expiryMs < NoExpiry ? 0 : expiryMs); // a time before 1970 has passed
            case RdbFormat.Idle when input.TryLength(out long idleSeconds):
                return Precede(ref _idleSeconds, idleSeconds);
            case RdbFormat.Frequency when input.TryByte(out byte frequency):
                return Precede(ref _frequency, frequency);
            case RdbFormat.Database when input.TryLength(out long database):
                if (database >= _options.Databases) throw Invalid(string.Create(CultureInfo.InvariantCulture, $"database {database}, but there are only {_options.Databases} (setting databases)"));
                _database = (int)database;
                return true;
            case RdbFormat.Size when input.TryLength(out long keys) && input.TryLength(out long expiring):
                batch.Add(new RdbItem { Kind = RdbItemKind.Size, Offset = _position, Database = _database, Keys = keys, Expiring = expiring });
                return true;
            case RdbFormat.Slot when input.TryLength(out ulong _) && input.TryLength(out ulong _) && input.TryLength(out ulong _):
                return true;
            case RdbFormat.Aux:
                return TryAux(ref input, batch);
            case RdbFormat.Function:
                return TryFunction(ref input, batch);
            case RdbFormat.FunctionDraft:
                throw Invalid("a function in the form of a release candidate of Redis 7.0");
            case RdbFormat.ModuleAux:
                return TryModuleAux(ref input, batch);
            case RdbFormat.KeyMeta when Family == RdbFamily.Redis:
                return TryKeyMeta(ref input, batch);
            case RdbFormat.SlotImport when Family == RdbFamily.Valkey:
                return TrySlotImport(ref input);
            case RdbFormat.Template when Family == RdbFamily.Redis:
                return _templates.TryAdd(ref input, _scratch);
            case RdbFormat.Update when Family == RdbFamily.Valkey:
                throw Invalid("a command within the data, as Valkey writes it while it saves without a fork");
            case RdbFormat.End when Version < FirstVersionWithSum || input.TrySkip(Crc64.Bytes):
                _ended = true;
                return true;
            case RdbFormat.Expiry or RdbFormat.ExpiryMs or RdbFormat.Idle or RdbFormat.Frequency or RdbFormat.Database or RdbFormat.Size or RdbFormat.Slot or RdbFormat.End:
                return false;
            default:
                return TryKey(code, ref input, batch, ref key);
        }
    }

    private bool Precede(ref long property, long value)
    {
        if (_recordStart < 0) _recordStart = _position;
        property = value;
        return true;
    }

    private bool TryKey(byte code, ref RdbInput input, RdbBatch batch, ref RdbItem key)
    {
        if (!RdbTypes.TryGet(code, Family, out RdbType type)) throw Invalid(RdbTypes.Refusal(code, Family));
        if (!TryText(ref input, batch, out int nameStart, out int nameLength)) return false;
        key = new RdbItem
        {
            Kind = RdbItemKind.Key,
            Offset = _recordStart < 0 ? _position : _recordStart,
            Type = type,
            Database = _database,
            ExpiryMs = _expiryMs,
            IdleSeconds = _idleSeconds,
            Frequency = (int)_frequency,
            IsPinned = _pin > 0,
            NameStart = nameStart,
            NameLength = nameLength,
            ValueOffset = _position + input.Position,
        };
        if (type is RdbType.Module or RdbType.ModuleDraft) return TryModuleKey(ref input, batch, key);
        if (IsOfTemplate(type)) return TryKeyOfTemplate(ref input, batch, key);
        int start = input.Position;
        if (!RdbValueSkipper.TrySkip(type, ref input)) return false;
        Add(batch, key, input.Position - start);
        return true;
    }

    private static bool IsOfTemplate(RdbType type) => type is RdbType.HashOfTemplate or RdbType.HashListPackOfTemplate;

    private bool TryKeyOfTemplate(ref RdbInput input, RdbBatch batch, in RdbItem key)
    {
        int start = input.Position;
        int textStart = batch.Texts.Length;
        if (!_templates.TryExpand(key.Type, ref input, _scratch, batch.Texts)) return false;
        Add(batch, key with { Type = RdbType.Hash, IsRewritten = true, TextStart = textStart, TextLength = batch.Texts.Length - textStart }, input.Position - start);
        return true;
    }

    private void Add(RdbBatch batch, in RdbItem key, long valueBytes)
    {
        batch.Add(key with { ValueBytes = valueBytes });
        (_recordStart, _expiryMs, _idleSeconds, _frequency, _pin) = (-1, -1, -1, -1, -1);
    }

    // A value that does not fit into the window. Its bytes are summed and passed over.
    private void ReadLargeValue(RdbBatch batch, in RdbItem key)
    {
        int head = (int)(key.ValueOffset - batch.Start);
        using var feed = new RdbFeed(_file, key.ValueOffset, _length, Crc64.Append(_crc, batch.Window.Written[..head]));
        var input = new RdbInput(feed);
        ulong module = 0;
        bool isModule = key.Type == RdbType.Module;
        bool skipped = isModule ? input.TryLength(out module) && RdbModule.TrySkip(ref input) : RdbValueSkipper.TrySkip(key.Type, ref input);
        if (!skipped) throw input.Starved ? EndsEarly(batch, key) : Damaged(batch, key);
        feed.Sum(input.Here);
        _crc = feed.Crc;
        batch.Window.Clear();
        _position = _length - input.Left;
        Add(batch, isModule && !RdbModule.IsOwn(module) ? WithModule(batch, key, RdbModule.NameOf(module)) : key, _position - key.ValueOffset);
    }

    private bool TryAux(ref RdbInput input, RdbBatch batch)
    {
        if (!TryText(ref input, batch, out int nameStart, out int nameLength) || !TryText(ref input, batch, out int textStart, out int textLength)) return false;
        if (batch.Texts.Written.Slice(nameStart, nameLength).SequenceEqual(RdbFormat.Blessing)) return Precede(ref _pin, 1);
        batch.Add(new RdbItem { Kind = RdbItemKind.Aux, Offset = _position, NameStart = nameStart, NameLength = nameLength, TextStart = textStart, TextLength = textLength });
        return true;
    }

    private bool TryFunction(ref RdbInput input, RdbBatch batch)
    {
        if (!TryText(ref input, batch, out int textStart, out int textLength)) return false;
        batch.Add(new RdbItem { Kind = RdbItemKind.Function, Offset = _position, TextStart = textStart, TextLength = textLength });
        return true;
    }

    private bool TryModuleKey(ref RdbInput input, RdbBatch batch, in RdbItem key)
    {
        int start = input.Position;
        if (!input.TryLength(out ulong id)) return false;
        if (key.Type == RdbType.Module && RdbModule.IsOwn(id))
        {
            if (!RdbModule.TrySkip(ref input)) return false;
            Add(batch, key, input.Position - start);
            return true;
        }

        string module = RdbModule.NameOf(id);
        if (key.Type == RdbType.ModuleDraft || !_options.SkipsModules) throw batch.Failure(key, RdbModule.Refusal(module));
        if (!RdbModule.TrySkip(ref input)) return false;
        Add(batch, WithModule(batch, key, module), input.Position - start);
        return true;
    }

    private bool TryModuleAux(ref RdbInput input, RdbBatch batch)
    {
        if (!input.TryLength(out ulong id) || !input.TryLength(out ulong _) || !input.TryLength(out ulong _)) return false;
        string module = RdbModule.NameOf(id);
        if (!_options.SkipsModules) throw Invalid(RdbModule.Refusal(module));
        if (!RdbModule.TrySkip(ref input)) return false;
        batch.Add(WithModule(batch, new RdbItem { Offset = _position }, module));
        return true;
    }

    // What modules have noted about the next key: for each class of notes its identification in 32 bits, then its data.
    private bool TryKeyMeta(ref RdbInput input, RdbBatch batch)
    {
        if (!input.TryCount(out long classes)) return false;
        if (!_options.SkipsModules) throw Invalid("a module's notes about a key");
        for (; classes > 0; classes--)
        {
            if (!input.TrySkip(sizeof(uint)) || !RdbModule.TrySkip(ref input)) return false;
        }

        if (_recordStart < 0) _recordStart = _position;
        batch.Add(WithModule(batch, new RdbItem { Offset = _position }, "notes about a key"));
        return true;
    }

    private static RdbItem WithModule(RdbBatch batch, in RdbItem item, string module)
    {
        int start = batch.Texts.Length;
        batch.Texts.Write(Encoding.ASCII.GetBytes(module));
        return item with { Kind = RdbItemKind.SkippedModule, TextStart = start, TextLength = module.Length };
    }

    // A cluster's slots that were about to arrive: the migration's name, then ranges of slots. It does not continue here.
    private static bool TrySlotImport(ref RdbInput input)
    {
        if (!input.TrySkipString() || !input.TryCount(out long ranges)) return false;
        for (; ranges > 0; ranges--)
        {
            if (!input.TryLength(out ulong _) || !input.TryLength(out ulong _)) return false;
        }

        return true;
    }

    private bool TryText(ref RdbInput input, RdbBatch batch, out int start, out int length)
    {
        start = batch.Texts.Length;
        length = 0;
        if (!input.TryString(_scratch, out ReadOnlySpan<byte> text)) return false;
        batch.Texts.Write(text);
        length = text.Length;
        return true;
    }

    private void ReadEnd(ReadOnlySpan<byte> window)
    {
        if (Version < FirstVersionWithSum) return;
        ulong sum = BinaryPrimitives.ReadUInt64LittleEndian(window[^Crc64.Bytes..]);
        _crc = Crc64.Append(_crc, window[..^Crc64.Bytes]);
        if (sum == 0 || !_options.ChecksSum) return;
        IsSumChecked = true;
        if (sum != _crc) throw new RdbFileException(_file.Path, _position - Crc64.Bytes, string.Create(CultureInfo.InvariantCulture, $"the checksum is {sum:x16}, but the data has {_crc:x16}: the file is damaged"));
    }

    private RdbFileException Invalid(string reason) => new(_file.Path, _position, reason);

    private RdbFileException Damaged(RdbBatch batch, in RdbItem key) =>
        key.ValueOffset > 0 ? batch.Failure(key, "the value is damaged") : Invalid("the record is damaged");

    private RdbFileException EndsEarly(RdbBatch batch, in RdbItem key)
    {
        const string Reason = "the file ends within a record";
        return key.ValueOffset > 0 ? batch.Failure(key, Reason) : Invalid(Reason);
    }
}
