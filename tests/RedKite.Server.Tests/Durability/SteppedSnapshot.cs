using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Durability;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>A background snapshot of a server in this process whose walk the test steps by hand. Its slices are so small that ordinary values take many.</summary>
internal sealed class SteppedSnapshot : IDisposable
{
    internal static readonly SnapshotBounds SmallBounds = new() { LargeBytes = 2_000, Entries = 4, Bytes = 300, Steps = 12, PieceBytes = 60 };

    // A folder has to exist, but the disk is the test's.
    private static readonly string Folder = Path.TrimEndingDirectorySeparator(Path.GetTempPath());

    private readonly RedKiteServer _server;
    private readonly RdbFileWriter _writer;
    private readonly IEnumerator<bool> _walk;
    private readonly List<byte> _file = [];
    private readonly string _digest;
    private readonly ManualClock _cutClock = new(); // stands at the snapshot point

    internal SteppedSnapshot(RedKiteServer server, ManualClock clock, SnapshotRange? range = null)
    {
        _server = server;
        _cutClock.Advance(clock.NowMs - _cutClock.NowMs);
        _digest = Digest(server);
        _writer = new RdbFileWriter(piece => _file.AddRange(piece), compresses: true, sums: true);
        _writer.Begin(new RdbFileInfo { RedisVersion = "8.0.2", CreatedSeconds = 0, UsedMemoryBytes = 0 });
        Snapshot = new BackgroundSnapshot(Keyspace, server.Engine.Settings, server.Engine.WriteGate, () => clock.NowMs, SmallBounds) { Range = range ?? SnapshotRange.All };
        using (Keyspace.LockAll()) Snapshot.Capture([]);
        _walk = Snapshot.Walk(_writer).GetEnumerator();
    }

    internal BackgroundSnapshot Snapshot { get; }

    internal int Steps { get; private set; }

    private Keyspace Keyspace => _server.Engine.Keyspace;

    /// <summary>Goes on by a slice. False at the end.</summary>
    internal bool Step()
    {
        if (_walk.MoveNext())
        {
            Steps++;
            return true;
        }

        _writer.End();
        return false;
    }

    internal void StepUntil(Func<bool> condition)
    {
        while (!condition()) Assert.True(Step(), "the walk has ended before");
    }

    internal void RunToEnd()
    {
        while (Step())
        {
        }
    }

    /// <summary>Whether the walk is inside of a value.</summary>
    internal bool IsSlicing => Array.Exists(Keyspace.Stripes, stripe => stripe.HasPinned);

    /// <summary>Has another server load the file, and returns it.</summary>
    internal Task<RedKiteServer> LoadAsync()
    {
        var files = new FaultyFiles();
        files.CreateFolder(Folder);
        using (IOpenFile file = files.Create(Path.Combine(Folder, "dump.rdb"))) file.Write(0, _file.ToArray());
        return StartAsync(files, _cutClock);
    }

    /// <summary>Asserts that a server that loads the file has the data of the snapshot point, and that nothing of the snapshot is left in this one.</summary>
    internal async Task AssertHoldsDataOfSnapshotPointAsync(string context = "")
    {
        Assert.False(IsSlicing);
        Assert.Null(_server.Engine.WriteGate.KeyRule);
        Assert.False(_server.Engine.WriteGate.Waits);
        using (Keyspace.LockAll()) Keyspace.CheckGuards();
        await using RedKiteServer loaded = await LoadAsync();
        Assert.True(_digest == Digest(loaded), $"the file is not the data at the cut {context}");
    }

    internal static async Task<RedKiteServer> StartAsync(FaultyFiles? files = null, TimeProvider? clock = null)
    {
        files ??= new FaultyFiles();
        files.CreateFolder(Folder);
        var options = new RedKiteOptions { Port = 0, Files = files, GuardsMemory = true, TimeProvider = clock ?? new ManualClock() };
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("dir", Folder), ("loops", "1"), ("stripes", "4"), ("diagnostics", "no"), ("enable-debug-command", "yes")])
        {
            options.Settings[name] = value;
        }

        return await RedKiteServer.StartAsync(options);
    }

    public void Dispose()
    {
        // After a failed assertion, so that no command waits for it.
        Snapshot.Abort();
        try
        {
            while (_walk.MoveNext())
            {
            }
        }
        catch (FileFailure)
        {
        }

        _walk.Dispose();
        Snapshot.Dispose();
        _writer.Dispose();
    }

    private static string Digest(RedKiteServer server) => server.Execute("DEBUG", "DIGEST").Text!;
}
