using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite export writes a file that the same kind of server, Redis 8 or RedKite loads.</summary>
[Collection(TransfersCollection.Name)]
public sealed class ExportTests(Transfers servers) : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("redis 8", "redis 8", "", 1)]
    [InlineData("redkite", "redis 8", "--scan", 6)]
    [InlineData("redkite", "redis 8", "", 9)]
    [InlineData("redkite", "valkey 9", "--for valkey-9", 10)]
    [InlineData("redkite", "valkey 8", "--for valkey-8", 11)]
    public Task Data_is_written_into_a_file(string from, string to, string options, int seed) => Write(from, to, options, seed, keys: 10);

    [Theory]
    [Long]
    [InlineData("redis 8", "redkite", "--scan", 2)]
    [InlineData("valkey 8", "valkey 8", "", 3)]
    [InlineData("valkey 8", "valkey 8", "--scan", 4)]
    [InlineData("redis 7", "redis 7", "", 8)]
    [InlineData("redis 7", "redis 7", "--scan", 5)]
    [InlineData("redkite", "redkite", "--scan", 7)]
    public Task More_data_is_written_into_a_file(string from, string to, string options, int seed) => Write(from, to, options, TestScale.GivenSeed ?? seed, keys: 60);

    private async Task Write(string from, string to, string options, int seed, int keys)
    {
        ServerProcess source = servers.Source(from);
        using RespConnection client = source.Connect();
        client.Run("CONFIG SET repl-diskless-sync-delay 0");
        bool hasFieldExpiries = from is "redis 8" or "redkite" && to != "valkey 8";
        RandomData.Fill(client, new Random(seed), keys, hasFieldExpiries);
        string path = _folder.File("dump.rdb");
        await File.WriteAllTextAsync(path, "what was there before", TestContext.Current.CancellationToken);
        ChildProgram export = (await Export(source, path, options.Split(' ', StringSplitOptions.RemoveEmptyEntries))).Succeeded();
        Assert.Contains(options == "--scan" ? " keys of 3 databases, " : "the data of one moment, ", export.Output, StringComparison.Ordinal);
        Assert.Equal([path], Directory.GetFiles(_folder.Path));
        using ServerProcess target = Transfers.Start(to, "--dir", _folder.Path);
        using RespConnection other = Transfers.ConnectWhenLoaded(target);
        Assert.True(SameData.Check(client, other, hasFieldExpiries: hasFieldExpiries) > 3 * keys);
    }

    [Fact]
    public async Task Server_that_sends_no_replica_its_data_is_read_key_by_key()
    {
        using ServerProcess source = Transfers.Start("redis 7", "--rename-command", "SYNC", "");
        using RespConnection client = source.Connect();
        client.Run("SET k v").IsOk();
        client.Run("SELECT 4");
        client.Run("SET k four PX 100000000").IsOk();
        string path = _folder.File("dump.rdb");
        ChildProgram export = (await Export(source, path)).Succeeded();
        Assert.Contains("does not send its data as to a replica (ERR unknown command", export.Output, StringComparison.Ordinal);
        Assert.Contains("dump.rdb: 2 keys of 2 databases, ", export.Output, StringComparison.Ordinal);
        ChildProgram check = (await Transfers.Run("check", path)).Succeeded();
        Assert.Contains("RDB version 10 of Redis", check.Output, StringComparison.Ordinal);
        Assert.Contains("database 4: 1 key, 1 with an expiry", check.Output, StringComparison.Ordinal);

        // Of one database.
        (await Transfers.Run("export", Transfers.Address(source) + "/4", path)).Succeeded();
        Assert.DoesNotContain("database 0", (await Transfers.Run("check", path)).Succeeded().Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Only_redkite_and_valkey_write_for_valkey()
    {
        string path = _folder.File("dump.rdb");
        ChildProgram export = await Export(servers.Source("redis 8"), path, "--for", "valkey-9");
        Assert.Equal((1, false), (export.ExitCode, File.Exists(path)));
        Assert.Contains("this server writes no file for Valkey", export.Errors, StringComparison.Ordinal);
        Assert.Equal(2, (await Export(servers.Source("redkite"), path, "--for", "valkey-10")).ExitCode);
        Assert.Equal(2, (await Export(servers.Source("redkite"), path, "--for", "valkey-9", "--scan")).ExitCode);
    }

    [Fact]
    public async Task File_that_cannot_be_written_is_one_line_and_leaves_nothing()
    {
        ServerProcess source = servers.Source("redkite");
        ChildProgram export = await Export(source, _folder.File("missing/dump.rdb"));
        Assert.Equal(1, export.ExitCode);
        Assert.StartsWith("redkite export: ", Assert.Single(export.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
    }

    private static Task<ChildProgram> Export(ServerProcess source, string path, params string[] options) =>
        Transfers.Run(["export", Transfers.Address(source), path, .. options]);
}
