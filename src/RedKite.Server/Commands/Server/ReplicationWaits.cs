using RedKite.Server.Commands.Arguments;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// Commands that wait until replicas or the disk have received the connection's writes. The table is their single declaration
/// and this file's contents. There are no replicas, so a wait for them times out.
/// </summary>
internal sealed class ReplicationWaits(LogKeeper log)
{
    internal CommandFamily Family => new("generic", "connection",
    [
        new("WAIT", 3, Blocking, KeySpecs.None, Wait,
            new("3.0.0", "O(1)", "Blocks until a number of replicas have received the connection's writes, and returns their number.", "numreplicas:integer timeout:integer")) { Tips = ["request_policy:all_shards", "response_policy:agg_min"] },
        new("WAITAOF", 4, Blocking, KeySpecs.None, WaitAof,
            new("7.2.0", "O(1)", "Blocks until the connection's writes are in the append-only file of this server and of a number of replicas.", "numlocal:integer numreplicas:integer timeout:integer")) { Tips = ["request_policy:all_shards", "response_policy:agg_min"] },
    ]);

    // WAIT numreplicas timeout
    private static void Wait(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(1, out long replicas) || !TimeoutArgument.TryMillisecondsOrReply(cmd, 2, out long deadlineMs)) return;
        if (replicas <= 0 || !cmd.BlockUntil(deadlineMs, ":0\r\n"u8.ToArray())) cmd.Reply.Integer(0);
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

        if (!cmd.TryCountOrReply(2, out long replicas) || !TimeoutArgument.TryMillisecondsOrReply(cmd, 3, out long deadlineMs)) return;
        AppendOnlyLog? current = log.Log;
        if (local > 0 && current is null)
        {
            cmd.Reply.Error(LogKeeper.NoLogToWaitFor);
            return;
        }

        // As in Redis, a script has written nothing yet.
        long position = cmd.Environment.IsInScript || current is null ? 0 : Math.Min(cmd.Session.LoggedPosition, current.Chain.Reserved);
        bool isSynced = current is not null && position <= current.Writer.SyncedPosition;
        byte[] reply = SyncWait.NewReply(isSynced);
        if ((replicas == 0 && (local == 0 || isSynced)) || !cmd.BlockUntil(deadlineMs, reply)) cmd.Reply.Raw(reply);
        else if (!isSynced && current is not null) log.Await(current, new SyncWait(cmd.Session, position, reply, RequiresLog: local > 0, WaitsForReplicas: replicas > 0));
    }
}
