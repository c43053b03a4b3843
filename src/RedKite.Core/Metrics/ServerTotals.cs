using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>Sums over all executors and loops, read while they count.</summary>
internal readonly record struct ServerTotals
{
    internal long Commands { get; private init; }

    internal long BytesReceived { get; private init; }

    internal long BytesSent { get; private init; }

    internal long KeyspaceHits { get; private init; }

    internal long KeyspaceMisses { get; private init; }

    internal long Changes { get; private init; }

    internal long ErrorReplies { get; private init; }

    internal long UnexpectedErrorReplies { get; private init; }

    internal long Reads { get; private init; }

    internal long Writes { get; private init; }

    internal long SweepTicks { get; private init; }

    internal DefragmentationCounts Defragmentation { get; private init; }

    /// <summary>The share of a loop's time that active defragmentation takes now: that of the loop where it is the largest.</summary>
    internal int DefragmentationCpuPercent { get; private init; }

    internal long SweepsCut { get; private init; }

    internal long EvictedKeys { get; private init; }

    internal long EvictedYoungKeys { get; private init; }

    /// <summary>Failed logins.</summary>
    internal long AuthenticationsDenied { get; private init; }

    internal long CommandsDenied { get; private init; }

    internal long KeysDenied { get; private init; }

    internal long ChannelsDenied { get; private init; }

    internal long VectorSearches { get; private init; }

    internal long VectorBytesRead { get; private init; }

    internal long FilterAdditionsRefused { get; private init; }

    internal long SeriesSamples { get; private init; }

    internal long SeriesSamplesLate { get; private init; }

    /// <summary>Payloads of RESTORE that were checked.</summary>
    internal long PayloadsChecked { get; private init; }

    /// <summary>Receives and sends of all loops but the first.</summary>
    internal long ThreadedReads { get; private init; }

    internal long ThreadedWrites { get; private init; }

    /// <summary>Memory of the connections, with their buffers as each loop counted them within the last second.</summary>
    internal long ClientBytes { get; private init; }

    /// <summary>Bytes that wait to be sent, as each loop counted them within the last second.</summary>
    internal long OutputBytes { get; private init; }

    /// <summary>Clients that the server has stopped reading from because they do not read their replies.</summary>
    internal int SuspendedClients { get; private init; }

    internal long RecentInputBytesMax { get; private init; }

    internal long RecentOutputBytesMax { get; private init; }

    /// <summary>Since the start: RESETSTAT does not reset them, but notes them.</summary>
    internal long LoopCycles { get; private init; }

    internal long LoopMicroseconds { get; private init; }

    internal static ServerTotals Of(MetricsRegistry registry)
    {
        var sum = new ServerTotals { ClientBytes = Volatile.Read(ref registry.Server.PrimaryBytes), AuthenticationsDenied = Interlocked.Read(ref registry.Server.DashboardLoginsDenied) };
        foreach (ExecutorMetrics metrics in registry.Executors)
        {
            sum = sum with
            {
                Commands = sum.Commands + metrics.CommandsProcessed,
                BytesReceived = sum.BytesReceived + metrics.BytesReceived,
                BytesSent = sum.BytesSent + metrics.BytesSent,
                KeyspaceHits = sum.KeyspaceHits + metrics.KeyspaceHits,
                KeyspaceMisses = sum.KeyspaceMisses + metrics.KeyspaceMisses,
                Changes = sum.Changes + metrics.Changes,
                ErrorReplies = sum.ErrorReplies + metrics.ErrorReplies,
                UnexpectedErrorReplies = sum.UnexpectedErrorReplies + metrics.UnexpectedErrorReplies,
                Reads = sum.Reads + metrics.Reads,
                Writes = sum.Writes + metrics.Writes,
                SweepTicks = sum.SweepTicks + metrics.SweepTicks,
                SweepsCut = sum.SweepsCut + metrics.SweepsCut,
                Defragmentation = sum.Defragmentation + metrics.Defragmentation,
                DefragmentationCpuPercent = Math.Max(sum.DefragmentationCpuPercent, metrics.DefragmentationCpuPercent),
                EvictedKeys = sum.EvictedKeys + metrics.EvictedKeys,
                EvictedYoungKeys = sum.EvictedYoungKeys + metrics.EvictedYoungKeys,
                AuthenticationsDenied = sum.AuthenticationsDenied + metrics.AuthenticationsDenied,
                CommandsDenied = sum.CommandsDenied + metrics.CommandsDenied,
                KeysDenied = sum.KeysDenied + metrics.KeysDenied,
                ChannelsDenied = sum.ChannelsDenied + metrics.ChannelsDenied,
                VectorSearches = sum.VectorSearches + metrics.VectorSearches,
                VectorBytesRead = sum.VectorBytesRead + metrics.VectorBytesRead,
                FilterAdditionsRefused = sum.FilterAdditionsRefused + metrics.FilterAdditionsRefused,
                SeriesSamples = sum.SeriesSamples + metrics.SeriesSamples,
                SeriesSamplesLate = sum.SeriesSamplesLate + metrics.SeriesSamplesLate,
                PayloadsChecked = sum.PayloadsChecked + metrics.PayloadsChecked,
            };
        }

        LoopMetrics[] loops = registry.Loops;
        for (int i = 0; i < loops.Length; i++)
        {
            LoopMetrics loop = loops[i];
            sum = sum with
            {
                ThreadedReads = sum.ThreadedReads + (i == 0 ? 0 : loop.Reads),
                ThreadedWrites = sum.ThreadedWrites + (i == 0 ? 0 : loop.Writes),
                ClientBytes = sum.ClientBytes + ((long)loop.Connections * LoopMetrics.ConnectionBytes) + loop.Buffers.Bytes,
                OutputBytes = sum.OutputBytes + loop.Buffers.OutputBytes,
                SuspendedClients = sum.SuspendedClients + loop.SuspendedClients,
                RecentInputBytesMax = Math.Max(sum.RecentInputBytesMax, loop.Buffers.RecentInputBytesMax),
                RecentOutputBytesMax = Math.Max(sum.RecentOutputBytesMax, loop.Buffers.RecentOutputBytesMax),
                LoopCycles = sum.LoopCycles + loop.Cycles,
                LoopMicroseconds = sum.LoopMicroseconds + loop.WorkMicroseconds,
            };
        }

        return sum;
    }
}
