namespace RedKite.Server.Diagnostics.Actions;

/// <summary>Every action that the server takes by itself, one row each.</summary>
internal static class ActionTable
{
    private static readonly List<ServerAction> Rows = [];

    internal static readonly ServerAction ShedConnections = Row("shed-connections", "shed-connections-per-second", "More clients connect within a second than the setting allows: further ones are refused with an error. Connected clients keep their speed.", touchesClients: true);
    internal static readonly ServerAction CloseHogs = Row("close-hogs", "close-hogs-above", "The buffers of one client hold more bytes than the setting for at least a second: the client is closed.", touchesClients: true);
    internal static readonly ServerAction RefuseCommands = Row("refuse-commands", "refuse-dangerous-commands", "KEYS, FLUSHDB or FLUSHALL is called while there are more keys than the setting: the command is refused with an error.", touchesClients: true);
    internal static readonly ServerAction ReturnMemory = Row("return-memory", "return-memory-below", "Less of the machine's or container's memory is available than this percentage: unused memory that the process holds is returned to the system, at most once a minute.", touchesClients: false);
    internal static readonly ServerAction SlowBackgroundWork = Row("slow-background-work", "slow-background-work-above", "An event loop was busier than this percentage for ten seconds: the background survey of keys takes a tenth of its share until every loop is less busy again.", touchesClients: false);
    internal static readonly ServerAction WritePackage = Row("write-package", "debug-package-dir", "A finding becomes critical: a debug package is written, within the limits of `debug-packages-per-day` and `debug-packages-max-bytes`.", touchesClients: false);

    /// <summary>Every action, by <see cref="ServerAction.Index"/>.</summary>
    internal static IReadOnlyList<ServerAction> All => Rows;

    private static ServerAction Row(string name, string setting, string meaning, bool touchesClients)
    {
        var action = new ServerAction(Rows.Count, name, setting, meaning, touchesClients);
        Rows.Add(action);
        return action;
    }
}
