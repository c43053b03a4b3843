using System.Buffers;
using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.Persistence.Rdb;
using RedKite.Server.Durability;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// No value changes without the snapshot's knowledge: streams of all families run between cuts, and the means of a snapshot alone must
/// yield the data as of each snapshot point. A command that changed a value (DEBUG DIGEST) before it announced that would change it there, too.
/// </summary>
public sealed class CutStreamTests(ITestOutputHelper output)
{
    private const int StepCount = 2_000;
    private const int StepsPerCut = 40;
    private const int StepsPerFlush = 3 * StepsPerCut; // few, so that there is data at most cuts

    private static readonly CommandFamily[] Families = [.. ChangeFamilies.All, ExpiredKeyGenerator.Family, EffectGenerator.Family, TransactionGenerator.WithoutClock];

    public static TheoryData<int> Seeds => [.. StreamTest.Seeds([1])];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Seeds))]
    public async Task Data_as_of_a_cut_survives_all_commands_after_it(int seed)
    {
        output.WriteLine($"{StreamTest.SeedVariable}={seed}");
        var clock = new HeldClock();
        await using RedKiteServer server = await RedKiteServer.StartAsync(WatchedServer.RedKiteOptions(clock), TestContext.Current.CancellationToken);
        await Task.Run(() => Run(server, clock, seed), TestContext.Current.CancellationToken);
    }

    /// <summary>Slices are so small that nearly every value takes several; some commands run between two of them.</summary>
    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Seeds))]
    public async Task File_of_a_background_snapshot_holds_the_data_as_of_the_cut(int seed)
    {
        output.WriteLine($"{StreamTest.SeedVariable}={seed}");
        var clock = new HeldClock();
        await using RedKiteServer server = await RedKiteServer.StartAsync(WatchedServer.RedKiteOptions(clock), TestContext.Current.CancellationToken);
        await Task.Run(() => RunSnapshotsAsync(server, clock, seed), TestContext.Current.CancellationToken);
    }

    private static async Task RunSnapshotsAsync(RedKiteServer server, HeldClock clock, int seed)
    {
        RedKiteSession[] clients = NewClients(server);
        List<Step> steps = NewSteps(seed, StepCount / 4);
        var random = new Random(seed);
        for (int first = 0; first < steps.Count; first += StepsPerCut)
        {
            long cutMs = clock.NowMs;
            string digest = server.Execute("DEBUG", "DIGEST").Text!;
            List<byte> file = [];
            List<string> ran = [];
            using var snapshot = new SlowSnapshot(server, clients, file);
            foreach (Step step in steps.Skip(first).Take(StepsPerCut))
            {
                snapshot.Allow(random.Next(6));
                RunStep(clients[step.Connection], clock, step, ran);
            }

            if (random.Next(3) == 0) Execute(clients[0], CommandLine.Split("FLUSHALL"));
            snapshot.Complete();
            Assert.True(digest == await DigestAsync(file, cutMs), $"the file is not the data at the cut; after it:\n{string.Join('\n', ran)}");
        }
    }

    private static async Task<string> DigestAsync(List<byte> file, long nowMs)
    {
        using var folder = new TemporaryFolder();
        await File.WriteAllBytesAsync(Path.Combine(folder.Path, "dump.rdb"), [.. file]);
        RedKiteOptions options = WatchedServer.RedKiteOptions(new HeldClock { NowMs = nowMs });
        options.Settings["dir"] = folder.Path;
        options.Settings["diagnostics"] = "no";
        await using RedKiteServer loaded = await RedKiteServer.StartAsync(options);
        return loaded.Execute("DEBUG", "DIGEST").Text!;
    }

    private static RedKiteSession[] NewClients(RedKiteServer server)
    {
        RedKiteSession[] clients = [.. Enumerable.Range(0, StreamGenerator.Connections).Select(_ => server.CreateSession())];
        foreach (string command in WatchedServer.Restore) Execute(clients[0], CommandLine.Split(command));
        Execute(clients[0], CommandLine.Split("DEBUG SET-ACTIVE-EXPIRE 1"));
        return clients;
    }

    private static List<Step> NewSteps(int seed, int count) => [.. StreamGenerator.Generate(seed, StreamTest.Steps(count), Families)
        .Where(step => !EffectStreamTests.Waits(step.Episode) && !Flushes(step.Episode))];

    private void Run(RedKiteServer server, HeldClock clock, int seed)
    {
        RedKiteSession[] clients = NewClients(server);
        List<Step> steps = NewSteps(seed, StepCount);
        var random = new Random(seed);
        for (int first = 0; first < steps.Count; first += StepsPerCut)
        {
            CutRecorder cut = CutRecorder.Begin(server.Engine.Keyspace, random);
            List<string> ran = [];
            foreach (Step step in steps.Skip(first).Take(StepsPerCut)) RunStep(clients[step.Connection], clock, step, ran);
            if (first % StepsPerFlush == StepsPerCut) Execute(clients[0], CommandLine.Split(random.Next(2) == 0 ? "FLUSHALL" : "FLUSHDB"));
            string[] differences = cut.End();
            Assert.True(differences.Length == 0, $"{string.Join('\n', differences)}\nafter the cut:\n{string.Join('\n', ran)}");
        }

        output.WriteLine($"{CutRecorder.Total}");
        Assert.True(CutRecorder.Total is { Reported: > 0, Taken: > 0, Tables: > 0 });
    }

    private static bool Flushes(Episode episode) => episode.Commands.Any(command => CommandLine.Format(command[0]).Contains("FLUSH", StringComparison.OrdinalIgnoreCase));

    private static void RunStep(RedKiteSession client, HeldClock clock, Step step, List<string> ran)
    {
        foreach (byte[][] command in step.Episode.Commands) Run(command);
        clock.Advance(step.Episode.WaitMs);
        foreach (byte[][] command in step.Episode.CommandsAfterWait) Run(command);

        void Run(byte[][] command)
        {
            ran.Add(CommandLine.Format(command));
            Execute(client, command);
        }
    }

    private static void Execute(RedKiteSession client, byte[][] command) => client.Execute(CommandLine.Encode(command), new ArrayBufferWriter<byte>());

    // A walk on a thread of its own that goes on when it is allowed to, or when a command waits for it.
    private sealed class SlowSnapshot : IDisposable
    {
        private static readonly SnapshotBounds Bounds = new() { LargeBytes = 100, Entries = 1, Bytes = 60, Steps = 2, PieceBytes = 25 };

        private readonly RedKiteSession[] _clients;
        private readonly BackgroundSnapshot _snapshot;
        private readonly Thread _walk;
        private long _allowed;
        private Exception? _failure;

        internal SlowSnapshot(RedKiteServer server, RedKiteSession[] clients, List<byte> file)
        {
            _clients = clients;
            _snapshot = new BackgroundSnapshot(server.Engine.Keyspace, server.Engine.Settings, server.Engine.WriteGate, () => 0, Bounds);
            using (LockScope locked = server.Engine.Keyspace.LockAll()) _snapshot.Capture([]);
            _walk = new Thread(() => Walk(file));
            _walk.Start();
        }

        internal void Allow(int slices) => Interlocked.Add(ref _allowed, slices);

        internal void Complete()
        {
            Allow(int.MaxValue);
            _walk.Join();
            Assert.Null(_failure);
        }

        public void Dispose()
        {
            _snapshot.Abort();
            Allow(int.MaxValue);
            _walk.Join();
            _snapshot.Dispose();
        }

        private void Walk(List<byte> file)
        {
            try
            {
                using var writer = new RdbFileWriter(piece => file.AddRange(piece), compresses: true, sums: true);
                writer.Begin(new RdbFileInfo { RedisVersion = "8.0.2", CreatedSeconds = 0, UsedMemoryBytes = 0 });
                foreach (bool mayRest in _snapshot.Walk(writer))
                {
                    while (Interlocked.Read(ref _allowed) <= 0 && !Array.Exists(_clients, client => client.IsHeld)) Thread.Yield();
                    Interlocked.Decrement(ref _allowed);
                }

                writer.End();
            }
            catch (IOException failure)
            {
                _failure = failure;
            }
        }
    }
}
