using RedKite.Server.Config;

namespace RedKite.Server.Replication;

/// <summary>
/// The replicas of a server, and the stream that they follow. <see cref="ReplicaService"/> changes the list; synchronizations, failovers and stops read it.
/// </summary>
internal sealed class ReplicaList(ReplicationState state, ReplicationStream stream, Settings settings)
{
    private Func<long>? _append;
    private long _askedOffset = -1; // the stream's end behind the last REPLCONF GETACK

    private static ReadOnlySpan<byte> GetAck => "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"u8;

    /// <summary>The replicas, in the order in which they came.</summary>
    internal volatile ReplicaClient[] All = [];

    /// <summary>The data is being saved for the last time: the stream ends there.</summary>
    internal volatile bool IsStopping;

    internal ReplicationState State => state;

    internal ReplicationStream Stream => stream;

    /// <summary>How far a replica may be behind: its output limit, and at least the backlog.</summary>
    internal long LimitBytes
    {
        get
        {
            ulong hard = settings.ReplicaClientLimit.HardBytes;
            long most = ReplicationStream.BehindBytesMax;
            return hard == 0 ? most : (long)Math.Min(Math.Max(hard, settings.ReplicationBacklogBytes), (ulong)most);
        }
    }

    /// <summary>Asks all replicas for their offsets, unless they were asked already behind everything that was executed.</summary>
    internal void AskForOffsets()
    {
        if (All.Length > 0 && stream.Offset != Volatile.Read(ref _askedOffset)) Ask();
    }

    /// <summary>Asks all replicas for their offsets.</summary>
    /// <returns>The offset for which they were asked: everything that was executed before. Null: the server is no primary, or nothing is appended any more.</returns>
    internal long? Ask()
    {
        if (IsStopping || !stream.HasBacklog || state.AppendAsPrimary(_append ??= () => stream.Append(GetAck)) is not { } end) return null;
        Volatile.Write(ref _askedOffset, end); // not the stream's end, which others have moved on perhaps
        return end - GetAck.Length;
    }

    /// <summary>The role has changed: nobody was asked in this stream.</summary>
    internal void ForgetAsked() => Volatile.Write(ref _askedOffset, -1);
}
