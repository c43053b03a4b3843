using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>A dump file that was not loaded is not replaced by a server that began empty.</summary>
public sealed class UnloadedDumpTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly List<string> _log = [];

    private string Dump => _folder.File("dump.rdb");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Dump_beside_a_log_that_begins_is_renamed_and_told()
    {
        byte[] restored = await DumpOf("restored");
        await using (RedKiteServer server = await StartAsync(("appendonly", "yes"), ("save", "3600 1")))
        {
            Assert.Equal(0, server.Execute("DBSIZE").Integer);
            Assert.Contains(_log, line => line.StartsWith($"The keys of {Dump} are not loaded", StringComparison.Ordinal));
            Assert.Equal(Dump, server.Parts.Durability.Unloaded.Path);
            server.Execute("SET", "new", "v");
            Assert.Equal("OK", server.Execute("SAVE").Text);
            Assert.Equal(Dump + ".unloaded", server.Parts.Durability.Unloaded.Path);
            Assert.Equal("OK", server.Execute("SAVE").Text); // its own file by now
        }

        Assert.Equal(restored, await File.ReadAllBytesAsync(Dump + ".unloaded", TestContext.Current.CancellationToken));
        Assert.Equal(2, Directory.GetFiles(_folder.Path, "dump.rdb*").Length);
    }

    [Fact]
    public async Task Server_without_keys_does_not_replace_a_dump_that_appears()
    {
        byte[] restored;
        await using (RedKiteServer server = await StartAsync(("save", "3600 1")))
        {
            restored = await DumpOf("copied");
        }

        Assert.Equal(restored, await File.ReadAllBytesAsync(Dump + ".unloaded", TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Own_dump_is_replaced_by_an_empty_one()
    {
        await DumpOf("loaded");
        await using (RedKiteServer server = await StartAsync(("save", "3600 1")))
        {
            Assert.Equal(1, server.Execute("DBSIZE").Integer);
            server.Execute("DEL", "loaded");
        }

        Assert.Equal(["dump.rdb"], Directory.GetFiles(_folder.Path).Select(Path.GetFileName));
        await using RedKiteServer again = await StartAsync(("save", "3600 1"));
        Assert.Equal(0, again.Execute("DBSIZE").Integer);
    }

    // Leaves a dump file with this key.
    private async Task<byte[]> DumpOf(string key)
    {
        using var other = new TemporaryFolder();
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Loops = 1, DataDirectory = other.Path, Persistence = RedKitePersistence.Snapshots }, TestContext.Current.CancellationToken))
        {
            server.Execute("SET", key, "v");
        }

        File.Copy(other.File("dump.rdb"), Dump);
        return await File.ReadAllBytesAsync(Dump, TestContext.Current.CancellationToken);
    }

    private Task<RedKiteServer> StartAsync(params (string Name, string Value)[] settings)
    {
        var options = new RedKiteOptions { Loops = 1, DataDirectory = _folder.Path, Log = entry => { lock (_log) _log.Add(entry.Message); } };
        foreach ((string name, string value) in settings) options.Settings[name] = value;
        return RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
    }
}
