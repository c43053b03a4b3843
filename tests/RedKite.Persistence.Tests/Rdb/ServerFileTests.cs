using System.Diagnostics;
using RedKite.Persistence.Files;
using RedKite.TestSupport;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>
/// Files of real servers are read, written again, and loaded by the same server, which then has the same data: by DEBUG DIGEST, and
/// for everything that the digest leaves out by the replies of other commands.
/// </summary>
public sealed class ServerFileTests
{
    private static readonly string[] DebugAllowed = ["--enable-debug-command", "yes"];

    [Theory]
    [InlineData("redis 8", 2)]
    [InlineData("redis 7", 3)]
    [InlineData("valkey 8", 4)]
    public void Random_data_survives_both_directions(string name, int seed)
    {
        ServerProgram program = Find(name);
        using var folder = new TemporaryFolder();
        bool hasFieldExpiry = name == "redis 8";
        string[] options = [.. DebugAllowed, "--dir", folder.Path];
        using ServerProcess source = ServerProcess.Start(program, [.. options, "--dbfilename", "source.rdb"]);
        using RespConnection client = source.Connect();
        RandomData.Fill(client, new Random(seed), keys: 15, hasFieldExpiry);
        Assert.Equal("+OK", client.Run("SAVE").ToString());

        using var world = new FileWorld();
        world.Load(DiskFiles.Instance, folder.File("source.rdb"));
        Assert.True(world.Keys > 30);
        Assert.True(world.LargeValues > 0);
        Assert.Equal(2, world.Functions.Count);
        Assert.Equal("64", world.Fields["redis-bits"]);

        // Redis 7 and Valkey 8 read nothing that is newer than their own version.
        world.Save(DiskFiles.Instance, folder.Path, "written.rdb");
        AssertAccepted(folder.File("written.rdb"));
        string reader = name == "redis 8" ? name : "redis 8";
        using ServerProcess target = ServerProcess.Start(Find(reader), [.. options, "--dbfilename", "written.rdb"]);
        using RespConnection other = ConnectWhenLoaded(target);
        if (reader != name)
        {
            using ServerProcess same = ServerProcess.Start(Find(reader), [.. options, "--dbfilename", "source.rdb"]);
            using RespConnection sameClient = ConnectWhenLoaded(same);
            SameData.Check(sameClient, other);
        }
        else
        {
            SameData.Check(client, other);
        }
    }

    private static void AssertAccepted(string path)
    {
        string tool = Path.Combine(Path.GetDirectoryName(OracleProgram.Redis8Path)!, "redis-check-rdb");
        if (!File.Exists(tool)) return;
        using Process check = Process.Start(new ProcessStartInfo(tool, [path]) { RedirectStandardOutput = true })!;
        string output = check.StandardOutput.ReadToEnd();
        check.WaitForExit();
        Assert.True(check.ExitCode == 0 && output.Contains("RDB looks OK", StringComparison.Ordinal), output);
    }

    private static RespConnection ConnectWhenLoaded(ServerProcess server)
    {
        RespConnection client = server.Connect();
        while (client.Run("PING").Text.StartsWith("LOADING", StringComparison.Ordinal)) Thread.Sleep(20);
        return client;
    }

    private static ServerProgram Find(string name)
    {
        ServerProgram? program = name switch { "redis 8" => OracleProgram.Redis8, "valkey 8" => OracleProgram.Valkey8, _ => OracleProgram.Redis7 };
        if (program is null) Assert.Skip(OracleProgram.Redis8Missing);
        return program;
    }
}
