using System.Buffers;
using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.Server;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Changes;

/// <summary>
/// No value changes without the snapshot's knowledge: streams of all families run between cuts, and the means of a snapshot alone must
/// yield the data as of each cut. A command that changed a value (DEBUG DIGEST) before it announced that would change it there, too.
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
        await using RedKiteServer server = await RedKiteServer.StartAsync(WatchedServer.RedKiteOptions(clock));
        await Task.Run(() => Run(server, clock, seed), TestContext.Current.CancellationToken);
    }

    private void Run(RedKiteServer server, HeldClock clock, int seed)
    {
        InProcessClient[] clients = [.. Enumerable.Range(0, StreamGenerator.Connections).Select(_ => server.CreateClient())];
        foreach (string command in WatchedServer.Restore) Execute(clients[0], CommandLine.Split(command));
        Execute(clients[0], CommandLine.Split("DEBUG SET-ACTIVE-EXPIRE 1"));
        List<Step> steps = [.. StreamGenerator.Generate(seed, StreamTest.Steps(StepCount), Families)
            .Where(step => !EffectStreamTests.Waits(step.Episode) && !Flushes(step.Episode))];
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

    private static void RunStep(InProcessClient client, HeldClock clock, Step step, List<string> ran)
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

    private static void Execute(InProcessClient client, byte[][] command) => client.Execute(CommandLine.Encode(command), new ArrayBufferWriter<byte>());
}
