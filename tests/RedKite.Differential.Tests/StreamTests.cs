using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

[assembly: CollectionBehavior(DisableTestParallelization = true)]

namespace RedKite.Differential.Tests;

/// <summary>
/// The main proof of correctness: generated command streams get the same bytes from RedKite as from Redis. One seed
/// of each run is new; REDKITE_SEED and REDKITE_STEPS replay a failure.
/// </summary>
public sealed class StreamTests(StreamTests.Servers servers, ITestOutputHelper output) : IClassFixture<StreamTests.Servers>
{
    private const int StepCount = 20_000;
    private const int FamilyStepCount = 8_000;

    public static TheoryData<int> Seeds => StreamTest.Seed is { } seed ? [seed] : [1, 2, 3, 4, 5, Random.Shared.Next(1_000_000, int.MaxValue)];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public async Task Mixed_streams_match_redis(int seed)
    {
        int count = StreamTest.StepsOr(StepCount);
        output.WriteLine($"{StreamTest.SeedVariable}={seed} {StreamTest.StepsVariable}={count}");
        string? report = await Task.Run(() => StreamTest.Run(servers.Pair, seed, count, CommandTable.Families), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(FamilyNames))]
    public async Task Single_family_streams_match_redis(string family)
    {
        int seed = StreamTest.Seed ?? 7;
        CommandFamily[] families = [.. CommandTable.Families.Where(candidate => candidate.Name == family)];
        string? report = await Task.Run(() => StreamTest.Run(servers.Pair, seed, StreamTest.StepsOr(FamilyStepCount), families), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    public static TheoryData<string> FamilyNames => [.. CommandTable.Families.Select(family => family.Name)];

    public sealed class Servers : IDisposable
    {
        private ServerPair? _pair;

        internal ServerPair Pair => _pair ??= ServerPair.Start(
            "--enable-debug-command", "yes",
            "--hash-max-listpack-entries", "6", "--hash-max-listpack-value", "30");

        public void Dispose()
        {
            TestContext.Current.SendDiagnosticMessage($"{StreamRunner.CommandsSent} commands compared with {ServerProgram.Oracle.Name}");
            _pair?.Dispose();
        }
    }
}
