using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>Vector sets that one server has saved, as a snapshot and as an append-only file (a base, and an increment with what came later), are loaded by the other one.</summary>
public sealed class VectorSetFileTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("redkite", "redis 8", 1)]
    [InlineData("redis 8", "redkite", 2)]
    [InlineData("redkite", "redkite", 3)]
    public void Files_of_one_server_are_loaded_by_the_other(string writer, string reader, int seed)
    {
        using ServerProcess source = Transfers.Start(writer, "--dir", _folder.Path, "--appendonly", "yes");
        using RespConnection client = Transfers.ConnectWhenLoaded(source);
        var random = new Random(seed);
        bool replaces = writer != "redis 8";
        VectorSetData.Fill(client, random, replaces);
        client.Run("BGREWRITEAOF");
        Assert.True(SpinWait.SpinUntil(() => client.Run("INFO persistence").Text is var info && info.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal) && info.Contains("aof_rewrite_scheduled:0", StringComparison.Ordinal), 60_000));
        VectorSetData.Change(client, random, commands: 300, replaces);
        client.Run("SAVE").IsOk();
        client.Run("CONFIG SET appendonly no").IsOk();
        foreach (string appendOnly in (string[])["yes", "no"])
        {
            using ServerProcess target = Transfers.Start(reader, "--dir", _folder.Path, "--appendonly", appendOnly);
            using RespConnection other = Transfers.ConnectWhenLoaded(target);
            string? difference = VectorSetData.Difference(client, other);
            Assert.True(difference is null, difference);
        }
    }
}
