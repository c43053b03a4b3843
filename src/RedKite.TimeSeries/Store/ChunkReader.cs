namespace RedKite.TimeSeries.Store;

/// <summary>Reads the samples of a chunk in order. Damaged data, which a file may have, ends it early: nothing is read behind the last bit.</summary>
internal unsafe struct ChunkReader
{
    private readonly byte* _data;
    private readonly int _bits;
    private readonly int _count;
    private readonly bool _isCompressed;
    private int _at;
    private int _read;
    private long _time;
    private long _delta;
    private ulong _value;
    private int _leading;
    private int _width;

    internal ChunkReader(byte* data, int bits, int count, bool isCompressed)
    {
        _data = data;
        _bits = bits;
        _count = count;
        _isCompressed = isCompressed;
    }

    internal static ChunkReader Of(Chunk* chunk) => new(chunk->Data, chunk->Bits, chunk->Count, chunk->IsCompressed);

    /// <summary>The sample that was read last.</summary>
    internal readonly Sample Current => new(_time, BitConverter.UInt64BitsToDouble(_value));

    /// <summary>Whether all samples were read, and all bits.</summary>
    internal readonly bool IsAtEnd => _read == _count && _at == _bits;

    internal bool MoveNext()
    {
        if (_read == _count) return false;
        if (_read == 0 || !_isCompressed)
        {
            if (!TryTake(64, out ulong time) || !TryTake(64, out _value)) return false;
            _time = (long)time;
        }
        else if (!TryTakeTime() || !TryTakeValue())
        {
            return false;
        }

        _read++;
        return true;
    }

    private bool TryTakeTime()
    {
        int prefix = 0;
        ulong bit;
        while (prefix < 5)
        {
            if (!TryTake(1, out bit)) return false;
            if (bit == 0) break;
            prefix++;
        }

        ulong change;
        switch (prefix)
        {
            case 0:
                change = 0;
                break;
            case 1:
                if (!TryTake(7, out change)) return false;
                change -= 63;
                break;
            case 2:
                if (!TryTake(9, out change)) return false;
                change -= 255;
                break;
            case 3:
                if (!TryTake(12, out change)) return false;
                change -= 2047;
                break;
            case 4:
                if (!TryTake(32, out change)) return false;
                change = (ulong)(int)(uint)change;
                break;
            default:
                if (!TryTake(64, out change)) return false;
                break;
        }

        _delta = unchecked(_delta + (long)change);
        _time = unchecked(_time + _delta);
        return true;
    }

    private bool TryTakeValue()
    {
        if (!TryTake(1, out ulong differs)) return false;
        if (differs == 0) return true;
        if (!TryTake(1, out ulong hasWindow)) return false;
        if (hasWindow == 1)
        {
            if (!TryTake(5, out ulong leading) || !TryTake(6, out ulong width)) return false;
            (_leading, _width) = ((int)leading, (int)width + 1);
            if (_leading + _width > 64) return false;
        }
        else if (_width == 0)
        {
            return false;
        }

        if (!TryTake(_width, out ulong bits)) return false;
        _value ^= bits << (64 - _leading - _width);
        return true;
    }

    private bool TryTake(int count, out ulong value)
    {
        value = 0;
        if (_bits - _at < count) return false;
        while (count > 0)
        {
            int used = _at & 7, taken = Math.Min(8 - used, count);
            int bits = (_data[_at >> 3] >> (8 - used - taken)) & ((1 << taken) - 1);
            value = (value << taken) | (uint)bits;
            _at += taken;
            count -= taken;
        }

        return true;
    }
}
