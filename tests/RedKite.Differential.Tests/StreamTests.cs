using RedKite.Differential.Tests.Generators;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

// Two pairs of servers: each exchange waits for both servers of its pair, one after the other.
[assembly: CollectionBehavior(MaxParallelThreads = 2)]

namespace RedKite.Differential.Tests;

/// <summary>
/// The main proof of correctness: generated command streams get the same bytes from RedKite as from Redis. The gate runs one
/// fixed seed of each family; a long run adds new seeds, those that once failed, and more steps. REDKITE_SEED and REDKITE_STEPS
/// replay a failure.
/// </summary>
public sealed class StreamTests(StreamTests.Servers servers, ITestOutputHelper output) : IClassFixture<StreamTests.Servers>
{
    private const int StepCount = 20_000;
    private const int FamilyStepCount = 8_000;
    private const int BlockingStepCount = 500; // most of them wait until they time out

    // Seeds whose streams found a difference that is closed now.
    private static readonly int[] OnceFailed = [1, 2, 4, 5, 691229665, 332197836];

    public static TheoryData<int> Seeds => [.. StreamTest.Seeds(OnceFailed)];

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(Seeds))]
    public async Task Mixed_streams_match_redis(int seed)
    {
        int count = StreamTest.Steps(StepCount);
        output.WriteLine($"{StreamTest.SeedVariable}={seed} {StreamTest.StepsVariable}={count}");
        string? report = await Task.Run(() => StreamTest.Run(servers.Pair, seed, count, CommandTable.Mixed), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    [Theory(Timeout = 600_000)]
    [MemberData(nameof(FamilySeeds))]
    public async Task Single_family_streams_match_redis(string family, int seed)
    {
        output.WriteLine($"{StreamTest.SeedVariable}={seed}");
        Assert.SkipWhen(family == ServerGenerator.Family.Name && OracleProgram.Redis8TooOld is not null, OracleProgram.Redis8TooOld ?? "");
        CommandFamily[] families = [.. CommandTable.Families.Where(candidate => candidate.Name == family)];
        string? report = await Task.Run(() => StreamTest.Run(servers.Pair, seed, StreamTest.Steps(family == BlockingGenerator.Family.Name ? BlockingStepCount : FamilyStepCount), families), TestContext.Current.CancellationToken);
        Assert.True(report is null, report);
    }

    public static TheoryData<string, int> FamilySeeds
    {
        get
        {
            TheoryData<string, int> data = [];
            foreach (CommandFamily family in CommandTable.Families)
            {
                foreach (int seed in StreamTest.Seeds([7, 42528564])) data.Add(family.Name, seed);
            }

            return data;
        }
    }

    public sealed class Servers : IDisposable
    {
        private ServerPair? _pair;

        internal ServerPair Pair => _pair ??= ServerPair.Start(
            "--enable-debug-command", "yes",
            "--hz", "500", // how often Redis checks the timeouts of blocked and paused clients
            "--hash-max-listpack-entries", "6", "--hash-max-listpack-value", "30");

        public void Dispose()
        {
            TestContext.Current.SendDiagnosticMessage($"{StreamRunner.CommandsSent} commands compared with {ServerProgram.Oracle.Name}");
            _pair?.Dispose();
        }
    }
}
