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
    private bool _hasSeen;

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
        if (_hasSeen) Array.Clear(_seen);
        if (_count > 0) Array.Clear(_buckets);
        _hasSeen = false;
        _count = 0;
    }

    /// <summary>The number of a name; -1: it is not shared.</summary>
    internal int Number(ReadOnlySpan<byte> name)
    {
        if (name.Length is < JsonNames.NameBytesMin or > JsonNames.NameBytesMax) return -1;
        ulong hash = JsonMembers.Hash(name);
        int known = _buckets[hash & 0xFF] - 1;
        if (known >= 0 && _hashes[known] == hash && this[known].SequenceEqual(name)) return known;
        ref ulong seen = ref _seen[(hash >> 8) % SeenMax];
        bool isFirst = seen != hash;
        seen = hash;
        _hasSeen = true;
        return isFirst ? -1 : Add(name, hash);
    }

    /// <summary>Puts the table in front of what was appended from a start.</summary>
    internal void Prepend(NativeBuffer output, int start)
    {
        int texts = _count == 0 ? 0 : _ends[_count - 1];
        int bytes = JsonNames.EmptyBytes + (_count * sizeof(ushort)) + texts;
        int length = output.Length - start;
        output.Room(bytes);
        byte* image = output.Start + start;
        Buffer.MemoryCopy(image, image + bytes, length, length);
        *image++ = (byte)_count;
        for (int i = 0; i < _count; i++, image += sizeof(ushort)) Unsafe.WriteUnaligned(image, _ends[i]);
        _texts.AsSpan(0, texts).CopyTo(new Span<byte>(image, texts));
        output.Advance(bytes);
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
