using RedKite.Net;
using RedKite.Protocol;

namespace RedKite.Bench;

/// <summary>A request without a reply yet.</summary>
internal struct PendingRequest
{
    internal long IntendedNs;
    internal long SentNs;
    internal int Row;
    internal bool CountsHits;
}

/// <summary>One connection's state: its position in the mix, its keys, its pending requests. Used only by its loop's thread.</summary>
internal sealed class LoadClient
{
    private readonly RequestMix _mix;
    private readonly KeySequence[] _keys; // per request type of the mix
    private readonly PendingRequest[] _pending; // a ring buffer
    private int _oldest;
    private int _turn;
    private int _turnLeft;

    /// <param name="index">The client's index among those of all threads.</param>
    internal LoadClient(BenchOptions options, RequestMix mix, int index, ulong seed)
    {
        _mix = mix;
        _keys = [.. mix.Requests.Select((request, i) => new KeySequence(request.Pattern, options, index, options.Connections, new RandomSource(seed + ((ulong)i << 40))))];
        _pending = new PendingRequest[options.Pipeline];
        _turnLeft = mix.Requests[0].Ratio;
        Left = options.RequestsPerClient;
        Index = index;
    }

    internal ReplyReader Replies;

    internal int Index { get; }

    internal Connection? Connection { get; private set; }

    /// <summary>Replaces the connection under TLS.</summary>
    internal TlsLink? Tls { get; private set; }

    /// <summary>Outstanding replies to commands sent before the load, such as AUTH.</summary>
    internal int GreetingRepliesLeft { get; private set; }

    /// <summary>Requests left to send.</summary>
    internal long Left { get; private set; }

    internal bool HasFinished { get; private set; }

    internal int PendingCount { get; private set; }

    /// <summary>When the next request is due, if requests are paced.</summary>
    internal long DueNs { get; private set; }

    /// <summary>Whether it is in its loop's queue of paced clients.</summary>
    internal bool IsQueued { get; set; }

    /// <summary>Bytes of an incomplete reply.</summary>
    internal long PartialReplyBytes { get; set; }

    /// <summary>It is connected.</summary>
    internal void Open(Connection connection) => Connection = connection;

    /// <summary>It is connected with TLS.</summary>
    internal void Open(TlsLink link) => Tls = link;

    /// <summary>Sends the commands before the load.</summary>
    internal void Greet(byte[] commands, int replies)
    {
        GreetingRepliesLeft = replies;
        Send(commands);
    }

    /// <summary>Takes one of the replies to them.</summary>
    /// <returns>Whether it was the last one.</returns>
    internal bool TakeGreeting() => --GreetingRepliesLeft == 0;

    /// <summary>Its next request is due then.</summary>
    internal void SendAt(long ns) => DueNs = ns;

    /// <summary>It sends nothing more.</summary>
    internal void StopSending() => Left = 0;

    /// <summary>It has received its last reply.</summary>
    internal void Finish() => HasFinished = true;

    internal void Send(ReadOnlySpan<byte> bytes)
    {
        if (Tls is not null) Tls.Send(bytes);
        else Connection!.Send(bytes);
    }

    /// <summary>The next request type in the mix.</summary>
    internal MixedRequest NextRequest(out KeySequence keys)
    {
        if (_turnLeft == 0)
        {
            _turn = _turn + 1 == _keys.Length ? 0 : _turn + 1;
            _turnLeft = _mix.Requests[_turn].Ratio;
        }

        _turnLeft--;
        keys = _keys[_turn];
        return _mix.Requests[_turn];
    }

    internal void AddPending(long intendedNs, long sentNs, MixedRequest request)
    {
        int at = _oldest + PendingCount;
        if (at >= _pending.Length) at -= _pending.Length;
        ref PendingRequest pending = ref _pending[at];
        pending.IntendedNs = intendedNs;
        pending.SentNs = sentNs;
        pending.Row = request.Row;
        pending.CountsHits = request.CountsHits;
        PendingCount++;
        Left--;
    }

    internal ref readonly PendingRequest TakePending()
    {
        ref PendingRequest pending = ref _pending[_oldest];
        if (++_oldest == _pending.Length) _oldest = 0;
        PendingCount--;
        return ref pending;
    }
}
