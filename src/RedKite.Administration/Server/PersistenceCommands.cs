using RedKite.Persistence.Files;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>Commands that save the data. The table is their single declaration and this file's contents.</summary>
internal sealed class PersistenceCommands(DurabilityService durability)
{
    private const CommandFlags Saving = Admin | NoScript | NoAsyncLoading;

    internal CommandFamily Family => new("server", "persistence",
    [
        new("SAVE", 1, Saving | NoMulti, KeySpecs.None, Save, new("1.0.0", "O(N) where N is the total number of keys in all databases", "Saves the data to the dump file while nothing else is executed.")),
        new("BGSAVE", -1, Saving, KeySpecs.None, BackgroundSave, new("1.0.0", "O(1)", "Saves the data to the dump file while the server goes on.", "[SCHEDULE]@3.2.2") { History = [("3.2.2", "Adds `SCHEDULE`.")] }),
        new("BGREWRITEAOF", 1, Saving, KeySpecs.None, RewriteLog, new("1.0.0", "O(1)", "Rewrites the append-only file while the server goes on.")),
        new("LASTSAVE", 1, Loading | Stale | Fast, KeySpecs.None, LastSave, new("1.0.0", "O(1)", "Returns when the data was last saved; without a save, when the server started.")) { Categories = AclCategory.Admin | AclCategory.Dangerous, Tips = ["nondeterministic_output"] },
    ]);

    // SAVE
    private void Save(ref CommandContext cmd)
    {
        if (!durability.TrySave(cmd.Environment.IsRefusedAsBusy, out FileFailure? failure)) cmd.Reply.Error("ERR Background save already in progress"u8);
        else if (failure is null) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR"u8);
    }

    // BGSAVE [SCHEDULE | CANCEL]
    private void BackgroundSave(ref CommandContext cmd)
    {
        if (cmd.Count == 2 && cmd.Is(1, "CANCEL"u8))
        {
            CancelSave(cmd);
            return;
        }

        bool schedules = cmd.Count == 2 && cmd.Is(1, "SCHEDULE"u8);
        if (cmd.Count > 1 && !schedules)
        {
            cmd.ReplySyntaxError();
            return;
        }

        switch (durability.BeginSave(schedules))
        {
            case BackgroundStart.Started when !cmd.Environment.IsInUnit:
                cmd.Reply.SimpleString("Background saving started"u8);
                break;
            case BackgroundStart.Started or BackgroundStart.Scheduled: // in a transaction it begins behind that
                cmd.Reply.SimpleString("Background saving scheduled"u8);
                break;
            case BackgroundStart.SaveInProgress:
                cmd.Reply.Error("ERR Background save already in progress"u8);
                break;
            case BackgroundStart.RewriteInProgress:
                cmd.Reply.Error("ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible."u8);
                break;
        }
    }

    // As in Valkey 8.1.
    private void CancelSave(scoped in CommandContext cmd)
    {
        switch (durability.CancelSave())
        {
            case SaveCancellation.Canceled:
                cmd.Reply.SimpleString("Background saving cancelled"u8);
                break;
            case SaveCancellation.Unscheduled:
                cmd.Reply.SimpleString("Scheduled background saving cancelled"u8);
                break;
            default:
                cmd.Reply.Error("ERR Background saving is currently not in progress or scheduled"u8);
                break;
        }
    }

    // BGREWRITEAOF
    private void RewriteLog(ref CommandContext cmd)
    {
        switch (durability.BeginRewrite())
        {
            case BackgroundStart.Started when !cmd.Environment.IsInUnit:
                cmd.Reply.SimpleString("Background append only file rewriting started"u8);
                break;
            case BackgroundStart.Started or BackgroundStart.Scheduled:
                cmd.Reply.SimpleString("Background append only file rewriting scheduled"u8);
                break;
            default:
                cmd.Reply.Error("ERR Background append only file rewriting already in progress"u8);
                break;
        }
    }

    // LASTSAVE
    private void LastSave(ref CommandContext cmd) => cmd.Reply.Integer(durability.Saves.LastSavedMs / 1000);
}
