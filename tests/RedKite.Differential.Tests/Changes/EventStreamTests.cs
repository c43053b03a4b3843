using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Every command reports the changes that Redis notifies of: the same events, with the same keys, in the same order.</summary>
public sealed class EventStreamTests(WatchedServers servers, ITestOutputHelper output) : IClassFixture<WatchedServers>
{
    private const int StepCount = 4_000;
    private const int ExpiredKeySteps = 200;

    // Of those that are kept, the large one once found that a script worked on keys that it had not locked.
    public static TheoryData<int> Seeds => [.. StreamTest.Seeds([1, 2, 445329756])];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Streams_of_all_families_have_the_events_of_Redis(int seed) => Run(seed, StepCount, ChangeFamilies.All);

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public Task Expired_keys_have_the_events_of_Redis(int seed) => Run(seed, ExpiredKeySteps, [ExpiredKeyGenerator.Family]);

    private async Task Run(int seed, int usualCount, CommandFamily[] families)
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "events: " + OracleProgram.Redis8Missing);
        int count = StreamTest.Steps(usualCount);
        output.WriteLine($"{StreamTest.SeedVariable}={seed} {StreamTest.StepsVariable}={count}");
        string? report = await Task.Run(() => RunStream(seed, count, families), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    private Difference? Events(IReadOnlyList<Step> steps) => EventStreamRunner.Run(servers.Oracle, servers.Subject, steps);

    private string? RunStream(int seed, int count, CommandFamily[] families)
    {
        List<Step> steps = StreamGenerator.Generate(seed, count, families);
        if (Events(steps) is not { } difference) return null;
        (List<Step> smallest, Difference smallestDifference) = Shrinker.Shrink(steps, difference, Events);
        return $"Step {difference.StepIndex} of seed {seed} differs.\n{difference}Smallest transcript found:\n{string.Join('\n', smallest)}\n{smallestDifference}";
    }
}
