using RedKite.Persistence.Files;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>BACKUP: its states, and the data that its files hold.</summary>
public class BackupCommandsTests
{
    [Theory]
    [InlineData("no")]
    [InlineData("yes")]
    public async Task Sealed_files_hold_the_data_of_the_seal_and_nothing_later(string appendOnly)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", appendOnly);
        AssertState(disk, "idle");
        Assert.Empty(disk.Run("BACKUP LIST").Items);
        for (int i = 0; i < 500; i++) disk.Run($"SET before{i} {i}");
        disk.Run("RPUSH list a b");
        disk.Run("MOVE list 3");
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => State(disk) == "incrementing", "the base");
        Assert.Equal("1", disk.Info("backup_in_progress"));
        string folder = Path.Combine(disk.Folder, "backupdir");
        Assert.Equal([Path.Combine(folder, "appendonly.aof.1.base.rdb")], disk.Run("BACKUP LIST").Items.Select(path => path.Text));
        disk.Run("SET during 1");
        disk.Run("DEL before1");
        disk.Run("SET other 1");
        disk.Run("MOVE other 3");
        disk.Run("SET last 1");
        string digest = disk.Digest();
        Assert.Equal("OK", disk.Run("BACKUP SEAL").Text);
        AssertState(disk, "sealed");
        Assert.Equal("0", disk.Info("backup_in_progress"));
        disk.Run("SET behind 1");
        Assert.Equal(
            new[] { "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof", "appendonly.aof.manifest" }.Select(name => Path.Combine(folder, name)),
            disk.Run("BACKUP LIST").Items.Select(path => path.Text));
        Assert.Equal(["appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof", "appendonly.aof.manifest"], disk.Files.List(folder));

        // The files are an append-only file.
        await using DiskServer restored = await DiskServer.StartAsync();
        restored.Files.CreateFolder(Path.Combine(restored.Folder, "appendonlydir"));
        foreach (string name in disk.Files.List(folder)) Copy(disk.Files, Path.Combine(folder, name), restored.Files, Path.Combine(restored.Folder, "appendonlydir", name));
        restored.Set("appendonly", "yes");
        await restored.RestartAsync();
        Assert.Equal(digest, restored.Digest());
        Assert.Equal("ERR A sealed backup exists, CLEANUP it first", disk.Run("BACKUP START").Text);
        Assert.Equal("OK", disk.Run("BACKUP CLEANUP").Text);
        Assert.Empty(disk.Files.List(folder));
        AssertState(disk, "idle");
    }

    // The command waits on a thread of its own, where an exception would end the process.
    [Fact]
    public async Task A_bug_of_a_command_that_waits_elsewhere_is_an_error_reply()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => State(disk) == "incrementing", "the base");
        disk.Files.Plan = call => call.Operation == "delete" ? throw new InvalidOperationException("a bug") : null;
        Assert.StartsWith("ERR a bug ended the command", disk.Run("BACKUP ABORT").Text, StringComparison.Ordinal);
        disk.Files.Plan = null;
        Assert.Equal("PONG", disk.Run("PING").Text);
    }

    [Fact]
    public async Task None_begins_when_the_server_has_stopped()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        var backup = new RedKite.Server.Durability.BackupService(
            disk.Server.Engine.Settings, disk.Server.Parts.Durability, disk.Server.Engine.Changes, disk.Server.Engine.WriteGate, disk.Server.Engine.Log, disk.Server.Engine.Clock);
        backup.Dispose();
        Assert.Equal("ERR the server is being stopped", backup.Begin());
        Assert.Equal(RedKite.Server.Durability.BackupState.Idle, backup.Status.State);
    }

    [Fact]
    public async Task States_allow_only_what_follows()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        Assert.Equal("ERR No backup ready to seal (must be in the incrementing state)", disk.Run("BACKUP SEAL").Text);
        Assert.Equal("ERR No backup in progress", disk.Run("BACKUP ABORT").Text);
        Assert.Equal("OK", disk.Run("BACKUP CLEANUP").Text);
        AssertState(disk, "idle");
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        Assert.Equal("ERR A backup is already in progress, ABORT it first", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => State(disk) == "incrementing", "the base");
        Assert.Equal("ERR Backup is in progress", disk.Run("BACKUP CLEANUP").Text);
        Assert.Equal("OK", disk.Run("BACKUP ABORT").Text);
        AssertState(disk, "failed");
        Assert.Equal("aborted by user", disk.Run("BACKUP STATUS").Items[3].Text);
        Assert.Empty(disk.Run("BACKUP LIST").Items);
        Assert.Empty(disk.Files.List(Path.Combine(disk.Folder, "backupdir")));

        // After a failure another one begins; a folder with other files is left alone.
        using (IOpenFile file = disk.Files.Create(Path.Combine(disk.Folder, "backupdir", "other")))
        {
        }

        Assert.Equal("ERR the backup directory is not empty", disk.Run("BACKUP START").Text);
        disk.Files.Delete(Path.Combine(disk.Folder, "backupdir", "other"));
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => State(disk) == "incrementing", "the base");
        Assert.Equal("OK", disk.Run("BACKUP SEAL").Text);
        Assert.True(disk.Run("BACKUP ABORT").IsError);
        Assert.True(disk.Run("BACKUP SEAL").IsError);
        long end = disk.Run("BACKUP STATUS").Items[7].Integer;
        Assert.True(end >= disk.Run("BACKUP STATUS").Items[5].Integer && end > 0);
    }

    [Fact]
    public async Task A_backup_that_is_not_sealed_is_removed_when_the_server_stops()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => State(disk) == "incrementing", "the base");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
        AssertState(disk, "idle");
        Assert.Empty(disk.Files.List(Path.Combine(disk.Folder, "backupdir")));
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
    }

    [Fact]
    public async Task Cleanup_leaves_everything_that_the_backup_has_not_made()
    {
        await using DiskServer disk = await DiskServer.StartAsync("enable-protected-configs", "yes");
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => State(disk) == "incrementing", "the base");
        string elsewhere = Path.Combine(disk.Folder, "elsewhere");
        Directory.CreateDirectory(elsewhere); // the setting looks at the real disk
        foreach (string name in (string[])["appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof", "appendonly.aof.manifest"]) Create(disk, Path.Combine(elsewhere, "backupdir", name));
        Create(disk, Path.Combine(disk.Folder, "backupdir", "other"));
        Assert.Equal("OK", disk.Run($"CONFIG SET dir {elsewhere}").Text);
        Assert.Equal("OK", disk.Run("BACKUP SEAL").Text);
        Assert.Equal("OK", disk.Run("BACKUP CLEANUP").Text);
        Assert.Equal(["other"], disk.Files.List(Path.Combine(disk.Folder, "backupdir")));
        Assert.Equal(3, disk.Files.List(Path.Combine(elsewhere, "backupdir")).Count);
        Assert.Equal("OK", disk.Run("BACKUP CLEANUP").Text);
        Assert.Equal(3, disk.Files.List(Path.Combine(elsewhere, "backupdir")).Count);
    }

    [Theory]
    [InlineData("BACKUP", "ERR wrong number of arguments for 'backup' command")]
    [InlineData("BACKUP START now", "ERR wrong number of arguments for 'backup|start' command")]
    [InlineData("BACKUP NOSUCH", "ERR unknown subcommand 'NOSUCH'. Try BACKUP HELP.")]
    public async Task Invalid_request_has_an_error(string request, string error)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run(request).IsError(error);
        server.Run("MULTI");
        Assert.True(server.Run("BACKUP SEAL").IsError, "not in a transaction: no key may be locked");
        server.Run("DISCARD");
    }

    private static string State(DiskServer disk) => disk.Run("BACKUP STATUS").Items[1].Text!;

    private static void AssertState(DiskServer disk, string state) => Assert.Equal(state, State(disk));

    private static void Create(DiskServer disk, string path)
    {
        disk.Files.CreateFolder(Path.GetDirectoryName(path)!);
        disk.Files.Create(path).Dispose();
    }

    private static void Copy(FaultyFiles from, string source, FaultyFiles to, string target)
    {
        using IOpenFile file = from.OpenRead(source);
        var bytes = new byte[file.Length];
        file.Read(0, bytes);
        using IOpenFile copy = to.Create(target);
        copy.Write(0, bytes);
        copy.SyncData();
    }
}
