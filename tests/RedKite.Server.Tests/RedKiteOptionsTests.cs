using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>What a host says with its options.</summary>
public sealed class RedKiteOptionsTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-options-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Port_0_takes_a_free_one_beside_other_ways_in()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["unixsocket"] = Path.Combine(_folder, "s") } }, TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
    }

    [Fact]
    public async Task Directive_port_0_beside_other_ways_in_means_none()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["port"] = "0", ["unixsocket"] = Path.Combine(_folder, "s") } }, TestContext.Current.CancellationToken);
        Assert.Equal(0, server.Port);
        await using RedKiteServer alone = await RedKiteServer.StartAsync(new RedKiteOptions { Settings = { ["port"] = "0" } }, TestContext.Current.CancellationToken);
        Assert.NotEqual(0, alone.Port);
    }

    [Fact]
    public async Task Lines_have_directives_with_several_values_that_occur_more_than_once()
    {
        var options = new RedKiteOptions
        {
            Port = 0,
            ConfigLines = { "user alice on >secret ~* +get", "user bob on nopass ~* +@all", "rename-command KEYS \"\"", "rename-command FLUSHALL wipe", "maxclients 77" },
            Settings = { ["maxclients"] = "88" },
        };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal(["user alice", "user bob", "user default"], server.Execute("ACL", "LIST").Items.Select(line => string.Join(' ', line.Text!.Split(' ')[..2])));
        Assert.StartsWith("ERR unknown command 'KEYS'", server.Execute("KEYS", "*").Text, StringComparison.Ordinal);
        Assert.Equal("OK", server.Execute("wipe").Text);
        Assert.Equal("88", server.Execute("CONFIG", "GET", "maxclients").Items[1].Text); // the settings follow the lines
    }

    [Fact]
    public async Task Bad_line_is_named()
    {
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, ConfigLines = { "nosuch 1" } }, TestContext.Current.CancellationToken));
        Assert.StartsWith("arguments: nosuch: unknown directive", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Log_goes_to_the_file_unless_the_host_receives_it()
    {
        string path = Path.Combine(_folder, "server.log");
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["logfile"] = path } }, TestContext.Current.CancellationToken)) server.Engine.Log.Warning("to the file");
        Assert.Contains("to the file", File.ReadAllText(path), StringComparison.Ordinal);

        File.Delete(path);
        var lines = new List<string>();
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Log = line => { lock (lines) lines.Add(line); }, Settings = { ["logfile"] = path } }, TestContext.Current.CancellationToken)) server.Engine.Log.Warning("to the host");
        lock (lines)
        {
            Assert.Contains("to the host", lines);
            Assert.Single(lines, line => line.StartsWith("logfile '", StringComparison.Ordinal) && line.EndsWith("is not written, because the host receives the log.", StringComparison.Ordinal));
        }

        Assert.False(File.Exists(path));
    }

    [Theory]
    [InlineData("dir", "/tmp")]
    [InlineData("debug-package-dir", "/tmp")]
    public async Task Folders_that_the_server_writes_to_are_protected(string name, string value)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        Assert.Equal($"ERR CONFIG SET failed (possibly related to argument '{name}') - can't set protected config", server.Execute("CONFIG", "SET", name, value).Text);
    }
}
