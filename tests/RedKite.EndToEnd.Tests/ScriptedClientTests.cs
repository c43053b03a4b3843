namespace RedKite.EndToEnd.Tests;

/// <summary>Client libraries of other languages. Each script makes assertions and prints how many passed.</summary>
[Collection(RunningServersCollection.Name)]
public sealed class ScriptedClientTests(RunningServers servers)
{
    public static TheoryData<string> Transports => RunningServers.Transports;

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Python_redis(string transport)
    {
        string script = Path.Combine(ChildProgram.ScriptFolder, "python", "client.py");
        // Debian's own interpreter sees Debian's python3-redis.
        string python = File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
        ChildProgram client = (await ChildProgram.Run(python, [script, $"{servers.On(transport).Port}"])).Succeeded();
        Assert.Matches("^[0-9]+ statements hold$", client.Lines[^1]);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Node_redis(string transport)
    {
        string folder = Path.Combine(ChildProgram.ScriptFolder, "node");
        Assert.True(Directory.Exists(Path.Combine(folder, "node_modules")), $"Run 'npm ci' in {folder}, or './dev test', which does.");
        ChildProgram client = (await ChildProgram.Run("node", [Path.Combine(folder, "client.js"), $"{servers.On(transport).Port}"])).Succeeded();
        Assert.Matches("^[0-9]+ statements hold$", client.Lines[^1]);
    }
}
