using System.Text;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite.Server.Tests.Durability;

/// <summary>Requests are logged as they were received, together with their neighbours, if that is how the log would write them.</summary>
public class LoggedRequestsTests
{
    private const string Select = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n";

    [Theory]
    [InlineData("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$10\r\n0123456789\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$6\r\nAPPEND\r\n$1\r\na\r\n$1\r\nz\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$10\r\n0123456789\r\n*3\r\n$6\r\nAPPEND\r\n$1\r\na\r\n$1\r\nz\r\n")]
    [InlineData("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*2\r\n$3\r\nDEL\r\n$1\r\nx\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n")] // a DEL of a missing key has no effect
    [InlineData("*3\r\n$3\r\nSET\r\n$1\r\naXY$1\r\nb??", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n")] // the ends of arguments are not read
    [InlineData("*3\rX$3\r\nSET\r\n$1\rYa\r\n$1\r\nb\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n")] // nor the line feeds
    [InlineData("SET a b\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n")]
    [InlineData("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*2\r\n$4\r\nSPOP\r\n$1\r\ns\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\nc\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n*3\r\n$4\r\nSREM\r\n$1\r\ns\r\n$1\r\nm\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\nc\r\n", "*3\r\n$4\r\nSADD\r\n$1\r\ns\r\n$1\r\nm\r\n")]
    public async Task Log_has_requests_in_their_shortest_form_and_order(string input, string logged, string before = "")
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        Execute(disk, before, input);
        Assert.True(await disk.Server.Parts.Durability.Log.Log!.Writer.Flush());
        Assert.Equal(Select + before + logged, Encoding.Latin1.GetString(disk.Files.Content(Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof"))));
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Requests_of_several_databases_and_units_are_in_order()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        Execute(disk, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n2\r\n"
            + "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*1\r\n$4\r\nEXEC\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n");
        disk.Run("CONFIG SET appendfsync always");
        disk.Run("INCR a");
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("2", disk.Run("GET a").Text);
    }

    [Fact]
    public async Task Requests_of_one_client_after_the_other_are_logged_once()
    {
        const string Get = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", Set = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n", Append = "*3\r\n$6\r\nAPPEND\r\n$1\r\na\r\n$1\r\nz\r\n";
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        Execute(disk, Get + Set, Set + Get + Append, Append, Get + Get + Append + Set);
        Assert.True(await disk.Server.Parts.Durability.Log.Log!.Writer.Flush());
        Assert.Equal(Select + Set + Set + Append + Append + Append + Set, Encoding.Latin1.GetString(disk.Files.Content(Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof"))));
    }

    // The same executor for all inputs, as a loop has one for all clients.
    private static void Execute(DiskServer disk, params string[] inputs)
    {
        Engine engine = disk.Server.Engine;
        CommandExecutor executor = engine.NewExecutor();
        Session session = engine.Clients.Add(null, engine.Clock.NowMs, engine.Users.InProcess, authenticated: true);
        foreach (byte[] bytes in inputs.Select(Encoding.Latin1.GetBytes))
        {
            executor.Time.Read();
            Assert.Equal(bytes.Length, executor.Run(session, bytes));
        }
    }
}
