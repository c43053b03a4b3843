using System.Diagnostics;
using RedKite.Persistence.Files;
using RedKite.Testing;

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
            AssertSame(world, sameClient, other);
        }
        else
        {
            AssertSame(world, client, other);
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

    private static void AssertSame(FileWorld world, RespConnection expected, RespConnection actual)
    {
        foreach (string library in (string[])["first", "second"])
        {
            string list = $"FUNCTION LIST LIBRARYNAME {library} WITHCODE";
            Assert.Equal(expected.Run(list).ToString(), actual.Run(list).ToString());
        }

        for (int database = 0; database < FileWorld.Databases; database++)
        {
            foreach (RespConnection client in (RespConnection[])[expected, actual]) client.Run($"SELECT {database}");
            Assert.Equal(expected.Run("DBSIZE").ToString(), actual.Run("DBSIZE").ToString());
            foreach (string key in world.KeysOf(database))
            {
                foreach (string[] command in (string[][])[["DEBUG", "DIGEST-VALUE", key], ["OBJECT", "ENCODING", key], ["PEXPIRETIME", key], ["XINFO", "STREAM", key, "FULL", "COUNT", "0"]])
                {
                    byte[][] words = [.. command.Select(ValueWorld.Bytes)];
                    string before = expected.Run(words).ToString();
                    if (command[0] == "XINFO") before = WithoutTrees(before);
                    string after = actual.Run(words).ToString();
                    if (command[0] == "XINFO") after = WithoutTrees(after);
                    Assert.True(before == after, $"{string.Join(' ', command)}: {before} but {after}");
                }

                AssertSameFieldExpiries(key, expected, actual);
            }
        }

        Assert.Equal(expected.Run("DEBUG DIGEST").ToString(), actual.Run("DEBUG DIGEST").ToString());
    }

    private static void AssertSameFieldExpiries(string key, RespConnection expected, RespConnection actual)
    {
        if (expected.Run("TYPE"u8.ToArray(), ValueWorld.Bytes(key)).Text != "hash") return;
        RespValue fields = expected.Run("HKEYS"u8.ToArray(), ValueWorld.Bytes(key));
        foreach (RespValue field in fields.Items)
        {
            byte[][] words = ["HPEXPIRETIME"u8.ToArray(), ValueWorld.Bytes(key), "FIELDS"u8.ToArray(), "1"u8.ToArray(), field.Payload!];
            Assert.Equal(expected.Run(words).ToString(), actual.Run(words).ToString());
        }
    }

    // The number of nodes of the tree depends on its history.
    private static string WithoutTrees(string text) => System.Text.RegularExpressions.Regex.Replace(text, "radix-tree-nodes.{1,4}?[0-9]+", "");

    private static ServerProgram Find(string name)
    {
        ServerProgram? program = name switch { "redis 8" => OracleProgram.Redis8, "valkey 8" => OracleProgram.Valkey8, _ => OracleProgram.Redis7 };
        if (program is null) Assert.Skip(OracleProgram.Redis8Missing);
        return program;
    }
}
