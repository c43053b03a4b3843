using System.Net.Security;
using RedKite.Server.Cluster;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>How the connection to the primary uses TLS; null: it does not. Not a Func, whose type would load the framework's TLS at the start.</summary>
internal delegate SslClientAuthenticationOptions? ClientTls();

/// <summary>What following a primary needs of the server around it.</summary>
internal sealed record LinkServices
{
    /// <summary>The server's own replicas, and its stream.</summary>
    internal required ReplicaService Replicas { get; init; }

    /// <summary>Loads what a primary sends.</summary>
    internal required IReplicatedData Data { get; init; }

    /// <summary>Waits until every loop has ended the commands that it executes. From a thread that is no loop's.</summary>
    internal required Action<CancellationToken> WaitForLoops { get; init; }

    /// <summary>How the connection to the primary uses TLS.</summary>
    internal required ClientTls Tls { get; init; }

    /// <summary>Makes what executes the stream of one link.</summary>
    internal required Func<IStreamExecutor> NewExecutor { get; init; }

    /// <summary>The server's own port.</summary>
    internal required Func<int> Port { get; init; }

    /// <summary>What the server is in a cluster with a store; null: nothing.</summary>
    internal Func<AgreedIdentity?> Identity { get; init; } = static () => null;

    /// <summary>Called when a primary has answered a link, before what it sends is executed or loaded: whether it sends all its data. On the link's thread, until the link is ended.</summary>
    internal Action<bool, CancellationToken> Answered { get; init; } = static (_, _) => { };

    /// <summary>Ends the waits of blocked clients by an error: what they wait for may never come to a replica.</summary>
    internal required Action<bool> EndWaits { get; init; }

    /// <summary>The offset up to which the append-only file has what the stream did, as far as it is known; null: there is no such file.</summary>
    internal Func<long, long?> SyncedOffset { get; init; } = static _ => null;

    /// <summary>How long a link waits before its second attempt to connect; the pauses double.</summary>
    internal int RetryMsMin { get; private set; } = 100;

    /// <summary>The longest pause.</summary>
    internal int RetryMsMax { get; private set; } = 1000;

    /// <summary>A test has links wait for other times.</summary>
    internal void RetryAfter(int minMs, int maxMs) => (RetryMsMin, RetryMsMax) = (minMs, maxMs);
}

/// <summary>What outlives single links: whether the data is a state of a primary's history, from which a link can go on, and counts.</summary>
internal sealed class LinkHistory
{
    /// <summary>Whether a load was interrupted: what there is of the data must not be saved.</summary>
    internal bool IsIncomplete { get; private set; }

    /// <summary>Whether the data is that of the current id at the stream's offset.</summary>
    internal bool IsKnown { get; private set; }

    /// <summary>The database that the stream has selected at its offset.</summary>
    internal int Database { get; private set; }

    /// <summary>The data is that of a place in the history, where a database is selected.</summary>
    internal void Know(int database)
    {
        Database = database;
        IsKnown = true;
    }

    /// <summary>The server follows a primary, and was one itself. Its data is of its own history, if its offset moved with it.</summary>
    internal void BeginToFollow(bool hadBacklog) => IsKnown = hadBacklog;

    /// <summary>The link has ended, when the stream had selected a database.</summary>
    internal void NoteSelected(int database) => Database = database;

    /// <summary>Data is loaded. It is none of any history until it is whole.</summary>
    internal void BeginLoad() => IsKnown = false;

    /// <summary>The data was removed, for that of a load.</summary>
    internal void NoteRemoved() => IsIncomplete = true;

    /// <summary>The load is whole.</summary>
    internal void EndLoad() => IsIncomplete = false;

    /// <summary>Data was loaded, with a database selected. It is that of the stream's history, unless the primary has named none.</summary>
    internal void NoteLoaded(int database, bool hasHistory)
    {
        Database = database;
        IsKnown = hasHistory;
    }
}
