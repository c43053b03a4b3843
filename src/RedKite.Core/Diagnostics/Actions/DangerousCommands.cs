using RedKite.Server.Config;
using RedKite.Server.Model;

namespace RedKite.Server.Diagnostics.Actions;

/// <summary>
/// Refuses commands that walk over all keys or remove them all if there are more keys than `refuse-dangerous-commands`: they stop every client
/// for as long as they take, or they lose the data.
/// </summary>
internal sealed class DangerousCommands(Settings settings, ActionLog actions)
{
    private static readonly string[] Names = ["keys", "flushdb", "flushall"];

    /// <summary>Why a command is refused, as an error reply; null: it is not.</summary>
    internal string? Refusal(scoped in CommandContext cmd, Command command)
    {
        long keysMax = settings.RefuseDangerousCommandsAboveKeys;
        if (keysMax == 0 || !command.Is(CommandFlags.AllStripes) || Array.IndexOf(Names, command.Name) < 0) return null;
        long keys = command.Name == "flushall" ? cmd.Keyspace.Databases.ToArray().Sum(database => database.Count) : cmd.Database.Count;
        if (keys <= keysMax) return null;
        actions.Note(ActionTable.RefuseCommands, $"{command.Name.ToUpperInvariant()} was refused with {keys} keys", cmd.Session);
        return $"ERR {command.Name.ToUpperInvariant()} is refused, because there are {keys} keys and refuse-dangerous-commands allows it for {keysMax} at most";
    }
}
