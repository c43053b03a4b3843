using RedKite.Server.Model;
using RedKite.Server.Sessions;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>MONITOR.</summary>
internal sealed class MonitorCommands(MonitorFeed feed)
{
    internal CommandFamily Family => new("server", "",
    [
        new("MONITOR", 1, Admin | NoScript | Loading | Stale, KeySpecs.None, Monitor, new("1.0.0", "", "Shows every command that the server executes, as it comes.")),
    ]);

    // MONITOR
    private void Monitor(ref CommandContext cmd)
    {
        if (cmd.Environment.IsInUnit)
        {
            cmd.Reply.Error("ERR MONITOR isn't allowed for DENY BLOCKING client"u8);
            return;
        }

        // A caller in the process does not read the lines, so they would accumulate.
        if (cmd.Session.Connection is null)
        {
            cmd.Reply.Error("ERR MONITOR needs a connection"u8);
            return;
        }

        if (cmd.Session.IsMonitor) return; // without a reply, as in Redis
        cmd.Session.IsMonitor = true;
        feed.Add(cmd.Session);
        cmd.Reply.Ok();
    }
}
