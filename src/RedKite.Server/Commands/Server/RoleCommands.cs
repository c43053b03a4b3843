using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Protocol;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>REPLICAOF and its older name: the server follows a primary, or becomes one.</summary>
internal sealed class RoleCommands(ReplicationState state, Failover failover, Action<PrimaryAddress?, bool> changeRole)
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
        if (failover.State != FailoverState.None)
        {
            cmd.Reply.Error("ERR REPLICAOF not allowed while failing over."u8);
            return;
        }

        if (cmd.Is(1, "no"u8) && cmd.Is(2, "one"u8))
        {
            if (state.IsReplica) Change(cmd, null);
            cmd.Reply.Ok();
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
        cmd.Reply.Ok();
    }

    private void Change(scoped in CommandContext cmd, PrimaryAddress? primary) => changeRole(primary, !cmd.Environment.HeldStripes.IsEmpty);
}
