using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;

namespace RedKite.Differential.Tests.Changes;

/// <summary>The recorded effects of a stream alone make a second server hold the same data, after every command.</summary>
public sealed class EffectStreamTests(EffectStreamTests.Servers servers, ITestOutputHelper output) : IClassFixture<EffectStreamTests.Servers>
{
    private const int StepCount = 1_500;

    public static TheoryData<int> Seeds => [.. StreamTest.Seeds([1])];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Effects_of_all_families_reproduce_the_data(int seed) => Run(seed, ChangeFamilies.All);

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Effects_of_commands_that_depend_on_chance_and_time_reproduce_the_data(int seed) => Run(seed, [EffectGenerator.Family]);

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Effects_of_expired_keys_reproduce_the_data(int seed) => Run(seed, [ExpiredKeyGenerator.Family]);

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Effects_of_transactions_reproduce_the_data(int seed) => Run(seed, [TransactionGenerator.WithoutClock]);

    private async Task Run(int seed, CommandFamily[] families)
    {
        int count = StreamTest.Steps(StepCount);
        output.WriteLine($"{StreamTest.SeedVariable}={seed} {StreamTest.StepsVariable}={count}");
        string? report = await Task.Run(() => RunStream(seed, count, families), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    private string? RunStream(int seed, int count, CommandFamily[] families)
    {
        // The clock stands still, so a read that waits would wait for ever.
        List<Step> steps = [.. StreamGenerator.Generate(seed, count, families).Where(step => !Waits(step.Episode))];
        if (EffectStreamRunner.Run(servers.Primary, servers.Replica, steps) is not { } difference) return null;
        (List<Step> smallest, Difference smallestDifference) = Shrinker.Shrink(steps, difference, candidate => EffectStreamRunner.Run(servers.Primary, servers.Replica, candidate, stateEverySteps: 1));
        return $"Step {difference.StepIndex} of seed {seed} differs.\n{difference}Smallest transcript found:\n{string.Join('\n', smallest)}\n{smallestDifference}";
    }

    internal static bool Waits(Episode episode) =>
        episode.Commands.Any(command => BlockingGenerator.MayBlock(System.Text.Encoding.ASCII.GetString(command[0]).ToUpperInvariant()) || command.Any(word => System.Text.Encoding.ASCII.GetString(word).Equals("BLOCK", StringComparison.OrdinalIgnoreCase)));

    public sealed class Servers : IDisposable
    {
        internal WatchedRedKite Primary { get; } = new(new HeldClock());

        internal EffectReplica Replica { get; } = new();

        public void Dispose()
        {
            TestContext.Current.SendDiagnosticMessage($"{EffectStreamRunner.EffectsReplayed} effects replayed");
            Primary.Dispose();
            Replica.Dispose();
        }
    }
}
