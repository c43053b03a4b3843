namespace RedKite.Net.Tests;

/// <summary>
/// A layer with everything that TLS has: a handshake of two messages before anything else, frames that arrive in parts, work
/// that finishes on another thread, and a farewell. A frame is its length and its bytes, each xored with a key; a length of 0 is the
/// farewell.
/// </summary>
internal sealed class XorLayer(bool speaksFirst, int handshakeDelayMs = 0) : ByteLayer
{
    private const byte Hello = 0x5A;
    private const int FrameBytesMax = 1000;
    private const int HeadBytes = 2;

    private static int _alive;

    private readonly byte _key = 0xA7;
    private readonly List<byte> _wire = [];
    private readonly List<byte> _plain = [];
    private volatile bool _isOpen;
    private bool _hasHello;
    private bool _hasEnded;
    private bool _isDisposed;

    /// <summary>Layers that are not disposed.</summary>
    internal static int Alive => Volatile.Read(ref _alive);

    /// <summary>Session bytes that were encoded.</summary>
    internal static long Encoded;

    public override bool HasEnded => _hasEnded && _plain.Count == 0;

    public override bool HasInput => _plain.Count > 0;

    public override void Begin()
    {
        Interlocked.Increment(ref _alive);
        if (speaksFirst) SendToWire([Hello]);
    }

    public override bool TryReceive(ReadOnlySpan<byte> wire)
    {
        _wire.AddRange(wire);
        if (!_hasHello && _wire.Count > 0)
        {
            _hasHello = true;
            if (_wire[0] != Hello) return false;
            _wire.RemoveAt(0);
            if (!speaksFirst) SendToWire([Hello]);
            if (handshakeDelayMs == 0) _isOpen = true;
            else OpenLater();
        }

        return Decode();
    }

    public override int Read(Span<byte> destination)
    {
        int count = Math.Min(destination.Length, _plain.Count);
        for (int i = 0; i < count; i++) destination[i] = _plain[i];
        _plain.RemoveRange(0, count);
        return count;
    }

    public override int Send(ReadOnlySpan<byte> bytes)
    {
        if (!_isOpen) return 0;
        Assert.False(_isDisposed);
        int taken = Math.Min(bytes.Length, FrameBytesMax);
        SendFrame(bytes[..taken]);
        Interlocked.Add(ref Encoded, taken);
        return taken;
    }

    public override void Finish() => SendFrame([]);

    protected override void Dispose(bool disposing)
    {
        Assert.False(_isDisposed);
        _isDisposed = true;
        Interlocked.Decrement(ref _alive);
    }

    // As a certificate is checked elsewhere.
    private void OpenLater()
    {
        var checking = new Thread(() =>
        {
            Thread.Sleep(handshakeDelayMs);
            _isOpen = true;
            Progressed();
        });
        checking.Start();
    }

    private bool Decode()
    {
        while (_isOpen && _wire.Count >= HeadBytes)
        {
            int length = (_wire[0] ^ _key) | ((_wire[1] ^ _key) << 8);
            if (length > FrameBytesMax) return false;
            if (length == 0) _hasEnded = true;
            if (_wire.Count < HeadBytes + length) break;
            for (int i = 0; i < length; i++) _plain.Add((byte)(_wire[HeadBytes + i] ^ _key));
            _wire.RemoveRange(0, HeadBytes + length);
        }

        return true;
    }

    private void SendFrame(ReadOnlySpan<byte> bytes)
    {
        byte[] frame = new byte[HeadBytes + bytes.Length];
        frame[0] = (byte)(bytes.Length ^ _key);
        frame[1] = (byte)((bytes.Length >> 8) ^ _key);
        for (int i = 0; i < bytes.Length; i++) frame[HeadBytes + i] = (byte)(bytes[i] ^ _key);
        SendToWire(frame);
    }
}
