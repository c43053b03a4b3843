using RedKite.Persistence.Files;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>BACKUP keeps off the folders of the server's own files, by whatever name it reaches them.</summary>
public sealed class BackupFolderTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("appendonlydir", "append-only file (setting appenddirname)")]
    [InlineData("./other/../appendonlydir/", "append-only file (setting appenddirname)")]
    [InlineData("link", "append-only file (setting appenddirname)")] // which is a link, too
    [InlineData(".", "dump file (setting dir)")]
    public async Task Links_to_the_servers_folders_are_refused(string target, string folder)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "links need a privilege there");
        Directory.CreateDirectory(_folder.File("other"));
        await using RedKiteServer server = await RedKiteServer.StartAsync(Options("backupdir"), TestContext.Current.CancellationToken);

        // The log's folder does not exist yet: it may come into being later.
        Directory.CreateSymbolicLink(_folder.File("link"), "appendonlydir");
        Directory.CreateSymbolicLink(_folder.File("backupdir"), target);
        Assert.Equal("ERR the backup directory is the folder of the " + folder, server.Execute("BACKUP", "START").Text);
        Assert.Equal("OK", server.Execute("CONFIG", "SET", "appendonly", "yes").Text);
        Assert.True(SpinWait.SpinUntil(() => Directory.Exists(_folder.File("appendonlydir")), 60_000));
        Assert.Equal("ERR the backup directory is the folder of the " + folder, server.Execute("BACKUP", "START").Text);
        Directory.Delete(_folder.File("backupdir"));
        Directory.CreateSymbolicLink(_folder.File("backupdir"), "other");
        Assert.Equal("OK", server.Execute("BACKUP", "START").Text);
    }

    // One inside the other; and a link that leads on from where another link has led.
    [Theory]
    [InlineData("appendonlydir/inner", "within the folder of the append-only file (setting appenddirname)")]
    [InlineData("..", "one that contains the folder of the append-only file (setting appenddirname)")]
    [InlineData("far/../data/./appendonlydir", "the folder of the append-only file (setting appenddirname)")]
    [InlineData("far", null)]
    public async Task Links_around_the_servers_folders_are_refused(string target, string? use)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "links need a privilege there");
        string data = _folder.File("data");
        Directory.CreateDirectory(Path.Combine(data, "appendonlydir", "inner"));
        Directory.CreateDirectory(_folder.File("elsewhere"));
        RedKiteOptions options = Options("backupdir");
        options.Settings["dir"] = data;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Directory.CreateSymbolicLink(Path.Combine(data, "far"), _folder.File("elsewhere"));
        Directory.CreateSymbolicLink(Path.Combine(data, "backupdir"), target);
        Assert.Equal(use is null ? "OK" : "ERR the backup directory is " + use, server.Execute("BACKUP", "START").Text);
    }

    [Theory]
    [InlineData("appendonlydir", "append-only file (setting appenddirname)")]
    [InlineData(".", "dump file (setting dir)")]
    public async Task Server_does_not_start_with_such_a_folder(string name, string folder)
    {
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(Options(name), TestContext.Current.CancellationToken));
        Assert.Contains($"The folder '{name}' (setting backupdirname) is the folder of the {folder}", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Circle_of_links_is_a_failure()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "links need a privilege there");
        Directory.CreateSymbolicLink(_folder.File("a"), "b");
        Directory.CreateSymbolicLink(_folder.File("b"), "a");
        Assert.Throws<FileFailure>(() => DiskFiles.Instance.RealPath(_folder.File("a")));
    }

    [Fact]
    public async Task Only_files_that_the_backup_made_are_removed()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        Assert.Equal("OK", disk.Run("BACKUP START").Text);
        disk.WaitFor(() => disk.Run("BACKUP STATUS").Items[1].Text == "incrementing", "the base");
        string others = Path.Combine(disk.Folder, "backupdir", "appendonly.aof.manifest");
        disk.Files.Create(others).Dispose();
        Assert.StartsWith("ERR the backup failed", disk.Run("BACKUP SEAL").Text, StringComparison.Ordinal);
        Assert.Equal("OK", disk.Run("BACKUP CLEANUP").Text);
        Assert.Equal(["appendonly.aof.manifest"], disk.Files.List(Path.Combine(disk.Folder, "backupdir")));
    }

    private RedKiteOptions Options(string backup)
    {
        var options = new RedKiteOptions { Port = 0 };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("dir", _folder.Path), ("loops", "1"), ("diagnostics", "no"), ("backupdirname", backup)]) options.Settings[name] = value;
        return options;
    }
}
