using System.Security.Cryptography;
using System.Text;
using RedKite.Net.Interop;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>
/// Writes all data of one moment to replicas, with one walk for all that wait when it begins, and no file. The length is not known, so the data ends
/// with a mark; only a replica that does not know marks (before Redis 2.8.18) is sent a temporary file. The stream from that moment on waits in its chain.
/// </summary>
/// <remarks>
/// <para>The walk waits for the slowest replica, but not while commands wait for the walk: what the replica has not taken is then kept in
/// memory, up to a limit beyond which the replica is closed. So no replica delays a client for long.</para>
/// <para>On the thread of the walk, except where a method says otherwise.</para>
/// </remarks>
internal sealed class FullSynchronization(ReplicaList list, SynchronizationKind kind, Settings settings, IReplicatedData data, BufferPool buffers, ServerClock clock, ServerLog log)
{
    /// <summary>The length of the mark at the end of the data.</summary>
    internal const int MarkBytes = 40;

    // What waits in memory for each replica while nothing else waits for the walk.
    private const int WindowBytes = 1 << 20;
    private const int BlockBytes = 64 * 1024;
    private const int WaitMs = 10;

    private readonly SynchronizationProgress _progress = new(clock);
    private readonly byte[] _mark = Encoding.ASCII.GetBytes(Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(MarkBytes / 2)));
    private ReplicaClient[] _replicas = [];
    private IOpenFile? _file;
    private long _fileBytes;

    /// <summary>Sends the data to the replicas that wait.</summary>
    /// <param name="begin">Called at the snapshot point, with all stripes locked: the replicas that receive the data from there on, and its position in the stream.</param>
    internal void Run(Func<SynchronizationKind, (ReplicaClient[] Replicas, RdbReplication Position)> begin)
    {
        long startMs = clock.SteadyMs;
        using var writer = new RdbFileWriter(kind.KnowsMark ? Send : Append, settings.RdbCompression, settings.RdbChecksum);
        try
        {
            if (kind.WithoutKeys) data.WriteKeylessForReplicas(writer, !kind.WithoutFunctions, () => AtSnapshotPoint(begin), kind.Version);
            else data.WriteForReplicas(writer, () => AtSnapshotPoint(begin), kind.Version);
            writer.End();
            foreach (ReplicaClient replica in _replicas) replica.HasWholeData = true; // who has read the mark may close the connection
            if (kind.KnowsMark) Send(_mark);
            else SendFile();
            foreach (ReplicaClient replica in _replicas) replica.EndBlocks();
            log.Notice(LogEvents.ReplicaSyncSent, FormattableString.Invariant($"Full synchronization: {writer.Bytes} bytes for {_replicas.Count(static replica => replica.IsConnected)} replicas in {(clock.SteadyMs - startMs) / 1000.0:0.000} seconds"));
        }
        catch (FileFailure failure)
        {
            if (_replicas.Length > 0) log.Warning(LogEvents.ReplicaSyncFailed, $"A full synchronization has ended early: {(failure.Error == FileFailure.Canceled ? "no replica is left, or the server stops" : failure.Message)}");
            foreach (ReplicaClient replica in _replicas) replica.Close();
        }
        finally
        {
            _file?.Dispose();
            if (_file is not null) data.Files.Delete(_file.Path);
        }
    }

    // All stripes are locked.
    private RdbReplication AtSnapshotPoint(Func<SynchronizationKind, (ReplicaClient[] Replicas, RdbReplication Position)> begin)
    {
        (_replicas, RdbReplication position) = begin(kind);
        foreach (ReplicaClient replica in _replicas)
        {
            replica.ReportTo(_progress);
            string head = replica.IsBeforePsync ? "" : FormattableString.Invariant($"+FULLRESYNC {position.Id} {position.Offset}\r\n");
            Add(replica, kind.KnowsMark ? $"{head}$EOF:{Encoding.ASCII.GetString(_mark)}\r\n" : head);
        }

        return position;
    }

    private void Add(ReplicaClient replica, string text)
    {
        if (text.Length == 0) return;
        SharedBuffer block = buffers.Copy(Encoding.ASCII.GetBytes(text));
        replica.Add(block, text.Length);
        block.Release();
    }

    // A replica that does not know the mark must be told the length first.
    private void Append(ReadOnlySpan<byte> piece)
    {
        _file ??= data.Files.Create(Path.Combine(settings.DirectoryPath, $"temp-sync-{Environment.ProcessId}.rdb"));
        _file.Write(_fileBytes, piece);
        _fileBytes += piece.Length;
    }

    private void SendFile()
    {
        using IOpenFile file = data.Files.OpenRead(_file!.Path);
        foreach (ReplicaClient replica in _replicas)
        {
            replica.IsDataReady = true; // no newline follows
            Add(replica, FormattableString.Invariant($"${_fileBytes}\r\n"));
        }

        byte[] block = new byte[BlockBytes];
        for (long position = 0; position < _fileBytes;)
        {
            int read = file.Read(position, block);
            if (read <= 0) throw new FileFailure("read", file.Path, FileFailure.Canceled);
            Send(block.AsSpan(0, read));
            position += read;
        }
    }

    private void Send(ReadOnlySpan<byte> piece)
    {
        while (!piece.IsEmpty)
        {
            WaitForReplicas();
            int length = Math.Min(piece.Length, BlockBytes);
            SharedBuffer block = buffers.Copy(piece[..length]);
            foreach (ReplicaClient replica in _replicas) replica.Add(block, length);
            block.Release();
            piece = piece[length..];
        }
    }

    private void WaitForReplicas() => _progress.WaitUntil(MaySend, WaitMs);

    private bool MaySend()
    {
        if (!Array.Exists(_replicas, static replica => replica.IsConnected)) throw new FileFailure("write", "replicas", FileFailure.Canceled);
        long unsent = _replicas.Max(static replica => replica.UnsentBytes);
        if (unsent <= WindowBytes) return true;
        if (data.SnapshotEnds) throw new FileFailure("write", "replicas", FileFailure.Canceled);
        if (data.SnapshotIsAwaited && unsent <= list.LimitBytes) return true;
        CloseSlow();
        return false;
    }

    private void CloseSlow()
    {
        long nowMs = clock.SteadyMs;
        foreach (ReplicaClient replica in _replicas)
        {
            if (data.SnapshotIsAwaited && replica.UnsentBytes > list.LimitBytes)
            {
                if (replica.Close()) log.Warning(LogEvents.ReplicaClosed, FormattableString.Invariant($"Replica {replica.Name} is closed: commands wait because it takes its data too slowly, and {replica.UnsentBytes} bytes wait for it (client-output-buffer-limit replica)."));
            }
            else if (replica.UnsentBytes > 0 && nowMs - replica.ProgressMs > settings.ReplicationTimeoutSeconds * 1000L)
            {
                if (replica.Close()) log.Warning(LogEvents.ReplicaClosed, $"Replica {replica.Name} is closed: it has taken none of its data for {settings.ReplicationTimeoutSeconds} seconds (repl-timeout).");
            }
        }
    }
}
