using RedKite.Server.Cluster;
using RedKite.Server.Durability;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.SlotMoves;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// The parts of a server, each named once: diagnostics and administrative commands report on them and change them. Each takes those that it
/// needs; commands on data take none.
/// </summary>
internal sealed class ServerParts
{
    /// <summary>What every room uses.</summary>
    internal required ServerCore Core { get; init; }

    /// <summary>What is kept on the disk.</summary>
    internal required DurabilityService Durability { get; init; }

    /// <summary>The backup of BACKUP.</summary>
    internal required BackupService Backup { get; init; }

    /// <summary>The server's replicas.</summary>
    internal required ReplicaService Replicas { get; init; }

    /// <summary>What MIGRATE sends to other servers.</summary>
    internal required MigrationService Migrations { get; init; }

    /// <summary>Moves of slots as a whole; null: the server is no node of a cluster.</summary>
    internal required Func<SlotMoveService?> SlotMoves { get; init; }

    /// <summary>What it knows of its cluster; null: likewise.</summary>
    internal required Func<IClusterWatch?> Cluster { get; init; }

    /// <summary>What the server's replicas receive.</summary>
    internal ReplicationStream ReplicaStream => Replicas.Stream;

    /// <summary>The server's listeners.</summary>
    internal required Func<ListeningFigures> Listening { get; init; }

    internal required Func<TlsFigures> Tls { get; init; }

    internal required Func<BlockedClientFigures> Blocking { get; init; }

    /// <summary>The last survey of all keys; null: none has ended, or there is no survey.</summary>
    internal required Func<KeySurveyResult?> KeySurvey { get; init; }

    /// <summary>The latest observation; null: none yet, or the setting `diagnostics` is off.</summary>
    internal required Func<Observation?> Observation { get; init; }

    /// <summary>Open findings, the worst first.</summary>
    internal required Func<IReadOnlyList<Finding>> Findings { get; init; }

    /// <summary>Builds debug packages; null: the setting `diagnostics` is off.</summary>
    internal required Func<PackageService?> Packages { get; init; }

    /// <summary>
    /// Ends the wait of a client by a reply. If the client does not wait for this any more, nothing happens. From any thread, which waits for nothing.
    /// </summary>
    internal required Action<Session, LateReply, byte[]> ReplyLater { get; init; }

    /// <summary>Resumes the clients that a pause holds.</summary>
    internal required Action EndPause { get; init; }

    /// <summary>Begins to follow a primary, or to become one: null. Returns the rest, which may take long and is for a thread that serves no clients.</summary>
    internal required Func<PrimaryAddress?, Action> BeginRoleChange { get; init; }

    /// <summary>Saves the data, if that is wanted, and begins to stop the server; false if saving failed: then the server goes on, and the action is called before anything else can stop it.</summary>
    internal required Func<StopSaving, Action?, bool>? Shutdown { get; init; }

    /// <summary>The same on a thread of its own, after replicas have got everything; the flag says that a failed save does not count.</summary>
    internal required Func<StopSaving, bool, Action?, bool> ShutdownAfterReplicas { get; init; }
}
