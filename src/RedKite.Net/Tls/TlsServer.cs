using System.Net.Security;

namespace RedKite.Net.Tls;

/// <summary>A handshake in progress.</summary>
internal interface IHandshake
{
    /// <summary>Where its connection is from.</summary>
    string Source { get; }

    /// <summary>Gives it up: the loop closes the connection. From any thread.</summary>
    void Shed();
}

/// <summary>The state that the connections of a TLS listener share: certificate and rules, the number of handshakes, and the counters.</summary>
internal sealed class TlsServer
{
    private volatile SslServerAuthenticationOptions? _options;
    private long _completed;
    private long _failed;
    private long _refused;
    private readonly Lock _lock = new();
    private readonly HandshakeQueue<IHandshake> _inProgress = new();
    private int _handshakesMax = int.MaxValue;

    /// <summary>Handshakes that may be in progress at the same time. Beyond them, the oldest one of the address that has most is given up.</summary>
    public int HandshakesMax
    {
        get => Volatile.Read(ref _handshakesMax);
        set => Volatile.Write(ref _handshakesMax, value);
    }

    /// <summary>Handshakes in progress.</summary>
    public int HandshakesInProgress
    {
        get
        {
            lock (_lock) return _inProgress.Count;
        }
    }

    /// <summary>Handshakes that have succeeded.</summary>
    public long HandshakesCompleted => Interlocked.Read(ref _completed);

    /// <summary>Handshakes that have failed, including those of connections that ended meanwhile.</summary>
    public long HandshakesFailed => Interlocked.Read(ref _failed);

    /// <summary>Connections that were closed because too many handshakes were in progress, or no certificate was there.</summary>
    public long HandshakesRefused => Interlocked.Read(ref _refused);

    /// <summary>Called when a handshake has failed. From any thread.</summary>
    public Action<TlsFailure>? Failed { get; init; }

    /// <summary>Called when a connection was ended by an exception that no peer should be able to cause. From any thread.</summary>
    public Action<Exception>? Unexpected { get; init; }

    /// <summary>Certificate and rules of handshakes from now on; connections that are established keep theirs.</summary>
    public SslServerAuthenticationOptions? Options
    {
        get => _options;
        set => _options = value;
    }

    /// <summary>The layer of a connection that has arrived.</summary>
    public ByteLayer NewLayer() => new TlsLayer(this);

    /// <summary>Begins a handshake; false: there is no certificate.</summary>
    internal bool TryBegin(IHandshake handshake)
    {
        if (_options is null)
        {
            Interlocked.Increment(ref _refused);
            return false;
        }

        IHandshake? shed = null;
        lock (_lock)
        {
            if (_inProgress.Count >= HandshakesMax) shed = _inProgress.TakeOldestOfMost();
            _inProgress.Add(handshake.Source, handshake);
        }

        if (shed is null) return true;
        Interlocked.Increment(ref _refused);
        shed.Shed();
        return true;
    }

    internal void NoteUnexpected(Exception failure) => Unexpected?.Invoke(failure);

    /// <summary>Ends a handshake; false: it was given up before.</summary>
    internal bool End(IHandshake handshake, TlsFailure? failure)
    {
        lock (_lock)
        {
            if (!_inProgress.Remove(handshake)) return false;
        }

        Interlocked.Increment(ref failure is null ? ref _completed : ref _failed);
        if (failure is not null) Failed?.Invoke(failure);
        return true;
    }
}
