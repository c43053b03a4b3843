namespace RedKite.Server.Model;

/// <summary>What becomes of a reply that waits for replicas.</summary>
internal enum AckState
{
    /// <summary>It waits.</summary>
    Waits,

    /// <summary>Enough replicas have acknowledged its offset, or none have to any more.</summary>
    Leaves,

    /// <summary>No acknowledgement will come: it becomes <see cref="AckTerm.Error"/>.</summary>
    Fails,
}

/// <summary>
/// The time in which a server is a primary and replies wait for replicas (replica-acks). Offsets of different terms are of different histories, so what
/// waits names its term.
/// </summary>
/// <remarks>The position and the end change under one lock, that of what counts acknowledgements; any thread reads them. Once a term has ended its position stands still.</remarks>
internal sealed class AckTerm
{
    private const int Open = 0;
    private const int LetGo = 1;
    private const int Lost = 2;

    private int _end;
    private long _position;
    private byte[] _error = [];

    /// <summary>The largest offset that enough replicas have acknowledged.</summary>
    internal long Position => Volatile.Read(ref _position);

    internal bool IsOpen => Volatile.Read(ref _end) == Open;

    /// <summary>Whether it ended because the setting is 0: what waits leaves.</summary>
    internal bool IsLetGo => Volatile.Read(ref _end) == LetGo;

    /// <summary>The line by which replies are replaced that were not acknowledged before it ended.</summary>
    internal ReadOnlySpan<byte> Error => _error;

    /// <summary>What becomes of a reply that waits for an offset. The end is read first: the position that is read behind it is then the last one.</summary>
    internal AckState StateOf(long offset)
    {
        int end = Volatile.Read(ref _end);
        if (end == LetGo || offset <= Position) return AckState.Leaves;
        return end == Lost ? AckState.Fails : AckState.Waits;
    }

    internal void Advance(long position) => Volatile.Write(ref _position, position);

    internal void EndByLettingGo() => Volatile.Write(ref _end, LetGo);

    internal void EndByLosing(byte[] error)
    {
        _error = error;
        Volatile.Write(ref _end, Lost);
    }
}
