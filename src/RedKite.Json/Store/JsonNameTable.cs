using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// Finds the names that a document shares while it is parsed: a name that comes a second time gets a number. What came first keeps its text. The names that
/// came before are remembered by their hash, as far as there is room.
/// </summary>
internal sealed unsafe class JsonNameTable
{
    private const int SeenMax = 1024;
    private const int SeenTogether = 2; // places for hashes with the same low bits
    private const ulong DocumentBits = 0xFFFF;

    private readonly ulong[] _seen = new ulong[SeenMax]; // the upper bits of hashes, and the document's number
    private readonly byte[] _texts = new byte[JsonNames.CountMax * JsonNames.NameBytesMax];
    private readonly ushort[] _ends = new ushort[JsonNames.CountMax];
    private readonly ulong[] _hashes = new ulong[JsonNames.CountMax];
    private readonly byte[] _buckets = new byte[256]; // number + 1 of the name that has come last, by its hash
    private int _count;
    private ulong _document;
    private bool _hasForgotten;

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
        _hasForgotten = false;
        _document = (_document + 1) & DocumentBits;
        if (_document == 0) Array.Clear(_seen); // what other documents have had is no hash of this one's
    }

    /// <summary>The number of a name; -1: it is not shared.</summary>
    /// <param name="name">The name.</param>
    /// <param name="length">Its bytes.</param>
    /// <param name="hash">Its hash.</param>
    /// <param name="isNew">Whether the document certainly has not had it before.</param>
    internal int Number(byte* name, int length, ulong hash, out bool isNew)
    {
        isNew = false;
        if (length is < JsonNames.NameBytesMin or > JsonNames.NameBytesMax) return -1;
        int known = Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_buckets), (nint)(hash & 0xFF)) - 1;
        if (known >= 0 && _hashes[known] == hash && Is(known, name, length)) return known;
        ulong own = (hash & ~DocumentBits) | _document;
        ref ulong seen = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_seen), (nint)(hash & ((SeenMax / SeenTogether) - 1)) * SeenTogether);
        if (seen == own || Unsafe.Add(ref seen, 1) == own) return Add(new ReadOnlySpan<byte>(name, length), hash);
        isNew = !_hasForgotten;
        if ((seen & DocumentBits) == _document)
        {
            ref ulong other = ref Unsafe.Add(ref seen, 1);
            _hasForgotten |= (other & DocumentBits) == _document;
            other = seen;
        }

        seen = own;
        return -1;
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

    // Most names are short, and compared without a call.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool Is(int known, byte* name, int length)
    {
        ReadOnlySpan<byte> text = this[known];
        if (text.Length != length) return false;
        ref byte first = ref MemoryMarshal.GetReference(text);
        if (length > 2 * sizeof(ulong)) return text.SequenceEqual(new ReadOnlySpan<byte>(name, length));
        if (length >= sizeof(ulong))
        {
            return Unsafe.ReadUnaligned<ulong>(ref first) == Unsafe.ReadUnaligned<ulong>(name)
                && Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref first, length - sizeof(ulong))) == Unsafe.ReadUnaligned<ulong>(name + length - sizeof(ulong));
        }

        int half = length >= sizeof(uint) ? sizeof(uint) : sizeof(ushort);
        return half == sizeof(uint)
            ? Unsafe.ReadUnaligned<uint>(ref first) == Unsafe.ReadUnaligned<uint>(name) && Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref first, length - half)) == Unsafe.ReadUnaligned<uint>(name + length - half)
            : Unsafe.ReadUnaligned<ushort>(ref first) == Unsafe.ReadUnaligned<ushort>(name) && Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref first, length - half)) == Unsafe.ReadUnaligned<ushort>(name + length - half);
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
