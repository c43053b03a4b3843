using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>SIGTERM while the server loads, saves or rewrites its log: it stops, and the data is whole.</summary>
public sealed class StopTests : IDisposable
{
    private const int AttemptsMax = 6; // each with twice the keys: the signal must arrive before the work has ended
    private const int StopMsMax = 60_000;

    private static readonly int KeysAtFirst = TestScale.Of(gate: 100_000, full: 2_000_000);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void Loading_ends_and_leaves_the_file() => Attempt(keys =>
    {
        using (ServerProcess filled = StartFilled(keys)) Stop(filled);
        byte[] file = File.ReadAllBytes(_folder.File("dump.rdb"));
        using (ServerProcess loading = Start())
        {
            Stop(loading);
            if (!Says(loading, "The server was stopped while it loaded its data.")) return false;
        }

        Assert.True(file.AsSpan().SequenceEqual(File.ReadAllBytes(_folder.File("dump.rdb"))), "dump.rdb has changed");
        AssertHolds(keys, "key:0", null);
        return true;
    });

    [Fact]
    public void Save_in_the_background_is_replaced_by_the_final_one() => Attempt(keys =>
    {
        using (ServerProcess server = StartFilled(keys))
        {
            using RespConnection client = server.Connect();
            client.Run("BGSAVE").IsSimple("Background saving started");
            client.Run("SET during save").IsOk();
            Stop(server);
            if (!Says(server, "Background saving was aborted")) return false;
        }

        AssertHolds(keys + 1, "during", "save");
        Assert.Equal(["dump.rdb"], Directory.GetFiles(_folder.Path).Select(Path.GetFileName));
        return true;
    });

    [Theory]
    [InlineData("always")]
    [InlineData("everysec")]
    public void Rewrite_of_the_log_is_abandoned_and_the_log_is_whole(string policy) => Attempt(keys =>
    {
        using (ServerProcess server = StartFilled(keys, "--save", "", "--appendfsync", policy))
        {
            using RespConnection client = server.Connect();
            client.Run("CONFIG SET appendonly yes").IsOk();
            Assert.True(SpinWait.SpinUntil(() => client.Run("INFO persistence").Text is { } info && info.Contains("aof_rewrites:1\r\n", StringComparison.Ordinal) && info.Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal), StopMsMax), "the first base");
            client.Run("BGREWRITEAOF").IsSimple("Background append only file rewriting started");
            client.Run("SET during rewrite").IsOk();
            Stop(server);
            if (server.Output.Count(line => line.Contains("rewrite finished successfully", StringComparison.Ordinal)) != 1) return false;
        }

        AssertHolds(keys + 1, "during", "rewrite", "--save", "", "--appendonly", "yes");
        return true;
    });

    private static void Stop(ServerProcess server)
    {
        server.Signal("TERM");
        Assert.True(server.WaitForExit(StopMsMax) == 0, string.Join('\n', server.Output));
    }

    private static bool Says(ServerProcess server, string text) => server.Output.Any(line => line.Contains(text, StringComparison.Ordinal));

    private void Attempt(Func<int, bool> succeeds)
    {
        int keys = KeysAtFirst;
        for (int attempt = 1; !succeeds(keys); attempt++, keys *= 2)
        {
            Assert.True(attempt < AttemptsMax, "the work always ends before the signal");
            Directory.Delete(_folder.Path, recursive: true);
            Directory.CreateDirectory(_folder.Path);
        }
    }

    private void AssertHolds(int keys, string key, string? value, params string[] options)
    {
        using ServerProcess again = Start(options);
        using RespConnection client = Transfers.ConnectWhenLoaded(again);
        if (value is not null) client.Run($"GET {key}").IsBulk(value);
        client.Run("DBSIZE").IsInteger(keys);
    }

    private ServerProcess StartFilled(int keys, params string[] options)
    {
        ServerProcess server = Start(options);
        using RespConnection client = server.Connect();
        client.Run($"DEBUG POPULATE {keys} key 100").IsOk();
        return server;
    }

    private ServerProcess Start(params string[] options) => Transfers.Start("redkite", ["--dir", _folder.Path, "--save", "3600 1", .. options]);
}
