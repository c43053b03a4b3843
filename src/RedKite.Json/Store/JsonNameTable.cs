using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// Finds the names that a document shares while it is parsed: a name that comes a second time gets a number. What came first keeps its text. The names that
/// came before are remembered by their hash, as far as there is room.
/// </summary>
internal sealed unsafe class JsonNameTable
{
    private const int SeenMax = 512;

    private readonly ulong[] _seen = new ulong[SeenMax];
    private readonly byte[] _texts = new byte[JsonNames.CountMax * JsonNames.NameBytesMax];
    private readonly ushort[] _ends = new ushort[JsonNames.CountMax];
    private readonly ulong[] _hashes = new ulong[JsonNames.CountMax];
    private readonly byte[] _buckets = new byte[256]; // number + 1 of the name that has come last, by its hash
    private int _count;
    private ulong _document;

    internal ReadOnlySpan<byte> this[int name]
    {
        get
        {
            int start = name == 0 ? 0 : _ends[name - 1];
            return _texts.AsSpan(start, _ends[name] - start);
        }
    }

    internal void Clear()
    {
        if (_count > 0) Array.Clear(_buckets);
        _count = 0;
        _document += 0x9E37_79B9_7F4A_7C15; // what other documents have had is no hash of this one's
    }

    /// <summary>The number of a name; -1: it is not shared.</summary>
    internal int Number(byte* name, int length, ulong hash)
    {
        if (length is < JsonNames.NameBytesMin or > JsonNames.NameBytesMax) return -1;
        int known = _buckets[hash & 0xFF] - 1;
        if (known >= 0 && _hashes[known] == hash && this[known].SequenceEqual(new ReadOnlySpan<byte>(name, length))) return known;
        ref ulong seen = ref _seen[(hash >> 8) % SeenMax];
        ulong own = hash ^ _document;
        bool isFirst = seen != own;
        seen = own;
        return isFirst ? -1 : Add(new ReadOnlySpan<byte>(name, length), hash);
    }

    /// <summary>Appends the table that a document without shared names has.</summary>
    internal static void WriteEmpty(NativeBuffer output) => output.Write([0]);

    /// <summary>Puts the table in front of a document, where an empty one is at its start.</summary>
    internal void Complete(NativeBuffer output, int start)
    {
        if (_count == 0) return;
        int texts = _ends[_count - 1];
        int added = (_count * sizeof(ushort)) + texts;
        int length = output.Length - start - JsonNames.EmptyBytes;
        output.Room(added);
        byte* image = output.Start + start;
        *image++ = (byte)_count;
        Buffer.MemoryCopy(image, image + added, length, length);
        for (int i = 0; i < _count; i++, image += sizeof(ushort)) Unsafe.WriteUnaligned(image, _ends[i]);
        _texts.AsSpan(0, texts).CopyTo(new Span<byte>(image, texts));
        output.Advance(added);
    }

    private int Add(ReadOnlySpan<byte> name, ulong hash)
    {
        for (int i = 0; i < _count; i++)
        {
            if (_hashes[i] != hash || !this[i].SequenceEqual(name)) continue;
            _buckets[hash & 0xFF] = (byte)(i + 1);
            return i;
        }

        if (_count == JsonNames.CountMax) return -1;
        int start = _count == 0 ? 0 : _ends[_count - 1];
        name.CopyTo(_texts.AsSpan(start));
        _ends[_count] = (ushort)(start + name.Length);
        _hashes[_count] = hash;
        _buckets[hash & 0xFF] = (byte)(_count + 1);
        return _count++;
    }
}
