using System.Buffers;

namespace RedKite.Server;

/// <summary>Takes the replies of a log's replay: they were given when its commands were executed for the first time.</summary>
internal sealed class DiscardedReplies : IBufferWriter<byte>
{
    private byte[] _buffer = new byte[4096];

    public void Advance(int count)
    {
    }

    public Memory<byte> GetMemory(int sizeHint = 0) => Buffer(sizeHint);

    public Span<byte> GetSpan(int sizeHint = 0) => Buffer(sizeHint);

    private byte[] Buffer(int bytes)
    {
        if (_buffer.Length < bytes) _buffer = new byte[bytes];
        return _buffer;
    }
}
