namespace RedKite.Server.Tests.Config;

/// <summary>Renamed commands that a server refuses to start with, with Redis's words.</summary>
public sealed class RenamedCommandTests
{
    [Theory]
    [InlineData("rename-command get set", "rename-command get set: Target command name already exists")]
    [InlineData("rename-command nope x", "rename-command nope x: No such command in rename-command")]
    [InlineData("rename-command get fetch\nrename-command get again", "rename-command get again: No such command in rename-command")]
    [InlineData("rename-command get set\nrename-command set \"\"", "rename-command get set: Target command name already exists")]
    [InlineData("rename-command config|get x", "rename-command config|get x: No such command in rename-command")]
    [InlineData("rename-command get", "expected a command and its new name (\"\" removes the command)")]
    [InlineData("rename-command get a b", "expected a command and its new name (\"\" removes the command)")]
    public async Task Wrong_names_end_the_start(string lines, string message)
    {
        string path = Path.GetTempFileName();
        await File.WriteAllTextAsync(path, "port 0\n" + lines + "\n", TestContext.Current.CancellationToken);
        var failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(new RedKiteOptions { ConfigFile = path }, TestContext.Current.CancellationToken));
        Assert.Contains(message, failure.Message, StringComparison.Ordinal);
        File.Delete(path);
    }
}
