using System.Diagnostics;
using System.Globalization;
using System.IO.Compression;
using System.Text.Json;
using RedKite.Persistence.Files;
using RedKite.Server.Diagnostics.Package;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>Data that is no key, of a kind that only this project knows, is wherever keys are.</summary>
public class KeylessDataTests
{
    private const string NoDigest = "0000000000000000000000000000000000000000";

    [Fact]
    public async Task It_is_in_the_dump_file_and_other_programs_pass_over_it()
    {
        await using DiskServer server = await StartAsync("save", "3600 1");
        string digest = server.Digest();
        Assert.Equal("OK", server.Run("SAVE").Text);
        await server.RestartAsync();
        AssertWhole(server, digest);
        await server.StopAsync();

        using var redis = new Oracle("--save", "", "--enable-debug-command", "yes");
        string dump = Path.Combine(redis.Folder, "dump.rdb");
        await File.WriteAllBytesAsync(dump, Read(server, "dump.rdb"), TestContext.Current.CancellationToken);
        Assert.Equal("OK", redis.Run("DEBUG", "RELOAD", "NOSAVE"));
        Assert.Equal(("value", "2"), (redis.Run("GET", "key"), redis.Run("FCALL", "f", "0")));
        string check = Path.Combine(Path.GetDirectoryName(OracleProgram.Redis8Path)!, "redis-check-rdb");
        using Process process = Process.Start(new ProcessStartInfo(check, [dump]) { RedirectStandardOutput = true })!;
        string output = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(process.ExitCode == 0, output);
        Assert.Contains("AUX FIELD redkite-note = 'a=one'", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("yes")]
    [InlineData("no")]
    public async Task It_is_in_the_log_and_in_its_base(string preamble)
    {
        await using DiskServer server = await StartAsync("save", "", "appendonly", "yes", "aof-use-rdb-preamble", preamble);
        string digest = server.Digest();
        await server.RestartAsync();
        AssertWhole(server, digest);
        server.Run("BGREWRITEAOF");
        server.WaitFor(() => server.Info("aof_rewrite_in_progress") == "0" && server.Server.Parts.Durability.Rewrites.Count > 0, "the rewrite");
        await server.RestartAsync();
        AssertWhole(server, digest);
        server.Run("NOTE.SET d four");
        Assert.Equal("OK", server.Run("DEBUG LOADAOF").Text);
        Assert.Equal("four", server.Run("NOTE.GET d").Text);
        Assert.Equal(3, server.Server.Engine.Keyless.Kinds[1].Count);
    }

    [Theory]
    [InlineData("disabled", false)]
    [InlineData("flush-before-load", false)]
    [InlineData("swapdb", false)]
    [InlineData("disabled", true)]
    [InlineData("flush-before-load", true)]
    [InlineData("swapdb", true)]
    public async Task A_replica_gets_it_in_place_of_its_own(string mode, bool outliveKeys)
    {
        await using DiskServer primary = await StartAsync("save", "", "repl-diskless-sync-delay", "0");
        await using DiskServer replica = await DiskServer.StartAsync(Notes.New(outliveKeys), "save", "", "repl-diskless-load", mode);
        replica.Run("NOTE.SET gone 1");
        replica.Run("SET gone 1");
        Assert.Equal("OK", replica.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port.ToString(CultureInfo.InvariantCulture)}").Text);
        replica.WaitFor(() => replica.Run("INFO replication").Text!.Contains("master_link_status:up", StringComparison.Ordinal), "the link");
        AssertWhole(replica, primary.Digest());
        Assert.Equal(1, replica.Server.Engine.Replication.LinkCounts.FullSyncs);
        Assert.True(replica.Run("NOTE.GET gone").IsNull);

        primary.Run("NOTE.SET d four");
        replica.WaitFor(() => replica.Run("NOTE.GET d").Text == "four", "the stream");
    }

    [Fact]
    public async Task A_record_that_a_replica_refuses_leaves_it_everything_that_it_had()
    {
        await using DiskServer primary = await StartAsync("save", "", "repl-diskless-sync-delay", "0");
        await using DiskServer replica = await DiskServer.StartAsync(Notes.New(), "save", "", "repl-diskless-load", "swapdb");
        replica.Run("NOTE.SET old 1");
        replica.Run("SET old 1");
        replica.Server.Execute("FUNCTION", "LOAD", "#!lua name=other\nredis.register_function{function_name='g', callback=function() return 1 end, flags={'no-writes'}}");
        Assert.Equal("OK", primary.Run("NOTE.SET c refused-at-load").Text);
        string digest = replica.Digest();
        Assert.Equal("OK", replica.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port.ToString(CultureInfo.InvariantCulture)}").Text);
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkCounts.LastFailure.Contains("a note cannot be loaded: -ERR this note is refused", StringComparison.Ordinal), "the failure");
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text); // otherwise it may be loading again
        Assert.Equal("1", replica.Run("GET old").Text);
        Assert.Equal("1", replica.Run("NOTE.GET old").Text);
        Assert.Equal(1, replica.Run("FCALL g 0").Integer);
        Assert.Equal(digest, replica.Digest());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Flushall_removes_what_does_not_outlive_keys(bool outliveKeys)
    {
        await using DiskServer server = await StartAsync(outliveKeys, "save", "3600 1");
        string digest = server.Digest();
        Assert.Equal("OK", server.Run("DEBUG RELOAD").Text);
        AssertWhole(server, digest);
        Assert.Equal("OK", server.Run("FLUSHDB").Text);
        Assert.Equal("one", server.Run("NOTE.GET a").Text);
        Assert.Equal("OK", server.Run("FLUSHALL").Text);
        Assert.Equal(outliveKeys ? "one" : null, server.Run("NOTE.GET a").Text);
        Assert.Equal(outliveKeys, server.Digest() != NoDigest);
        Assert.Equal("2", server.Run("FCALL f 0").Text);
        await server.RestartAsync(); // the dump file is that of the flush
        Assert.Equal(outliveKeys ? "one" : null, server.Run("NOTE.GET a").Text);
        Assert.Equal("2", server.Run("FCALL f 0").Text);
    }

    [Fact]
    public async Task The_debug_package_counts_it()
    {
        await using DiskServer server = await StartAsync("save", "", "diagnostics", "yes");
        using var zip = new ZipArchive(new MemoryStream(DebugPackage.Build([.. PackageTable.Rows.Where(static part => part.Name == "reports/durability.json")], server.Server.PackageSources!, PackageOptions.WithoutWatching, TestContext.Current.CancellationToken)));
        using JsonDocument json = JsonDocument.Parse(await new StreamReader(zip.GetEntry("reports/durability.json")!.Open()).ReadToEndAsync(TestContext.Current.CancellationToken));
        JsonElement kinds = json.RootElement.GetProperty("beside_keys");
        Assert.Equal(("1", "2", "10"), (kinds.GetProperty("functions").GetProperty("records").ToString(), kinds.GetProperty("notes").GetProperty("records").ToString(), kinds.GetProperty("notes").GetProperty("bytes").ToString()));
    }

    private static Task<DiskServer> StartAsync(params string[] settings) => StartAsync(outliveKeys: false, settings);

    private static async Task<DiskServer> StartAsync(bool outliveKeys, params string[] settings)
    {
        DiskServer server = await DiskServer.StartAsync(Notes.New(outliveKeys), settings);
        Assert.Equal("l", server.Server.Execute("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function{function_name='f', callback=function() return '2' end, flags={'no-writes'}}").Text);
        Assert.Equal("OK", server.Run("SET key value").Text);
        string before = server.Digest();
        Assert.Equal("OK", server.Run("NOTE.SET a one").Text);
        Assert.Equal("OK", server.Run("NOTE.SET b two").Text);
        Assert.NotEqual(before, server.Digest());
        return server;
    }

    private static void AssertWhole(DiskServer server, string digest)
    {
        Assert.Equal(("one", "two", "value", "2"), (server.Run("NOTE.GET a").Text, server.Run("NOTE.GET b").Text, server.Run("GET key").Text, server.Run("FCALL f 0").Text));
        Assert.Equal(digest, server.Digest());
    }

    private static byte[] Read(DiskServer server, string name)
    {
        using IOpenFile file = server.Files.OpenRead(Path.Combine(server.Folder, name));
        byte[] data = new byte[file.Length];
        Assert.Equal(data.Length, file.Read(0, data));
        return data;
    }
}
