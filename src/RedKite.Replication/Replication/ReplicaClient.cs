using System.Collections.Concurrent;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Persistence.Rdb;
using RedKite.Server.Cluster;
using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>What a replica can do, as it says with REPLCONF capa.</summary>
[Flags]
internal enum ReplicaCapabilities : byte
{
    None = 0,

    /// <summary>It accepts data of unknown length with a mark at its end.</summary>
    Eof = 1,

    /// <summary>It takes over a new id with +CONTINUE.</summary>
    Psync2 = 2,

    /// <summary>It takes the data on a connection of its own, and the stream meanwhile on the first one.</summary>
    RdbChannel = 4,
}

/// <summary>What a replica says about itself with REPLCONF.</summary>
internal sealed record ReplicaAnnouncement
{
    internal int ListeningPort { get; init; }

    internal string Address { get; init; } = "";

    internal ReplicaCapabilities Capabilities { get; init; }

    /// <summary>Whether it wants the data and no stream.</summary>
    internal bool OnlyData { get; init; }

    /// <summary>Which parts of the data it does not want.</summary>
    internal bool WithoutFunctions { get; init; }

    internal bool WithoutKeys { get; init; }

    /// <summary>The version of the format in which it gets the data.</summary>
    internal int DataVersion { get; init; } = RdbFormat.Version;

    /// <summary>Whether this is a replica's second connection, for the data.</summary>
    internal bool IsChannel { get; init; }
}

/// <summary>What replicas must have in common to share a full synchronization.</summary>
/// <param name="KnowsMark">Whether they accept a mark at the end of the data instead of its length.</param>
/// <param name="WithoutFunctions">Whether they want no functions.</param>
/// <param name="WithoutKeys">Whether they want no keys.</param>
/// <param name="Version">The version of the data's format.</param>
internal readonly record struct SynchronizationKind(bool KnowsMark, bool WithoutFunctions, bool WithoutKeys, int Version);

/// <summary>How far a replica is.</summary>
internal enum ReplicaState : byte
{
    /// <summary>The client has introduced itself with REPLCONF, and asked for nothing yet.</summary>
    None,

    /// <summary>It waits for a full synchronization to begin.</summary>
    Waiting,

    /// <summary>It was told to open a second connection for the data.</summary>
    AwaitsChannel,

    /// <summary>It is being sent the data.</summary>
    Receiving,

    /// <summary>It is being sent the data on its second connection, or loads it, and gets the stream on this one.</summary>
    Streaming,

    /// <summary>It has been sent the data, and gets the stream once it acknowledges that.</summary>
    Loading,

    /// <summary>It gets the stream.</summary>
    Online,

    /// <summary>It only wanted the data, and has got it.</summary>
    Served,
}

/// <summary>
/// A replica's connection on its primary. Its own loop sends; the thread of a full synchronization hands blocks over, and others read its state.
/// </summary>
/// <param name="session">The connection's session.</param>
/// <param name="hasData">Called on its loop when all of the data was sent.</param>
internal sealed class ReplicaClient(Session session, Action<ReplicaClient> hasData)
{
    // A portion of the stream: what the socket does not take of it waits as a copy.
    private const int PortionBytes = 64 * 1024;

    // Portions in one iteration of the loop, so that other clients are served between them.
    private const int PortionsPerIterationMax = 16;

    // Blocks are moved to the connection below this, so that a slow peer leaves them where the synchronization counts them.
    private const int ConnectionBytesMax = 256 * 1024;

    private readonly ConcurrentQueue<(SharedBuffer Buffer, int Length)> _blocks = new();
    private long _unsentBytes;
    private int _pumpIsPosted;
    private volatile bool _hasAllBlocks;
    private int _closes;
    private StreamSink? _send;
    private long _heardBytes; // that it had sent when it was last looked at
    private long _overSoftLimitSinceMs; // steady; 0: it is not over it

    internal Session Session => session;

    internal Connection Connection => session.Connection!;

    internal volatile ReplicaState State;

    /// <summary>What it has said about itself.</summary>
    internal ReplicaAnnouncement Announced { get; private set; } = new();

    /// <summary>What it is in a cluster with a store.</summary>
    internal AgreedIdentity Node { get; private set; } = AgreedIdentity.None;

    internal SynchronizationKind Kind => new((Announced.Capabilities & ReplicaCapabilities.Eof) != 0, Announced.WithoutFunctions, Announced.WithoutKeys, Announced.DataVersion);

    /// <summary>The connection of the same replica that gets the stream; null: this is no second one.</summary>
    internal ReplicaClient? Main { get; private set; }

    /// <summary>The replica's second connection; null: it has none.</summary>
    internal ReplicaClient? Channel { get; private set; }

    /// <summary>Whether all of the data was handed over, so that the peer may close this connection.</summary>
    internal volatile bool HasWholeData;

    /// <summary>Whether it came with SYNC: it knows no ids and acknowledges nothing.</summary>
    internal bool IsBeforePsync { get; private set; }

    /// <summary>Where it is in the stream; null: it is not served yet.</summary>
    internal ReplicaPosition? Position { get; private set; }

    /// <summary>The offset that it has acknowledged.</summary>
    internal long AcknowledgedOffset { get; private set; }

    /// <summary>The offset of which it has said that it is in its append-only file.</summary>
    internal long OffsetOnDisk { get; private set; }

    /// <summary>When it last acknowledged something, or was told to go on; steady.</summary>
    internal long AcknowledgedMs { get; private set; }

    /// <summary>When it began to wait for a full synchronization; steady.</summary>
    internal long WaitsSinceMs { get; private set; }

    /// <summary>When it was last seen to take something of the data; steady.</summary>
    internal long ProgressMs { get; private set; }

    /// <summary>
    /// Whether INFO shows it as online, and min-replicas-to-write counts it, as in Redis: it has been sent all data, though it may load it still.
    /// </summary>
    internal bool IsShownOnline => State is ReplicaState.Online or ReplicaState.Loading || (State == ReplicaState.Streaming && Channel is { HasWholeData: true });

    /// <summary>It has introduced itself as a node.</summary>
    internal void NoteNode(AgreedIdentity node) => Node = node;

    /// <summary>It has said more about itself.</summary>
    internal void Announce(ReplicaAnnouncement announced) => Announced = announced;

    /// <summary>It asks with SYNC.</summary>
    internal void NoteSync() => IsBeforePsync = true;

    /// <summary>This is the second connection of a replica that waits for it. The lists are locked.</summary>
    internal void Join(ReplicaClient main, long nowMs)
    {
        (Main, main.Channel) = (main, this);
        WaitsSinceMs = nowMs;
    }

    /// <summary>It waits for a full synchronization, or for its second connection.</summary>
    /// <param name="nowMs">The steady time.</param>
    /// <param name="sinceMs">From when on its wait counts.</param>
    internal void Await(long nowMs, long sinceMs)
    {
        ProgressMs = AcknowledgedMs = nowMs;
        WaitsSinceMs = sinceMs;
    }

    /// <summary>It goes on in the stream from a position.</summary>
    internal void ContinueAt(ReplicaPosition position) => Position = position;

    /// <summary>It is being sent the data, and kept the stream from a position on; null: it gets that on another connection.</summary>
    internal void BeginReceiving(ReplicaPosition? position, long nowMs)
    {
        Position = position;
        State = ReplicaState.Receiving;
        ProgressMs = nowMs;
    }

    /// <summary>It gets the stream from a position on, and the data on its second connection.</summary>
    internal void BeginStreaming(ReplicaPosition? position, long nowMs)
    {
        Position = position;
        ProgressMs = AcknowledgedMs = nowMs;
        State = ReplicaState.Streaming;
    }

    /// <summary>The walk that sends it the data waits on this.</summary>
    internal void ReportTo(SynchronizationProgress progress) => Progress = progress;

    /// <summary>It has been sent all of the data.</summary>
    internal void NoteHasData(long nowMs)
    {
        ProgressMs = AcknowledgedMs = nowMs;
        State = Announced.OnlyData ? ReplicaState.Served : ReplicaState.Loading;
    }

    /// <summary>It is not kept the stream any more.</summary>
    /// <returns>Where it was in it; null: nowhere.</returns>
    internal ReplicaPosition? TakePosition()
    {
        ReplicaPosition? position = Position;
        Position = null;
        return position;
    }

    /// <summary>It has acknowledged something, or was told to go on.</summary>
    internal void NoteAcknowledged(long nowMs) => AcknowledgedMs = nowMs;

    /// <summary>It has acknowledged an offset, and may have said up to which one it has synced its append-only file.</summary>
    internal void Acknowledge(long offset, long? synced)
    {
        AcknowledgedOffset = Math.Max(AcknowledgedOffset, offset);
        if (synced is { } onDisk) OffsetOnDisk = Math.Max(OffsetOnDisk, onDisk);
    }

    /// <summary>When it was last heard. One that loads sends empty lines.</summary>
    internal long HeardMs(long nowMs)
    {
        if (State is ReplicaState.Loading or ReplicaState.Streaming && _heardBytes != session.Counts.BytesReceived)
        {
            _heardBytes = session.Counts.BytesReceived;
            ProgressMs = nowMs;
        }

        long heardMs = Math.Max(AcknowledgedMs, ProgressMs);
        return Channel is { IsConnected: true } channel ? Math.Max(heardMs, Math.Max(channel.ProgressMs, channel.WaitsSinceMs)) : heardMs;
    }

    /// <summary>How long it has been further behind than the soft limit without a break.</summary>
    internal long OverSoftLimitMs(bool isOver, long nowMs)
    {
        if (!isOver) _overSoftLimitSinceMs = 0;
        else if (_overSoftLimitSinceMs == 0) _overSoftLimitSinceMs = nowMs;
        return isOver ? nowMs - _overSoftLimitSinceMs : 0;
    }

    /// <summary>Whether it waits for the first byte of the data.</summary>
    internal bool AwaitsData => State == ReplicaState.Waiting || (State == ReplicaState.Receiving && !Kind.KnowsMark && !IsDataReady);

    /// <summary>Whether the file with the data is written.</summary>
    internal volatile bool IsDataReady;

    /// <summary>Bytes of the data that wait for its loop.</summary>
    internal long UnsentBytes => Interlocked.Read(ref _unsentBytes);

    /// <summary>The address that others are told.</summary>
    internal string Host => Announced.Address.Length > 0 ? Announced.Address : session.Connection!.RemoteAddress.Host;

    /// <summary>As Redis's log names it.</summary>
    internal string Name => Announced.ListeningPort > 0 || Announced.Address.Length > 0 ? $"{Host}:{(Announced.ListeningPort > 0 ? Announced.ListeningPort.ToString(System.Globalization.CultureInfo.InvariantCulture) : "<unknown-replica-port>")}" : session.Address;

    /// <summary>What the walk that sends it the data waits on; null: none does.</summary>
    internal SynchronizationProgress? Progress { get; private set; }

    /// <summary>Whether its connection still stands.</summary>
    internal bool IsConnected => Volatile.Read(ref _closes) == 0;

    /// <summary>Closes the connection. From any thread.</summary>
    /// <returns>False if it is closing already.</returns>
    internal bool Close()
    {
        if (Interlocked.Exchange(ref _closes, 1) != 0) return false;
        if (Connection.Loop.IsCurrent) Connection.Close();
        else EventLoop.Post(Connection, Connection.Close);
        return true;
    }

    /// <summary>The connection was closed: nothing is sent any more.</summary>
    internal void Closed()
    {
        Interlocked.Exchange(ref _closes, 1);
        while (_blocks.TryDequeue(out (SharedBuffer Buffer, int Length) block)) block.Buffer.Release();
        Interlocked.Exchange(ref _unsentBytes, 0);
    }

    /// <summary>It was sent some of the data, or is gone. On its loop.</summary>
    internal void NoteProgress()
    {
        if (Progress is not { } progress) return;
        ProgressMs = progress.NowMs;
        progress.Note();
    }

    /// <summary>Hands over a block of the data, whose reference stays with the caller.</summary>
    internal void Add(SharedBuffer buffer, int length)
    {
        if (!IsConnected) return;
        buffer.AddReference();
        Interlocked.Add(ref _unsentBytes, length);
        _blocks.Enqueue((buffer, length));
        PumpSoon();
    }

    /// <summary>Everything was handed over.</summary>
    internal void EndBlocks()
    {
        _hasAllBlocks = true;
        PumpSoon();
    }

    /// <summary>Sends a part of the stream, as far as the peer takes it. On the loop's thread, at the end of an iteration.</summary>
    /// <param name="end">The stream's end.</param>
    /// <returns>Whether there is more to send at once.</returns>
    /// <param name="sent">Receives the number of bytes that were sent.</param>
    internal bool Feed(StreamEnd end, out long sent)
    {
        sent = 0;
        if (State is not (ReplicaState.Online or ReplicaState.Streaming) || Position is not { } position) return false;
        Connection connection = Connection;
        for (int portion = 0; portion < PortionsPerIterationMax; portion++)
        {
            if (connection.IsClosing || connection.OutputBytes > 0) break;
            int bytes = ReplicationStream.Send(position, end, PortionBytes, _send ??= connection.Send);
            if (bytes == 0) return false;
            session.Counts.BytesSent += bytes;
            sent += bytes;
        }

        if (connection.IsClosing) return false;
        if (connection.OutputBytes == 0) return true;
        connection.NotifyWhenDrained(0);
        return false;
    }

    /// <summary>Moves blocks to the connection, as far as the peer takes them. On the loop's thread.</summary>
    internal void Pump()
    {
        Volatile.Write(ref _pumpIsPosted, 0);
        Interlocked.MemoryBarrier();
        Connection connection = Connection;
        bool moved = false;
        while (!connection.IsClosing && connection.OutputBytes < ConnectionBytesMax && _blocks.TryDequeue(out (SharedBuffer Buffer, int Length) block))
        {
            connection.Queue(block.Buffer, 0, block.Length);
            block.Buffer.Release();
            Interlocked.Add(ref _unsentBytes, -block.Length);
            session.Counts.BytesSent += block.Length;
            moved = true;
        }

        if (connection.IsClosing)
        {
            Closed();
            NoteProgress();
            return;
        }

        if (moved) NoteProgress();
        connection.Flush();
        if (connection.OutputBytes > 0)
        {
            connection.NotifyWhenDrained(Math.Min(ConnectionBytesMax / 2, connection.OutputBytes - 1));
        }
        else if (!_blocks.IsEmpty)
        {
            PumpSoon();
        }
        else if (_hasAllBlocks)
        {
            _hasAllBlocks = false;
            hasData(this);
        }
    }

    /// <summary>Has the replica's loop move blocks. From any thread.</summary>
    internal void PumpSoon()
    {
        if (Interlocked.Exchange(ref _pumpIsPosted, 1) == 0) EventLoop.Post(Connection, Pump);
    }
}
