using System.Globalization;
using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>Commands that replicas send to their primary. The table is their single declaration and this file's contents.</summary>
internal sealed class ReplicationCommands(ReplicaService replicas, CurrentRouting routing)
{
    private const int FirstValkeyOfOwnFormat = 9;
    private const CommandFlags Attaches = Admin | NoScript | NoAsyncLoading | NoMulti;

    internal CommandFamily Family => new("server", "",
    [
        new("REPLCONF", -1, Admin | NoScript | Loading | Stale | AllowBusy, KeySpecs.None, ReplConf, new("3.0.0", "O(1)", "Lets a replica introduce itself to its primary, and acknowledge what it has executed.") { IsSystemCommand = true }),
        new("PSYNC", -3, Attaches, KeySpecs.None, Psync, new("2.8.0", "", "Makes the client a replica, from an offset of a history if that is kept.", "replicationid:string offset:integer")) { ChangesRole = true },
        new("FAILOVER", -1, Admin | NoScript | Stale, KeySpecs.None, HandOver, new("6.2.0", "O(1)", "Hands the role of the primary over to a replica that has everything.", "[TO target:(host port [FORCE])] [ABORT] [TIMEOUT milliseconds]")) { ChangesRole = true },
        new("SYNC", 1, Attaches, KeySpecs.None, Sync, new("1.0.0", "", "Makes the client a replica that gets all data, as replicas before 2.8 did.")) { ChangesRole = true },
    ]);

    // REPLCONF [option value ...]
    private void ReplConf(ref CommandContext cmd)
    {
        if (cmd.Count % 2 == 0)
        {
            cmd.ReplySyntaxError();
            return;
        }

        // The primary's stream asks for an acknowledgement, without a reply.
        if (cmd.Session.Type == ClientType.Master)
        {
            if (cmd.Is(1, "GETACK"u8)) replicas.AcknowledgeToPrimary();
            return;
        }

        // A caller in the process can be no replica.
        if (cmd.Session.Connection is null)
        {
            cmd.Reply.Error("ERR REPLCONF needs a connection"u8);
            return;
        }

        ReplicaClient replica = replicas.Introduce(cmd.Session);
        for (int option = 1; option < cmd.Count; option += 2)
        {
            if (cmd.Is(option, "ACK"u8))
            {
                Acknowledge(cmd, replica, option);
                return; // without a reply
            }

            if (cmd.Is(option, "GETACK"u8))
            {
                replicas.AcknowledgeToPrimary();
                return; // without a reply
            }

            if (!TrySetOrReply(cmd, replica, option)) return;
        }

        cmd.Reply.Ok();
    }

    private bool TrySetOrReply(scoped in CommandContext cmd, ReplicaClient replica, int option)
    {
        int value = option + 1;
        if (cmd.Is(option, "LISTENING-PORT"u8))
        {
            if (!cmd.TryIntegerOrReply(value, out long port)) return false;
            replica.Announce(replica.Announced with { ListeningPort = (int)port });
        }
        else if (cmd.Is(option, "IP-ADDRESS"u8))
        {
            const int AddressBytesMax = 255;
            if (cmd[value].Length > AddressBytesMax)
            {
                cmd.Reply.Error($"ERR REPLCONF ip-address provided by replica instance is too long: {cmd[value].Length} bytes");
                return false;
            }

            replica.Announce(replica.Announced with { Address = cmd.Text(value) });
        }
        else if (cmd.Is(option, "NODE-ID"u8))
        {
            if (cmd[value].Length == ClusterNode.IdLength && cmd.Text(value) is var id && ClusterNode.IsId(id)) replica.NoteNode(replica.Node with { Id = id });
        }
        else if (cmd.Is(option, "TOPOLOGY-VERSION"u8))
        {
            if (!cmd.TryIntegerOrReply(value, out long topology)) return false;
            replica.NoteNode(replica.Node with { Version = topology });
        }
        else if (cmd.Is(option, "INCARNATION"u8))
        {
            if (cmd[value].Length == ClusterNode.IdLength) replica.NoteNode(replica.Node with { Incarnation = cmd.Text(value) });
        }
        else if (cmd.Is(option, "CAPA"u8))
        {
            // What is not known is ignored, as in Redis.
            ReplicaCapabilities added = cmd.Is(value, "EOF"u8) ? ReplicaCapabilities.Eof
                : cmd.Is(value, "PSYNC2"u8) ? ReplicaCapabilities.Psync2
                : cmd.Is(value, "RDB-CHANNEL-REPL"u8) ? ReplicaCapabilities.RdbChannel
                : ReplicaCapabilities.None;
            replica.Announce(replica.Announced with { Capabilities = replica.Announced.Capabilities | added });
        }
        else if (cmd.Is(option, "RDB-CHANNEL"u8))
        {
            if (!TryFlagOrReply(cmd, value, out bool isChannel)) return false;
            replica.Announce(replica.Announced with { IsChannel = isChannel });
        }
        else if (cmd.Is(option, "MAIN-CH-CLIENT-ID"u8))
        {
            if (!cmd.TryIntegerOrReply(value, out long mainId)) return false;
            if (replicas.TryJoin(replica, mainId)) return true;
            cmd.Reply.Error($"ERR Unrecognized RDB client id: {mainId}");
            return false;
        }
        else if (cmd.Is(option, "VERSION"u8))
        {
            // Only Valkey says it: it reads no format of Redis that is newer than the one both had, and from 9.0 on has one of its own.
            int version = cmd.Text(value).Split('.') is [var major, ..] && int.TryParse(major, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number >= FirstValkeyOfOwnFormat
                ? RdbTypes.ValkeyVersionMin
                : RdbFormat.VersionWithoutFieldExpiries;
            replica.Announce(replica.Announced with { DataVersion = version });
        }
        else if (cmd.Is(option, "RDB-ONLY"u8))
        {
            if (!TryFlagOrReply(cmd, value, out bool on)) return false;
            replica.Announce(replica.Announced with { OnlyData = on });
        }
        else if (cmd.Is(option, "RDB-FILTER-ONLY"u8))
        {
            return TryFilterOrReply(cmd, replica, value);
        }
        else
        {
            cmd.Reply.Error($"ERR Unrecognized REPLCONF option: {cmd.ShownText(option)}");
            return false;
        }

        return true;
    }

    private static bool TryFlagOrReply(scoped in CommandContext cmd, int value, out bool on)
    {
        on = false;
        if (!cmd.TryIntegerOrReply(value, out long number)) return false;
        on = number == 1;
        if (number is 0 or 1) return true;
        cmd.Reply.Error("ERR value is out of range, value must between 0 and 1"u8);
        return false;
    }

    // The parts of the data that are wanted; there is one to choose.
    private static bool TryFilterOrReply(scoped in CommandContext cmd, ReplicaClient replica, int value)
    {
        bool wantsFunctions = false;
        foreach (Range range in cmd[value].Split((byte)' '))
        {
            ReadOnlySpan<byte> part = cmd[value][range];
            if (part.IsEmpty) continue;
            if (!AsciiText.EqualsIgnoreCase(part, "functions"))
            {
                cmd.Reply.Error($"ERR Unsupported rdb-filter-only option: {ArgumentReading.Text(part)}");
                return false;
            }

            wantsFunctions = true;
        }

        replica.Announce(replica.Announced with { WithoutKeys = true, WithoutFunctions = !wantsFunctions });
        return true;
    }

    // REPLCONF ACK offset [FACK offset]
    private void Acknowledge(scoped in CommandContext cmd, ReplicaClient replica, int option)
    {
        if (!RespNumber.TryParseInt64(cmd[option + 1], out long offset)) return;
        long? synced = cmd.Count > option + 3 && cmd.Is(option + 2, "FACK"u8) && RespNumber.TryParseInt64(cmd[option + 3], out long onDisk) ? onDisk : null;
        replicas.Acknowledge(replica, offset, synced);
    }

    // PSYNC replicationid offset [FAILOVER]
    private void Psync(ref CommandContext cmd)
    {
        if (cmd.Session.Type == ClientType.Replica) return;
        if (!cmd.TryIntegerOrReply(2, out long offset)) return;
        if (cmd.Count > 3 && cmd.Is(3, "FAILOVER"u8) && !TryTakeOverOrReply(cmd)) return;
        if (!MayAttachOrReply(cmd)) return;
        ReplicaClient replica = replicas.Introduce(cmd.Session);
        if ((replicas.TryContinue(replica, IdOf(cmd), offset) ?? replicas.TryAwaitChannel(replica)) is { } reply) cmd.Reply.Raw(System.Text.Encoding.Latin1.GetBytes(reply));
        else replicas.Synchronize(replica);
        cmd.Session.ReplyMode = ReplyMode.Off;
    }

    // One character more than an id has, so that a longer one stays different from all.
    private static string IdOf(scoped in CommandContext cmd) => System.Text.Encoding.Latin1.GetString(cmd[1][..Math.Min(cmd[1].Length, ReplicationState.IdLength + 1)]);

    // SYNC
    private void Sync(ref CommandContext cmd)
    {
        if (cmd.Session.Type == ClientType.Replica || !MayAttachOrReply(cmd)) return;
        ReplicaClient replica = replicas.Introduce(cmd.Session);
        replica.NoteSync();
        replicas.Synchronize(replica);
        cmd.Session.ReplyMode = ReplyMode.Off;
    }

    // FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]
    private void HandOver(ref CommandContext cmd)
    {
        if (cmd.Settings.ClusterEnabled)
        {
            cmd.Reply.Error("ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead."u8);
            return;
        }

        long timeoutMs = 0, port = 0;
        string? host = null;
        bool forces = false;
        if (cmd.Count == 2 && cmd.Is(1, "ABORT"u8))
        {
            ReplyOkOr(cmd, replicas.Failover.Abort());
            return;
        }

        for (int i = 1; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "TIMEOUT"u8) && i + 1 < cmd.Count && timeoutMs == 0)
            {
                if (!cmd.TryIntegerOrReply(++i, out timeoutMs)) return;
                if (timeoutMs > 0) continue;
                cmd.Reply.Error("ERR FAILOVER timeout must be greater than 0"u8);
                return;
            }

            if (cmd.Is(i, "TO"u8) && i + 2 < cmd.Count && host is null)
            {
                host = cmd.Text(++i);
                if (!cmd.TryIntegerOrReply(++i, out port)) return;
            }
            else if (cmd.Is(i, "FORCE"u8) && !forces)
            {
                forces = true;
            }
            else
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        ReplyOkOr(cmd, replicas.Failover.Begin(host, (int)port, timeoutMs, forces));
    }

    private static void ReplyOkOr(scoped in CommandContext cmd, string? error)
    {
        if (error is null) cmd.Reply.Ok();
        else cmd.Reply.Error(error);
    }

    // A primary hands its role over to this replica, if both have the same history.
    private bool TryTakeOverOrReply(scoped in CommandContext cmd)
    {
        if (cmd.Settings.ClusterEnabled)
        {
            cmd.Reply.Error("ERR PSYNC FAILOVER not allowed in cluster mode."u8);
            return false;
        }

        if (!replicas.State.IsReplica)
        {
            cmd.Reply.Error("ERR PSYNC FAILOVER can't be sent to a master."u8);
            return false;
        }

        if (!cmd.Is(1, System.Text.Encoding.ASCII.GetBytes(replicas.State.Id)))
        {
            cmd.Reply.Error("ERR PSYNC FAILOVER replid must match my replid."u8);
            return false;
        }

        replicas.TakeOver();
        return true;
    }

    private bool MayAttachOrReply(scoped in CommandContext cmd)
    {
        if (replicas.Failover.State == FailoverState.InProgress)
        {
            cmd.Reply.Error("NOMASTERLINK Can't SYNC while failover is in progress"u8);
            return false;
        }

        if (replicas.State.IsReplica && replicas.State.LinkStatus is not { State: ReplicaLinkState.Connected })
        {
            cmd.Reply.Error("NOMASTERLINK Can't SYNC while not connected with my master"u8);
            return false;
        }

        if (!routing.FeedsReplicas)
        {
            cmd.Reply.Error("NOMASTERLINK Can't SYNC while this node may not serve"u8);
            return false;
        }

        if (replicas.Find(cmd.Session) is { } replica && routing.Replicas?.Excludes(replica.Node) == true)
        {
            cmd.Reply.Error("NOMASTERLINK Can't SYNC a node that the cluster's topology does not name as a replica of this one"u8);
            return false;
        }

        if (cmd.Session.Connection is not { } connection || cmd.Reply.Length > 0 || connection.OutputBytes > 0)
        {
            cmd.Reply.Error("ERR SYNC and PSYNC are invalid with pending output"u8);
            return false;
        }

        return true;
    }
}
