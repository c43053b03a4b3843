using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>The reference servers are the versions that their names promise.</summary>
public sealed class OracleProgramTests
{
    [Fact]
    public void Redis_8_starts()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, OracleProgram.Redis8Missing);
        string version = VersionOf(OracleProgram.Redis8, "redis_version");
        if (OracleProgram.Named is null) Assert.Equal("8.0.2", version);
        else Assert.StartsWith("8.", version, StringComparison.Ordinal);
    }

    [Fact]
    public void Valkey_8_starts()
    {
        Assert.SkipWhen(OracleProgram.Valkey8 is null, "'./dev test' has not set up Valkey 8");
        Assert.Equal("8.1.1", VersionOf(OracleProgram.Valkey8, "valkey_version"));
    }

    [Fact]
    public void Valkey_9_starts()
    {
        Assert.SkipWhen(OracleProgram.Valkey9 is null, OracleProgram.Valkey9Missing);
        var version = Version.Parse(VersionOf(OracleProgram.Valkey9, "valkey_version"));
        Assert.True(version is { Major: 9, Minor: >= 1 }, version.ToString());
    }

    [Fact]
    public void Redis_8_6_starts()
    {
        Assert.SkipWhen(OracleProgram.Redis86 is null, OracleProgram.Redis86Missing);
        var version = Version.Parse(VersionOf(OracleProgram.Redis86, "redis_version"));
        Assert.True(version is { Major: 8, Minor: >= 6 }, version.ToString());
    }

    private static string VersionOf(ServerProgram program, string field)
    {
        using ServerProcess server = ServerProcess.Start(program);
        using RespConnection connection = server.Connect();
        return connection.Run("INFO server").Text.Split("\r\n").First(line => line.StartsWith(field + ":", StringComparison.Ordinal))[(field.Length + 1)..];
    }
}
