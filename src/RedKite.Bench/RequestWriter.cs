using System.Globalization;
using System.Text;

namespace RedKite.Bench;

/// <summary>
/// The requests of one batch in a buffer that belongs to a loop. Literals and values are copied; only the key's number is
/// formatted per request.
/// </summary>
internal sealed class RequestWriter
{
    private const int NumberBytesMax = 20;
    private const int HeaderBytesMax = NumberBytesMax + 3;

    private readonly BenchOptions _options;
    private readonly RandomSource _random;
    private readonly byte[] _key; // the prefix, then the current key's number
    private readonly int _prefixBytes;
    private readonly byte[] _data;
    private byte[] _buffer = new byte[64 * 1024];
    private int _length;

    internal RequestWriter(BenchOptions options, RandomSource random)
    {
        _options = options;
        _random = random;
        byte[] prefix = Encoding.UTF8.GetBytes(options.KeyPrefix);
        _prefixBytes = prefix.Length;
        _key = new byte[prefix.Length + NumberBytesMax];
        prefix.CopyTo(_key, 0);
        _data = new byte[options.DataSizeMax];
        _data.AsSpan().Fill((byte)'x');
        for (int i = 0; options.RandomData && i < _data.Length; i++) _data[i] = (byte)random.Next();
    }

    internal ReadOnlySpan<byte> Bytes => _buffer.AsSpan(0, _length);

    internal void Clear() => _length = 0;

    /// <summary>Adds a request.</summary>
    /// <returns>The request's length in bytes.</returns>
    internal int Append(RequestTemplate template, KeySequence keys)
    {
        long bytesMax = template.LiteralBytes + ((long)template.Keys * (_key.Length + HeaderBytesMax)) + ((long)template.Values * (_data.Length + HeaderBytesMax));
        if (_buffer.Length - _length < bytesMax) Array.Resize(ref _buffer, checked((int)Math.Max(_buffer.Length * 2L, _length + bytesMax)));

        int start = _length, at = _length, keyBytes = 0, dataBytes = 0;
        Span<byte> buffer = _buffer;
        foreach (ref readonly RequestStep step in template.Steps.AsSpan())
        {
            switch (step.Part)
            {
                case RequestPart.Literal:
                    step.Bytes.CopyTo(buffer[at..]);
                    at += step.Bytes.Length;
                    break;
                case RequestPart.Header:
                    if (step.Keys > 0)
                    {
                        keys.Next().TryFormat(_key.AsSpan(_prefixBytes), out int digits, default, CultureInfo.InvariantCulture);
                        keyBytes = _prefixBytes + digits;
                    }

                    if (step.Values > 0) dataBytes = NextDataBytes();
                    buffer[at++] = (byte)'$';
                    (step.LiteralBytes + (step.Keys * keyBytes) + (step.Values * dataBytes)).TryFormat(buffer[at..], out int written, default, CultureInfo.InvariantCulture);
                    at += written;
                    buffer[at++] = (byte)'\r';
                    buffer[at++] = (byte)'\n';
                    break;
                case RequestPart.Key:
                    _key.AsSpan(0, keyBytes).CopyTo(buffer[at..]);
                    at += keyBytes;
                    break;
                default:
                    _data.AsSpan(0, dataBytes).CopyTo(buffer[at..]);
                    at += dataBytes;
                    break;
            }
        }

        _length = at;
        return at - start;
    }

    private int NextDataBytes()
    {
        int range = _options.DataSizeMax - _options.DataSizeMin;
        return range == 0 ? _options.DataSizeMin : _options.DataSizeMin + (int)_random.Below(range + 1);
    }
}
