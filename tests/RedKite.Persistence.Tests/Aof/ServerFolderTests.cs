using System.Diagnostics;
using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Tests.Rdb;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Aof;

/// <summary>A real server loads an append-only file's folder that was written here, and one that it has written is read here.</summary>
public sealed class ServerFolderTests
{
    [Fact]
    public void Folder_written_here_is_loaded_by_the_server()
    {
        if (OracleProgram.Redis8 is null) Assert.Skip(OracleProgram.Redis8Missing);
        using var folder = new TemporaryFolder();
        const string Name = "my \"app\" file.aof";
        var log = new AofFolder(DiskFiles.Instance, folder.Path, "appendonlydir", Name);
        log.Create();
        AofManifest manifest = AofManifest.Empty.WithBase(Name, isRdb: true, firstKept: 1).WithIncrement(Name, 0);
        using (var world = new FileWorld()) world.Save(DiskFiles.Instance, log.FolderPath, manifest.Base!.Name);
        using (IOpenFile file = DiskFiles.Instance.Create(log.PathOf(manifest.Increments[0].Name)))
        {
            file.Write(0, Encoding.Latin1.GetBytes("*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n#TS:1700000000\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n"));
            file.Write(file.Length, AofReader.PositionLine(new RdbReplication(3, new string('a', RdbReplication.IdLength), 77)));
            file.SyncData();
        }

        log.WriteManifest(manifest);
        Assert.Equal(new RdbReplication(3, new string('a', RdbReplication.IdLength), 77), EndPlaceOf(log.PathOf(manifest.Increments[0].Name)));
        string tool = Path.Combine(Path.GetDirectoryName(OracleProgram.Redis8Path)!, "redis-check-aof");
        if (File.Exists(tool))
        {
            using Process check = Process.Start(new ProcessStartInfo(tool, [log.ManifestPath]) { RedirectStandardOutput = true })!;
            string output = check.StandardOutput.ReadToEnd();
            check.WaitForExit();
            Assert.True(check.ExitCode == 0, output);
        }

        using ServerProcess server = ServerProcess.Start(OracleProgram.Redis8, "--dir", folder.Path, "--appendonly", "yes", "--appendfilename", Name);
        using RespConnection client = server.Connect();
        Assert.Equal("value", client.Run("GET k").Text);
        client.Run("SET k2 x");
        client.Run("BGREWRITEAOF");
        while (client.Run("INFO persistence").Text.Contains("aof_rewrite_in_progress:1", StringComparison.Ordinal) || log.ReadManifest().LastBaseSequence == 1) Thread.Sleep(20);
        client.Run("SET k3 y");
        client.Run("CONFIG SET appendonly no");
        AofManifest written = log.ReadManifest();
        Assert.Equal([AofManifest.BaseName(Name, 2, isRdb: true), AofManifest.IncrementName(Name, 2)], written.Files.Select(file => file.Name));
        Assert.Equal(File.ReadAllBytes(log.ManifestPath), written.Format());
        using IOpenFile increment = DiskFiles.Instance.OpenRead(log.PathOf(written.Increments[0].Name));
        using var reader = new AofReader(increment);
        List<string> commands = [];
        while (reader.Read() == AofRead.Command) commands.Add(Encoding.Latin1.GetString(reader[0]));
        Assert.Equal(["SELECT", "SET"], commands);
        Assert.Equal(reader.Length, reader.UnitEnd);
    }

    private static RdbReplication? EndPlaceOf(string path)
    {
        using IOpenFile file = DiskFiles.Instance.OpenRead(path);
        using var reader = new AofReader(file);
        while (reader.Read() != AofRead.End) Assert.True(reader.EndPosition is null);
        return reader.EndPosition;
    }
}
