using System.Globalization;
using System.Text;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// Commands that wait until replicas or the disk have received the connection's writes. The table is their single declaration
/// and this file's contents.
/// </summary>
internal sealed class ReplicationWaits(LogKeeper log, ReplicaService replicas)
{
    internal CommandFamily Family => new("generic", "connection",
    [
        new("WAIT", 3, Blocking, KeySpecs.None, Wait,
            new("3.0.0", "O(1)", "Blocks until a number of replicas have received the connection's writes, and returns their number.", "numreplicas:integer timeout:integer")) { Tips = ["request_policy:all_shards", "response_policy:agg_min"] },
        new("WAITAOF", 4, Blocking, KeySpecs.None, WaitAof,
            new("7.2.0", "O(1)", "Blocks until the connection's writes are in the append-only file of this server and of a number of replicas.", "numlocal:integer numreplicas:integer timeout:integer")) { Tips = ["request_policy:all_shards", "response_policy:agg_min"] },
    ]);

    // WAIT numreplicas timeout
    private void Wait(ref CommandContext cmd)
    {
        if (replicas.State.IsReplica)
        {
            cmd.Reply.Error("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated."u8);
            return;
        }

        if (!cmd.TryIntegerOrReply(1, out long wanted) || !TimeoutArgument.TryMillisecondsOrReply(cmd, 2, out long deadlineMs)) return;
        long offset = OffsetOf(cmd);
        int acknowledged = replicas.CountAcknowledged(offset, onDisk: false);
        var late = new LateReply();
        if (acknowledged >= wanted || !cmd.BlockUntil(deadlineMs, late, () => Integer(replicas.CountAcknowledged(offset, onDisk: false))))
        {
            cmd.Reply.Integer(acknowledged);
            return;
        }

        replicas.Await(new AckWait(cmd.Session, offset, wanted, OnDisk: false, late, Integer));
    }

    // WAITAOF numlocal numreplicas timeout
    private void WaitAof(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(1, out long local)) return;
        if (local is < 0 or > 1)
        {
            cmd.Reply.Error("ERR value is out of range, value must between 0 and 1"u8);
            return;
        }

        if (!cmd.TryCountOrReply(2, out long wanted) || !TimeoutArgument.TryMillisecondsOrReply(cmd, 3, out long deadlineMs)) return;
        if (replicas.State.IsReplica)
        {
            cmd.Reply.Error("ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and are not propagated."u8);
            return;
        }

        AppendOnlyLog? current = log.Log;
        if (local > 0 && !log.IsWanted)
        {
            cmd.Reply.Error(LogKeeper.NoLogToWaitFor);
            return;
        }

        // As in Redis, a script has written nothing yet.
        long position = cmd.Environment.IsInScript || current is null ? 0 : Math.Min(cmd.Session.Own.LoggedPosition, current.Chain.Reserved);
        long offset = OffsetOf(cmd);
        bool IsSynced() => log.IsSynced(current, position);
        byte[] Reply(int count) => Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*2\r\n:{(IsSynced() ? 1 : 0)}\r\n:{count}\r\n"));
        byte[] AtDeadline() => Reply(replicas.CountAcknowledged(offset, onDisk: true));
        int acknowledged = replicas.CountAcknowledged(offset, onDisk: true);
        bool isSynced = IsSynced();
        var late = new LateReply();
        if ((acknowledged >= wanted && (local == 0 || isSynced)) || !cmd.BlockUntil(deadlineMs, late, AtDeadline))
        {
            cmd.Reply.Raw(Reply(acknowledged));
            return;
        }

        if (!isSynced && (local > 0 || current is not null)) log.Await(new SyncWait(cmd.Session, current, position, late, RequiresLog: local > 0, () => replicas.CountAcknowledged(offset, onDisk: true) >= wanted ? AtDeadline() : null));

        // Also if enough replicas have it: one that is lost before the disk has it may come back.
        replicas.Await(new AckWait(cmd.Session, offset, wanted, OnDisk: true, late, count => local == 0 || IsSynced() ? Reply(count) : null));
    }

    // As in Redis, a script has written nothing yet.
    private long OffsetOf(scoped in CommandContext cmd) => cmd.Environment.IsInScript ? 0 : Math.Min(cmd.Session.Own.ReplicatedOffset, replicas.Stream.Offset);

    private static byte[] Integer(int value) => Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $":{value}\r\n"));
}
