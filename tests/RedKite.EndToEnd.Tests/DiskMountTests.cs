using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Servers on a real file system that is full or read-only: mounted in a namespace of the server's process, so that it is gone when the
/// server is. The test reaches it through the process's root.
/// </summary>
public sealed class DiskMountTests : IDisposable
{
    private const int PatienceMs = 60_000;
    private const int BallastBytes = 3_000_000;

    private static readonly Lazy<string?> WhyNot = new(WhyNoMounts);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("everysec")]
    [InlineData("always")]
    public void Full_disk_of_the_log_refuses_writes_until_there_is_room(string policy)
    {
        using ServerProcess server = StartOn("size=5m", $"--appendonly yes --appendfsync {policy} --enable-debug-command yes --auto-aof-rewrite-percentage 0");
        var data = new MountedFolder(server, _folder);
        data.WriteBallast();
        FillUp(server);
        using RespConnection client = server.Connect();
        Assert.StartsWith("MISCONF Errors writing to the AOF file: No space left on device", client.Run("SET refused 1").Text, StringComparison.Ordinal);
        Assert.StartsWith("first", client.Run("GETRANGE first 0 4").Text, StringComparison.Ordinal);
        client.Run("GET refused").IsNull();
        Assert.Contains("aof_last_write_status:err", client.Run("INFO persistence").Text, StringComparison.Ordinal);

        data.DeleteBallast();
        WaitFor(() => !client.Run("SET again 1").IsError, "the recovery", client);
        Assert.Contains("aof_last_write_status:ok", client.Run("INFO persistence").Text, StringComparison.Ordinal);
        string digest = client.Run("DEBUG DIGEST").ToString();

        // Switched off, the log is written to its end.
        client.Run("CONFIG SET appendonly no").IsOk();
        data.CopyTo("copy");
        using ServerProcess other = ServerProcess.Start(ServerProgram.UnderTest, "--dir", _folder.File("copy"), "--appendonly", "yes", "--enable-debug-command", "yes");
        using RespConnection otherClient = Transfers.ConnectWhenLoaded(other);
        Assert.Equal(digest, otherClient.Run("DEBUG DIGEST").ToString());
    }

    [Fact]
    public void Full_disk_of_a_snapshot_refuses_writes_until_one_succeeds()
    {
        using ServerProcess server = StartOn("size=5m", "--save 3600 100000");
        var data = new MountedFolder(server, _folder);
        using RespConnection client = server.Connect();
        client.Run("CONFIG SET rdbcompression no").IsOk();
        client.Run("SET first 1").IsOk();
        client.Run("SAVE").IsOk();
        byte[] whole = data.Read("dump.rdb");
        data.WriteBallast();
        client.Run($"SET large {new string('x', BallastBytes)}").IsOk();
        Assert.Equal("Background saving started", client.Run("BGSAVE").Text);
        WaitFor(() => client.Run("SET refused 1").IsError, "a refusal", client);
        Assert.StartsWith("MISCONF ", client.Run("SET refused 1").Text, StringComparison.Ordinal);
        client.Run("GET first").IsBulk("1");
        Assert.Equal(whole, data.Read("dump.rdb"));
        Assert.Equal(["ballast", "dump.rdb"], data.Names());

        data.DeleteBallast();
        client.Run("SAVE").IsOk();
        client.Run("SET accepted 1").IsOk();
        Assert.True(data.Read("dump.rdb").Length > BallastBytes);
    }

    [Theory]
    [InlineData("--appendonly yes --save \"\"")]
    [InlineData("--save 3600 1")]
    public void Read_only_folder_stops_the_start_in_one_line(string options)
    {
        Skip();
        int port = LoopbackPort.Next();
        using ServerProcess server = ServerProcess.StartUnchecked(Program("ro", options), port);
        Assert.Equal(1, server.WaitForExit(PatienceMs));
        string line = Assert.Single(server.Output);
        Assert.StartsWith($"The data cannot be saved in '{_folder.Path}/mount' (setting dir): Read-only file system. ", line, StringComparison.Ordinal);
    }

    [Fact]
    public void Read_only_folder_serves_a_server_that_saves_nothing()
    {
        using ServerProcess server = StartOn("ro", "--save \"\"");
        using RespConnection client = server.Connect();
        client.Run("SET k v").IsOk();
        Assert.StartsWith("ERR", client.Run("SAVE").Text, StringComparison.Ordinal);
        client.Run("SET k w").IsOk();
    }

    // Until a write is refused: with the policy always the connection is closed instead of a reply, and the next one is told.
    private static void FillUp(ServerProcess server)
    {
        // More than what has room, but not so much that the machine notices.
        string value = "first" + new string('x', 100_000);
        for (int i = 0; i < 200; i++)
        {
            using RespConnection client = Transfers.ConnectWhenLoaded(server);
            RespValue reply = client.Run($"SET {(i == 0 ? "first" : $"key:{i}")} {value}");
            if (reply.Text.StartsWith("MISCONF ", StringComparison.Ordinal)) return;
            if (!reply.IsClosed) reply.IsOk();
        }

        Assert.Fail("no write was refused");
    }

    private static void WaitFor(Func<bool> condition, string what, RespConnection client) =>
        Assert.True(SpinWait.SpinUntil(condition, PatienceMs), $"timed out waiting for {what}: {client.Run("INFO persistence").Text}");

    private ServerProcess StartOn(string mountOptions, string options)
    {
        Skip();
        return ServerProcess.Start(Program(mountOptions, options));
    }

    private static void Skip() => Assert.SkipWhen(WhyNot.Value is not null, $"no file system of its own can be mounted here: {WhyNot.Value}");

    private ServerProgram Program(string mountOptions, string options)
    {
        Directory.CreateDirectory(_folder.File("mount"));
        string script = _folder.File("start.sh");
        string start = ServerProgram.UnderTest.CommandLine.Replace("{port}", "$1", StringComparison.Ordinal);
        File.WriteAllText(script, $"mount -t tmpfs -o {mountOptions} tmpfs {_folder.File("mount")} && exec {start} --dir {_folder.File("mount")} {options}\n");
        return ServerProgram.UnderTest with { CommandLine = $"unshare -m sh {script} {{port}}" };
    }

    // Root may, and where user namespaces are allowed others might; the attempt says.
    private static string? WhyNoMounts()
    {
        try
        {
            using Process attempt = Process.Start(new ProcessStartInfo("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]) { RedirectStandardError = true })!;
            string error = attempt.StandardError.ReadToEnd();
            attempt.WaitForExit();
            return attempt.ExitCode == 0 ? null : error.Trim();
        }
        catch (System.ComponentModel.Win32Exception missing)
        {
            return missing.Message;
        }
    }

    /// <summary>The server's folder as its process sees it.</summary>
    private sealed class MountedFolder(ServerProcess server, TemporaryFolder folder)
    {
        private readonly string _path = string.Create(CultureInfo.InvariantCulture, $"/proc/{server.Id}/root{folder.Path}/mount");

        internal void WriteBallast() => File.WriteAllBytes(Path.Combine(_path, "ballast"), new byte[BallastBytes]);

        internal void DeleteBallast() => File.Delete(Path.Combine(_path, "ballast"));

        internal byte[] Read(string name) => File.ReadAllBytes(Path.Combine(_path, name));

        internal string[] Names() => [.. Directory.GetFiles(_path).Select(path => Path.GetFileName(path)!).Order(StringComparer.Ordinal)];

        internal void CopyTo(string name)
        {
            foreach (string source in Directory.GetFiles(Path.Combine(_path, "appendonlydir")))
            {
                string target = Path.Combine(folder.File(name), "appendonlydir", Path.GetFileName(source));
                Directory.CreateDirectory(Path.GetDirectoryName(target)!);
                File.Copy(source, target);
            }
        }
    }
}
