using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Durability;
using RedKite.Server.Tests.Changes;

namespace RedKite.Server.Tests.Durability;

/// <summary>A background snapshot of some of the data has exactly that, whatever changes while it is written, and leaves the next one whole.</summary>
public class SnapshotRangeTests
{
    [Fact]
    public async Task A_server_writes_a_range_beside_its_commands()
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "");
        server.Run("MSET a 1 b 2");
        List<byte> file = [];
        using var ended = new ManualResetEventSlim();
        DurabilityService durability = server.Server.Parts.Durability;
        Assert.True(durability.TryBegin("range", () =>
        {
            using var writer = new RdbFileWriter(piece => file.AddRange(piece), compresses: false, sums: true);
            durability.WriteRange(writer, new SnapshotRange { Keys = static key => key[0] == 'b' }, static () => { });
            writer.End();
            ended.Set();
        }));
        Assert.True(ended.Wait(60_000, TestContext.Current.CancellationToken));
        server.WaitFor(() => !durability.IsSaving, "the end of the walk");
        using (IOpenFile dump = server.Files.Create(Path.Combine(server.Folder, "dump.rdb"))) dump.Write(0, file.ToArray());
        await server.RestartAsync();
        Assert.Equal((null, "2"), (server.Run("GET a").Text, server.Run("GET b").Text));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task A_range_has_its_keys_at_the_cut(int seed)
    {
        var clock = new ManualClock();
        await using RedKiteServer server = await SteppedSnapshot.StartAsync(clock: clock);
        using RedKiteSession session = server.CreateSession();
        var random = new Random(seed);
        for (int i = 0; i < 400; i++) Write();
        session.Execute("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('g', function() return 1 end)");
        foreach (SnapshotRange range in (SnapshotRange[])[new() { Databases = static index => index == 3 }, new() { Keys = static key => key[^1] % 2 == 0 }, new() { Databases = static index => index == 0, Keys = static key => key[0] is (byte)'l' or (byte)'h' }, SnapshotRange.All])
        {
            for (int i = 0; i < 300; i++) session.Execute("RPUSH", $"large{i % 4}", new string('x', 50) + i); // written in slices
            Dictionary<string, string>[] expected = ValueMirror.DataOf(server.Engine.Keyspace, (database, key) => range.HasDatabase(database) && range.Keys?.Invoke(key) != false);
            using var snapshot = new SteppedSnapshot(server, clock, range);
            while (snapshot.Step())
            {
                Write();
                if (random.Next(8) == 0) session.Execute(random.Next(3) switch { 0 => ["DEL", $"large{random.Next(4)}"], 1 => ["SELECT", random.Next(2) == 0 ? "0" : "3"], _ => ["SWAPDB", "0", "3"] });
                if (random.Next(60) == 0) session.Execute("FLUSHDB");
            }

            Assert.Null(server.Engine.WriteGate.KeyRule);
            await using RedKiteServer loaded = await snapshot.LoadAsync();
            Dictionary<string, string>[] found = ValueMirror.DataOf(loaded.Engine.Keyspace, static (_, _) => true);
            for (int i = 0; i < found.Length; i++) Assert.Equal(expected[i].OrderBy(static pair => pair.Key), found[i].OrderBy(static pair => pair.Key));
            session.Execute("SELECT", "3");
            for (int i = 0; i < 200; i++) Write();
            session.Execute("SELECT", "0");
            for (int i = 0; i < 200; i++) Write();
        }

        // A change of a large value would wait for the walk, which this thread steps.
        void Write()
        {
            string key = random.Next(100).ToString(CultureInfo.InvariantCulture), value = random.Next(1000).ToString(CultureInfo.InvariantCulture);
            session.Execute(random.Next(8) switch
            {
                0 => ["DEL", "s" + key],
                1 => ["HSET", "h" + key, value, value],
                2 => ["RENAME", "s" + key, "s" + value],
                3 => ["MOVE", "s" + key, "3"],
                4 => ["COPY", "h" + key, "l" + value, "REPLACE"],
                5 => ["INCR", "s" + key],
                _ => (string[])["SET", "s" + key, value],
            });
        }
    }
}
