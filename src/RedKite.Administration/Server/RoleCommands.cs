using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Protocol;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>REPLICAOF and its older name: the server follows a primary, or becomes one.</summary>
internal sealed class RoleCommands(ReplicationState state, Failover failover, ServerParts parts)
{
    private const string Syntax = "args:<host-port:<host port:integer> | no-one:<NO ONE>>";

    internal CommandFamily Family => new("server", "",
    [
        new("REPLICAOF", 3, Admin | NoScript | NoAsyncLoading | Stale, KeySpecs.None, ReplicaOf, new("5.0.0", "O(1)", "Makes the server follow a primary, or ends that.", Syntax)) { ChangesRole = true },
        new("SLAVEOF", 3, Admin | NoScript | NoAsyncLoading | Stale, KeySpecs.None, ReplicaOf, new("1.0.0", "O(1)", "Makes the server follow a primary, or ends that.", Syntax) { DeprecatedSince = "5.0.0", ReplacedBy = "`REPLICAOF`" }) { ChangesRole = true },
    ]);

    // REPLICAOF host port
    // REPLICAOF NO ONE
    private void ReplicaOf(ref CommandContext cmd)
    {
        if (cmd.Settings.ClusterEnabled)
        {
            cmd.Reply.Error("ERR REPLICAOF not allowed in cluster mode."u8);
            return;
        }

        if (failover.State != FailoverState.None)
        {
            cmd.Reply.Error("ERR REPLICAOF not allowed while failing over."u8);
            return;
        }

        if (cmd.Is(1, "no"u8) && cmd.Is(2, "one"u8))
        {
            if (state.IsReplica) Change(cmd, null);
            else cmd.Reply.Ok();
            return;
        }

        if (cmd.Session.Type == ClientType.Replica)
        {
            cmd.Reply.Error("ERR Command is not valid when client is a replica."u8);
            return;
        }

        if (!RespNumber.TryParseInt64(cmd[2], out long port) || port is < 0 or > ushort.MaxValue)
        {
            cmd.Reply.Error("ERR Invalid master port"u8);
            return;
        }

        var primary = new PrimaryAddress(cmd.Text(1), (int)port);
        if (state.Primary is { } current && current.Port == primary.Port && current.Host.Equals(primary.Host, StringComparison.OrdinalIgnoreCase))
        {
            cmd.Reply.SimpleString("OK Already connected to specified master"u8);
            return;
        }

        Change(cmd, primary);
    }

    // The old link ends first, whose thread may wait for a stripe of a script, and in a transaction for one that this thread holds: then the rest follows behind it.
    private void Change(scoped in CommandContext cmd, PrimaryAddress? primary)
    {
        Action rest = parts.BeginRoleChange(primary);
        if (cmd.DoElsewhere(parts.ReplyLater, () => Complete(rest))) return;
        bool holdsNothing = cmd.Environment.HeldStripes.IsEmpty && !cmd.Environment.ScriptMutexHold.HasBegun; // the link may wait for either
        if (holdsNothing) rest(); // Sentinel's transaction goes on with CONFIG REWRITE
        else ThreadPool.QueueUserWorkItem(_ => rest());
        cmd.Reply.Ok();
    }

    private static byte[] Complete(Action rest)
    {
        rest();
        return "+OK\r\n"u8.ToArray();
    }
}
