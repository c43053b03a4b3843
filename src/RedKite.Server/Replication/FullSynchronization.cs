using System.Security.Cryptography;
using System.Text;
using RedKite.Net.Interop;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>
/// Writes all data of one moment to replicas, with one walk for all that wait when it begins, and no file. The length is not known, so the data ends
/// with a mark. The stream from that moment on waits in its chain.
/// </summary>
/// <remarks>
/// <para>The walk waits for the slowest replica, but not while commands wait for the walk: what the replica has not taken is then kept in
/// memory, up to a limit beyond which the replica is closed. So no replica delays a client for long.</para>
/// <para>On the thread of the walk, except where a method says otherwise.</para>
/// </remarks>
internal sealed class FullSynchronization(ReplicaService service, Settings settings, DurabilityService durability, BufferPool buffers, ServerClock clock, ServerLog log)
{
    /// <summary>The length of the mark at the end of the data.</summary>
    internal const int MarkBytes = 40;

    // What waits in memory for each replica while nothing else waits for the walk.
    private const int WindowBytes = 1 << 20;
    private const int BlockBytes = 64 * 1024;
    private const int WaitMs = 10;

    private readonly object _progress = new(); // a monitor: the walk waits on it
    private readonly byte[] _mark = Encoding.ASCII.GetBytes(Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(MarkBytes / 2)));
    private ReplicaClient[] _replicas = [];

    /// <summary>Sends the data to the replicas that wait.</summary>
    internal void Run()
    {
        long startMs = clock.SteadyMs;
        using var writer = new RdbFileWriter(Send, settings.RdbCompression, settings.RdbChecksum);
        try
        {
            durability.WriteForReplicas(writer, Cut);
            writer.End();
            Send(_mark);
            foreach (ReplicaClient replica in _replicas) replica.EndBlocks();
            log.Notice(LogEvents.ReplicaSyncSent, FormattableString.Invariant($"Full synchronization: {writer.Bytes} bytes for {_replicas.Count(static replica => replica.IsConnected)} replicas in {(clock.SteadyMs - startMs) / 1000.0:0.000} seconds"));
        }
        catch (FileFailure failure)
        {
            if (_replicas.Length > 0) log.Warning(LogEvents.ReplicaSyncFailed, $"A full synchronization has ended early: {(failure.Error == FileFailure.Canceled ? "no replica is left, or the server stops" : failure.Message)}");
            foreach (ReplicaClient replica in _replicas) replica.Close();
        }
    }

    // All stripes are locked.
    private RdbReplication Cut()
    {
        (_replicas, RdbReplication place) = service.BeginSynchronization();
        foreach (ReplicaClient replica in _replicas)
        {
            replica.Progressed = OnProgress;
            string head = replica.IsBeforePsync ? "" : FormattableString.Invariant($"+FULLRESYNC {place.Id} {place.Offset}\r\n");
            SharedBuffer block = buffers.Copy([.. Encoding.ASCII.GetBytes(head + "$EOF:"), .. _mark, .. "\r\n"u8]);
            replica.Add(block, block.Capacity < head.Length + MarkBytes + 7 ? block.Capacity : head.Length + MarkBytes + 7);
            block.Release();
        }

        return place;
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

    private void WaitForReplicas()
    {
        lock (_progress)
        {
            while (true)
            {
                if (!Array.Exists(_replicas, static replica => replica.IsConnected)) throw new FileFailure("write", "replicas", FileFailure.Canceled);
                long unsent = _replicas.Max(static replica => replica.UnsentBytes);
                if (unsent <= WindowBytes) return;
                if (durability.SnapshotEnds) throw new FileFailure("write", "replicas", FileFailure.Canceled);
                if (durability.SnapshotIsAwaited && unsent <= service.LimitBytes) return;
                CloseSlow();
                Monitor.Wait(_progress, WaitMs);
            }
        }
    }

    private void CloseSlow()
    {
        long nowMs = clock.SteadyMs;
        foreach (ReplicaClient replica in _replicas)
        {
            if (durability.SnapshotIsAwaited && replica.UnsentBytes > service.LimitBytes)
            {
                if (replica.Close()) log.Warning(LogEvents.ReplicaClosed, FormattableString.Invariant($"Replica {replica.Name} is closed: commands wait because it takes its data too slowly, and {replica.UnsentBytes} bytes wait for it (client-output-buffer-limit replica)."));
            }
            else if (replica.UnsentBytes > 0 && nowMs - replica.ProgressMs > settings.ReplicationTimeoutSeconds * 1000L)
            {
                if (replica.Close()) log.Warning(LogEvents.ReplicaClosed, $"Replica {replica.Name} is closed: it has taken none of its data for {settings.ReplicationTimeoutSeconds} seconds (repl-timeout).");
            }
        }
    }

    // On the replica's loop.
    private void OnProgress(ReplicaClient replica)
    {
        replica.ProgressMs = clock.SteadyMs;
        lock (_progress) Monitor.PulseAll(_progress);
    }
}
