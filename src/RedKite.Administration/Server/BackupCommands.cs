using System.Text;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Diagnostics;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>BACKUP as in Redis 8.10: a copy of the data on the disk while the server runs (<see cref="BackupService"/>).</summary>
internal sealed class BackupCommands(BackupService backup, ServerParts parts)
{
    // Not in a transaction: no stripe may be locked.
    private const CommandFlags Changes = Admin | NoScript | NoMulti;

    internal CommandFamily Family => new("server", "",
    [
        new("BACKUP", 2, None, KeySpecs.None, Help, new("8.10.0", "Depends on subcommand.", "A container for commands on backups."),
        [
            new("ABORT", 2, Changes, KeySpecs.None, Abort, new("8.10.0", "O(1)", "Gives a backup up that is not sealed.")),
            new("CLEANUP", 2, Changes, KeySpecs.None, Cleanup, new("8.10.0", "O(1)", "Removes the files of a backup that is sealed or has failed.")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("8.10.0", "O(1)", "Lists the subcommands.")),
            new("LIST", 2, Admin | Stale, KeySpecs.None, List, new("8.10.0", "O(1)", "Lists the files of the backup that will not change any more.")),
            new("SEAL", 2, Changes, KeySpecs.None, Seal, new("8.10.0", "O(1)", "Ends a backup with the data of now.")),
            new("START", 2, Changes, KeySpecs.None, Start, new("8.10.0", "O(1)", "Begins a backup in the folder of the setting backupdirname.")),
            new("STATUS", 2, Admin | Stale, KeySpecs.None, Status, new("8.10.0", "O(1)", "Returns how far the backup is.")),
        ]),
    ]);

    // BACKUP START
    private void Start(ref CommandContext cmd) => Change(cmd, backup.Begin);

    // BACKUP SEAL
    private void Seal(ref CommandContext cmd) => Change(cmd, backup.Seal);

    // BACKUP ABORT
    private void Abort(ref CommandContext cmd) => Change(cmd, backup.Abort);

    // BACKUP CLEANUP
    private void Cleanup(ref CommandContext cmd) => Change(cmd, backup.Clean);

    // BACKUP LIST
    private void List(ref CommandContext cmd)
    {
        string[] paths = backup.Pinned;
        cmd.Reply.Array(paths.Length);
        foreach (string path in paths) cmd.Reply.Bulk(Encoding.UTF8.GetBytes(path));
    }

    // BACKUP STATUS
    private void Status(ref CommandContext cmd)
    {
        BackupStatus status = backup.Status;
        cmd.Reply.Map(4);
        cmd.Reply.Bulk("state"u8);
        cmd.Reply.Bulk(NameOf(status.State));
        cmd.Reply.Bulk("error"u8);
        cmd.Reply.Bulk(Encoding.UTF8.GetBytes(status.Error));
        cmd.Reply.Bulk("start_time"u8);
        cmd.Reply.Integer(status.StartSeconds);
        cmd.Reply.Bulk("end_time"u8);
        cmd.Reply.Integer(status.EndSeconds);
    }

    private static ReadOnlySpan<byte> NameOf(BackupState state) => state switch
    {
        BackupState.Idle => "idle"u8,
        BackupState.Pending => "pending"u8,
        BackupState.Snapshotting => "snapshotting"u8,
        BackupState.Incrementing => "incrementing"u8,
        BackupState.Sealed => "sealed"u8,
        _ => "failed"u8,
    };

    // It waits for the disk, for another change and for all stripes.
    private void Change(scoped in CommandContext cmd, Func<string?> change)
    {
        if (cmd.DoElsewhere(parts.ReplyLater, () => change() is { } error ? Encoding.UTF8.GetBytes($"-{error.ReplaceLineEndings(" ")}\r\n") : "+OK\r\n"u8.ToArray())) return;
        throw new InvalidOperationException("BACKUP is in a transaction or script, and its row does not allow that.");
    }

    // BACKUP HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "ABORT",
        "    Give a backup up that is not sealed.",
        "CLEANUP",
        "    Remove the files of a backup that is sealed or has failed.",
        "LIST",
        "    List the files that will not change any more.",
        "SEAL",
        "    End the backup with the data of now.",
        "START",
        "    Begin a backup in the folder of the setting backupdirname.",
        "STATUS",
        "    Return how far the backup is.");
}
